//! How fast each kernel is, alone and with all CPUs at work.
//!
//! ```sh
//! cargo run --release -p plimsoll-schedulers --example kernels
//! ```

#![allow(clippy::print_stdout, reason = "its output")]

use plimsoll_schedulers::{Kernel, Neighbours, Work, calibrate};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let cpus = plimsoll_pool::allowed_cpus()?;
    println!("kernel           rounds/us  spread   all busy  spread  inflation");
    for kernel in Kernel::ALL {
        let work = Work::new(kernel, cpus.len());
        let alone = calibrate(&work, &cpus, Neighbours::Idle)?;
        let busy = calibrate(&work, &cpus, Neighbours::Busy)?;
        println!(
            "{:15} {:10.1} {:6.1}% {:10.1} {:6.1}% {:10.3}",
            kernel.name(),
            alone.rounds_per_us,
            100.0 * alone.spread_share,
            busy.rounds_per_us,
            100.0 * busy.spread_share,
            busy.inflation_over(&alone),
        );
    }
    Ok(())
}
