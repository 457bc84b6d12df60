//! Schedulers that are built to be wrong, each in one way: each is caught, named, and
//! does not keep the caller from ending.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

use plimsoll_graph::{JobGraph, Jobs, Release};
use plimsoll_schedulers::{
    ExecuteError, Executed, JobRun, NodeWork, Proof, Scheduler, Violation, execute_within,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// 0 -> {1, 2, 3} -> 4, and 5 after 2 alone.
const EDGES: [(u32, u32); 7] = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (2, 5)];

/// Runs the jobs as a function says.
struct Wrong<F>(F);

impl<F: FnMut(Arc<dyn Jobs>) -> Result<(), String> + Send> Scheduler for Wrong<F> {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        (self.0)(jobs)
    }
}

fn jobs(work: NodeWork) -> Arc<JobRun> {
    let graph = JobGraph::new(&[1; 6], &EDGES).unwrap();
    Arc::new(JobRun::new(Arc::new(graph), work, None, false))
}

fn execute_wrong(
    jobs: &Arc<JobRun>,
    patience: Duration,
    wrong: impl FnMut(Arc<dyn Jobs>) -> Result<(), String> + Send + 'static,
) -> Result<Executed, ExecuteError> {
    let stop = AtomicBool::new(false);
    execute_within(patience, Box::new(Wrong(wrong)), jobs, &stop)
}

