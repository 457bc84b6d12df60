//! A graph with work in its nodes, which checks the scheduler that runs it.

use crate::proof::{EARLY, NOT_RUN, Proof, Violation, reference, value};
use plimsoll_graph::{JobGraph, Jobs, Release};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// What a node does, given its weight and the index of the worker.
pub type NodeWork = Box<dyn Fn(u32, usize) + Send + Sync>;

/// How many jobs [`JobRun::ended`] looks at.
const SAMPLED: usize = 4096;

/// One run of a graph.
///
/// A job first reads the values of its predecessors, then does its work, then swaps
/// its own value into its slot. A predecessor without a value shows an early start,
/// a value that is there already shows a second run, and [`JobRun::verify`] finds the
/// lost jobs and compares all values with those of a run in order. A job that has an
/// earliest start reads the clock for it.
///
/// The slots are read and written without ordering (`Relaxed`): that what happened in
/// a predecessor is visible is the scheduler's duty, and the proof must not do it in
/// its place.
///
/// What it cannot see: a scheduler that starts a job too early, in a run where the
/// predecessors happened to have ended by then. In that run the order was right.
pub struct JobRun {
    graph: Arc<JobGraph>,
    work: Arc<dyn Fn(u32, usize) + Send + Sync>,
    releases: Option<Arc<[Release]>>,
    reference: Arc<OnceLock<Vec<u64>>>,
    began: OnceLock<Instant>,
    /// The value of each job that has ended.
    values: Vec<AtomicU64>,
    /// Start, end and worker of each job, if they are wanted.
    times: Option<Vec<[AtomicU64; 3]>>,
    /// What the values cannot show afterwards: second runs, jobs that ran before their
    /// start, and jobs that do not exist.
    seen: Mutex<Proof>,
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
        JobRun {
            values: slots(&graph),
            times: timed.then(|| slots(&graph)),
            graph,
            work: work.into(),
            releases: releases.map(Into::into),
            reference: Arc::default(),
            began: OnceLock::new(),
            seen: Mutex::default(),
        }
    }

    /// The same once more: a run that has not begun, of the same graph, work and
    /// releases. It shares what [`JobRun::verify`] has computed for the graph.
    pub fn again(&self) -> JobRun {
        JobRun {
            graph: Arc::clone(&self.graph),
            work: Arc::clone(&self.work),
            releases: self.releases.clone(),
            reference: Arc::clone(&self.reference),
            began: OnceLock::new(),
            values: slots(&self.graph),
            times: self.times.as_ref().map(|_| slots(&self.graph)),
            seen: Mutex::default(),
        }
    }

    /// The graph.
    pub fn graph(&self) -> &JobGraph {
        &self.graph
    }

    /// Starts the clock of the run; the first job does that if nobody has. Whether it
    /// had not been started before.
    pub fn begin(&self) -> bool {
        self.began.set(Instant::now()).is_ok()
    }

    /// When the clock of the run was started, if it was.
    pub fn began(&self) -> Option<Instant> {
        self.began.get().copied()
    }

    /// About how many jobs have ended so far, from a sample of them. Exact for up to
    /// 4096 jobs; constant time.
    pub fn ended(&self) -> u64 {
        let step = self.values.len().div_ceil(SAMPLED).max(1);
        let sample = self.values.iter().step_by(step);
        let all = self.values.len() as u64;
        let (looked_at, ended) = (sample.len() as u64, count(sample));
        ended * all / looked_at.max(1)
    }

    /// How many jobs have ended so far, in time that grows with the graph.
    pub(crate) fn ended_exactly(&self) -> u64 {
        count(self.values.iter())
    }

    /// The longest time in nanoseconds in which no job may start.
    pub(crate) fn longest_pause_ns(&self) -> u64 {
        let releases = self.releases.iter().flat_map(|all| all.iter());
        let mut starts: Vec<u64> = releases.map(|release| release.start_ns).collect();
        starts.push(0);
        starts.sort_unstable();
        let pauses = starts.windows(2).map(|pair| pair[1] - pair[0]);
        pauses.max().unwrap_or(0)
    }

    /// What the run proved, once the scheduler has returned.
    pub fn verify(&self) -> Proof {
        let mut proof = self.lock_seen().clone();
        let values: Vec<u64> = self.values.iter().map(read).collect();
        let reference = self.reference.get_or_init(|| reference(&self.graph));
        proof.check(&self.graph, &values, reference);
        proof
    }

    /// When the jobs ran, if it was timed: one entry for each that has ended, by job.
    pub fn times(&self) -> Vec<JobTime> {
        let times = self.times.iter().flatten().zip(&self.values).enumerate();
        let ended = times.filter(|(_, (_, value))| read(value) != NOT_RUN);
        ended
            .map(|(job, (slots, _))| {
                let [start_ns, end_ns, worker] = slots.each_ref().map(read);
                JobTime {
                    job: job as u32,
                    worker: worker as usize,
                    start_ns,
                    end_ns,
                }
            })
            .collect()
    }

    /// The time, if the job is timed or has an earliest start.
    fn time_if_needed(&self, job: u32) -> Option<u64> {
        let start_ns = self.release(job).start_ns;
        let now_ns = (self.times.is_some() || start_ns > 0).then(|| self.now_ns());
        if now_ns.is_some_and(|now_ns| now_ns < start_ns) {
            self.lock_seen().add(Violation::BeforeStart { job });
        }
        now_ns
    }

    fn lock_seen(&self) -> std::sync::MutexGuard<'_, Proof> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        self.began.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// One empty slot a node, written so that no page is faulted in during the run.
