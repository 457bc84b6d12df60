//! Start lateness of workers and its CPU cost, per way of waiting.
//!
//! `cargo run --release -p plimsoll-pool --example lateness -- 1000 5` offers
//! 1000 empty jobs a second to one worker on the last allowed CPU, for 5
//! seconds per way of waiting. The ways alternate every half second, so that a
//! disturbance of the machine affects all of them.

use plimsoll_model::Histogram;
use plimsoll_pool::{Pool, Waiting, allowed_cpus, pin_this_thread};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Default)]
struct Seen {
    slip: Histogram,
    cpu: Duration,
    wall: Duration,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let rate: f64 = args.next().map_or(Ok(1000.0), |a| a.parse())?;
    let seconds: f64 = args.next().map_or(Ok(5.0), |a| a.parse())?;
    let cpus = allowed_cpus()?;
    let last = cpus.iter().last().ok_or("no CPU")?;
    // This thread avoids the worker's CPU.
    pin_this_thread(cpus.iter().next().ok_or("no CPU")?)?;
    let spin = |us| Waiting::SleepThenSpin {
        margin: Duration::from_micros(us),
    };
    let ways = [Waiting::Sleep, spin(20), spin(50), spin(100), spin(200)];
    let mut seen: Vec<Seen> = ways.iter().map(|_| Seen::default()).collect();
    for _ in 0..(seconds * 2.0).ceil() as u32 {
        for (waiting, seen) in ways.iter().zip(&mut seen) {
            turn(last, *waiting, rate, seen)?;
        }
    }
    let mut out = std::io::stdout().lock();
    for (waiting, seen) in ways.iter().zip(&seen) {
        let us = |q| seen.slip.quantile(q).unwrap_or_default().as_nanos() as f64 / 1e3;
        writeln!(
            out,
            "{:32} slip p50 {:7.1} p90 {:7.1} p99 {:7.1} p99.9 {:8.1} us; CPU {:5.2} %",
            waiting.to_string(),
            us(0.5),
            us(0.9),
            us(0.99),
            us(0.999),
            100.0 * seen.cpu.as_secs_f64() / seen.wall.as_secs_f64(),
        )?;
    }
    Ok(())
}

/// Half a second of one way of waiting.
fn turn(cpu: u32, waiting: Waiting, rate: f64, seen: &mut Seen) -> Result<(), Box<dyn Error>> {
    let slips = Arc::new(Mutex::new((Histogram::new(), Duration::ZERO)));
    let sink = Arc::clone(&slips);
    let starts = (1..).map(move |i: u64| (i as f64 * 1e9 / rate) as u64);
    let began = Instant::now();
    let pool = Pool::start(
        &[cpu].into_iter().collect(),
        waiting,
        began,
        starts,
        move |s| {
            let now = clock_gettime(ClockId::ThreadCPUTime);
            let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
            sink.0.record_ns(s.slip_ns());
            sink.1 = Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32);
        },
    )?;
    std::thread::sleep(Duration::from_millis(500));
    drop(pool);
    let slips = slips.lock().unwrap_or_else(PoisonError::into_inner);
    seen.slip.merge(&slips.0);
    seen.cpu += slips.1;
    seen.wall += began.elapsed();
    Ok(())
}
