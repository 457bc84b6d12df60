//! Speed of the graph scheduler beside rayon's `scope.spawn` and tokio's `spawn`, interleaved in
//! one process on the same pinned CPUs.
//!
//! ```sh
//! cargo run --release -p plimsoll-pool --example graph_speed -- grain 15
//! ```
//!
//! Measurements: `floor`, `grain`, `peak`, `startup`, `idle`, `account`; the number is how often
//! each is repeated. Minimum and median are printed: other load on the machine only adds time.

#![allow(clippy::print_stdout, reason = "an example that prints tables")]

mod peers;

use peers::{Load, Peer, Times, calibrate, independent, stencil};
use plimsoll_graph::JobGraph;
use plimsoll_pool::{Accounting, allowed_cpus};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "floor".to_owned());
    let repeats = arguments.next().map_or(Ok(15), |text| text.parse())?;
    match what.as_str() {
        "floor" => floor(repeats),
        "grain" => grain(repeats),
        "peak" => peak(repeats),
        "startup" => startup(repeats),
        "idle" => idle(repeats),
        "account" => account(repeats),
        other => Err(format!("nothing is called {other:?}").into()),
    }
}

/// Minimum and median.
struct Summary {
    least: f64,
    median: f64,
}

impl Summary {
    fn of(mut values: Vec<f64>) -> Summary {
        values.sort_by(f64::total_cmp);
        Summary {
            least: values[0],
            median: values[values.len() / 2],
        }
    }
}

fn workers() -> Result<f64, Box<dyn Error>> {
    Ok(allowed_cpus()?.len() as f64)
}

