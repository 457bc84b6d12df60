//! Cores of two threads: how the service's CPUs lie on them, what is planned
//! to find out what a second thread adds, and what was found.

use crate::{CpuId, CpuPlan, CpuSet, Estimate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Trials at full load on one thread of each core and on both, in turns, for
/// a service whose threads Plimsoll places itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmtPlan {
    /// How many valid trials of each kind are needed.
    pub trials: u32,
    /// How long each waits before it measures: at full load nothing gets
    /// steady, so it is neither less nor more.
    #[serde(rename = "warm_up_ns", with = "crate::Ns")]
    pub warm_up: Duration,
    /// How long each measures.
    #[serde(rename = "window_ns", with = "crate::Ns")]
    pub window: Duration,
    /// What they may take in sum.
    #[serde(rename = "budget_ns", with = "crate::Ns")]
    pub budget: Duration,
}

/// Why there is no speed-up by SMT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoSpeedup {
    /// It is not known which CPUs share a core, or the service is on another machine.
    CoresUnknown,
    /// Every core has one thread: there is nothing to correct.
    OneThreadPerCore,
    /// The cores have two threads, of which the service has one each.
    OneThreadUsed,
    /// The service has both threads of some cores and one of others.
    UnevenCores,
    /// Cores of more than two threads, for which the formula is not made.
    MoreThanTwoThreads,
    /// Plimsoll has not placed the threads of what was measured.
    NotOurs,
    /// No valid trial on one thread of each core, or none on both.
    LevelMissing,
    /// The service was not saturated on one thread of each core, or not on both.
    NotSaturated,
    /// The service's quota ends before its CPUs are full.
    Quota,
}

/// What two busy threads of a core do, against one.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
pub struct Speedup {
    /// Work of a core with two busy threads over that with one, as it comes,
    /// with whatever the clock does meanwhile.
    pub ratio: Estimate,
    /// The same at equal clock; `None` where the clock is not known.
    pub at_equal_clock_ratio: Option<Estimate>,
    /// Clock with two busy threads a core over the clock with one; `None`
    /// where the clock is not known.
    pub clock_ratio: Option<Estimate>,
}

/// Simultaneous multithreading: what it adds, and what CPU use means by it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(into = "SmtKeys")]
pub struct SmtFinding {
    /// The speed-up, or why it is not known.
    pub speedup: Result<Speedup, NoSpeedup>,
    /// One row per load level with a known CPU use, ascending.
    pub levels: Vec<LevelWork>,
    /// One row per number of copies that kept their CPUs busy, ascending.
    pub copies: Vec<CopiesWork>,
}

impl SmtFinding {
    /// Nothing, for this reason.
    pub const fn unknown(why: NoSpeedup) -> SmtFinding {
        SmtFinding {
            speedup: Err(why),
            levels: Vec::new(),
            copies: Vec::new(),
        }
    }
}

/// Corrected utilisation at a load level: the share of the work that is done
/// with all threads busy. The kernel does not state how busy cores were, so it
/// is a range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LevelWork {
    /// Offered rate in percent of the rated rate.
    pub load_pct: f64,
    /// CPU use in percent, which counts busy threads.
    pub cpu_pct: f64,
    /// Work in percent of that with all threads busy, if both threads of a core were always
    /// busy together.
    pub work_low_pct: f64,
    /// The same if no two threads shared a core while another was idle.
    pub work_high_pct: f64,
    /// Mean clock of the busy CPUs as a ratio to the nominal one.
    pub clock_ratio: Option<f64>,
}

/// Corrected utilisation with a number of copies, from their places.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CopiesWork {
    /// How many.
    pub copies: u32,
    /// Work in percent of that with all threads busy.
    pub work_pct: f64,
    /// Mean clock of the busy CPUs as a ratio to the nominal one.
    pub clock_ratio: Option<f64>,
}

/// The form of [`SmtFinding`] in the JSON output.
#[derive(Serialize, JsonSchema)]
struct SmtKeys {
    /// Work of a core with two busy threads over that with one, at whatever clock.
    speedup_ratio: Option<Estimate>,
    /// Why there is no speed-up; `None` where there is one.
    speedup_missing: Option<NoSpeedup>,
    /// The speed-up at equal clock; `None` where the clock is not known.
    speedup_at_equal_clock_ratio: Option<Estimate>,
    /// Clock with two busy threads a core over the clock with one; `None` where it is not known.
    two_over_one_clock_ratio: Option<Estimate>,
    /// One entry per load level with a known CPU use, ascending; empty without a speed-up.
    levels: Vec<LevelWork>,
    /// One entry per number of copies that kept their CPUs busy, ascending; empty without a
    /// speed-up.
    copies: Vec<CopiesWork>,
}

impl From<SmtFinding> for SmtKeys {
    fn from(finding: SmtFinding) -> SmtKeys {
        let found = finding.speedup.ok();
        SmtKeys {
            speedup_ratio: found.map(|s| s.ratio),
            speedup_missing: finding.speedup.err(),
            speedup_at_equal_clock_ratio: found.and_then(|s| s.at_equal_clock_ratio),
            two_over_one_clock_ratio: found.and_then(|s| s.clock_ratio),
            levels: finding.levels,
            copies: finding.copies,
        }
    }
}

