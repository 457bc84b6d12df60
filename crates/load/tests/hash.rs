//! The hash service under short loads: conservation of requests, whatever the
//! machine's noise.

#![cfg(test)]

use plimsoll_load::hash::HashLoad;
use plimsoll_load::{Load, LoadError, Offer, Shape};
use plimsoll_model::{
    Arrivals, Bytes, CpuSet, CpuTime, FileUse, HashService, MemoryUse, Rate, Share, Work,
};
use plimsoll_pool::allowed_cpus;
use std::time::Duration;

/// Takes any CPU some microseconds.
const SMALL: u64 = 4 << 10;

/// Takes any CPU tens of milliseconds.
const LARGE: u64 = 64 << 20;

const ALL: usize = usize::MAX;

/// The service on all CPUs, or on one to exceed its capacity reliably.
fn load(mean_block: u64, cpus: usize) -> HashLoad {
    let service = HashService {
        mean_block: Bytes(mean_block),
        deviation_share: 0.25,
        request_cpu: CpuTime::ZERO,
        waiting: None,
        memory: None,
        files: None,
    };
    let allowed = allowed_cpus().unwrap();
    HashLoad::new(&service, &allowed.iter().take(cpus).collect()).unwrap()
}

fn offer(rate: f64, drain: Duration) -> Offer {
    Offer {
        rate: Rate::per_second(rate).unwrap(),
        arrivals: Arrivals::Poisson,
        seed: 11,
        drain,
        shape: Shape::Constant,
        connections: None,
    }
}

