use super::*;
use crate::fake_tree::{MS, ms};
use proptest::prelude::*;

/// A sample with `own_ticks` of 10 ms each and threads as (key, nanoseconds).
/// The run delay of each thread is a tenth of its CPU time.
pub(crate) fn sample(own_ticks: u64, threads: &[(u64, u64)]) -> ProcessSample {
    ProcessSample {
        stat: ProcessStat {
            state: 'S',
            group: 1,
            pid: 100,
            parent: 1,
            session: 1,
            own: ms(10 * own_ticks),
            reaped: CpuTime::ZERO,
            threads: threads.len() as u64,
            started: 5,
        },
        threads: threads
            .iter()
            .map(|&(key, ns)| ThreadSample {
                key,
                tid: 100 + key as u32,
                times: TaskTimes {
                    cpu: CpuTime(Duration::from_nanos(ns)),
                    run_delay: Some(Duration::from_nanos(ns / 10)),
                    context_switches: Some(1),
                },
            })
            .collect(),
    }
}

fn rest(_: u32) -> Role {
    Role::Other
}

fn account(first: &ProcessSample, from: CountFrom) -> ProcessAccount {
    ProcessAccount::open(first, from, Source::Schedstat, Tick::hundredth(), &rest)
}

#[test]
fn threads_count_from_the_first_sample_and_after_their_end() {
    let cases: [(&str, &[ProcessSample], Duration); 5] = [
        (
            "exact while no thread ends",
            &[
                sample(10, &[(0, 60 * MS), (1, 49 * MS)]),
                sample(13, &[(0, 70 * MS), (1, 50 * MS + 7)]),
            ],
            Duration::from_nanos(11 * MS + 7),
        ),
        (
            "an ended thread keeps its last value",
            &[
                sample(10, &[(0, 50 * MS), (1, 50 * MS)]),
                sample(14, &[(0, 60 * MS), (1, 80 * MS)]),
                sample(15, &[(0, 70 * MS)]),
            ],
            ms(50).0,
        ),
        (
            // 500 ms by threads that started and ended unobserved; two ticks
            // may be truncation.
            "unobserved threads are in the process total",
            &[sample(10, &[(0, 100 * MS)]), sample(61, &[(0, 110 * MS)])],
            ms(10 + 480).0,
        ),
        (
            "threads that ended before do not count",
            &[
                sample(1000, &[(0, 100 * MS)]),
                sample(1001, &[(0, 110 * MS)]),
            ],
            ms(10).0,
        ),
        (
            "a decreasing time subtracts nothing",
            &[sample(10, &[(0, 100 * MS)]), sample(10, &[(0, 90 * MS)])],
            Duration::ZERO,
        ),
    ];
    for (case, samples, expected) in cases {
        let mut account = account(&samples[0], CountFrom::FirstSample);
        for sample in &samples[1..] {
            account.update(sample, &rest);
        }
        assert_eq!(account.parts().sum().cpu.0, expected, "{case}");
    }
}

#[test]
fn new_threads_and_processes_count_in_full() {
    let later = sample(18, &[(0, 120 * MS), (1, 60 * MS)]);
    let mut a = account(&sample(10, &[(0, 100 * MS)]), CountFrom::FirstSample);
    a.update(&later, &rest);
    let expected = TaskTimes {
        cpu: ms(80),
        run_delay: Some(ms(8).0),
        context_switches: Some(1),
    };
    assert_eq!(a.parts().other, expected);
    let a = account(&sample(30, &[(0, 100 * MS)]), CountFrom::Start);
    assert_eq!(a.parts().sum().cpu, ms(300));
}

#[test]
fn roles_are_separate_and_unobserved_time_is_other() {
    let part = |tid| match tid {
        100 => Role::Service,
        101 => Role::Generator,
        _ => Role::Other,
    };
    for source in [Source::Schedstat, Source::Stat] {
        let first = sample(30, &[(0, 100 * MS), (1, 100 * MS), (2, 100 * MS)]);
        let later = sample(100, &[(0, 140 * MS), (1, 110 * MS), (2, 130 * MS)]);
        let tick = Tick::hundredth();
        let mut a = ProcessAccount::open(&first, CountFrom::FirstSample, source, tick, &part);
        a.update(&later, &part);
        let parts = a.parts();
        assert_eq!((parts.service.cpu, parts.generator.cpu), (ms(40), ms(10)));
        // The process has 700 ms. Where threads are exact, 20 ms of the rest
        // may be truncation.
        let slack = if source == Source::Schedstat { 20 } else { 0 };
        assert_eq!(parts.other.cpu, ms(650 - slack), "{source:?}");
    }
}

proptest! {
    /// Threads are simulated to the nanosecond. The account never exceeds the
    /// true value and is at most four ticks below it.
    #[test]
    fn account_never_overestimates_and_misses_at_most_four_ticks(
        before in 0u64..50 * MS,
        steps in prop::collection::vec((0u64..30 * MS, 0u64..30 * MS, any::<bool>()), 1..40),
    ) {
        let mut clock = (before, vec![(0u64, before)], 0u64);
        let at = |own: u64, live: &[(u64, u64)]| sample(own / (10 * MS), live);
        let mut a = account(&at(clock.0, &clock.1), CountFrom::FirstSample);
        for (seen, unseen, ends) in steps {
            let (own, live, next) = &mut clock;
            *own += seen + unseen;
            live[0].1 += seen;
            if ends && live.len() > 1 {
                live.pop();
            } else {
                *next += 1;
                live.push((*next, 0));
            }
            a.update(&at(*own, live), &rest);
            let truth = *own - before;
            let counted = a.parts().sum().cpu.0.as_nanos() as u64;
            prop_assert!(counted <= truth, "{counted} above {truth}");
            prop_assert!(counted + 40 * MS >= truth, "{counted} far below {truth}");
        }
    }
}
