use super::*;
use crate::seeded::Rng;
use crate::testing::{copies_trial, normal};
use plimsoll_model::Estimate;
use proptest::prelude::*;

#[test]
fn the_published_compile_times_give_the_published_speedup() {
    let trials = [
        copies_trial(1, 223),
        copies_trial(4, 225),
        copies_trial(8, 354),
    ];
    let found = from_copies(&trials, 4, 1).unwrap();
    assert!((found.ratio.value - 1.27).abs() < 0.005, "{found:?}");
    assert_eq!(found.ratio.interval(), None, "single rows allow none");
    assert_eq!(found.clock_ratio, None);
    assert_eq!(from_copies(&trials, 2, 1), Err(NoSpeedup::LevelMissing));
}

#[test]
fn the_formula_is_that_of_ibm_z() {
    for (u_core, u_thread, s) in [(0.5, 0.7, 1.3), (1.0, 2.0, 1.2), (0.8, 0.8, 1.4)] {
        let expected = (2.0 * u_core - u_thread) / s + (u_thread - u_core);
        let busy = BusyTime::of_core_and_threads(u_core, u_thread).unwrap();
        assert!((work_share(busy, s, None).unwrap() - expected).abs() < 1e-12);
    }
    for (u_core, u_thread) in [(0.5, 1.1), (0.5, 0.4), (1.1, 1.2), (f64::NAN, 0.5)] {
        assert_eq!(BusyTime::of_core_and_threads(u_core, u_thread), None);
    }
    let busy = BusyTime::spread(0.5).unwrap();
    assert_eq!(work_share(busy, 2.5, None), None, "no machine has that");
}

/// A machine of cores with two threads on virtual time.
struct Machine {
    cores: usize,
    /// Work per second of a core with one busy thread, at clock 1.
    one_thread_rps: f64,
    /// Known speed-up at equal clock.
    speedup: f64,
    /// What the clock loses when all threads are busy, as a share.
    clock_drop: f64,
}

/// What a kernel would have counted.
#[derive(Debug)]
struct Seen {
    rate_rps: f64,
    u_core: f64,
    u_thread: f64,
    clock: f64,
}

impl Machine {
    fn of_4_cores(speedup: f64, clock_drop: f64) -> Machine {
        Machine {
            cores: 4,
            one_thread_rps: 1000.0,
            speedup,
            clock_drop,
        }
    }

    /// Poisson arrivals of jobs of exponential length at `offered` per second,
    /// served first come, first served on an idle core if there is one, else
    /// beside a busy thread. Everything is exponential, so the machine is a
    /// chain of events: the next is an arrival or an end. As a kernel does,
    /// the counters are read 1000 times a second.
    fn run(&self, offered: f64, pinned_to_one_thread: bool, seconds: f64, seed: u64) -> Seen {
        let mut rng = Rng::seeded(seed);
        let threads = if pinned_to_one_thread { 1 } else { 2 };
        let (mut busy, mut waiting) = (vec![0usize; self.cores], 0u64);
        let (mut now, mut next_look, mut looks, mut done) = (0.0, 0.0, 0.0, 0.0);
        let (mut cores_seen, mut threads_seen, mut clock_seen) = (0.0, 0.0, 0.0);
        while now < seconds {
            let on_threads: usize = busy.iter().sum();
            let clock = 1.0 - self.clock_drop * on_threads as f64 / (2 * self.cores) as f64;
            let speed = |b: usize| [0.0, 1.0, self.speedup][b] * self.one_thread_rps * clock;
            let ends: f64 = busy.iter().map(|b| speed(*b)).sum();
            now += rng.exponential() / (offered + ends);
            while next_look < now {
                next_look += 0.001;
                looks += 1.0;
                cores_seen += busy.iter().filter(|b| **b > 0).count() as f64;
                threads_seen += on_threads as f64;
                // APERF and MPERF stand still while a CPU is halted.
                clock_seen += clock * on_threads as f64;
            }
            let mut at = rng.unit() * (offered + ends) - offered;
            if at < 0.0 {
                let free = (0..threads).find_map(|n| busy.iter().position(|b| *b == n));
                match free {
                    Some(core) => busy[core] += 1,
                    None => waiting += 1,
                }
                continue;
            }
            done += 1.0;
            let ended = busy.iter().position(|b| {
                at -= speed(*b);
                at < 0.0
            });
            let ended = ended.unwrap_or_else(|| busy.iter().position(|b| *b > 0).unwrap());
            match waiting {
                0 => busy[ended] -= 1,
                _ => waiting -= 1,
            }
        }
        Seen {
            rate_rps: done / now,
            u_core: cores_seen / looks / self.cores as f64,
            u_thread: threads_seen / looks / self.cores as f64,
            clock: clock_seen / threads_seen,
        }
    }

    fn most_rps(&self) -> f64 {
        self.cores as f64 * self.one_thread_rps * self.speedup * (1.0 - self.clock_drop)
    }

    /// Four trials at saturation.
    fn pinned(&self, one_thread: bool, with_clock: bool) -> Vec<PinnedTrial> {
        let trial = |seed| {
            let seen = self.run(2.0 * self.most_rps(), one_thread, 20.0, seed);
            PinnedTrial {
                rate_rps: seen.rate_rps,
                clock_ratio: with_clock.then_some(seen.clock),
            }
        };
        (100..104).map(trial).collect()
    }
}