impl CpuPlan {
    /// The service's CPUs core by core: one thread of every core, then the
    /// second threads, and so on, each time from the core with the lowest
    /// number on. So the first `n` of them share no core as long as there are
    /// `n` cores. Where cores are not known, ascending.
    pub fn core_by_core(&self) -> Vec<CpuId> {
        let mut cores: Vec<Vec<CpuId>> = self
            .cores
            .iter()
            .map(|core| core.and(&self.service).iter().collect())
            .collect();
        cores.sort();
        let rounds = cores.iter().map(Vec::len).max().unwrap_or(0);
        let round = |n: usize| cores.iter().filter_map(move |core| core.get(n).copied());
        let mut order: Vec<CpuId> = (0..rounds).flat_map(round).collect();
        let placed: CpuSet = order.iter().copied().collect();
        order.extend(self.service.without(&placed).iter());
        order
    }

    /// How many cores the service has both threads of, where it has both of
    /// every core it runs on and none has more.
    ///
    /// # Errors
    ///
    /// Where its CPUs lie on cores in another way, and in which.
    pub fn two_thread_cores(&self) -> Result<u32, NoSpeedup> {
        if self.quota().is_some() {
            return Err(NoSpeedup::Quota);
        }
        let used = || self.cores.iter().map(|core| core.and(&self.service).len());
        let most = self.cores.iter().map(CpuSet::len).max();
        let known = used().sum::<usize>() == self.service.len();
        let all_have = |n: usize| used().all(|threads| threads == n);
        match most {
            None => Err(NoSpeedup::CoresUnknown),
            Some(_) if !known || used().any(|n| n == 0) => Err(NoSpeedup::CoresUnknown),
            Some(1) => Err(NoSpeedup::OneThreadPerCore),
            Some(3..) => Err(NoSpeedup::MoreThanTwoThreads),
            Some(_) if all_have(1) => Err(NoSpeedup::OneThreadUsed),
            Some(_) if all_have(2) => Ok(u32::try_from(self.cores.len()).unwrap_or(u32::MAX)),
            Some(_) => Err(NoSpeedup::UnevenCores),
        }
    }

    /// One CPU of each core that the service has both threads of; `None` where
    /// its CPUs lie in another way.
    pub fn one_thread_of_each_core(&self) -> Option<CpuSet> {
        let cores = self.two_thread_cores().ok()?;
        Some(
            self.core_by_core()
                .into_iter()
                .take(cores as usize)
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(service: &str, cores: &[&str]) -> CpuPlan {
        CpuPlan {
            service: service.parse().unwrap(),
            generator: CpuSet::default(),
            cores: cores.iter().map(|core| core.parse().unwrap()).collect(),
            capacity: None,
        }
    }

    #[test]
    fn one_thread_of_every_core_comes_first_however_cpus_are_numbered() {
        let cases: [(&str, &[&str], &[CpuId]); 6] = [
            ("0-3", &["0,2", "1,3"], &[0, 1, 2, 3]),
            ("0-3", &["0-1", "2-3"], &[0, 2, 1, 3]),
            ("0-3", &["2-3", "0-1"], &[0, 2, 1, 3]),
            ("1-3", &["0-1", "2-3"], &[1, 2, 3]),
            ("0-4", &["0-1", "2", "3-4"], &[0, 2, 3, 1, 4]),
            ("3-5", &[], &[3, 4, 5]),
        ];
        for (service, cores, expected) in cases {
            assert_eq!(cpus(service, cores).core_by_core(), expected, "{cores:?}");
        }
    }

    #[test]
    fn a_cpu_of_which_the_core_is_not_known_comes_last_and_is_not_lost() {
        assert_eq!(cpus("0-4", &["0,4"]).core_by_core(), [0, 4, 1, 2, 3]);
    }

    #[test]
    fn the_correction_is_made_where_both_threads_of_every_core_are_the_services() {
        let cases: [(&str, &[&str], Result<u32, NoSpeedup>); 8] = [
            ("0-3", &["0,2", "1,3"], Ok(2)),
            (
                "0-3",
                &["0", "1", "2", "3"],
                Err(NoSpeedup::OneThreadPerCore),
            ),
            ("0-1", &["0,2", "1,3"], Err(NoSpeedup::OneThreadUsed)),
            ("0-2", &["0,2", "1,3"], Err(NoSpeedup::UnevenCores)),
            ("0-2", &["0-1", "2"], Err(NoSpeedup::UnevenCores)),
            ("0-7", &["0-3", "4-7"], Err(NoSpeedup::MoreThanTwoThreads)),
            ("0-3", &[], Err(NoSpeedup::CoresUnknown)),
            ("0-3", &["0-1"], Err(NoSpeedup::CoresUnknown)),
        ];
        for (service, cores, expected) in cases {
            let cpus = cpus(service, cores);
            assert_eq!(cpus.two_thread_cores(), expected, "{service} {cores:?}");
        }
        let one = cpus("0-3", &["0-1", "2-3"]).one_thread_of_each_core();
        assert_eq!(one.map(|set| set.to_string()).as_deref(), Some("0,2"));
    }
}
