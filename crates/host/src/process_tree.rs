//! CPU time of a set of processes and their descendants, correct across
//! processes that start and end.
//!
//! A process that ends between two readings leaves its last reading and, once
//! its parent has waited for it, its total time in the parent's cutime and
//! cstime (proc(5)). Time in the parents' counters beyond the last readings was
//! used unobserved and is added. If a parent does not wait (SIGCHLD ignored) or
//! has itself ended, the time a child used after its last reading is lost: the
//! sum can be too low, never too high.

use crate::account::{CountFrom, Excess, ProcessAccount, ProcessSample, Role};
use crate::process::{Pid, ProcessStat};
use crate::root::Tick;
use crate::task::{self, Source, TaskTimes};
use plimsoll_model::CpuTime;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    All,
    /// All but this process, the parent of the others.
    AllBut(Pid),
}

/// CPU time account of a tree of processes.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    counted: Counted,
    source: Source,
    tick: Tick,
    members: BTreeMap<Pid, Member>,
    ended: TaskTimes,
    /// Whether a member that has ended had time that was not seen.
    ended_unseen: bool,
}

#[derive(Debug)]
struct Member {
    /// At the last sample.
    stat: ProcessStat,
    account: ProcessAccount,
    /// Last known CPU time of children that have ended.
    known_children: CpuTime,
    unseen_children: Excess,
}

impl ProcessTree {
    /// Counts from now on. In every list of samples, parents come before
    /// children.
    pub(crate) fn open(
        samples: &[ProcessSample],
        counted: Counted,
        source: Source,
        tick: Tick,
    ) -> ProcessTree {
        let mut tree = ProcessTree {
            counted,
            source,
            tick,
            members: BTreeMap::new(),
            ended: task::ZERO,
            ended_unseen: false,
        };
        for sample in samples {
            tree.record(sample, CountFrom::FirstSample);
        }
        tree
    }

    /// Updates all live members. Parents must be read before their children, so
    /// that a parent's counter never includes a child that still counts as
    /// alive.
    pub(crate) fn update(&mut self, samples: &[ProcessSample]) {
        let lives: BTreeMap<Pid, u64> = samples
            .iter()
            .map(|s| (s.stat.pid, s.stat.started))
            .collect();
        let gone: Vec<Pid> = self
            .members
            .iter()
            .filter(|(pid, member)| lives.get(pid) != Some(&member.stat.started))
            .map(|(pid, _)| *pid)
            .collect();
        for pid in gone {
            self.end(pid);
        }
        for sample in samples {
            self.record(sample, CountFrom::Start);
        }
    }

    /// Whether this is the process whose descendants count, and not it.
    pub(crate) fn counts_all_but(&self, pid: Pid) -> bool {
        self.counted == Counted::AllBut(pid)
    }

    /// CPU time since the account was opened.
    pub(crate) fn times(&self) -> TaskTimes {
        self.members.iter().fold(self.ended, |sum, (pid, member)| {
            task::plus(sum, self.times_of(*pid, member))
        })
    }

    /// Whether CPU time was added that no reading of a thread shows.
    pub(crate) fn has_unseen(&self) -> bool {
        self.ended_unseen || self.members.values().any(Member::has_unseen)
    }

    fn times_of(&self, pid: Pid, member: &Member) -> TaskTimes {
        let mut times = if self.counted == Counted::AllBut(pid) {
            task::ZERO
        } else {
            member.account.parts().sum()
        };
        times.cpu = times.cpu + member.unseen_children.time();
        times
    }

    fn record(&mut self, sample: &ProcessSample, from: CountFrom) {
        let rest = |_| Role::Other;
        let stat = &sample.stat;
        let (source, tick) = (self.source, self.tick);
        let member = self.members.entry(stat.pid).or_insert_with(|| Member {
            stat: *stat,
            account: ProcessAccount::open(sample, from, source, tick, &rest),
            known_children: CpuTime::ZERO,
            unseen_children: match from {
                CountFrom::FirstSample if self.counted == Counted::AllBut(stat.pid) => {
                    Excess::from_first_exact(stat.reaped, CpuTime::ZERO)
                }
                CountFrom::FirstSample => {
                    Excess::from_first_sample(stat.reaped, CpuTime::ZERO, tick)
                }
                CountFrom::Start => Excess::from_start(),
            },
        });
        member.stat = *stat;
        member.account.update(sample, &rest);
        let known = member.known_children;
        member.unseen_children.observe(stat.reaped, known);
    }

