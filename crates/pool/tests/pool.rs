//! The pool on known schedules. All assertions hold under any machine load.

#![cfg(test)]

use plimsoll_model::CpuSet;
use plimsoll_pool::{Pool, PoolError, Start, allowed_cpus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn one_cpu() -> CpuSet {
    allowed_cpus().unwrap().iter().take(1).collect()
}

/// Starts a pool that records its jobs in the order of execution.
fn recording<S>(cpus: &CpuSet, began: Instant, source: S) -> (Pool<S>, Arc<Mutex<Vec<Start>>>)
where
    S: Iterator<Item = u64> + Send + 'static,
{
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let pool = Pool::start(cpus, began, source, move |s| sink.lock().unwrap().push(*s));
    (pool.unwrap(), seen)
}

/// Runs all jobs of a schedule and returns them in the order of execution.
fn run_all(cpus: &CpuSet, began: Instant, starts: Vec<u64>) -> Vec<Start> {
    let (pool, seen) = recording(cpus, began, starts.into_iter());
    while pool.oldest_open_ns().is_some() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(pool.stop().count(), 0);
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn every_start_runs_once_and_not_early() {
    let starts: Vec<u64> = (0..500).map(|i| i * 40_000).collect();
    let mut seen = run_all(&allowed_cpus().unwrap(), Instant::now(), starts.clone());
    assert!(seen.iter().all(|s| s.started_ns >= s.intended_ns));
    seen.sort_by_key(|s| s.index);
    let numbered: Vec<(u64, u64)> = (0..).zip(starts).collect();
    let got: Vec<(u64, u64)> = seen.iter().map(|s| (s.index, s.intended_ns)).collect();
    assert_eq!(got, numbered);
}

#[test]
fn one_worker_serves_in_the_order_of_arrival() {
    let starts = vec![0, 0, 0, 100_000, 100_000, 3_000_000];
    let seen = run_all(&one_cpu(), Instant::now(), starts);
    assert!(seen.iter().map(|s| s.index).eq(0..6));
    assert!(seen.windows(2).all(|w| w[0].started_ns <= w[1].started_ns));
}

#[test]
fn delay_is_slip_only_if_the_worker_was_waiting() {
    let now = Instant::now();
    let hour_ago = now.checked_sub(Duration::from_secs(3600)).unwrap_or(now);
    // One start that queued for long, and one in the future.
    let ahead = hour_ago.elapsed().as_nanos() as u64 + 20_000_000;
    let seen = run_all(&one_cpu(), hour_ago, vec![0, ahead]);
    assert!(!seen[0].waited);
    assert_eq!(seen[0].slip_ns(), 0);
    let late = seen[1].started_ns - seen[1].intended_ns;
    // If the machine paused for 20 ms, the second one has queued too.
    assert_eq!(seen[1].slip_ns(), if seen[1].waited { late } else { 0 });
}

#[test]
fn stop_ends_waiting_workers_and_returns_their_starts() {
    let far = u64::MAX / 4;
    let cpus = allowed_cpus().unwrap();
    let (pool, seen) = recording(&cpus, Instant::now(), (0..10).map(move |i| far + i));
    assert_eq!(pool.oldest_open_ns(), Some(far));
    let rest: Vec<u64> = pool.stop().collect();
    assert_eq!(rest, (far..far + 10).collect::<Vec<_>>());
    assert_eq!(*seen.lock().unwrap(), []);
}

#[test]
fn started_and_returned_starts_are_complete() {
    let starts: Vec<u64> = (0..100_000).map(|i| i * 1_000).collect();
    let source = starts.clone().into_iter();
    let (pool, seen) = recording(&allowed_cpus().unwrap(), Instant::now(), source);
    while seen.lock().unwrap().len() < 100 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let rest: Vec<u64> = pool.stop().collect();
    assert!(rest.is_sorted());
    // One worker may still have waited for a start while another ran the next.
    let ran = seen.lock().unwrap().clone();
    let mut all: Vec<u64> = ran.iter().map(|s| s.intended_ns).chain(rest).collect();
    all.sort_unstable();
    assert!(all == starts, "{} of {}", all.len(), starts.len());
}

#[test]
fn dropping_a_pool_ends_its_threads() {
    let cpus = allowed_cpus().unwrap();
    let (pool, seen) = recording(&cpus, Instant::now(), std::iter::repeat(u64::MAX));
    assert_eq!(pool.thread_ids().len(), cpus.len());
    assert!(pool.thread_ids().iter().all(|id| *id > 0));
    drop(pool);
    let holders = Arc::strong_count(&seen);
    assert_eq!(holders, 1, "no thread holds the job any more");
}

#[test]
fn workers_run_on_their_cpus() {
    let cpus = allowed_cpus().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let source = vec![0; 20].into_iter();
    let pool = Pool::start(&cpus, Instant::now(), source, move |s| {
        let here = allowed_cpus().unwrap();
        sink.lock().unwrap().push((s.worker, here));
    })
    .unwrap();
    while pool.oldest_open_ns().is_some() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let listed: Vec<u32> = cpus.iter().collect();
    for (worker, here) in seen.lock().unwrap().iter() {
        assert_eq!(here, &[listed[*worker]].into_iter().collect::<CpuSet>());
    }
}

#[test]
fn unavailable_cpu_fails_before_any_job_runs() {
    let ran = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ran);
    let cpus = one_cpu().iter().chain([8000]).collect();
    let source = std::iter::repeat(0);
    let result = Pool::start(&cpus, Instant::now(), source, move |_| {
        flag.store(true, Ordering::Relaxed);
    });
    let error = result.err().unwrap();
    assert!(matches!(error, PoolError::Pin { cpu: 8000, .. }), "{error}");
    assert!(!ran.load(Ordering::Relaxed));
    let no_cpu = CpuSet::default();
    let nowhere = Pool::start(&no_cpu, Instant::now(), std::iter::empty(), |_| {});
    assert!(matches!(nowhere, Err(PoolError::NoCpu)));
}
