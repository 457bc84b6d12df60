//! The graph scheduler on random and on hostile graphs. All assertions hold under any
//! machine load.

#![cfg(not(model_check))]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

use plimsoll_graph::{JobGraph, Jobs, Release};
use plimsoll_model::CpuSet;
use plimsoll_pool::{
    Accounting, GraphScheduler, Outcome, PoolError, SchedulerOptions, Waiting, allowed_cpus,
};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

type Action = Box<dyn Fn(u32, usize) + Send + Sync>;

/// A graph that checks how it is run.
struct Checked {
    graph: JobGraph,
    /// How often each job has ended.
    ended: Vec<AtomicU32>,
    early: AtomicU32,
    action: Action,
    releases: Option<Vec<Release>>,
    submitted: Instant,
}

impl Checked {
    fn new(graph: JobGraph, action: impl Fn(u32, usize) + Send + Sync + 'static) -> Checked {
        Checked {
            ended: graph.nodes().map(|_| AtomicU32::new(0)).collect(),
            early: AtomicU32::new(0),
            graph,
            action: Box::new(action),
            releases: None,
            submitted: Instant::now(),
        }
    }

    fn timed(mut self, start_ns: impl Fn(u32) -> u64) -> Checked {
        let release = |job| Release {
            start_ns: start_ns(job),
            deadline_ns: None,
        };
        self.releases = Some(self.graph.nodes().map(release).collect());
        self
    }

    /// The jobs that have ended, and that no job ran twice or before its time.
    #[track_caller]
    fn ran(&self) -> Vec<u32> {
        assert_eq!(self.early.load(Ordering::Relaxed), 0, "jobs ran early");
        let counts = self.ended.iter().map(|count| count.load(Ordering::Relaxed));
        let counts: Vec<u32> = counts.collect();
        assert!(counts.iter().all(|&count| count <= 1), "a job ran twice");
        let ran = self.graph.nodes().filter(|&job| counts[job as usize] == 1);
        ran.collect()
    }
}

