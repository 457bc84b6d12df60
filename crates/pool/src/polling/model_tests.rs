//! Every interleaving of a worker that sleeps and of those that notify it. The command is in
//! `scheduler/model_tests.rs`.

use super::PollSleep;
use crate::scheduler::sync::Ordering;
use crate::wait::Clock;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use std::time::Instant;

/// How a worker falls asleep.
type Sleeps = fn(&PollSleep, &dyn Fn() -> bool);

/// A worker that polls until it has found the work of all notifiers. It never wakes by itself, so
/// a lost wake-up is a deadlock, which loom reports.
fn model(notifiers: u32, sleeps: Sleeps) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = (notifiers > 1).then_some(3);
    builder.check(move || {
        let sleep = Arc::new(PollSleep::new(Clock::new(Instant::now())));
        let work = Arc::new(AtomicU32::new(0));
        let worker = {
            let (sleep, work) = (Arc::clone(&sleep), Arc::clone(&work));
            loom::thread::spawn(move || {
                let mut done = 0;
                while done < notifiers {
                    let found = work.load(Ordering::Relaxed);
                    if found == done {
                        sleeps(&sleep, &|| work.load(Ordering::Relaxed) > done);
                    }
                    done = found;
                }
            })
        };
        let notify = |sleep: &PollSleep, work: &AtomicU32| {
            work.fetch_add(1, Ordering::Relaxed);
            sleep.notify();
        };
        let others = (1..notifiers).map(|_| {
            let (sleep, work) = (Arc::clone(&sleep), Arc::clone(&work));
            loom::thread::spawn(move || notify(&sleep, &work))
        });
        let others: Vec<_> = others.collect();
        notify(&sleep, &work);
        others.into_iter().for_each(|other| other.join().unwrap());
        worker.join().unwrap();
    });
}

/// Whether some interleaving has a worker that would park for ever: it fell asleep, all have
/// notified, and nobody has cleared its flag. Nobody parks, because a deadlock would end the test.
fn loses_a_wake_up(falls_asleep: fn(&PollSleep, &dyn Fn() -> bool) -> bool) -> bool {
    let lost = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&lost);
    loom::model(move || {
        let sleep = Arc::new(PollSleep::new(Clock::new(Instant::now())));
        let work = Arc::new(AtomicU32::new(0));
        let worker = {
            let (sleep, work) = (Arc::clone(&sleep), Arc::clone(&work));
            let look = move || work.load(Ordering::Relaxed) > 0;
            loom::thread::spawn(move || !look() && falls_asleep(&sleep, &look))
        };
        work.store(1, Ordering::Relaxed);
        sleep.notify();
        let parks = worker.join().unwrap();
        if parks && sleep.asleep.load(Ordering::SeqCst) {
            seen.store(true, Ordering::SeqCst);
        }
    });
    lost.load(Ordering::SeqCst)
}

#[test]
fn model_work_of_a_notifier_is_found() {
    model(1, |sleep, look| sleep.sleep(look));
}

#[test]
fn model_work_of_two_notifiers_is_found() {
    model(2, |sleep, look| sleep.sleep(look));
}

#[test]
fn model_looking_before_announcing_loses_a_wake_up() {
    assert!(!loses_a_wake_up(|sleep, look| sleep.falls_asleep(look)));
    assert!(loses_a_wake_up(|sleep, look| {
        let found = look();
        sleep.announce();
        !found
    }));
}

#[test]
fn model_announcing_without_a_fence_loses_a_wake_up() {
    assert!(loses_a_wake_up(|sleep, look| {
        sleep.announce();
        !look()
    }));
}
