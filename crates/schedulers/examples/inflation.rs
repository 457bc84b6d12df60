//! Why a job takes longer in a run than the calibration says: the same kernel in the
//! calibration, in plain pinned threads and in schedulers, in turns.
//!
//! ```sh
//! cargo run --release -p plimsoll-schedulers --example inflation [TURNS]
//! ```
//! All are relative to the median of the calibration's samples in the same turn, and
//! the median of the turns counts. The mean of the jobs is split: what the median job
//! takes more, and what the jobs take beyond the median one, by how much longer each is.
//! *Without CPU* is wall time of the workers in which the kernel counts no CPU time for
//! this process (steal, other processes); it includes idle workers. *calibration* is the
//! mean of the calibration's own samples, which efficiency is relative to.

#![allow(clippy::print_stdout, reason = "its output")]

use plimsoll_graph::{JobGraph, Jobs};
use plimsoll_model::CpuSet;
use plimsoll_schedulers::{
    Calibration, Choice, JobRun, Kernel, Neighbours, Scheduler, Work, calibrate, execute, start,
};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

type Failure = Box<dyn Error>;

const TURNS: usize = 25;
const GRAINS_US: [u64; 4] = [20, 200, 2000, 8000];
/// How long each way takes in a turn.
const LENGTH: Duration = Duration::from_millis(80);
const SCHEDULERS: [Choice; 3] = [Choice::Plimsoll, Choice::Rayon, Choice::CentralQueue];

/// What one way did in one turn, in units of the length of a job.
struct Seen {
    median: f64,
    mean: f64,
    /// Of jobs that are up to 20 us, up to 1 ms, and more longer than the median.
    beyond: [f64; 3],
    without_cpu: f64,
}

struct Ways {
    cpus: CpuSet,
    work: Arc<Work>,
    calibration: Calibration,
    grain: Duration,
    jobs: u32,
}

fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

impl Ways {
    fn jobs(&self) -> Result<JobRun, Failure> {
        let graph = Arc::new(JobGraph::new(&vec![1; self.jobs as usize], &[])?);
        let work = Arc::clone(&self.work).node_work(self.calibration, self.grain);
        Ok(JobRun::new(graph, work, None, true))
    }

    /// `each(worker)` on a pinned thread for each CPU; what they return together.
    fn on_threads(&self, each: impl Fn(usize) -> Vec<u64> + Sync) -> Vec<u64> {
        let ready = Barrier::new(self.cpus.len());
        let body = |worker: usize, cpu| {
            let _ = plimsoll_pool::pin_this_thread(cpu);
            ready.wait();
            each(worker)
        };
        std::thread::scope(|scope| {
            let body = &body;
            let start = |(worker, cpu)| scope.spawn(move || body(worker, cpu));
            let threads: Vec<_> = self.cpus.iter().enumerate().map(start).collect();
            let ended = threads.into_iter().filter_map(|t| t.join().ok());
            ended.flatten().collect()
        })
    }

    /// The kernel by itself, timed as the calibration does.
    fn bare(&self) -> Vec<u64> {
        let rounds = self.calibration.rounds_in(self.grain).round() as u64;
        let share = self.jobs / self.cpus.len() as u32;
        self.on_threads(|worker| {
            let one = |_| {
                let began = Instant::now();
                self.work.run(rounds, worker);
                began.elapsed().as_nanos() as u64
            };
            (0..share).map(one).collect()
        })
    }

    /// Jobs with their proof and their clock reads, one after the other.
    fn proved(&self) -> Result<Vec<u64>, Failure> {
        let run = self.jobs()?;
        run.begin();
        self.on_threads(|worker| {
            let mine = (worker as u32..self.jobs).step_by(self.cpus.len());
            mine.for_each(|job| run.run(job, worker));
            Vec::new()
        });
        Ok(took(&run))
    }

    fn scheduled(&self, taken: &mut Option<Box<dyn Scheduler>>) -> Result<Vec<u64>, Failure> {
        let run = Arc::new(self.jobs()?);
        let scheduler = taken.take().ok_or("its scheduler failed before")?;
        *taken = Some(execute(scheduler, &run, &AtomicBool::new(false))?.scheduler);
        Ok(took(&run))
    }

