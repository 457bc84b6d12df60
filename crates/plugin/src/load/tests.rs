//! Both sides of the ABI in one process, without a library in between, so that Miri can
//! check the pointers.

use super::*;
use crate::export;
use plimsoll_graph::{JobGraph, Release};
use std::sync::Mutex;

/// Jobs that write down what a scheduler sees of them and does with them.
struct Seen {
    graph: JobGraph,
    releases: Vec<Release>,
    ran: Mutex<Vec<(u32, usize)>>,
}

impl Jobs for Seen {
    fn count(&self) -> u32 {
        self.graph.count()
    }

    fn predecessors(&self, job: u32) -> u32 {
        self.graph.predecessors(job).len() as u32
    }

    fn successors(&self, job: u32) -> &[u32] {
        self.graph.successors(job)
    }

    fn release(&self, job: u32) -> Release {
        self.releases[job as usize]
    }

    fn run(&self, job: u32, worker: usize) {
        assert!(job != 13, "unlucky");
        self.ran.lock().unwrap().push((job, worker));
    }
}

fn jobs(weights: &[u32], edges: &[(u32, u32)], releases: Vec<Release>) -> Arc<Seen> {
    Arc::new(Seen {
        graph: JobGraph::new(weights, edges).unwrap(),
        releases,
        ran: Mutex::default(),
    })
}

fn diamond(releases: Vec<Release>) -> Arc<Seen> {
    jobs(&[1; 4], &[(0, 1), (0, 2), (1, 3), (2, 3)], releases)
}

type Seeing = fn(&Arc<dyn Jobs>) -> Result<(), String>;

/// Runs as a function says.
struct By(Seeing);

impl Scheduler for By {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        (self.0)(&jobs)
    }
}

/// A scheduler behind the ABI that runs as `seeing` says.
macro_rules! exported {
    ($seeing:expr) => {{
        unsafe extern "C" fn start(
            cpus: *const u32,
            count: u32,
            error: *mut c_char,
            error_size: usize,
        ) -> *mut c_void {
            let seeing: Seeing = $seeing;
            let make = |cpus: &[u32]| match cpus {
                [] => Err("no CPU".to_owned()),
                _ => Ok(By(seeing)),
            };
            // SAFETY: handed on as they are, to the same contract.
            unsafe { export::start(cpus, count, error, error_size, make) }
        }
        plugin(start, export::run)
    }};
}

fn plugin(start: Start, run: Run) -> Plugin {
    Plugin {
        path: "/in/this/process".into(),
        start,
        run,
        stop: export::stop,
    }
}

const AT_ONCE: Release = Release::AT_ONCE;

#[test]
fn the_other_side_sees_the_same_graph() {
    let same = exported!(|jobs| {
        assert_eq!(jobs.count(), 4);
        assert_eq!([0, 1, 2, 3].map(|job| jobs.predecessors(job)), [0, 1, 1, 2]);
        assert_eq!(jobs.successors(0), [1, 2]);
        assert_eq!(jobs.successors(3), [0; 0]);
        assert_eq!(jobs.release(2), AT_ONCE);
        for job in [0, 2, 1, 3] {
            jobs.run(job, job as usize % 2);
        }
        Ok(())
    });
    let mut scheduler = same.start(&[0, 1]).unwrap();
    for _ in 0..2 {
        let jobs = diamond(vec![AT_ONCE; 4]);
        scheduler.run(Arc::clone(&jobs) as _).unwrap();
        let ran = jobs.ran.lock().unwrap().clone();
        assert_eq!(ran, [(0, 0), (2, 0), (1, 1), (3, 1)]);
    }
}

#[test]
fn the_other_side_sees_the_same_times() {
    let deadline = Release {
        start_ns: 0,
        deadline_ns: Some(7),
    };
    let start = Release {
        start_ns: 5,
        deadline_ns: None,
    };
    let same = exported!(|jobs| {
        let times =
            [0, 1, 2].map(|job| (jobs.release(job).start_ns, jobs.release(job).deadline_ns));
        assert_eq!(times, [(0, None), (0, Some(7)), (5, None)]);
        Ok(())
    });
    let jobs = diamond(vec![AT_ONCE, deadline, start, AT_ONCE]);
    let mut scheduler = same.start(&[0]).unwrap();
    assert_eq!(scheduler.run(jobs), Ok(()));
}

#[test]
fn jobs_may_run_on_threads_that_outlive_the_call() {
    let late = exported!(|jobs| {
        let jobs = Arc::clone(jobs);
        std::thread::spawn(move || (0..4).for_each(|job| jobs.run(job, 0)));
        Ok(())
    });
    let jobs = diamond(vec![AT_ONCE; 4]);
    let mut scheduler = late.start(&[0]).unwrap();
    scheduler.run(Arc::clone(&jobs) as _).unwrap();
    assert_eq!(
        jobs.ran.lock().unwrap().len(),
        4,
        "it waits for their share"
    );
}

#[test]
fn errors_and_panics_come_back_as_text() {
    let fails = exported!(|_| Err("x".repeat(5000)));
    let why = fails.start(&[0]).unwrap().run(diamond(vec![AT_ONCE; 4]));
    assert_eq!(why, Err("x".repeat(ERROR_SIZE - 1)));
    let panics = exported!(|_| panic!("no queue left"));
    let why = panics.start(&[0]).unwrap().run(diamond(vec![AT_ONCE; 4]));
    assert_eq!(why, Err("it panicked: no queue left".into()));
    let unlucky = exported!(|jobs| {
        (0..14).for_each(|job| jobs.run(job, 0));
        Ok(())
    });
    let many = jobs(&[1; 14], &[], vec![AT_ONCE; 14]);
    let why = unlucky.start(&[0]).unwrap().run(many);
    assert_eq!(why, Err("job 13 panicked: unlucky".into()));
    let refused = unlucky.start(&[]).err().unwrap().to_string();
    assert_eq!(refused, "/in/this/process does not start: no CPU");
}

#[test]
fn a_library_that_says_nothing_or_no_text_is_an_error_too() {
    unsafe extern "C" fn start(_: *const u32, _: u32, _: *mut c_char, _: usize) -> *mut c_void {
        std::ptr::null_mut()
    }
    let silent = plugin(start, export::run).start(&[0]).err().unwrap();
    assert!(
        silent.to_string().ends_with("it does not say why"),
        "{silent}"
    );
    // Neither UTF-8 nor an end.
    assert!(text(&[-1; ERROR_SIZE]).starts_with('\u{FFFD}'));
}
