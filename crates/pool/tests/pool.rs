//! The pool on known schedules. All assertions hold under any machine load.

#![cfg(test)]

use plimsoll_model::CpuSet;
use plimsoll_pool::{Pool, PoolError, Start, Waiting, allowed_cpus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn ways() -> [Waiting; 2] {
    let margin = Duration::from_micros(50);
    [Waiting::Sleep, Waiting::SleepThenSpin { margin }]
}

fn one_cpu() -> CpuSet {
    allowed_cpus().unwrap().iter().take(1).collect()
}

/// Runs all jobs of a schedule and returns them in the order of execution.
fn run_all(cpus: &CpuSet, waiting: Waiting, starts: Vec<u64>) -> Vec<Start> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let pool = Pool::start(
        cpus,
        waiting,
        Instant::now(),
        starts.into_iter(),
        move |s| {
            sink.lock().unwrap().push(*s);
        },
    )
    .unwrap();
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
    for waiting in ways() {
        let mut seen = run_all(&allowed_cpus().unwrap(), waiting, starts.clone());
        assert!(seen.iter().all(|s| s.started_ns >= s.intended_ns));
        seen.sort_by_key(|s| s.index);
        let numbered: Vec<(u64, u64)> = (0..).zip(starts.iter().copied()).collect();
        let got: Vec<(u64, u64)> = seen.iter().map(|s| (s.index, s.intended_ns)).collect();
        assert_eq!(got, numbered);
    }
}

#[test]
fn one_worker_serves_in_the_order_of_arrival() {
    let starts: Vec<u64> = [0, 0, 0, 100_000, 100_000, 3_000_000].into();
    let seen = run_all(&one_cpu(), Waiting::Sleep, starts);
    assert!(seen.iter().map(|s| s.index).eq(0..6));
    assert!(seen.windows(2).all(|w| w[0].started_ns <= w[1].started_ns));
}

#[test]
fn delay_is_slip_only_if_the_worker_was_waiting() {
    let now = Instant::now();
    let hour_ago = now.checked_sub(Duration::from_secs(3600)).unwrap_or(now);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    // One start that queued for long, and one in the future.
    let ahead = hour_ago.elapsed().as_nanos() as u64 + 20_000_000;
    let source = [0, ahead].into_iter();
    let pool = Pool::start(&one_cpu(), Waiting::Sleep, hour_ago, source, move |s| {
        sink.lock().unwrap().push(*s);
    })
    .unwrap();
    while pool.oldest_open_ns().is_some() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let seen = seen.lock().unwrap();
    assert!(!seen[0].waited);
    assert_eq!(seen[0].slip_ns(), 0);
    let late = seen[1].started_ns - seen[1].intended_ns;
    // If the machine paused for 20 ms, the second one has queued too.
    assert_eq!(seen[1].slip_ns(), if seen[1].waited { late } else { 0 });
}

#[test]
fn stop_ends_waiting_workers_and_returns_their_starts() {
    for waiting in ways() {
        let ran = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ran);
        let far = u64::MAX / 4;
        let pool = Pool::start(
            &allowed_cpus().unwrap(),
            waiting,
            Instant::now(),
            (0..10).map(move |i| far + i),
            move |_| flag.store(true, Ordering::Relaxed),
        )
        .unwrap();
        assert_eq!(pool.oldest_open_ns(), Some(far));
        let rest: Vec<u64> = pool.stop().collect();
        assert_eq!(rest, (far..far + 10).collect::<Vec<_>>());
        assert!(!ran.load(Ordering::Relaxed));
    }
}

#[test]
fn started_and_returned_starts_are_complete() {
    let starts: Vec<u64> = (0..100_000).map(|i| i * 1_000).collect();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let source = starts.clone().into_iter();
    let pool = Pool::start(
        &allowed_cpus().unwrap(),
        Waiting::Sleep,
        Instant::now(),
        source,
        move |s| sink.lock().unwrap().push(s.intended_ns),
    )
    .unwrap();
    while pool.claimed() < 100 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let rest: Vec<u64> = pool.stop().collect();
    assert!(rest.is_sorted());
    // One worker may still have waited for a start while another ran the next.
    let mut all = seen.lock().unwrap().clone();
    all.extend(rest);
    all.sort_unstable();
    assert!(all == starts, "{} of {}", all.len(), starts.len());
}

#[test]
fn dropping_a_pool_ends_its_threads() {
    let job = Arc::new(());
    let held = Arc::clone(&job);
    let pool = Pool::start(
        &allowed_cpus().unwrap(),
        Waiting::Sleep,
        Instant::now(),
        std::iter::repeat(u64::MAX),
        move |_| {
            let _ = &held;
        },
    )
    .unwrap();
    assert_eq!(pool.thread_ids().len(), allowed_cpus().unwrap().len());
    assert!(pool.thread_ids().iter().all(|id| *id > 0));
    drop(pool);
    assert_eq!(
        Arc::strong_count(&job),
        1,
        "no thread holds the job any more"
    );
}

#[test]
fn workers_run_on_their_cpus() {
    let cpus = allowed_cpus().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let source = vec![0; 20].into_iter();
    let pool = Pool::start(&cpus, Waiting::Sleep, Instant::now(), source, move |s| {
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
    let mut cpus: Vec<u32> = one_cpu().iter().collect();
    cpus.push(8000);
    let result = Pool::start(
        &cpus.into_iter().collect(),
        Waiting::Sleep,
        Instant::now(),
        std::iter::repeat(0),
        move |_| flag.store(true, Ordering::Relaxed),
    );
    let error = result.err().unwrap();
    assert!(matches!(error, PoolError::Pin { cpu: 8000, .. }), "{error}");
    assert!(!ran.load(Ordering::Relaxed));
    let nowhere = Pool::start(
        &CpuSet::default(),
        Waiting::Sleep,
        Instant::now(),
        std::iter::empty(),
        |_| {},
    );
    assert!(matches!(nowhere, Err(PoolError::NoCpu)));
}