/// What is proved of a scheduler that runs the jobs in this order.
fn proof_of(order: &'static [u32]) -> Proof {
    let in_order = move |jobs: Arc<dyn Jobs>| {
        order.iter().for_each(|&job| jobs.run(job, 0));
        Ok(())
    };
    let jobs = jobs(Box::new(|_, _| {}));
    match execute_wrong(&jobs, Duration::MAX, in_order) {
        Ok(executed) => executed.proof,
        Err(ExecuteError::Violated(proof)) => proof,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn right_orders_pass() {
    for order in [&[0, 1, 2, 3, 4, 5], &[0, 2, 5, 3, 1, 4]] {
        let proof = proof_of(order);
        assert_eq!((proof.nodes_checked, proof.violated), (6, 0));
    }
}

#[test]
fn a_lost_node_is_named() {
    let proof = proof_of(&[0, 1, 2, 3, 4]);
    assert_eq!(proof.violations, [Violation::Lost { job: 5 }]);
}

#[test]
fn a_double_pop_is_named() {
    let proof = proof_of(&[0, 1, 2, 3, 3, 4, 5]);
    assert_eq!(proof.violations, [Violation::RanTwice { job: 3 }]);
}

#[test]
fn an_early_start_is_named_and_not_what_follows_from_it() {
    let proof = proof_of(&[0, 1, 2, 4, 3, 5]);
    assert_eq!(proof.violations, [Violation::Early { job: 4 }]);
    let proof = proof_of(&[1, 0, 2, 3, 4, 5]);
    assert_eq!(proof.violations, [Violation::Early { job: 1 }]);
}

#[test]
fn swapped_siblings_are_named() {
    // It takes 2 for 3, so that 5 starts after 3 instead of 2.
    let proof = proof_of(&[0, 1, 3, 5, 2, 4]);
    assert_eq!(proof.violations, [Violation::Early { job: 5 }]);
    // It runs one sibling in place of the other.
    let proof = proof_of(&[0, 1, 2, 2, 4, 5]);
    let found = [
        Violation::RanTwice { job: 2 },
        Violation::Lost { job: 3 },
        Violation::Early { job: 4 },
    ];
    assert_eq!(proof.violations, found);
}

#[test]
fn a_job_that_does_not_exist_is_named() {
    let proof = proof_of(&[0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(proof.violations, [Violation::NoSuchJob { job: 6 }]);
}

#[test]
fn a_start_that_is_ignored_is_named() {
    let graph = Arc::new(JobGraph::new(&[1; 3], &[(0, 2)]).unwrap());
    let in_an_hour = Release {
        start_ns: 3_600_000_000_000,
        deadline_ns: None,
    };
    let releases = Some(vec![Release::AT_ONCE, Release::AT_ONCE, in_an_hour]);
    for timed in [false, true] {
        let work = Box::new(|_, _| {});
        let jobs = JobRun::new(Arc::clone(&graph), work, releases.clone(), timed);
        let at_once = |jobs: Arc<dyn Jobs>| {
            (0..3).for_each(|job| jobs.run(job, 0));
            Ok(())
        };
        let found = execute_wrong(&Arc::new(jobs), Duration::MAX, at_once).unwrap_err();
        let named = "it broke its contract: job 2 ran before its start";
        assert_eq!(found.to_string(), named);
    }
}

#[test]
fn a_run_is_made_once() {
    let in_order = |jobs: Arc<dyn Jobs>| {
        (0..6).for_each(|job| jobs.run(job, 0));
        Ok(())
    };
    let jobs = jobs(Box::new(|_, _| {}));
    execute_wrong(&jobs, Duration::MAX, in_order).unwrap();
    let again = execute_wrong(&jobs, Duration::MAX, in_order).unwrap_err();
    assert!(matches!(again, ExecuteError::MadeBefore), "{again}");
}

#[test]
fn a_double_pop_by_two_workers_at_once_is_named() {
    // Neither run of the job ends before the other has begun.
    let inside = AtomicU32::new(0);
    let meet = move |weight: u32, _: usize| {
        if weight == 2 {
            inside.fetch_add(1, Ordering::Relaxed);
            while inside.load(Ordering::Relaxed) < 2 {
                std::thread::yield_now();
            }
        }
    };
    let graph = Arc::new(JobGraph::new(&[2, 1], &[(0, 1)]).unwrap());
    let jobs = Arc::new(JobRun::new(graph, Box::new(meet), None, false));
    let twice = |jobs: Arc<dyn Jobs>| {
        std::thread::scope(|scope| {
            let other = Arc::clone(&jobs);
            scope.spawn(move || other.run(0, 1));
            jobs.run(0, 0);
        });
        jobs.run(1, 0);
        Ok(())
    };
    let Err(ExecuteError::Violated(proof)) = execute_wrong(&jobs, Duration::MAX, twice) else {
        panic!("not caught");
    };
    assert_eq!(proof.violations, [Violation::RanTwice { job: 0 }]);
}

#[test]
fn an_early_start_whose_predecessor_ends_in_time_is_named() {
    // By the end of the early job all values are there: only its start shows it.
    let (has_begun, is_done) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    let begun = Arc::clone(&has_begun);
    let overlap = move |weight: u32, _: usize| {
        let (sets, waits) = match weight {
            1 => (&is_done, &*begun),
            _ => (&*begun, &is_done),
        };
        if weight == 1 {
            wait_for(waits);
            sets.store(true, Ordering::Relaxed);
        } else {
            sets.store(true, Ordering::Relaxed);
            wait_for(waits);
        }
    };
    let graph = Arc::new(JobGraph::new(&[1, 2], &[(0, 1)]).unwrap());
    let jobs = Arc::new(JobRun::new(graph, Box::new(overlap), None, false));
    let early = |jobs: Arc<dyn Jobs>| {
        std::thread::scope(|scope| {
            let other = Arc::clone(&jobs);
            scope.spawn(move || other.run(0, 1));
            jobs.run(1, 0);
        });
        Ok(())
    };
    let Err(ExecuteError::Violated(proof)) = execute_wrong(&jobs, Duration::MAX, early) else {
        panic!("not caught");
    };
    assert_eq!(proof.violations, [Violation::Early { job: 1 }]);
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
}

#[test]
fn a_deadlock_is_named_and_left_behind() {
    let deadlock = |jobs: Arc<dyn Jobs>| {
        jobs.run(0, 0);
        jobs.run(2, 0);
        loop {
            std::thread::park();
        }
    };
    let jobs = jobs(Box::new(|_, _| {}));
    let stalled = execute_wrong(&jobs, Duration::from_millis(20), deadlock).unwrap_err();
    let ExecuteError::Stalled { count, .. } = stalled else {
        panic!("{stalled}");
    };
    assert_eq!(count, 6);
    assert!(stalled.to_string().contains("a deadlock"), "{stalled}");
}

#[test]
fn a_scheduler_that_does_not_return_is_named() {
    let stuck = |jobs: Arc<dyn Jobs>| {
        (0..6).for_each(|job| jobs.run(job, 0));
        loop {
            std::thread::park();
        }
    };
    let jobs = jobs(Box::new(|_, _| {}));
    let stalled = execute_wrong(&jobs, Duration::from_millis(20), stuck);
    assert!(matches!(stalled, Err(ExecuteError::Stalled { .. })));
}

#[test]
fn a_panic_is_named() {
    let jobs = jobs(Box::new(|_, _| {}));
    let broken = |_| panic!("no queue left");
    let panicked = execute_wrong(&jobs, Duration::MAX, broken).unwrap_err();
    assert_eq!(panicked.to_string(), "it panicked: no queue left");
}

#[test]
fn the_user_can_stop_what_does_not_end() {
    let endless = |_: Arc<dyn Jobs>| {
        loop {
            std::thread::park();
        }
    };
    let stop = AtomicBool::new(true);
    let jobs = jobs(Box::new(|_, _| {}));
    let scheduler = Box::new(Wrong(endless));
    let stopped = execute_within(Duration::MAX, scheduler, &jobs, &stop);
    assert!(matches!(stopped, Err(ExecuteError::Stopped)));
}

#[test]
fn a_broken_scheduler_whose_end_hangs_does_not_hold_the_caller() {
    struct Hangs;
    impl Scheduler for Hangs {
        fn run(&mut self, _: Arc<dyn Jobs>) -> Result<(), String> {
            Ok(())
        }
    }
    impl Drop for Hangs {
        fn drop(&mut self) {
            loop {
                std::thread::park();
            }
        }
    }
    let jobs = jobs(Box::new(|_, _| {}));
    let stop = AtomicBool::new(false);
    let lost = execute_within(Duration::MAX, Box::new(Hangs), &jobs, &stop);
    let lost = lost.unwrap_err().to_string();
    assert_eq!(
        lost,
        "it broke its contract: job 0 did not run (and 5 more violations)"
    );
}