fn slots<T: Default>(graph: &JobGraph) -> Vec<T> {
    graph.nodes().map(|_| T::default()).collect()
}

fn read(slot: &AtomicU64) -> u64 {
    slot.load(Ordering::Relaxed)
}

fn count<'a>(values: impl Iterator<Item = &'a AtomicU64>) -> u64 {
    values.filter(|value| read(value) != NOT_RUN).count() as u64
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
        let Some(slot) = self.values.get(job as usize) else {
            self.lock_seen().add(Violation::NoSuchJob { job });
            return;
        };
        // Before the work: a predecessor that ends during it is too late.
        let of = |predecessor: u32| read(&self.values[predecessor as usize]);
        let value = value(job, self.graph.predecessors(job), of).unwrap_or(EARLY);
        let began_ns = self.time_if_needed(job);
        (self.work)(self.graph.weight(job), worker);
        if let (Some(times), Some(began_ns)) = (&self.times, began_ns) {
            let written = [began_ns, self.now_ns(), worker as u64];
            for (slot, value) in times[job as usize].iter().zip(written) {
                slot.store(value, Ordering::Relaxed);
            }
        }
        let before = slot.swap(value, Ordering::Relaxed);
        if before != NOT_RUN {
            // What the first run showed is kept.
            slot.store(before, Ordering::Relaxed);
            self.lock_seen().add(Violation::RanTwice { job });
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(edges: &[(u32, u32)], timed: bool) -> JobRun {
        let graph = JobGraph::new(&[1, 2, 3, 4], edges).unwrap();
        JobRun::new(Arc::new(graph), Box::new(|_, _| {}), None, timed)
    }

    #[test]
    fn a_run_in_order_proves_all() {
        let run = run_of(&[(0, 1), (0, 2), (1, 3), (2, 3)], true);
        for (job, worker) in [(0, 1), (2, 0), (1, 1), (3, 0)] {
            run.run(job, worker);
        }
        assert_eq!(run.ended(), 4);
        let proof = run.verify();
        assert_eq!((proof.nodes_checked, proof.violated), (4, 0));
        let times = run.times();
        let workers: Vec<usize> = times.iter().map(|time| time.worker).collect();
        assert_eq!(workers, [1, 1, 0, 0]);
        assert!(times.iter().all(|time| time.start_ns <= time.end_ns));
    }

    #[test]
    fn only_jobs_that_ended_have_times() {
        let run = run_of(&[], true);
        run.run(2, 0);
        let jobs: Vec<u32> = run.times().iter().map(|time| time.job).collect();
        assert_eq!(jobs, [2]);
        assert_eq!(run.again().times(), []);
    }

    #[test]
    fn a_run_is_repeated_with_a_clean_sheet() {
        let run = run_of(&[], false);
        run.run(0, 0);
        run.run(0, 0);
        assert_eq!(run.verify().violated, 4, "one ran twice, three are lost");
        let again = run.again();
        assert_eq!(again.ended(), 0);
        (0..4).for_each(|job| again.run(job, 0));
        assert_eq!(again.verify().violated, 0);
    }

    #[test]
    fn ended_estimates_large_graphs() {
        let graph = Arc::new(JobGraph::new(&[1; 100_000], &[]).unwrap());
        let run = JobRun::new(graph, Box::new(|_, _| {}), None, false);
        (0..50_000).for_each(|job| run.run(job, 0));
        assert!((49_900..=50_100).contains(&run.ended()), "{}", run.ended());
        assert_eq!(run.ended_exactly(), 50_000);
    }

    #[test]
    fn the_longest_pause_is_between_starts() {
        let graph = Arc::new(JobGraph::new(&[1; 3], &[]).unwrap());
        let at = |start_ns| Release {
            start_ns,
            deadline_ns: None,
        };
        let releases = Some(vec![at(700), at(200), at(900)]);
        let run = JobRun::new(graph, Box::new(|_, _| {}), releases, false);
        assert_eq!(run.longest_pause_ns(), 500);
        assert_eq!(run_of(&[], false).longest_pause_ns(), 0);
    }
}
