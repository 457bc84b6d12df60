//! Whether two readings of another host's counters give what it used between them.
//!
//! An address may lead to several hosts in turns, a host may restart, and an exporter may
//! repeat old values. The figures that follow would look like any others.

use crate::busy::Passed;
use crate::stat::CpuTimes;
use plimsoll_model::{CpuId, CpuTime, CpuUse, human_duration};
use std::time::Duration;

/// Ten counters, user and guests apart, in ticks of 10 ms (USER_HZ).
const TICKS: Duration = Duration::from_millis(100);

/// Why the difference of two readings of a host is not what it used: a clause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeDoubt {
    #[error("its CPUs are not the same ({then} before, {now} after)")]
    Cpus {
        /// How many there were.
        then: usize,
        now: usize,
    },
    #[error("the {mode} time of CPU {cpu} fell")]
    Fell { cpu: CpuId, mode: &'static str },
    /// All modes of a CPU together advance with the clock.
    #[error(
        "CPU {cpu} counted {} in {}", human_duration(*counted), human_duration(*passed)
    )]
    Pace {
        cpu: CpuId,
        counted: Duration,
        /// By our clock.
        passed: Duration,
    },
}

impl NodeDoubt {
    /// Whether the readings are of two hosts, or of two boots of one. A wrong pace alone
    /// may be that of a single second, see `is_possible`.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, NodeDoubt::Pace { .. })
    }

    /// The doubt about what was counted between two readings, if there is any.
    pub(crate) fn between(then: &CpuTimes, now: &CpuTimes, passed: Passed) -> Option<NodeDoubt> {
        if !then.each.keys().eq(now.each.keys()) {
            return Some(NodeDoubt::Cpus {
                then: then.each.len(),
                now: now.each.len(),
            });
        }
        let each = || {
            let pairs = then.each.iter().zip(now.each.values());
            pairs.map(|((cpu, then), now)| (*cpu, then, now))
        };
        let fell = each().find_map(|(cpu, then, now)| {
            fallen(then, now).map(|mode| NodeDoubt::Fell { cpu, mode })
        });
        fell.or_else(|| {
            each().find_map(|(cpu, then, now)| {
                let is_wrong = !is_possible(then, now, passed);
                is_wrong.then(|| NodeDoubt::Pace {
                    cpu,
                    counted: now.total().since(then.total()).0,
                    passed: passed.most,
                })
            })
        })
    }
}

/// The mode whose time fell.
///
/// Busy time never falls. User time includes that of guests, which the kernel adds a moment
/// earlier or later. Idle time and iowait may fall, as proc(5) documents: while a CPU is
/// idle, the kernel counts the time as one or as the other. Their sum does not, but for
/// rounding. Steal may fall when a virtual machine is moved.
fn fallen(then: &CpuUse, now: &CpuUse) -> Option<&'static str> {
    let user = |all: &CpuUse| all.user + all.guest;
    let idle = |all: &CpuUse| all.idle + all.iowait;
    let modes = [
        ("user", user(then), user(now)),
        ("guest", then.guest, now.guest),
        ("system", then.system, now.system),
        ("irq", then.irq, now.irq),
        ("softirq", then.softirq, now.softirq),
        ("idle", idle(then), idle(now) + CpuTime(TICKS)),
    ];
    let fell = modes.into_iter().find(|(_, then, now)| now < then);
    fell.map(|(mode, ..)| mode)
}

