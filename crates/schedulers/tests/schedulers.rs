//! Each scheduler runs each graph, and the proof agrees.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

use plimsoll_graph::{JobGraph, Release};
use plimsoll_model::CpuSet;
use plimsoll_schedulers::{
    Choice, ExecuteError, JobRun, execute_within, start, start_accounted, start_traced,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// On a machine that does something else, too.
const LONG: Duration = Duration::from_secs(120);

fn cpus() -> CpuSet {
    plimsoll_pool::allowed_cpus().unwrap()
}

/// A graph whose nodes have up to `fan_in` predecessors among the last 50.
fn random(nodes: u32, fan_in: u32, seed: u64) -> JobGraph {
    let mut state = seed;
    let mut draw = |below: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((state >> 33) % u64::from(below)) as u32
    };
    let mut edges = Vec::new();
    for node in 1..nodes {
        for _ in 0..draw(fan_in + 1) {
            edges.push((node - 1 - draw(node.min(50)), node));
        }
    }
    JobGraph::new(&vec![1; nodes as usize], &edges).unwrap()
}

fn graphs() -> Vec<JobGraph> {
    let chain: Vec<(u32, u32)> = (0..300).map(|node| (node, node + 1)).collect();
    let star: Vec<(u32, u32)> = (1..300).flat_map(|node| [(0, node), (node, 300)]).collect();
    let mut graphs = vec![
        JobGraph::new(&[1], &[]).unwrap(),
        JobGraph::new(&[0; 500], &[]).unwrap(),
        JobGraph::new(&[1; 301], &chain).unwrap(),
        JobGraph::new(&[1; 301], &star).unwrap(),
    ];
    graphs.extend((0..10).map(|seed| random(400, 3, seed)));
    graphs
}

#[test]
fn each_runs_each_graph_once_and_in_order() {
    for choice in Choice::ALL {
        let mut scheduler = start(&choice, &cpus()).unwrap();
        for graph in graphs() {
            let jobs = JobRun::new(Arc::new(graph), Box::new(|_, _| {}), None, true);
            let mut jobs = Arc::new(jobs);
            for _ in 0..3 {
                let ran = execute_within(LONG, scheduler, &jobs, &AtomicBool::new(false));
                let ran = ran.unwrap_or_else(|e| panic!("{choice}: {e}"));
                assert_eq!(ran.proof.nodes_checked, u64::from(jobs.graph().count()));
                let workers = cpus().len();
                assert!(jobs.times().iter().all(|time| time.worker < workers));
                scheduler = ran.scheduler;
                jobs = Arc::new(jobs.again());
            }
        }
    }
}

/// While the jobs that wait for nothing are handed out, the first of them ends and makes
/// the last ones ready: these must not be handed out twice.
#[test]
fn a_job_that_becomes_ready_early_runs_once() {
    let edges: Vec<(u32, u32)> = (3990..4000).map(|node| (0, node)).collect();
    let graph = Arc::new(JobGraph::new(&[1; 4000], &edges).unwrap());
    for choice in Choice::ALL {
        let jobs = JobRun::new(Arc::clone(&graph), Box::new(|_, _| {}), None, false);
        let scheduler = start(&choice, &cpus()).unwrap();
        let ran = execute_within(LONG, scheduler, &Arc::new(jobs), &AtomicBool::new(false));
        ran.unwrap_or_else(|e| panic!("{choice}: {e}"));
    }
}

#[test]
fn no_job_starts_before_its_time() {
    let graph = Arc::new(random(60, 2, 7));
    let release = |node| Release {
        start_ns: 1_000_000 * (u64::from(node) % 5),
        deadline_ns: None,
    };
    let releases: Vec<Release> = graph.nodes().map(release).collect();
    for choice in Choice::ALL {
        let scheduler = start(&choice, &cpus()).unwrap();
        let work = Box::new(|_, _| {});
        let run = JobRun::new(Arc::clone(&graph), work, Some(releases.clone()), true);
        let run = Arc::new(run);
        let ran = execute_within(LONG, scheduler, &run, &AtomicBool::new(false));
        assert_eq!(ran.unwrap().proof.violated, 0, "{choice}");
        for time in run.times() {
            let start_ns = releases[time.job as usize].start_ns;
            assert!(time.start_ns >= start_ns, "{choice}: {time:?}");
        }
    }
}

#[test]
fn a_job_that_panics_ends_the_run_with_a_sentence() {
    for choice in Choice::ALL {
        let graph = JobGraph::new(&[1, 2, 3], &[(0, 1), (1, 2)]).unwrap();
        let work = |weight, _| assert!(weight != 2, "out of paper");
        let jobs = Arc::new(JobRun::new(Arc::new(graph), Box::new(work), None, false));
        let scheduler = start(&choice, &cpus()).unwrap();
        let refused = execute_within(LONG, scheduler, &jobs, &AtomicBool::new(false));
        let refused = refused.unwrap_err().to_string();
        assert_eq!(refused, "job 1 panicked: out of paper", "{choice}");
    }
}

