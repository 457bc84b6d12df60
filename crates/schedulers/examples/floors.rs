//! What each scheduler costs per empty job, with the proof, in nanoseconds.
//!
//! ```sh
//! cargo run --release -p plimsoll-schedulers --example floors [LIBRARY]...
//! ```
//! All in turns, the median of 15. A floor is the time of the whole run divided by the
//! jobs: the start of the run and the counters of its dependencies are in it. The
//! machine should have nothing else to do; compare ratios.

#![allow(clippy::print_stdout, reason = "its output")]

use plimsoll_graph::JobGraph;
use plimsoll_schedulers::{Choice, JobRun, Scheduler, execute, start};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const TURNS: usize = 15;

/// Each node needs these among the 50 before it.
fn graph(nodes: u32, needs: u32) -> Result<JobGraph, Box<dyn Error>> {
    let before = |node: u32| (0..needs).map(move |k| (node.saturating_sub(50 - 13 * k), node));
    let edges: Vec<(u32, u32)> = (50..nodes).flat_map(before).collect();
    Ok(JobGraph::new(&vec![1; nodes as usize], &edges)?)
}

/// A scheduler and what its runs took per job.
struct Tried {
    name: String,
    /// Away while it runs.
    scheduler: Option<Box<dyn Scheduler>>,
    ns: Vec<f64>,
}

impl Tried {
    fn run(&mut self, jobs: &JobRun) -> Result<(), Box<dyn Error>> {
        let Some(taken) = self.scheduler.take() else {
            return Ok(());
        };
        let ran = execute(taken, &Arc::new(jobs.again()), &AtomicBool::new(false))?;
        let nodes = f64::from(jobs.graph().count());
        self.ns.push(ran.elapsed.as_nanos() as f64 / nodes);
        self.scheduler = Some(ran.scheduler);
        Ok(())
    }

    fn median_ns(&mut self) -> f64 {
        self.ns.sort_by(f64::total_cmp);
        self.ns[self.ns.len() / 2]
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let cpus = plimsoll_pool::allowed_cpus()?;
    let libraries = std::env::args()
        .skip(1)
        .map(|path| Choice::Library(path.into()));
    let choices: Vec<Choice> = Choice::ALL.into_iter().chain(libraries).collect();
    println!("ns per empty job on CPUs {cpus}");
    for (name, nodes, needs) in [
        ("independent", 4_000, 0),
        ("3 predecessors", 4_000, 3),
        ("independent", 200_000, 0),
        ("3 predecessors", 200_000, 3),
    ] {
        let graph = Arc::new(graph(nodes, needs)?);
        let jobs = JobRun::new(graph, Box::new(|_, _| {}), None, false);
        let mut started = Vec::new();
        for choice in &choices {
            let is_left_out = *choice == Choice::Threads && nodes > 4096;
            if !is_left_out {
                started.push(Tried {
                    name: choice.to_string(),
                    scheduler: Some(start(choice, &cpus)?),
                    ns: Vec::new(),
                });
            }
        }
        for _ in 0..TURNS {
            started.iter_mut().try_for_each(|tried| tried.run(&jobs))?;
        }
        println!("{name}, {nodes} jobs");
        for mut tried in started {
            let floor_ns = tried.median_ns();
            println!("  {:40} {floor_ns:9.0}", tried.name);
        }
    }
    Ok(())
}
