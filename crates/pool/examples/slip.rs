//! How late a stream of empty jobs starts on a [`Pool`](plimsoll_pool::Pool): the slip of the hash service without its work.
//!
//! ```sh
//! cargo run --release -p plimsoll-pool --example slip -- [JOBS_PER_SECOND] [SECONDS]
//! ```

#![allow(clippy::print_stdout, reason = "an example that prints its figures")]

use plimsoll_pool::{Pool, allowed_cpus};
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |otherwise| arguments.next().map_or(Ok(otherwise), |text| text.parse());
    let (rate, seconds): (u64, u64) = (number(1_000)?, number(5)?);
    let slips = Arc::new(Mutex::new(Vec::with_capacity((rate * seconds) as usize)));
    let sink = Arc::clone(&slips);
    let starts = (0..rate * seconds).map(move |index| 1_000_000 + index * 1_000_000_000 / rate);
    let pool = Pool::start(&allowed_cpus()?, Instant::now(), starts, move |start| {
        if let Ok(mut slips) = sink.lock() {
            slips.push(start.slip_ns());
        }
    })?;
    while pool.oldest_open_ns().is_some() {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(pool);
    let mut slips = slips.lock().map_err(|_| "a job panicked")?.clone();
    slips.sort_unstable();
    let us = |share: f64| slips[(share * (slips.len() - 1) as f64) as usize] as f64 / 1e3;
    println!(
        "slip in us: 10 % {:.1}, median {:.1}, 90 % {:.1}, 99 % {:.1}",
        us(0.1),
        us(0.5),
        us(0.9),
        us(0.99)
    );
    Ok(())
}
