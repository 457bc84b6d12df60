//! Schedulers that break the contract, for the tests. The number of jobs chooses how, or
//! the variable `BROKEN_SCHEDULER` as `WHAT-in-CALL`: exit-0, exit-3, abort, fault,
//! hang or print, in start, run or stop.

use plimsoll_plugin::{Jobs, Scheduler, export_scheduler};
use std::sync::Arc;

struct Broken;

/// What the variable asks for in this call; whether it is set at all.
#[allow(unsafe_code, clippy::print_stdout, reason = "a library can do this")]
fn asked_for(call: &str) -> bool {
    let Ok(asked) = std::env::var("BROKEN_SCHEDULER") else {
        return false;
    };
    match asked.strip_suffix(&format!("-in-{call}")) {
        Some("exit-0") => std::process::exit(0),
        Some("exit-3") => std::process::exit(3),
        Some("abort") => std::process::abort(),
        // SAFETY: none; nothing is mapped there.
        Some("fault") => unsafe { std::ptr::without_provenance_mut::<u64>(8).write_volatile(1) },
        Some("hang") => loop {
            std::thread::park();
        },
        Some("print") => println!("hello"),
        _ => {}
    }
    true
}

impl Drop for Broken {
    fn drop(&mut self) {
        asked_for("stop");
    }
}

impl Scheduler for Broken {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        let count = jobs.count();
        if asked_for("run") {
            (0..count).for_each(|job| jobs.run(job, 0));
            return Ok(());
        }
        match count {
            // Loses the last.
            2 => (0..count - 1).for_each(|job| jobs.run(job, 0)),
            // Runs each twice.
            3 => (0..2 * count).for_each(|job| jobs.run(job / 2, 0)),
            // Runs them backwards.
            4 => (0..count).rev().for_each(|job| jobs.run(job, 0)),
            // Runs one too many.
            5 => (0..=count).for_each(|job| jobs.run(job, 0)),
            // As a worker that it does not have.
            6 => (0..count).for_each(|job| jobs.run(job, 99)),
            7 => return Err("out of \"patience\"".into()),
            // `.get` would hide what a library can do.
            8 => drop(jobs.successors(count)),
            _ => loop {
                std::thread::park();
            },
        }
        Ok(())
    }
}

export_scheduler!(|cpus: &[u32]| {
    asked_for("start");
    match cpus.len() {
        0 => Err("it needs a CPU".to_owned()),
        _ => Ok(Broken),
    }
});