/// The largest deviation of the corrected share from the work that was done,
/// as a share of the work with everything busy.
fn worst_error(machine: &Machine, with_clock: bool) -> f64 {
    let one = machine.pinned(true, with_clock);
    let two = machine.pinned(false, with_clock);
    let found = speedup(&one, &two, 1).unwrap();
    let s = found.at_equal_clock_ratio.unwrap_or(found.ratio).value;
    let all_busy = two.iter().map(|t| t.rate_rps).sum::<f64>() / 4.0;
    let clock_all_busy = two[0].clock_ratio;
    let error = |part: u32| {
        let offered = f64::from(part) / 10.0 * machine.most_rps();
        let seen = machine.run(offered, false, 100.0, u64::from(part));
        let busy = BusyTime::of_core_and_threads(seen.u_core, seen.u_thread).unwrap();
        let clock = clock_all_busy.map(|all_busy| Clock {
            now: seen.clock,
            all_busy,
        });
        (work_share(busy, s, clock).unwrap() - seen.rate_rps / all_busy).abs()
    };
    (1..=9).map(error).fold(0.0, f64::max)
}

#[test]
fn corrected_utilisation_is_linear_in_work_within_one_percent() {
    for speedup in [1.1, 1.27, 1.6] {
        let error = worst_error(&Machine::of_4_cores(speedup, 0.0), false);
        assert!(error < 0.01, "s {speedup}: {error}");
    }
}

#[test]
fn the_clock_makes_a_slowing_machine_linear() {
    let machine = Machine::of_4_cores(1.25, 0.2);
    let with = worst_error(&machine, true);
    assert!(with < 0.01, "{with}");
    assert!(
        worst_error(&machine, false) > with,
        "the clock is not for show"
    );
    let found = speedup(&machine.pinned(true, true), &machine.pinned(false, true), 1).unwrap();
    let near = |estimate: Estimate, expected: f64| (estimate.value / expected - 1.0).abs() < 0.01;
    assert!(near(found.at_equal_clock_ratio.unwrap(), 1.25), "{found:?}");
    assert!(near(found.clock_ratio.unwrap(), 0.8 / 0.9), "{found:?}");
    assert!(near(found.ratio, 1.25 * 0.8 / 0.9), "{found:?}");
}

#[test]
fn intervals_hold_the_true_speedup_as_often_as_stated() {
    let covers = |seed: &u64| {
        let mut rng = Rng::seeded(*seed);
        let mut side = |mean: f64| -> Vec<PinnedTrial> {
            let mut trial = || PinnedTrial {
                rate_rps: mean * (1.0 + 0.02 * normal(&mut rng)),
                clock_ratio: None,
            };
            (0..5).map(|_| trial()).collect()
        };
        let (one, two) = (side(1000.0), side(1300.0));
        let ratio = speedup(&one, &two, *seed).unwrap().ratio;
        let (low, high) = ratio.interval().unwrap();
        assert!(high - low < 0.2, "an interval this wide tells nothing");
        ratio.holds(1.3)
    };
    let hits = (0..200).filter(covers).count();
    assert!(hits >= 180, "{hits} of 200");
}

#[test]
fn without_busy_cores_the_work_lies_between_packed_and_spread() {
    let (low, high) = work_share_range(0.5, 1.25, None).unwrap();
    assert!((low - 0.5).abs() < 1e-12 && (high - 0.8).abs() < 1e-12);
    let none = Clock {
        now: 1.0,
        all_busy: 0.0,
    };
    assert_eq!(work_share_range(0.5, 1.25, Some(none)), None);
}

proptest! {
    #[test]
    fn more_busy_is_more_work_and_everything_busy_is_all_of_it(
        a in 0.0..1.0f64, b in 0.0..1.0f64, s in 1.0..2.0f64
    ) {
        let (less, more) = (a.min(b), a.max(b));
        for of in [BusyTime::spread, BusyTime::packed] {
            let share = |u: f64| work_share(of(u).unwrap(), s, None).unwrap();
            prop_assert!(share(less) <= share(more) + 1e-12);
            prop_assert!((share(1.0) - 1.0).abs() < 1e-12 && share(0.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_speedup_does_not_depend_on_the_unit_of_work_or_the_order(
        rates in prop::collection::vec(500.0..600.0f64, 4..8), factor in 0.1..10.0f64
    ) {
        let trials = |factor: f64| -> Vec<PinnedTrial> {
            let trial = |r: &f64| PinnedTrial { rate_rps: r * factor, clock_ratio: None };
            rates.iter().map(trial).collect()
        };
        let mut backwards = trials(1.0);
        backwards.reverse();
        let once = speedup(&trials(1.0), &trials(1.3), 1).unwrap();
        prop_assert_eq!(speedup(&backwards, &trials(1.3), 1).unwrap(), once);
        let scaled = speedup(&trials(factor), &trials(1.3 * factor), 1).unwrap();
        prop_assert!((scaled.ratio.value - once.ratio.value).abs() < 1e-9);
    }
}