    fn end(&mut self, pid: Pid) {
        let Some(member) = self.members.remove(&pid) else {
            return;
        };
        self.ended = task::plus(self.ended, self.times_of(pid, &member));
        self.ended_unseen |= member.has_unseen();
        if let Some(parent) = self.members.get_mut(&member.stat.parent) {
            parent.known_children = parent.known_children + member.lifetime();
        }
    }
}

impl Member {
    fn has_unseen(&self) -> bool {
        self.account.has_unseen() || self.unseen_children.time() > CpuTime::ZERO
    }

    /// Lower bound of what its parent's counter will include for it.
    fn lifetime(&self) -> CpuTime {
        self.account.lifetime() + self.stat.reaped.max(self.known_children)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::tests::sample;
    use crate::fake_tree::{MS, ms};

    /// PID, parent, own CPU time and that of reaped children in milliseconds.
    type Process = (Pid, Pid, u64, u64);

    /// A process with one thread.
    fn process((pid, parent, own, reaped): Process) -> ProcessSample {
        let mut sample = sample(own / 10, &[(0, own * MS)]);
        sample.stat.pid = pid;
        sample.stat.parent = parent;
        sample.stat.reaped = ms(reaped);
        sample
    }

    fn used(counted: Counted, readings: &[Vec<ProcessSample>]) -> CpuTime {
        let (source, tick) = (Source::Schedstat, Tick::hundredth());
        let mut tree = ProcessTree::open(&readings[0], counted, source, tick);
        for samples in &readings[1..] {
            tree.update(samples);
        }
        tree.times().cpu
    }

    #[test]
    fn each_process_counts_once() {
        let cases: [(&str, &[&[Process]], u64); 6] = [
            (
                "a master and its worker count from the first sample",
                &[
                    &[(1, 0, 500, 70), (2, 1, 100, 0)],
                    &[(1, 0, 510, 70), (2, 1, 190, 0)],
                ],
                100,
            ),
            (
                "a new child counts in full",
                &[&[(1, 0, 500, 0)], &[(1, 0, 500, 0), (2, 1, 70, 0)]],
                70,
            ),
            (
                // It used 200 ms more before it ended: the parent has 600 ms in
                // all. Of these 200 ms, two ticks may be truncation.
                "a reaped child counts in full",
                &[
                    &[(1, 0, 500, 70), (2, 1, 100, 0)],
                    &[(1, 0, 500, 70), (2, 1, 400, 0)],
                    &[(1, 0, 500, 670)],
                ],
                300 + 180,
            ),
            (
                "unobserved children are in the parent's counter",
                &[
                    &[(1, 0, 500, 70)],
                    &[(1, 0, 500, 1070)],
                    &[(1, 0, 500, 2070)],
                ],
                2000 - 20,
            ),
            (
                "an unreaped child keeps its last value",
                &[
                    &[(1, 0, 500, 0), (2, 1, 100, 0)],
                    &[(1, 0, 500, 0), (2, 1, 400, 0)],
                    &[(1, 0, 500, 0)],
                    &[(1, 0, 510, 0)],
                ],
                310,
            ),
            (
                "a reaped grandchild counts once",
                &[
                    &[(1, 0, 0, 0), (2, 1, 0, 0), (3, 2, 0, 0)],
                    &[(1, 0, 0, 0), (2, 1, 0, 0), (3, 2, 300, 0)],
                    &[(1, 0, 0, 0), (2, 1, 0, 300)],
                    &[(1, 0, 0, 300)],
                ],
                300,
            ),
        ];
        for (case, readings, expected) in cases {
            let samples = |reading: &&[Process]| reading.iter().copied().map(process).collect();
            let readings: Vec<_> = readings.iter().map(samples).collect();
            assert_eq!(used(Counted::All, &readings), ms(expected), "{case}");
        }
    }

    #[test]
    fn children_count_with_the_parent_excluded() {
        let readings = [
            vec![process((1, 0, 500, 70))],
            vec![process((1, 0, 900, 70)), process((2, 1, 400, 0))],
            vec![process((1, 0, 990, 1070))],
        ];
        assert_eq!(used(Counted::AllBut(1), &readings), ms(1000));
    }

    #[test]
    fn reused_pid_is_a_new_process() {
        let mut reused = process((2, 1, 30, 0));
        reused.stat.started = 99;
        let readings = [
            vec![process((1, 0, 0, 0)), process((2, 1, 1000, 0))],
            vec![process((1, 0, 0, 1000)), reused],
        ];
        assert_eq!(used(Counted::All, &readings), ms(30));
    }
}