/// Offers `rate` for a window of 100 ms and ends.
fn trial(load: &mut HashLoad, rate: f64, drain: Duration) -> Work {
    let mut running = load.start(&offer(rate, drain)).unwrap();
    let times = running.open_window(Duration::from_millis(100));
    while std::time::Instant::now() < times.closes {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.finish().unwrap()
}

/// Each intended request has ended or is unfinished, with one latency and one
/// slip.
fn assert_conserved(work: &Work) {
    assert_eq!(work.errors.total(), 0);
    assert_eq!(work.latency.count(), work.intended);
    assert_eq!(work.slip.count(), work.intended);
    assert_eq!(work.intended - work.sent, work.unfinished);
}

#[test]
fn long_drain_serves_all_requests() {
    let work = trial(&mut load(SMALL, ALL), 2000.0, Duration::from_secs(60));
    assert_conserved(&work);
    assert!(work.intended > 0);
    assert_eq!((work.sent, work.unfinished), (work.intended, 0));
}

#[test]
fn a_backlog_of_the_window_is_served_in_the_drain() {
    let work = trial(&mut load(LARGE, 1), 100.0, Duration::from_secs(600));
    assert_conserved(&work);
    assert_eq!(work.unfinished, 0);
}

#[test]
fn overload_leaves_unfinished_requests_with_their_wait() {
    // More than a minute's work in 100 ms.
    let work = trial(&mut load(LARGE, 1), 20_000.0, Duration::ZERO);
    assert_conserved(&work);
    assert!(work.unfinished > work.sent);
    assert!(work.completed < work.intended);
}

#[test]
fn without_a_window_nothing_counts() {
    let running = load(SMALL, ALL)
        .start(&offer(1000.0, Duration::from_secs(60)))
        .unwrap();
    assert_eq!(running.finish().unwrap(), Work::default());
}

#[test]
fn shortened_trial_counts_only_due_requests() {
    let mut running = load(SMALL, ALL)
        .start(&offer(1000.0, Duration::ZERO))
        .unwrap();
    running.open_window(Duration::from_secs(3600));
    std::thread::sleep(Duration::from_millis(50));
    let work = running.finish().unwrap();
    assert_conserved(&work);
    // An hour would be 3.6 million.
    assert!(work.intended < 1_000_000);
}

#[test]
fn queue_counts_as_in_flight() {
    let mut running = load(LARGE, 1)
        .start(&offer(20_000.0, Duration::ZERO))
        .unwrap();
    let threads = running.threads();
    assert_eq!(threads.service.len(), 1);
    assert!(threads.generator.is_empty());
    let mut tick = running.tick();
    // Workers are far slower than arrivals, so the queue only grows.
    while tick.in_flight < 500 {
        std::thread::sleep(Duration::from_millis(5));
        tick = running.tick();
    }
    drop(running);
}

#[test]
fn a_service_needs_blocks_and_cpus() {
    let none = HashService {
        mean_block: Bytes(0),
        deviation_share: 0.25,
        request_cpu: CpuTime::ZERO,
        waiting: None,
        memory: None,
        files: None,
    };
    let refused = HashLoad::new(&none, &allowed_cpus().unwrap());
    assert!(matches!(refused, Err(LoadError::Mistake(_))));
    let some = HashService {
        mean_block: Bytes(4096),
        ..none
    };
    let refused = HashLoad::new(&some, &CpuSet::default());
    assert!(matches!(refused, Err(LoadError::Mistake(_))));
    let unknown = HashService {
        waiting: Some("rayon".to_owned()),
        ..some
    };
    let refused = HashLoad::new(&unknown, &allowed_cpus().unwrap());
    assert!(matches!(refused, Err(LoadError::Mistake(why)) if why.contains("waiting policy")));
}

#[test]
fn workers_serve_all_requests_however_they_wait() {
    for policy in ["spin", "yield-then-park", "adaptive", "park"] {
        let service = HashService {
            mean_block: Bytes(SMALL),
            deviation_share: 0.25,
            request_cpu: CpuTime::ZERO,
            waiting: Some(policy.to_owned()),
            memory: None,
            files: None,
        };
        let mut load = HashLoad::new(&service, &allowed_cpus().unwrap()).unwrap();
        let work = trial(&mut load, 500.0, Duration::from_secs(60));
        assert_conserved(&work);
        assert!(work.intended > 0 && work.unfinished == 0, "{policy}");
    }
}

#[test]
fn requests_with_memory_and_files_are_served_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let share = Share::new(0.3).unwrap();
    let service = HashService {
        mean_block: Bytes(SMALL),
        deviation_share: 0.25,
        request_cpu: CpuTime::ZERO,
        waiting: None,
        memory: Some(MemoryUse {
            heap: Bytes(8 << 20),
            touched: Bytes(64 << 10),
            write_share: share,
            spread: 0.25,
        }),
        files: Some(FileUse {
            dir: dir.path().to_owned(),
            size: Bytes(4 << 20),
            touched: Bytes(16 << 10),
            write_share: share,
            log: Bytes(1 << 10),
        }),
    };
    let mut load = HashLoad::new(&service, &allowed_cpus().unwrap()).unwrap();
    load.footprint().set(Share::new(0.5).unwrap());
    let other = load.on(allowed_cpus().unwrap());
    let work = trial(&mut load, 500.0, Duration::from_secs(60));
    assert_conserved(&work);
    assert!(work.intended > 0 && work.unfinished == 0);
    assert!(load.check().is_ok());
    assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none());
    drop(load);
    assert_eq!(
        open_in(dir.path()).len(),
        3,
        "another service uses the files"
    );
    drop(other);
    assert!(open_in(dir.path()).is_empty());
}

/// Descriptors of this process that are files of this folder, which may have no names.
fn open_in(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    all.filter(|fd| std::fs::read_link(fd).is_ok_and(|file| file.starts_with(dir)))
        .collect()
}

#[test]
fn truncated_files_fail_requests_and_the_service_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let service = HashService {
        mean_block: Bytes(SMALL),
        deviation_share: 0.25,
        request_cpu: CpuTime::ZERO,
        waiting: None,
        memory: None,
        files: Some(FileUse {
            dir: dir.path().to_owned(),
            size: Bytes(4 << 20),
            touched: Bytes(16 << 10),
            write_share: Share::ZERO,
            log: Bytes(0),
        }),
    };
    let mut load = HashLoad::new(&service, &allowed_cpus().unwrap()).unwrap();
    for file in open_in(dir.path()) {
        let file = std::fs::OpenOptions::new().write(true).open(file);
        file.unwrap().set_len(0).unwrap();
    }
    let work = trial(&mut load, 500.0, Duration::from_secs(60));
    assert!(work.intended > 0);
    assert_eq!((work.errors.status, work.completed), (work.intended, 0));
    let why = load.check().unwrap_err().to_string();
    assert!(why.contains("could not use their files"), "{why}");
}
