//! Drives the hash service and prints the results.
//!
//! `drive_hash CPUS LOAD SECONDS`: a CPU list such as `0-3`; a load (a rate per
//! second, percent of the calibrated capacity such as `50%`, or `full` for
//! overload); and the duration.

use plimsoll_load::hash::{HashLoad, calibrate};
use plimsoll_load::{Load, Offer};
use plimsoll_model::{Arrivals, CpuSet, CpuTime, HashService, Histogram, Rate};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [cpus, load, seconds] = args.as_slice() else {
        return Err("usage: drive_hash CPUS RATE|PERCENT%|full SECONDS".into());
    };
    let cpus: CpuSet = cpus.parse()?;
    let window = Duration::from_secs_f64(seconds.parse()?);
    let first = cpus.iter().next().ok_or("no CPU")?;
    let service = calibrate(CpuTime(Duration::from_millis(1)), first)?;
    let promised = cpus.len() as f64 / service.request_cpu.0.as_secs_f64();
    let rate = match load.as_str() {
        "full" => 2.0 * promised,
        percent if percent.ends_with('%') => {
            promised * percent.trim_end_matches('%').parse::<f64>()? / 100.0
        }
        rate => rate.parse()?,
    };
    let offer = Offer {
        rate: Rate::per_second(rate).ok_or("no rate")?,
        arrivals: Arrivals::Poisson,
        seed: 1,
        drain: Duration::from_millis(100),
        steps: None,
    };
    drive(&service, &cpus, &offer, window)
}

fn drive(
    service: &HashService,
    cpus: &CpuSet,
    offer: &Offer,
    window: Duration,
) -> Result<(), Box<dyn Error>> {
    let mut load = HashLoad::new(service, cpus)?;
    let mut running = load.start(offer)?;
    std::thread::sleep(Duration::from_millis(200));
    let times = running.open_window(window);
    sleep_until(times.opens);
    let cpu = process_cpu();
    // From here on, the next tick covers the window only.
    running.tick();
    sleep_until(times.closes);
    let used = process_cpu().saturating_sub(cpu);
    let ended = running.tick().completed;
    let work = running.finish()?;
    let done = work.completed as f64;
    let mut out = std::io::stdout().lock();
    writeln!(out, "mean block     {} bytes", service.mean_block.0)?;
    writeln!(out, "offered        {}", offer.rate)?;
    writeln!(out, "requests/s     {:.1}", done / window.as_secs_f64())?;
    let megabytes = done * service.mean_block.0 as f64 / 1e6;
    writeln!(
        out,
        "MB/s           {:.1}",
        megabytes / window.as_secs_f64()
    )?;
    writeln!(out, "MB/CPU-s       {:.1}", megabytes / used.as_secs_f64())?;
    let per_request = CpuTime(used).us_per(ended).unwrap_or(f64::NAN);
    writeln!(out, "CPU us/request {per_request:.1}")?;
    writeln!(
        out,
        "unfinished     {} of {}",
        work.unfinished, work.intended
    )?;
    writeln!(out, "latency        {}", quantiles(&work.latency))?;
    writeln!(out, "slip           {}", quantiles(&work.slip))?;
    Ok(())
}

fn sleep_until(at: Instant) {
    std::thread::sleep(at.saturating_duration_since(Instant::now()));
}

/// CPU time of this process: the service only, as this thread sleeps.
fn process_cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

fn quantiles(histogram: &Histogram) -> String {
    let us = |q| histogram.quantile(q).unwrap_or_default().as_nanos() as f64 / 1e3;
    format!(
        "p50 {:.1} p90 {:.1} p99 {:.1} p99.9 {:.1} us",
        us(0.5),
        us(0.9),
        us(0.99),
        us(0.999)
    )
}