impl Jobs for Checked {
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
        let releases = self.releases.as_ref();
        releases.map_or(Release::AT_ONCE, |r| r[job as usize])
    }

    fn run(&self, job: u32, worker: usize) {
        let since = self.submitted.elapsed().as_nanos() as u64;
        let before = self.graph.predecessors(job);
        let ready = before
            .iter()
            .all(|&p| self.ended[p as usize].load(Ordering::Relaxed) == 1);
        if !ready || since < self.release(job).start_ns {
            self.early.fetch_add(1, Ordering::Relaxed);
        }
        (self.action)(job, worker);
        self.ended[job as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// A scheduler with so many workers, which share the CPUs.
fn workers(count: usize) -> GraphScheduler {
    waiting_workers(count, SchedulerOptions::PLAIN.waiting)
}

fn waiting_workers(count: usize, waiting: Waiting) -> GraphScheduler {
    let cpus = allowed_cpus().unwrap();
    let used: CpuSet = cpus.iter().take(count).collect();
    let per_cpu = NonZeroU32::new((count / used.len()) as u32).unwrap();
    let options = SchedulerOptions {
        accounting: match count {
            2 => Accounting::Stretches,
            _ => Accounting::Off,
        },
        workers_per_cpu: per_cpu,
        waiting,
    };
    GraphScheduler::start(&used, options).unwrap()
}

/// A sequence of numbers from a seed.
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// A graph in which most jobs need a few of those shortly before.
fn random_graph(seed: u64, count: u32) -> JobGraph {
    let mut draw = random(seed);
    let mut edges = Vec::new();
    for job in 1..count {
        let near = u64::from(job.min(40));
        for _ in 0..draw(4) {
            edges.push((job - 1 - draw(near) as u32, job));
        }
    }
    JobGraph::new(&vec![1; count as usize], &edges).unwrap()
}

fn independent(count: u32) -> JobGraph {
    JobGraph::new(&vec![1; count as usize], &[]).unwrap()
}

fn chain(count: u32) -> JobGraph {
    let edges: Vec<(u32, u32)> = (1..count).map(|job| (job - 1, job)).collect();
    JobGraph::new(&vec![1; count as usize], &edges).unwrap()
}

/// 0, then `width` jobs, then one.
fn burst(width: u32) -> JobGraph {
    let inner = 1..=width;
    let edges = inner.flat_map(|job| [(0, job), (job, width + 1)]);
    let edges: Vec<(u32, u32)> = edges.collect();
    JobGraph::new(&vec![1; width as usize + 2], &edges).unwrap()
}

#[track_caller]
fn is_complete(outcome: &Outcome, jobs: &Checked) {
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(outcome.ran, jobs.count());
    assert!(jobs.ran().len() as u32 == jobs.count());
}

#[test]
fn every_job_runs_once_and_after_its_predecessors() {
    for count in [1, 2, 4, 8] {
        let scheduler = workers(count);
        for seed in 0..40 {
            let graph = random_graph(seed, 20 + 40 * seed as u32);
            let jobs = Arc::new(Checked::new(graph, |_, _| {}));
            let outcome = scheduler.run(Arc::clone(&jobs) as _);
            is_complete(&outcome, &jobs);
        }
    }
}

#[test]
fn every_waiting_policy_runs_all_jobs() {
    for waiting in Waiting::ALL {
        for count in [1, 2, 4] {
            let scheduler = waiting_workers(count, waiting);
            for seed in 0..5 {
                let jobs = Arc::new(Checked::new(random_graph(seed, 300), |_, _| {}));
                is_complete(&scheduler.run(Arc::clone(&jobs) as _), &jobs);
            }
        }
    }
}

#[test]
fn shapes_at_the_edges_run_too() {
    for count in [1, 2, 8] {
        let scheduler = workers(count);
        for graph in [
            independent(1),
            independent(100_000),
            chain(20_000),
            burst(5_000),
        ] {
            let jobs = Arc::new(Checked::new(graph, |_, _| {}));
            let outcome = scheduler.run(Arc::clone(&jobs) as _);
            is_complete(&outcome, &jobs);
        }
    }
}

#[test]
fn what_predecessors_wrote_is_visible() {
    let values: Arc<Vec<AtomicU32>> = Arc::new((0..3_000).map(|_| AtomicU32::new(0)).collect());
    let graph = random_graph(7, 3_000);
    let (own, sums) = (graph.clone(), Arc::clone(&values));
    let jobs = Arc::new(Checked::new(graph.clone(), move |job, _| {
        let above = own.predecessors(job).iter();
        let sum = above.fold(1_u32, |sum, &p| {
            sum.wrapping_add(sums[p as usize].load(Ordering::Relaxed))
        });
        sums[job as usize].store(sum, Ordering::Relaxed);
    }));
    is_complete(&workers(4).run(Arc::clone(&jobs) as _), &jobs);
    for job in graph.nodes() {
        let above = graph.predecessors(job).iter();
        let sum = above.fold(1_u32, |sum, &p| {
            sum.wrapping_add(values[p as usize].load(Ordering::Relaxed))
        });
        assert_eq!(values[job as usize].load(Ordering::Relaxed), sum);
    }
}

#[test]
fn all_workers_are_woken_for_a_burst() {
    for count in [2, 8] {
        let scheduler = workers(count);
        for _ in 0..20 {
            // Ends only if all of these run at once, each on a worker of its own.
            let all = Barrier::new(count);
            let width = count as u32;
            let jobs = Checked::new(burst(width), move |job, _| {
                if (1..=width).contains(&job) {
                    all.wait();
                }
            });
            let jobs = Arc::new(jobs);
            is_complete(&scheduler.run(Arc::clone(&jobs) as _), &jobs);
        }
    }
}

#[test]
fn all_workers_are_woken_for_timed_jobs() {
    let scheduler = workers(4);
    for starts in [[3_000_000; 4], [2_000_000, 2_500_000, 3_000_000, 3_500_000]] {
        let all = Barrier::new(4);
        let jobs = Checked::new(independent(4), move |_, _| {
            all.wait();
        });
        let jobs = Arc::new(jobs.timed(|job| starts[job as usize]));
        is_complete(&scheduler.run(Arc::clone(&jobs) as _), &jobs);
    }
}

/// The jobs that depend on `bad`, and `bad`.
fn spoiled(graph: &JobGraph, bad: u32) -> Vec<bool> {
    let mut spoiled = vec![false; graph.count() as usize];
    spoiled[bad as usize] = true;
    for job in graph.nodes() {
        let above = graph.predecessors(job).iter();
        let spoils = above.fold(false, |any, &p| any | spoiled[p as usize]);
        spoiled[job as usize] |= spoils;
    }
    spoiled
}

#[test]
fn jobs_after_a_panic_are_skipped_and_others_run() {
    for (count, seed) in [(1, 1), (2, 2), (8, 3)] {
        let graph = random_graph(seed, 400);
        let bad = 50;
        let spoiled = spoiled(&graph, bad);
        let jobs = Arc::new(Checked::new(graph, move |job, _| {
            assert!(job != bad, "as the test asks");
        }));
        let outcome = workers(count).run(Arc::clone(&jobs) as _);
        let expected: Vec<u32> = (0..400).filter(|&job| !spoiled[job as usize]).collect();
        assert_eq!(jobs.ran(), expected);
        assert_eq!((outcome.panicked, outcome.panics.len()), (1, 1));
        assert_eq!(outcome.panics[0].job, Some(bad));
        assert!(outcome.panics[0].message.contains("as the test asks"));
        assert_eq!(outcome.ran, expected.len() as u32);
        assert_eq!(outcome.skipped, 400 - 1 - outcome.ran);
        assert_eq!(outcome.cancelled, 0);
    }
}

#[test]
fn many_panics_are_counted_and_few_are_kept() {
    let jobs = Arc::new(Checked::new(independent(100), |job, _| {
        assert!(job % 2 == 0, "odd");
    }));
    let scheduler = workers(2);
    let outcome = scheduler.run(Arc::clone(&jobs) as _);
    assert_eq!((outcome.ran, outcome.panicked), (50, 50));
    assert_eq!(outcome.panics.len(), 16);
    assert!(!outcome.is_complete());
    let next = Arc::new(Checked::new(independent(100), |_, _| {}));
    is_complete(&scheduler.run(Arc::clone(&next) as _), &next);
}

#[test]
fn a_cancelled_graph_ends_and_what_runs_completes() {
    for count in [1, 4] {
        let scheduler = workers(count);
        let (begun, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let (first, second) = (Arc::clone(&begun), Arc::clone(&go_on));
        let hour_ns = 3_600_000_000_000;
        let jobs = Checked::new(chain(1_000), move |job, _| {
            if job == 300 {
                first.wait();
                second.wait();
            }
        });
        let jobs = Arc::new(jobs.timed(|job| if job > 600 { hour_ns } else { 0 }));
        let handle = scheduler.submit(Arc::clone(&jobs) as _);
        begun.wait();
        handle.cancel();
        go_on.wait();
        let outcome = handle.wait();
        assert_eq!(jobs.ran(), (0..=300).collect::<Vec<u32>>());
        assert_eq!((outcome.ran, outcome.cancelled), (301, 699));
    }
}

#[test]
fn a_graph_ends_whenever_it_is_cancelled() {
    for count in [1, 2, 8] {
        let scheduler = workers(count);
        for seed in 0..60 {
            let mut draw = random(seed);
            let starts: Vec<u64> = (0..600).map(|_| draw(3) * draw(400_000)).collect();
            let jobs = Checked::new(random_graph(seed, 600), |_, _| {});
            let jobs = Arc::new(jobs.timed(|job| starts[job as usize]));
            let mut handle = scheduler.submit(Arc::clone(&jobs) as _);
            let enough = draw(500) as u32;
            while handle.progress().ended < enough {
                std::thread::yield_now();
            }
            handle.cancel();
            let outcome = handle.wait();
            let ran = jobs.ran();
            assert_eq!(outcome.ran as usize, ran.len());
            assert_eq!(outcome.ran + outcome.cancelled, 600);
            assert!(outcome.ran >= enough && outcome.skipped == 0);
        }
    }
}

#[test]
fn jobs_that_wait_for_their_time_are_cancelled_at_once() {
    let scheduler = workers(2);
    let hour_ns = 3_600_000_000_000;
    let jobs = Checked::new(independent(5_000), |_, _| {});
    let jobs = Arc::new(jobs.timed(|job| hour_ns + u64::from(job)));
    let handle = scheduler.submit(Arc::clone(&jobs) as _);
    assert_eq!(handle.wait_at_most(Duration::from_millis(2)), None);
    handle.cancel();
    assert_eq!(handle.wait().cancelled, 5_000);
    assert!(jobs.ran().is_empty());
}

#[test]
fn a_stuck_job_is_reported_and_the_rest_ends() {
    let scheduler = workers(2);
    let stuck = Arc::new(AtomicBool::new(true));
    let holds = Arc::clone(&stuck);
    let jobs = Arc::new(Checked::new(independent(1_000), move |job, _| {
        while job == 500 && holds.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }));
    let mut handle = scheduler.submit(Arc::clone(&jobs) as _);
    while handle.progress().ended < 999 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let progress = handle.progress();
    assert_eq!((progress.ended, progress.count), (999, 1_000));
    let later = handle.progress();
    let job = later.running.iter().find(|running| running.job == 500);
    assert!(job.unwrap().at_least > Duration::ZERO);
    let other = Arc::new(Checked::new(random_graph(1, 500), |_, _| {}));
    is_complete(&scheduler.run(Arc::clone(&other) as _), &other);
    assert_eq!(handle.wait_at_most(Duration::ZERO), None);
    stuck.store(false, Ordering::Relaxed);
    is_complete(&handle.wait(), &jobs);
}

#[test]
fn dropping_the_scheduler_ends_its_graphs() {
    let scheduler = workers(2);
    let (begun, go_on) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
    let (first, second) = (Arc::clone(&begun), Arc::clone(&go_on));
    let jobs = Arc::new(Checked::new(chain(100), move |job, _| {
        if job == 40 {
            first.wait();
            while !second.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        }
    }));
    let handle = scheduler.submit(Arc::clone(&jobs) as _);
    let never = Checked::new(independent(10), |_, _| {}).timed(|_| u64::MAX);
    let waiting = scheduler.submit(Arc::new(never) as _);
    begun.wait();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(2));
            go_on.store(true, Ordering::Relaxed);
        });
        drop(scheduler);
    });
    let outcome = handle.wait();
    // The stop may come before or after the end of job 40.
    let ran = jobs.ran();
    assert_eq!(outcome.ran as usize, ran.len());
    assert!((41..=100).contains(&outcome.ran));
    assert_eq!(outcome.cancelled, 100 - outcome.ran);
    assert_eq!(waiting.wait().cancelled, 10);
}

