//! Schedulers that break the contract, for the tests. The number of jobs chooses how.

use plimsoll_plugin::{Jobs, Scheduler, export_scheduler};
use std::sync::Arc;

struct Broken;

impl Scheduler for Broken {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        let count = jobs.count();
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

export_scheduler!(|cpus: &[u32]| match cpus.len() {
    0 => Err("it needs a CPU".to_owned()),
    _ => Ok(Broken),
});