/// Nanoseconds of a worker per job, for each peer: run time times workers over jobs.
fn per_job(
    peers: &[(&'static str, Peer)],
    load: &Arc<Load>,
    repeats: usize,
) -> Result<Vec<Summary>, Box<dyn Error>> {
    let mut times = vec![Vec::new(); peers.len()];
    for round in 0..repeats {
        for turn in 0..peers.len() {
            let at = (round + turn) % peers.len();
            let ns = peers[at].1.time(load).as_nanos() as f64;
            times[at].push(ns * workers()? / f64::from(load.graph.count()));
        }
    }
    Ok(times.into_iter().map(Summary::of).collect())
}

fn load(graph: JobGraph, grain_ns: f64, ns_per_round: f64) -> Arc<Load> {
    Arc::new(Load {
        graph,
        rounds: (grain_ns / ns_per_round).round() as u64,
        start_ns: 0,
        times: None,
    })
}

/// Empty jobs.
fn floor(repeats: usize) -> Result<(), Box<dyn Error>> {
    let peers = Peer::all(Accounting::Off)?;
    let graphs = [
        ("independent", independent(4_000)?),
        ("independent, many", independent(200_000)?),
        ("3 dependencies, width 16", stencil(16, 250)?),
    ];
    let workers = workers()?;
    println!("ns of a worker per empty job");
    for (name, graph) in graphs {
        let load = load(graph, 0.0, 1.0);
        for ((peer, _), ns) in peers.iter().zip(per_job(&peers, &load, repeats)?) {
            println!(
                "{name:26} {peer:6} least {:7.1} median {:7.1}",
                ns.least, ns.median
            );
        }
    }
    let start_ns = 3_000_000;
    let (count, rounds, times) = (4_000, 0, None);
    let level = Arc::new(Load {
        graph: independent(count)?,
        rounds,
        start_ns,
        times,
    });
    let beyond = |_| {
        let ns = peers[0].1.time(&level).as_nanos() as f64 - start_ns as f64;
        ns * workers / f64::from(count)
    };
    let ns = Summary::of((0..repeats).map(beyond).collect());
    println!(
        "independent, all due at 3 ms  ours   least {:7.1} median {:7.1}, with the wake-up",
        ns.least, ns.median
    );
    Ok(())
}

/// The smallest grain at which half of the workers' time is in jobs.
fn grain(repeats: usize) -> Result<(), Box<dyn Error>> {
    let peers = Peer::all(Accounting::Off)?;
    let ns_per_round = calibrate() * 1e9;
    let grains: Vec<f64> = (0..14).map(|step| 10.0 * 1.6_f64.powi(step)).collect();
    for dependencies in [0, 3] {
        let mut efficiency = vec![Vec::new(); peers.len()];
        for &grain_ns in &grains {
            let graph = match dependencies {
                0 => independent(4_000)?,
                _ => stencil(16, 250)?,
            };
            let load = load(graph, grain_ns, ns_per_round);
            let grain_ns = load.rounds as f64 * ns_per_round;
            for (at, ns) in per_job(&peers, &load, repeats)?.into_iter().enumerate() {
                efficiency[at].push((grain_ns, grain_ns / ns.least, grain_ns / ns.median));
            }
        }
        for ((peer, _), points) in peers.iter().zip(&efficiency) {
            let least: Vec<(f64, f64)> = points.iter().map(|p| (p.0, p.1)).collect();
            let median: Vec<(f64, f64)> = points.iter().map(|p| (p.0, p.2)).collect();
            println!(
                "METG(50 %), {dependencies} dependencies, {peer:6} least {:7.0} ns median {:7.0} ns",
                half(&least),
                half(&median)
            );
        }
    }
    Ok(())
}

/// Where efficiency first reaches a half, between points by the logarithm of the grain.
fn half(points: &[(f64, f64)]) -> f64 {
    let crossing = points.windows(2).find(|w| w[1].1 >= 0.5);
    crossing.map_or(f64::NAN, |w| {
        let share = ((0.5 - w[0].1) / (w[1].1 - w[0].1)).clamp(0.0, 1.0);
        w[0].0 * (w[1].0 / w[0].0).powf(share)
    })
}

/// Peaks of jobs after a pause: how many run at once, and what of the CPUs' time is lost.
fn peak(repeats: usize) -> Result<(), Box<dyn Error>> {
    let peers = Peer::all(Accounting::Off)?;
    let ns_per_round = calibrate() * 1e9;
    println!("concurrency: time in jobs / (first start to last end), and / (submission to end)");
    for (grain_ns, count) in [
        (20e3, 100),
        (20e3, 1_000),
        (200e3, 100),
        (200e3, 300),
        (2e6, 100),
    ] {
        let mut covered = vec![Vec::new(); peers.len()];
        let mut whole = vec![Vec::new(); peers.len()];
        for _ in 0..repeats {
            for (at, (_, peer)) in peers.iter().enumerate() {
                std::thread::sleep(Duration::from_millis(10));
                let load = timed(independent(count)?, grain_ns / ns_per_round);
                let elapsed_ns = peer.time(&load).as_nanos() as f64;
                let (in_jobs, from, to) = spans(&load);
                covered[at].push(-in_jobs / (to - from));
                whole[at].push(-in_jobs / elapsed_ns);
            }
        }
        for (at, (peer, _)) in peers.iter().enumerate() {
            let covered = Summary::of(std::mem::take(&mut covered[at]));
            let whole = Summary::of(std::mem::take(&mut whole[at]));
            println!(
                "{:5} us x {count:4} {peer:6} best {:.3} median {:.3}; whole best {:.3} median {:.3}",
                grain_ns / 1e3,
                -covered.least,
                -covered.median,
                -whole.least,
                -whole.median
            );
        }
    }
    Ok(())
}

fn timed(graph: JobGraph, rounds: f64) -> Arc<Load> {
    Arc::new(Load {
        graph,
        rounds: rounds as u64,
        start_ns: 0,
        times: Some(Times {
            epoch: Instant::now(),
            in_jobs: AtomicU64::new(0),
            first: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
        }),
    })
}

/// Nanoseconds in jobs, to the first start and to the last end.
fn spans(load: &Load) -> (f64, f64, f64) {
    let read = |cell: &AtomicU64| cell.load(Ordering::Relaxed) as f64;
    let times = load.times.as_ref();
    times.map_or((0.0, 0.0, 0.0), |t| {
        (read(&t.in_jobs), read(&t.first), read(&t.last))
    })
}

/// From the submission after a pause of 10 ms to the first start, and what the whole takes more
/// than its ideal time.
fn startup(repeats: usize) -> Result<(), Box<dyn Error>> {
    let peers = Peer::all(Accounting::Off)?;
    let ns_per_round = calibrate() * 1e9;
    let mut first = vec![Vec::new(); peers.len()];
    let mut more = vec![Vec::new(); peers.len()];
    for _ in 0..repeats {
        for (at, (_, peer)) in peers.iter().enumerate() {
            std::thread::sleep(Duration::from_millis(10));
            let load = timed(independent(20)?, 50e3 / ns_per_round);
            let elapsed_ns = peer.time(&load).as_nanos() as f64;
            let (in_jobs, from, _) = spans(&load);
            first[at].push(from / 1e3);
            more[at].push((elapsed_ns - in_jobs / workers()?) / 1e3);
        }
    }
    for (at, (peer, _)) in peers.iter().enumerate() {
        let first = Summary::of(std::mem::take(&mut first[at]));
        let more = Summary::of(std::mem::take(&mut more[at]));
        println!(
            "{peer:6} us to the first start: least {:6.1} median {:6.1}; beyond ideal: least {:6.1} median {:6.1}",
            first.least, first.median, more.least, more.median
        );
    }
    Ok(())
}

/// CPU time of the workers of ours in so many seconds without work.
fn idle(seconds: usize) -> Result<(), Box<dyn Error>> {
    let peers = Peer::all(Accounting::Off)?;
    let load = load(independent(10_000)?, 0.0, 1.0);
    for (peer, scheduler) in &peers {
        if let Peer::Ours(ours) = scheduler {
            scheduler.time(&load);
            std::thread::sleep(Duration::from_millis(100));
            let ids = ours.thread_ids();
            let before = cpu_ns(ids)?;
            std::thread::sleep(Duration::from_secs(seconds as u64));
            let used_ns = cpu_ns(ids)? - before;
            let share = used_ns as f64 / (seconds as f64 * 1e9) * 100.0;
            println!("{peer}: {used_ns} ns of CPU time in {seconds} s: {share:.5} % of a core");
        }
    }
    Ok(())
}

/// Nanoseconds on a CPU, of all of these threads (/proc/PID/task/TID/schedstat).
fn cpu_ns(ids: &[u32]) -> Result<u64, Box<dyn Error>> {
    let mut sum = 0;
    for id in ids {
        let text = std::fs::read_to_string(format!("/proc/self/task/{id}/schedstat"))?;
        let first = text.split_whitespace().next().unwrap_or_default();
        sum += first.parse::<u64>()?;
    }
    Ok(sum)
}

/// What accounting costs, and where the time goes.
fn account(repeats: usize) -> Result<(), Box<dyn Error>> {
    let reads = 1_000_000;
    let began = Instant::now();
    for _ in 0..reads {
        std::hint::black_box(Instant::now());
    }
    println!(
        "a reading of the clock: {:.1} ns",
        began.elapsed().as_nanos() as f64 / f64::from(reads)
    );
    let ns_per_round = calibrate() * 1e9;
    let mut ways = Vec::new();
    for accounting in [Accounting::Totals, Accounting::Stretches, Accounting::Off] {
        ways.extend(Peer::all(accounting)?.into_iter().take(1));
    }
    for (grain_ns, graph) in [
        (0.0, independent(100_000)?),
        (5e3, independent(10_000)?),
        (5e3, stencil(3, 3_000)?),
    ] {
        let load = load(graph, grain_ns, ns_per_round);
        let ns = per_job(&ways, &load, repeats)?;
        println!(
            "grain {grain_ns} ns: with accounting {:.1} ns a job, for a trace {:.1} ns, without {:.1} ns (least)",
            ns[0].least, ns[1].least, ns[2].least
        );
    }
    if let Peer::Ours(scheduler) = &ways[0].1 {
        for time in scheduler.accounts() {
            let share = |part: Duration| part.as_secs_f64() / time.wall.as_secs_f64() * 100.0;
            println!(
                "work {:.2} % dispatch {:.2} % steal {:.2} % spin {:.2} % parked {:.2} % unexplained {:.4} %",
                share(time.work),
                share(time.dispatch),
                share(time.steal),
                share(time.spin),
                share(time.parked),
                share(time.unexplained())
            );
        }
    }
    Ok(())
}