#[test]
fn graphs_run_side_by_side() {
    for count in [1, 2, 8] {
        let scheduler = workers(count);
        let all: Vec<Arc<Checked>> = (0..12)
            .map(|seed| Arc::new(Checked::new(random_graph(seed, 2_000), |_, _| {})))
            .collect();
        let handles: Vec<_> = all
            .iter()
            .map(|jobs| scheduler.submit(Arc::clone(jobs) as _))
            .collect();
        for (handle, jobs) in handles.into_iter().zip(&all) {
            is_complete(&handle.wait(), jobs);
        }
    }
}

#[test]
fn timed_jobs_do_not_start_before_their_time() {
    for count in [1, 2, 8] {
        let scheduler = workers(count);
        for graph in [independent(3_000), chain(50), random_graph(3, 800)] {
            let jobs = Checked::new(graph, |_, _| {});
            let jobs = jobs.timed(|job| u64::from(job / 10) * 50_000);
            let jobs = Arc::new(jobs);
            is_complete(&scheduler.run(Arc::clone(&jobs) as _), &jobs);
        }
    }
}

#[test]
fn missed_deadlines_are_counted() {
    let mut jobs = Checked::new(independent(10), |_, _| {
        std::thread::sleep(Duration::from_micros(10));
    });
    let hour_ns = 3_600_000_000_000;
    let deadline = |job| Release {
        start_ns: 0,
        deadline_ns: Some(if job < 4 { 0 } else { hour_ns }),
    };
    jobs.releases = Some((0..10).map(deadline).collect());
    let jobs = Arc::new(jobs);
    let outcome = workers(2).run(Arc::clone(&jobs) as _);
    is_complete(&outcome, &jobs);
    assert_eq!(outcome.deadlines_missed, 4);
}

