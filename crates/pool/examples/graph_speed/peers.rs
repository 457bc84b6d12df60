//! The schedulers, and the load that they run.

use plimsoll_graph::{JobGraph, Jobs, Release};
use plimsoll_pool::{Accounting, GraphScheduler, SchedulerOptions, allowed_cpus, pin_this_thread};
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A graph whose jobs all compute for `rounds`.
pub(crate) struct Load {
    pub(crate) graph: JobGraph,
    pub(crate) rounds: u64,
    /// When all jobs may start, in nanoseconds after the submission. Only ours heeds it.
    pub(crate) start_ns: u64,
    /// Nanoseconds in jobs, and the first start and the last end, if they are kept.
    pub(crate) times: Option<Times>,
}

impl Jobs for Load {
    fn count(&self) -> u32 {
        self.graph.count()
    }

    fn predecessors(&self, job: u32) -> u32 {
        self.graph.predecessors(job).len() as u32
    }

    fn successors(&self, job: u32) -> &[u32] {
        self.graph.successors(job)
    }

    fn release(&self, _: u32) -> Release {
        Release {
            start_ns: self.start_ns,
            deadline_ns: None,
        }
    }

    fn run(&self, job: u32, _: usize) {
        match &self.times {
            None => compute(self.rounds, job),
            Some(times) => {
                let begun_ns = times.now_ns();
                compute(self.rounds, job);
                times.note(begun_ns);
            }
        }
    }
}

/// When jobs ran, in nanoseconds since `epoch`.
pub(crate) struct Times {
    pub(crate) epoch: Instant,
    pub(crate) in_jobs: AtomicU64,
    pub(crate) first: AtomicU64,
    pub(crate) last: AtomicU64,
}

impl Times {
    pub(crate) fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    fn note(&self, begun_ns: u64) {
        let ended_ns = self.now_ns();
        self.in_jobs
            .fetch_add(ended_ns - begun_ns, Ordering::Relaxed);
        self.first.fetch_min(begun_ns, Ordering::Relaxed);
        self.last.fetch_max(ended_ns, Ordering::Relaxed);
    }
}

fn compute(rounds: u64, seed: u32) {
    let mut value = u64::from(seed);
    for _ in 0..rounds {
        value = black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (value >> 29));
    }
}

/// How many seconds a round takes.
pub(crate) fn calibrate() -> f64 {
    let once = || {
        let began = Instant::now();
        compute(200_000, 1);
        began.elapsed().as_secs_f64() / 200_000.0
    };
    (0..50).map(|_| once()).fold(f64::INFINITY, f64::min)
}

pub(crate) fn independent(count: u32) -> Result<JobGraph, Box<dyn Error>> {
    Ok(JobGraph::new(&vec![1; count as usize], &[])?)
}

/// Rows of `width` jobs; each needs the three nearest of the row before.
pub(crate) fn stencil(width: u32, steps: u32) -> Result<JobGraph, Box<dyn Error>> {
    let mut edges = Vec::new();
    for step in 1..steps {
        for at in 0..width {
            for near in [at + width - 1, at, at + 1] {
                edges.push(((step - 1) * width + near % width, step * width + at));
            }
        }
    }
    Ok(JobGraph::new(&vec![1; (width * steps) as usize], &edges)?)
}

/// One of the schedulers that are compared.
pub(crate) enum Peer {
    Ours(GraphScheduler),
    Rayon(rayon_core::ThreadPool),
    Tokio(tokio::runtime::Runtime),
}

impl Peer {
    pub(crate) fn all(accounting: Accounting) -> Result<Vec<(&'static str, Peer)>, Box<dyn Error>> {
        let cpus = allowed_cpus()?;
        let list: Vec<u32> = cpus.iter().collect();
        let options = SchedulerOptions {
            accounting,
            ..SchedulerOptions::PLAIN
        };
        let (for_rayon, for_tokio) = (list.clone(), list.clone());
        let next = AtomicUsize::new(0);
        let rayon = rayon_core::ThreadPoolBuilder::new()
            .num_threads(list.len())
            .start_handler(move |index| {
                let _ = pin_this_thread(for_rayon[index]);
            })
            .build()?;
        let tokio = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(list.len())
            .on_thread_start(move || {
                let index = next.fetch_add(1, Ordering::Relaxed) % for_tokio.len();
                let _ = pin_this_thread(for_tokio[index]);
            })
            .build()?;
        Ok(vec![
            ("ours", Peer::Ours(GraphScheduler::start(&cpus, options)?)),
            ("rayon", Peer::Rayon(rayon)),
            ("tokio", Peer::Tokio(tokio)),
        ])
    }

    /// From the submission to the end of the last job.
    pub(crate) fn time(&self, load: &Arc<Load>) -> Duration {
        let began = Instant::now();
        match self {
            Peer::Ours(scheduler) => {
                scheduler.run(Arc::clone(load) as _);
            }
            Peer::Rayon(pool) => run_on_rayon(pool, load),
            Peer::Tokio(runtime) => run_on_tokio(runtime, load),
        }
        began.elapsed()
    }
}

fn counters(load: &Load) -> Vec<AtomicU32> {
    let predecessors = |job| AtomicU32::new(load.predecessors(job));
    load.graph.nodes().map(predecessors).collect()
}

/// The successors of `job` that it makes ready.
fn ready<'a>(load: &'a Load, left: &'a [AtomicU32], job: u32) -> impl Iterator<Item = u32> + 'a {
    let all = load.successors(job).iter().copied();
    all.filter(|&s| left[s as usize].fetch_sub(1, Ordering::AcqRel) == 1)
}

fn run_on_rayon(pool: &rayon_core::ThreadPool, load: &Load) {
    fn spawn<'s>(scope: &rayon_core::Scope<'s>, load: &'s Load, left: &'s [AtomicU32], job: u32) {
        scope.spawn(move |scope| {
            load.run(job, 0);
            ready(load, left, job).for_each(|next| spawn(scope, load, left, next));
        });
    }
    let left = counters(load);
    pool.scope(|scope| {
        let roots = load
            .graph
            .nodes()
            .filter(|&job| load.predecessors(job) == 0);
        roots.for_each(|job| spawn(scope, load, &left, job));
    });
}

fn run_on_tokio(runtime: &tokio::runtime::Runtime, load: &Arc<Load>) {
    struct State {
        load: Arc<Load>,
        left: Vec<AtomicU32>,
        open: AtomicU64,
        done: std::sync::mpsc::SyncSender<()>,
    }
    fn spawn(state: &Arc<State>, job: u32) {
        let state = Arc::clone(state);
        tokio::spawn(async move {
            state.load.run(job, 0);
            ready(&state.load, &state.left, job).for_each(|next| spawn(&state, next));
            if state.open.fetch_sub(1, Ordering::AcqRel) == 1 {
                let _ = state.done.send(());
            }
        });
    }
    let (done, end) = std::sync::mpsc::sync_channel(1);
    let state = Arc::new(State {
        load: Arc::clone(load),
        left: counters(load),
        open: AtomicU64::new(u64::from(load.count())),
        done,
    });
    // From a task, so that spawning takes the way of a worker and not of a stranger.
    runtime.spawn(async move {
        let roots = state.load.graph.nodes();
        let roots = roots.filter(|&job| state.load.predecessors(job) == 0);
        roots.for_each(|job| spawn(&state, job));
    });
    let _ = end.recv();
}
