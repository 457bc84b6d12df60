//! A scheduler of one's own, to start from: workers share a stack of ready jobs.
//!
//! ```sh
//! cargo build --release -p plimsoll-plugin --example my_scheduler
//! plimsoll rig --scheduler target/release/examples/libmy_scheduler.so
//! ```
//! For one outside of this repository, make a crate of `crate-type = ["cdylib"]` that
//! depends on `plimsoll-plugin`.

use plimsoll_plugin::{Jobs, Scheduler, export_scheduler};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

struct Stack {
    workers: usize,
}

impl Scheduler for Stack {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        let (began, all) = (Instant::now(), 0..jobs.count());
        // How many predecessors of each job have not ended.
        let missing = |job| AtomicU32::new(jobs.predecessors(job));
        let missing: Vec<AtomicU32> = all.clone().map(missing).collect();
        let is_first = |&job: &u32| jobs.predecessors(job) == 0;
        let ready = Mutex::new(all.filter(is_first).collect::<Vec<u32>>());
        let left = AtomicU32::new(jobs.count());
        let stack = || ready.lock().unwrap_or_else(PoisonError::into_inner);
        let work = |worker| {
            while left.load(Ordering::Relaxed) > 0 {
                let Some(job) = stack().pop() else {
                    std::thread::yield_now();
                    continue;
                };
                let start = Duration::from_nanos(jobs.release(job).start_ns);
                std::thread::sleep(start.saturating_sub(began.elapsed()));
                jobs.run(job, worker);
                for &next in jobs.successors(job) {
                    // AcqRel: `next` must see what all of its predecessors wrote.
                    if missing[next as usize].fetch_sub(1, Ordering::AcqRel) == 1 {
                        stack().push(next);
                    }
                }
                left.fetch_sub(1, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            let work = &work;
            (0..self.workers).for_each(|worker| drop(scope.spawn(move || work(worker))));
        });
        Ok(())
    }
}

export_scheduler!(|cpus: &[u32]| Ok(Stack {
    workers: cpus.len()
}));