/// Says that job 0 is needed by a job that there is not.
struct Contradictory;

impl Jobs for Contradictory {
    fn count(&self) -> u32 {
        2
    }

    fn predecessors(&self, job: u32) -> u32 {
        2 * job
    }

    fn successors(&self, _: u32) -> &[u32] {
        &[1, 1, 9]
    }

    fn run(&self, _: u32, _: usize) {}
}

#[test]
fn a_graph_that_contradicts_itself_ends() {
    let scheduler = workers(2);
    let outcome = scheduler.run(Arc::new(Contradictory));
    assert!(outcome.panics.iter().any(|panic| panic.job.is_none()));
    let next = Arc::new(Checked::new(random_graph(1, 100), |_, _| {}));
    is_complete(&scheduler.run(Arc::clone(&next) as _), &next);
}

#[test]
fn accounts_are_closed() {
    let scheduler = workers(2);
    let jobs = Arc::new(Checked::new(independent(1_000), |_, _| {}));
    is_complete(&scheduler.run(Arc::clone(&jobs) as _), &jobs);
    let times = scheduler.accounts();
    assert_eq!(times.len(), 2);
    assert!(times.iter().any(|time| time.work > Duration::ZERO));
    assert!(workers(1).accounts().is_empty(), "not asked for");
}

#[test]
fn no_worker_and_no_job() {
    let none = GraphScheduler::start(&CpuSet::default(), SchedulerOptions::PLAIN);
    assert!(matches!(none, Err(PoolError::NoCpu)));
    let cpus = [0, 8000].into_iter().collect();
    let far = GraphScheduler::start(&cpus, SchedulerOptions::PLAIN);
    assert!(matches!(far, Err(PoolError::Pin { cpu: 8000, .. })));
    let scheduler = workers(2);
    assert_eq!(scheduler.thread_ids().len(), 2);
    drop(scheduler);
}
