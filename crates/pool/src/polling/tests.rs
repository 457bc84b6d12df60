use super::*;
use crate::allowed_cpus;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Takes from a counter, and tells what it took.
struct Taker {
    given: Arc<AtomicU64>,
    taken: u64,
    told: std::sync::mpsc::Sender<u64>,
}

impl PollingJob for Taker {
    fn poll(&mut self, declared: &mut Declared) {
        let given = self.given.load(Ordering::Relaxed);
        match given > self.taken {
            true => {
                self.taken = given;
                declared.active();
                let _ = self.told.send(given);
            }
            false => declared.idle(),
        }
    }
}

/// Says nothing after it has said this once.
struct Says(Option<bool>, Arc<AtomicU64>);

impl PollingJob for Says {
    fn poll(&mut self, declared: &mut Declared) {
        self.1.fetch_add(1, Ordering::Relaxed);
        match self.0.take() {
            Some(true) => declared.idle(),
            Some(false) => declared.active(),
            None => {}
        }
    }
}

#[test]
fn work_that_is_notified_is_found_under_every_policy() {
    let cpu = allowed_cpus().unwrap().iter().next().unwrap();
    for waiting in Waiting::ALL {
        let given = Arc::new(AtomicU64::new(0));
        let (told, hears) = channel();
        let taker = |_| {
            let (given, told) = (Arc::clone(&given), told.clone());
            let taken = 0;
            Box::new(Taker { given, taken, told }) as Box<dyn PollingJob>
        };
        let poller = Poller::start(cpu, (0..2).map(taker).collect(), waiting).unwrap();
        assert_eq!(poller.thread_ids().len(), 1);
        let notifier = poller.notifier();
        for number in 1..=200 {
            given.store(number, Ordering::Relaxed);
            notifier.notify();
            let heard = [hears.recv().unwrap(), hears.recv().unwrap()];
            assert_eq!(heard, [number; 2], "{waiting}");
        }
    }
}

#[test]
fn one_active_job_keeps_all_polled() {
    let polls = Arc::new(AtomicU64::new(0));
    let mut jobs = Jobs::new(vec![
        Box::new(Says(Some(true), Arc::clone(&polls))),
        Box::new(Says(Some(false), Arc::clone(&polls))),
    ]);
    assert!(jobs.poll() && jobs.poll(), "what it said last holds");
    let mut idle = Jobs::new(vec![Box::new(Says(Some(true), Arc::clone(&polls)))]);
    assert!(!idle.poll() && !idle.poll());
    idle.take_for_active();
    assert!(idle.poll(), "after a sleep it is active until it says so");
    assert_eq!(polls.load(Ordering::Relaxed), 7);
}

#[test]
fn a_poller_without_work_sleeps_and_ends() {
    let cpu = allowed_cpus().unwrap().iter().next().unwrap();
    let polls = Arc::new(AtomicU64::new(0));
    struct Idle(Arc<AtomicU64>);
    impl PollingJob for Idle {
        fn poll(&mut self, declared: &mut Declared) {
            self.0.fetch_add(1, Ordering::Relaxed);
            declared.idle();
        }
    }
    let job = Box::new(Idle(Arc::clone(&polls)));
    let poller = Poller::start(cpu, vec![job], Waiting::Park).unwrap();
    while polls.load(Ordering::Relaxed) < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(poller);
    // The first, the second look, and the same after a notification.
    assert!(polls.load(Ordering::Relaxed) <= 4);
}