/// Whether a CPU can have counted so much in this time: between half of it and one and a
/// half times as much, and a rounding.
///
/// So wide, because the kernel measures idle time but samples busy time at its ticks: in a
/// second with 100 of them the sample errs by some 15 %, bursts between ticks are missed,
/// and a CPU without a tick (nohz_full) is a second behind. Time that a hypervisor steals
/// from an idle CPU is counted as idle, too, so that steal has a bound of its own.
fn is_possible(then: &CpuUse, now: &CpuUse, passed: Passed) -> bool {
    let own = |all: &CpuUse| all.total().since(all.steal);
    let all = now.total().since(then.total());
    let most = CpuTime(passed.most + passed.most / 2 + TICKS);
    let is_enough = all.0 + TICKS >= passed.least / 2;
    is_enough && own(now).since(own(then)) <= most && now.steal.since(then.steal) <= most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::busy::ReadTimes;
    use crate::fake_tree::ms;
    use std::time::Instant;

    fn host(each: &[CpuUse]) -> CpuTimes {
        CpuTimes {
            each: (0..).zip(each.iter().copied()).collect(),
            ..CpuTimes::default()
        }
    }

    fn used(user: u64, idle: u64) -> CpuUse {
        CpuUse {
            user: ms(user),
            idle: ms(idle),
            ..CpuUse::default()
        }
    }

    /// The doubt about what two CPUs count in a second, of which the request took 100 ms.
    fn doubt(then: [CpuUse; 2], now: [CpuUse; 2]) -> Option<NodeDoubt> {
        let passed = Passed {
            least: ms(900).0,
            most: ms(1100).0,
        };
        NodeDoubt::between(&host(&then), &host(&now), passed)
    }

    #[test]
    fn counters_that_advance_with_the_clock_are_believed() {
        let then = used(5000, 9000);
        for now in [
            used(6000, 9000),
            used(5000, 10_000),
            used(5400, 9600),
            used(5700, 9700),
            used(5200, 9300),
        ] {
            assert_eq!(doubt([then, then], [now, now]), None, "{now:?}");
        }
        let swapped = CpuUse {
            idle: ms(7000),
            iowait: ms(2900),
            ..then
        };
        assert_eq!(doubt([then, then], [swapped, swapped]), None, "proc(5)");
        let guest = CpuUse {
            user: ms(4990),
            guest: ms(1010),
            ..then
        };
        assert_eq!(doubt([then, then], [guest, guest]), None, "counted apart");
        let stolen = CpuUse {
            steal: ms(900),
            ..used(5100, 9900)
        };
        assert_eq!(doubt([then, then], [stolen, stolen]), None, "counted twice");
    }

    #[test]
    fn a_fall_of_busy_time_is_another_host_or_boot() {
        let then = CpuUse {
            system: ms(10),
            irq: ms(10),
            softirq: ms(10),
            ..used(5000, 9000)
        };
        let fallen = [
            (
                "user",
                CpuUse {
                    user: ms(4999),
                    ..then
                },
            ),
            (
                "system",
                CpuUse {
                    system: ms(9),
                    ..then
                },
            ),
            ("irq", CpuUse { irq: ms(9), ..then }),
            (
                "softirq",
                CpuUse {
                    softirq: ms(9),
                    ..then
                },
            ),
            (
                "idle",
                CpuUse {
                    idle: ms(8899),
                    ..then
                },
            ),
        ];
        for (mode, now) in fallen {
            let found = doubt([then, then], [then, now]).unwrap();
            assert_eq!(found, NodeDoubt::Fell { cpu: 1, mode });
            assert!(found.is_lasting());
        }
        let other = doubt([used(9000, 1000); 2], [used(20, 50_000); 2]);
        assert_eq!(other.unwrap().to_string(), "the user time of CPU 0 fell");
    }

    #[test]
    fn counters_that_race_or_stand_are_not_believed() {
        let then = used(5000, 9000);
        let now = CpuUse {
            steal: ms(50_000),
            ..used(5400, 9600)
        };
        for (now, counted) in [
            (used(25_000, 39_000), 50_000),
            (used(5000, 10_800), 1800),
            (then, 0),
            (used(5100, 9200), 300),
            (now, 51_000),
        ] {
            let found = doubt([then, then], [now, now]).unwrap();
            assert!(!found.is_lasting());
            let expected = NodeDoubt::Pace {
                cpu: 0,
                counted: ms(counted).0,
                passed: ms(1100).0,
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn other_cpus_are_another_host() {
        let passed = ReadTimes::at(Instant::now()).until(ReadTimes::at(Instant::now()));
        let (two, one) = (host(&[used(1, 1); 2]), host(&[used(1, 1)]));
        let found = NodeDoubt::between(&two, &one, passed).unwrap();
        assert_eq!(
            found.to_string(),
            "its CPUs are not the same (2 before, 1 after)"
        );
        assert!(found.is_lasting());
    }

    #[test]
    fn the_time_of_requests_is_no_pace() {
        let second = Duration::from_secs(1);
        let start = Instant::now();
        let slow = ReadTimes {
            asked: start,
            answered: start + second / 2,
        };
        let passed = slow.until(ReadTimes::at(start + second));
        assert_eq!((passed.least, passed.most), (second / 2, second));
    }
}