#[test]
fn a_thread_per_job_has_its_limit() {
    let graph = Arc::new(JobGraph::new(&[1; 5000], &[]).unwrap());
    let jobs = Arc::new(JobRun::new(graph, Box::new(|_, _| {}), None, false));
    let scheduler = start(&Choice::Threads, &cpus()).unwrap();
    let refused = execute_within(LONG, scheduler, &jobs, &AtomicBool::new(false));
    let Err(ExecuteError::Refused(why)) = refused else {
        panic!("{refused:?}");
    };
    assert!(why.contains("at most 4096 jobs"), "{why}");
}

#[test]
fn impossible_cpus_are_refused() {
    for choice in Choice::ALL {
        let refused = start(&choice, &CpuSet::default()).err().unwrap();
        assert_eq!(refused.to_string(), "no CPU to run on; give at least one");
        let refused = start(&choice, &[8191].into_iter().collect()).err().unwrap();
        assert!(refused.to_string().contains("CPU 8191"), "{refused}");
    }
}

/// A worker does one thing at a time: what it did between jobs lies between its jobs.
#[test]
fn a_traced_worker_is_in_a_job_or_without_one() {
    let graph = Arc::new(random(400, 3, 1));
    let run = || {
        let spin = |_, _| (0..2000).for_each(|_| std::hint::spin_loop());
        Arc::new(JobRun::new(Arc::clone(&graph), Box::new(spin), None, true))
    };
    let jobs = run();
    let stop = AtomicBool::new(false);
    let traced = start_traced(&Choice::Plimsoll, &cpus()).unwrap();
    let ran = execute_within(LONG, traced, &jobs, &stop).unwrap();
    let events = ran.scheduler.events_since(jobs.began().unwrap());
    for worker in 0..cpus().len() {
        let of_jobs = jobs
            .times()
            .into_iter()
            .filter(|time| time.worker == worker);
        let between = events.iter().filter(|event| event.worker == worker);
        let between: Vec<_> = between.map(|e| (e.start_ns, e.end_ns)).collect();
        assert!(
            !between.is_empty(),
            "worker {worker} slept when the run began"
        );
        let mut spans: Vec<_> = of_jobs.map(|time| (time.start_ns, time.end_ns)).collect();
        spans.extend(between);
        spans.sort_unstable();
        assert!(spans.iter().all(|(start, end)| start <= end), "{spans:?}");
        let apart = spans.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        assert!(apart, "worker {worker}: {spans:?}");
    }
    for untraced in [start, start_accounted] {
        let jobs = run();
        let scheduler = untraced(&Choice::Plimsoll, &cpus()).unwrap();
        let ran = execute_within(LONG, scheduler, &jobs, &stop).unwrap();
        assert_eq!(ran.scheduler.events_since(jobs.began().unwrap()), []);
    }
}

#[test]
fn accounts_are_kept_by_those_that_can_and_when_asked() {
    for choice in Choice::ALL {
        let jobs = || {
            let graph = Arc::new(JobGraph::new(&[1; 50], &[]).unwrap());
            Arc::new(JobRun::new(graph, Box::new(|_, _| {}), None, false))
        };
        let stop = AtomicBool::new(false);
        let accounted = start_accounted(&choice, &cpus()).unwrap();
        let ran = execute_within(LONG, accounted, &jobs(), &stop).unwrap();
        let workers = ran.scheduler.accounts().len();
        let can = choice == Choice::Plimsoll;
        assert_eq!(workers, if can { cpus().len() } else { 0 }, "{choice}");
        let plain = start(&choice, &cpus()).unwrap();
        let ran = execute_within(LONG, plain, &jobs(), &stop).unwrap();
        assert_eq!(ran.scheduler.accounts(), [], "{choice}");
    }
}

#[test]
fn names_are_read_back() {
    for choice in Choice::ALL {
        assert_eq!(choice.to_string().parse::<Choice>().unwrap(), choice);
    }
    let own = "./libmine.so".parse::<Choice>().unwrap();
    assert_eq!(own, Choice::Library("./libmine.so".into()));
    let refused = start(&own, &cpus()).err().unwrap().to_string();
    assert!(refused.contains("cannot open ./libmine.so"), "{refused}");
    let refused = "ryaon".parse::<Choice>().unwrap_err().to_string();
    assert!(
        refused.contains("or central-queue, or the path"),
        "{refused}"
    );
}