    fn seen(&self, way: impl FnOnce() -> Result<Vec<u64>, Failure>) -> Result<Seen, Failure> {
        let (began, cpu_before) = (Instant::now(), cpu_time());
        let mut took = way()?;
        let wall = began.elapsed().as_nanos() as f64 * self.cpus.len() as f64;
        let without_cpu = 1.0 - (cpu_time() - cpu_before) / wall;
        took.sort_unstable();
        let median = took[took.len() / 2];
        let (grain, count) = (self.grain.as_nanos() as f64, took.len() as f64);
        let mut beyond = [0.0; 3];
        for ns in &took {
            let more = *ns as f64 - median as f64;
            let class = usize::from(more > 20e3) + usize::from(more > 1e6);
            beyond[class] += more / grain / count;
        }
        Ok(Seen {
            median: median as f64 / grain,
            mean: took.iter().sum::<u64>() as f64 / count / grain,
            beyond,
            without_cpu,
        })
    }
}

fn took(run: &JobRun) -> Vec<u64> {
    let times = run.times().into_iter();
    times.map(|time| time.end_ns - time.start_ns).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// With the middle 95 % of what the median of so many values may be, by the binomial
/// distribution.
fn interval(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let reach = (0.5 * n - 0.98 * n.sqrt()).floor().max(0.0) as usize;
    let last = values.len() - 1;
    (
        values[last / 2],
        values[reach],
        values[last - reach.min(last)],
    )
}

fn main() -> Result<(), Failure> {
    let cpus = plimsoll_pool::allowed_cpus()?;
    let turns = std::env::args()
        .nth(1)
        .map_or(Ok(TURNS), |text| text.parse())?;
    let work = Arc::new(Work::new(Kernel::Compute, cpus.len()));
    println!("{turns} turns on CPUs {cpus}, relative to the calibration's median");
    println!(
        "{:7} {:15} {:>7} {:>23} {:>7} {:>7} {:>7} {:>8}",
        "job us", "way", "median", "mean (95 %)", "<20us", "<1ms", "more", "no CPU %"
    );
    for grain_us in GRAINS_US {
        let grain = Duration::from_micros(grain_us);
        measure(&cpus, &work, grain, turns)?;
    }
    Ok(())
}

fn measure(cpus: &CpuSet, work: &Arc<Work>, grain: Duration, turns: usize) -> Result<(), Failure> {
    let length = LENGTH.as_nanos() as f64 * cpus.len() as f64;
    let jobs = (length / grain.as_nanos() as f64).ceil() as u32;
    let names = ["calibration", "bare", "proved"]
        .map(str::to_owned)
        .into_iter();
    let names: Vec<String> = names
        .chain(SCHEDULERS.iter().map(ToString::to_string))
        .collect();
    let mut seen: Vec<Vec<Seen>> = names.iter().map(|_| Vec::new()).collect();
    for turn in 0..turns {
        let calibration = calibrate(work, cpus, Neighbours::Busy)?;
        let ways = Ways {
            cpus: cpus.clone(),
            work: Arc::clone(work),
            calibration,
            grain,
            jobs: jobs.next_multiple_of(cpus.len() as u32),
        };
        for place in 0..names.len() {
            let way = (place + turn) % names.len();
            let one = match way {
                0 => Ok(Seen {
                    median: 1.0,
                    mean: calibration.interruption_ratio,
                    beyond: [0.0; 3],
                    without_cpu: 0.0,
                }),
                1 => ways.seen(|| Ok(ways.bare())),
                2 => ways.seen(|| ways.proved()),
                way => {
                    // One at a time, so that no idle worker of another spins.
                    let mut scheduler = Some(start(&SCHEDULERS[way - 3], cpus)?);
                    ways.seen(|| ways.scheduled(&mut scheduler))
                }
            };
            seen[way].push(one?);
        }
    }
    for (name, seen) in names.iter().zip(&seen) {
        let of = |figure: fn(&Seen) -> f64| median(seen.iter().map(figure).collect());
        let mean =
            |figure: fn(&Seen) -> f64| seen.iter().map(figure).sum::<f64>() / seen.len() as f64;
        let (value, low, high) = interval(seen.iter().map(|s| s.mean).collect());
        println!(
            "{:7} {name:15} {:7.4} {value:7.4} ({low:.4}..{high:.4}) {:7.4} {:7.4} {:7.4} {:8.1}",
            grain.as_micros(),
            of(|s| s.median),
            mean(|s| s.beyond[0]),
            mean(|s| s.beyond[1]),
            mean(|s| s.beyond[2]),
            100.0 * of(|s| s.without_cpu),
        );
    }
    Ok(())
}
