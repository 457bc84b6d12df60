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
        let mut started: Vec<(String, Option<Box<dyn Scheduler>>, Vec<f64>)> = Vec::new();
        for choice in &choices {
            let is_left_out = *choice == Choice::Threads && nodes > 4096;
            if !is_left_out {
                let scheduler = start(choice, &cpus)?;
                started.push((choice.to_string(), Some(scheduler), Vec::new()));
            }
        }
        for _ in 0..TURNS {
            for (_, scheduler, floors) in &mut started {
                let Some(taken) = scheduler.take() else {
                    continue;
                };
                let ran = execute(taken, &Arc::new(jobs.again()), &AtomicBool::new(false))?;
                floors.push(ran.elapsed.as_nanos() as f64 / f64::from(nodes));
                *scheduler = Some(ran.scheduler);
            }
        }
        println!("{name}, {nodes} jobs");
        for (choice, _, mut floors) in started {
            floors.sort_by(f64::total_cmp);
            println!("  {:40} {:9.0}", choice, floors[floors.len() / 2]);
        }
    }
    Ok(())
}
