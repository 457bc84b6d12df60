//! What the proof and the times of a run cost per job, in nanoseconds.
//!
//! ```sh
//! cargo run --release -p plimsoll-schedulers --example cost_of_proof
//! ```
//! The same empty jobs run with nothing, with the proof, and with proof and times, in
//! turns; a cost is the median of the differences within a turn. On one thread in
//! order, and on two threads that take jobs in turn, so that both write to the same
//! cache lines.

#![allow(clippy::print_stdout, reason = "its output")]

use plimsoll_graph::{GraphError, JobGraph, Jobs};
use plimsoll_schedulers::{JobRun, NodeWork};
use std::sync::Arc;
use std::time::Instant;

const NODES: u32 = 100_000;
const TURNS: usize = 101;

/// The graph and its work without any check.
struct Bare(Arc<JobGraph>, NodeWork);

impl Jobs for Bare {
    fn count(&self) -> u32 {
        self.0.count()
    }

    fn predecessors(&self, job: u32) -> u32 {
        self.0.predecessors(job).len() as u32
    }

    fn successors(&self, job: u32) -> &[u32] {
        self.0.successors(job)
    }

    fn run(&self, job: u32, worker: usize) {
        (self.1)(self.0.weight(job), worker);
    }
}

fn work() -> NodeWork {
    Box::new(|weight, worker| {
        std::hint::black_box((weight, worker));
    })
}

/// Each node needs so many others, which lie within `reach` before it.
fn graph(needs: u32, reach: u32) -> Result<JobGraph, GraphError> {
    let mut state = 1_u64;
    let mut draw = |below: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((state >> 33) % u64::from(below)) as u32
    };
    let mut edges = Vec::new();
    for node in 1..NODES {
        for _ in 0..needs {
            edges.push((node - 1 - draw(node.min(reach)), node));
        }
    }
    JobGraph::new(&vec![1; NODES as usize], &edges)
}

/// In order, or every other job on another thread, which breaks the order of graphs
/// with edges.
fn ns_per_job(jobs: &dyn Jobs, threads: u32) -> f64 {
    let of_thread = |thread: u32| {
        let mine = (thread..NODES).step_by(threads as usize);
        mine.for_each(|job| jobs.run(job, thread as usize));
    };
    let began = Instant::now();
    match threads {
        1 => of_thread(0),
        _ => std::thread::scope(|scope| {
            let of_thread = &of_thread;
            (0..threads).for_each(|thread| drop(scope.spawn(move || of_thread(thread))));
        }),
    }
    began.elapsed().as_nanos() as f64 / f64::from(NODES)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(name: &str, graph: JobGraph, threads: u32) {
    let graph = Arc::new(graph);
    let bare = Bare(Arc::clone(&graph), work());
    let run = |timed| JobRun::new(Arc::clone(&graph), work(), None, timed);
    let (proved, timed) = (run(false), run(true));
    let (mut base, mut proof, mut times, mut check) = (vec![], vec![], vec![], vec![]);
    for _ in 0..TURNS {
        let without = ns_per_job(&bare, threads);
        let once = proved.again();
        let with_proof = ns_per_job(&once, threads);
        let with_times = ns_per_job(&timed.again(), threads);
        base.push(without);
        proof.push(with_proof - without);
        times.push(with_times - with_proof);
        let began = Instant::now();
        std::hint::black_box(once.verify());
        check.push(began.elapsed().as_nanos() as f64 / f64::from(NODES));
    }
    println!(
        "{name:36} {:8.1} {:8.1} {:8.1} {:8.1}",
        median(base),
        median(proof),
        median(times),
        median(check),
    );
}

fn main() -> Result<(), GraphError> {
    println!(
        "{:36} {:>8} {:>8} {:>8} {:>8}",
        "ns a job", "empty", "+ proof", "+ times", "verify"
    );
    measure("independent", graph(0, 1)?, 1);
    measure("1 predecessor, near", graph(1, 50)?, 1);
    measure("3 predecessors, near", graph(3, 50)?, 1);
    measure("3 predecessors, anywhere", graph(3, NODES)?, 1);
    measure("independent, 2 threads in turn", graph(0, 1)?, 2);
    Ok(())
}
