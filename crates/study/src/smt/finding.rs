//! From the trials of a run to what is said of its threads.

use super::{BusyTime, Clock, PinnedTrial, from_copies, speedup, work_share, work_share_range};
use crate::carried::trial_is_carried;
use crate::levels::{Level, mean};
use crate::rated::rated;
use plimsoll_model::{
    CopiesFinding, CopiesPlan, CopiesSetting, CopiesTrial, CopiesWork, LevelWork, NoSpeedup, Phase,
    Plan, SmtFinding, Speedup, Trial, Workload,
};

/// Copies that used less of their CPUs than this waited for something else:
/// their places then do not show how busy cores were.
const BUSY_SHARE: f64 = 0.9;

/// What a second busy thread of a core adds to the work of a service, and the
/// corrected utilisation of each of `levels`: a range, for only how many
/// threads are busy in all is known, not on which cores.
pub(crate) fn of_levels(plan: &Plan, trials: &[Trial], levels: &[Level<'_>]) -> SmtFinding {
    match of_service(plan, trials) {
        Err(why) => SmtFinding::unknown(why),
        Ok(known) => SmtFinding {
            levels: levels.iter().filter_map(|l| known.level(l)).collect(),
            copies: Vec::new(),
            speedup: Ok(known.speedup),
        },
    }
}

/// The same of copies, whose CPUs are known, and with them the busy threads of
/// each core.
pub(crate) fn of_copies(
    plan: &CopiesPlan,
    trials: &[CopiesTrial],
    rows: &[CopiesFinding],
) -> SmtFinding {
    let known = || {
        let cores = plan.run.cpus.two_thread_cores()?;
        Ok(Known {
            speedup: from_copies(trials, cores, plan.run.seed)?,
            cores,
            all_busy: clock_with(trials, cores.saturating_mul(2)),
        })
    };
    match known() {
        Err(why) => SmtFinding::unknown(why),
        Ok(known) => SmtFinding {
            levels: Vec::new(),
            copies: rows
                .iter()
                .filter_map(|row| known.copies(row, trials))
                .collect(),
            speedup: Ok(known.speedup),
        },
    }
}

/// A speed-up, and what else a corrected utilisation needs.
struct Known {
    speedup: Speedup,
    cores: u32,
    /// The clock with all threads busy.
    all_busy: Option<f64>,
}

/// The speed-up of a service from its trials on one thread of each core and on
/// both, and the clock in the latter.
fn of_service(plan: &Plan, trials: &[Trial]) -> Result<Known, NoSpeedup> {
    let is_ours = matches!(plan.workload, Workload::Hash(_));
    let cores = match plan.run.cpus.two_thread_cores() {
        Ok(_) | Err(NoSpeedup::UnevenCores) if !is_ours => return Err(NoSpeedup::NotOurs),
        cores => cores?,
    };
    let of_phase = |phase: Phase| -> Vec<&Trial> {
        let counts = |t: &&Trial| t.spec.phase == phase && t.verdict.is_valid();
        trials.iter().filter(counts).collect()
    };
    let one = of_phase(Phase::OneThreadPerCore);
    let two = of_phase(Phase::TwoThreadsPerCore);
    // What was carried is what was offered, whatever threads there were.
    let carried = one.iter().chain(&two).any(|t| trial_is_carried(t));
    if carried || rated(plan, trials).is_some_and(|r| !r.limited_by_service && !r.disturbed) {
        return Err(NoSpeedup::NotSaturated);
    }
    let pinned = |trials: &[&Trial]| -> Vec<PinnedTrial> {
        let pinned = |t: &&Trial| PinnedTrial {
            rate_rps: t.achieved().get(),
            clock_ratio: t.machine.clock_ratio,
        };
        trials.iter().map(pinned).collect()
    };
    Ok(Known {
        speedup: speedup(&pinned(&one), &pinned(&two), plan.run.seed)?,
        cores,
        all_busy: mean(two.iter().map(|t| t.machine.clock_ratio)),
    })
}

/// The mean clock while this many copies ran.
fn clock_with(trials: &[CopiesTrial], copies: u32) -> Option<f64> {
    let setting = CopiesSetting::Copies { copies };
    let counts = |t: &&CopiesTrial| t.spec.setting == setting && t.verdict.is_valid();
    let clocks: Vec<Option<f64>> = trials
        .iter()
        .filter(counts)
        .map(|t| t.machine.clock_ratio)
        .collect();
    mean(clocks.into_iter())
}

impl Known {
    /// The speed-up and the clocks to correct with: at equal clock where the
    /// clock is known throughout, else as it comes.
    fn factors(&self, now: Option<f64>) -> (f64, Option<Clock>) {
        let equal = self.speedup.at_equal_clock_ratio;
        match (equal, now, self.all_busy) {
            (Some(equal), Some(now), Some(all_busy)) => {
                (equal.value, Some(Clock { now, all_busy }))
            }
            _ => (self.speedup.ratio.value, None),
        }
    }

    fn level(&self, level: &Level<'_>) -> Option<LevelWork> {
        let cpu_pct = level.row.cpu_pct?;
        let (speedup, clock) = self.factors(level.clock_ratio);
        let (low, high) = work_share_range(cpu_pct / 100.0, speedup, clock)?;
        Some(LevelWork {
            load_pct: level.row.load_pct,
            cpu_pct,
            work_low_pct: 100.0 * low,
            work_high_pct: 100.0 * high,
            clock_ratio: level.clock_ratio,
        })
    }

    fn copies(&self, row: &CopiesFinding, trials: &[CopiesTrial]) -> Option<CopiesWork> {
        let (copies, cores) = (f64::from(row.copies), f64::from(self.cores));
        let placed = copies / (2.0 * cores);
        let kept_busy = row.cpu_pct? / 100.0 >= BUSY_SHARE * placed;
        if row.trials == 0 || !kept_busy {
            return None;
        }
        // Copies are placed core by core.
        let busy = BusyTime::of_core_and_threads((copies / cores).min(1.0), copies / cores)?;
        let clock_ratio = clock_with(trials, row.copies);
        let (speedup, clock) = self.factors(clock_ratio);
        Some(CopiesWork {
            copies: row.copies,
            work_pct: 100.0 * work_share(busy, speedup, clock)?,
            clock_ratio,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{copies_plan, copies_trial, plan, trial_at};
    use crate::{copies::copies, levels::levels};
    use plimsoll_model::{CpuTime, CpuUse, CpusOf, Invalid, Share, Verdict};
    use std::time::Duration;

    /// The hash service on two cores of two threads.
    fn smt() -> Plan {
        let mut plan = plan();
        plan.run.cpus.service = "0-3".parse().unwrap();
        plan.run.cpus.cores = vec!["0,2".parse().unwrap(), "1,3".parse().unwrap()];
        plan
    }

    /// A trial at full load that got `rps` of 3,000 a second done.
    fn full(phase: Phase, rps: u64, clock: Option<f64>) -> Trial {
        let mut trial = trial_at(100.0, 3000, 1.0, 1000.0);
        trial.spec.phase = phase;
        trial.work.completed = rps * trial.window.as_secs();
        trial.machine.clock_ratio = clock;
        trial
    }

    fn both(one: u64, two: u64, clocks: Option<(f64, f64)>) -> Vec<Trial> {
        let pair = || {
            let one = full(Phase::OneThreadPerCore, one, clocks.map(|c| c.0));
            let two = full(Phase::TwoThreadsPerCore, two, clocks.map(|c| c.1));
            [one, two]
        };
        (0..3).flat_map(|_| pair()).collect()
    }

    fn of(plan: &Plan, trials: &[Trial]) -> SmtFinding {
        of_levels(plan, trials, &levels(plan, trials, None))
    }

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-6
    }

    #[test]
    fn a_service_on_one_thread_and_on_both_gives_the_speedup_and_ranges_of_work() {
        let mut trials = both(1000, 1250, None);
        trials.push(trial_at(40.0, 500, 0.4, 1000.0));
        trials.push(trial_at(60.0, 800, 0.6, 1000.0));
        let found = of(&smt(), &trials);
        let speedup = found.speedup.unwrap();
        assert!(near(speedup.ratio.value, 1.25));
        assert_eq!(
            speedup.ratio.interval().map(|(a, b)| near(a, b)),
            Some(true)
        );
        assert_eq!(speedup.at_equal_clock_ratio, None);
        let rows: Vec<(f64, f64)> = found
            .levels
            .iter()
            .map(|l| (l.work_low_pct, l.work_high_pct))
            .collect();
        // Spread: 0.8 / 1.25, and with 80 % of the time alone 0.8 / 1.25 + 0.2.
        for ((low, high), expected) in rows.iter().zip([(40.0, 64.0), (60.0, 84.0)]) {
            assert!(
                near(*low, expected.0) && near(*high, expected.1),
                "{rows:?}"
            );
        }
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn with_the_clock_known_work_is_corrected_at_equal_clock() {
        let mut trials = both(1000, 1250, Some((1.2, 1.0)));
        let mut light = trial_at(40.0, 500, 0.4, 1000.0);
        light.machine.clock_ratio = Some(1.25);
        trials.push(light);
        let found = of(&smt(), &trials);
        let speedup = found.speedup.unwrap();
        assert!(near(speedup.at_equal_clock_ratio.unwrap().value, 1.5));
        assert!(near(speedup.clock_ratio.unwrap().value, 1.0 / 1.2));
        let row = found.levels[0];
        assert!(near(row.work_low_pct, 40.0 * 1.25), "{row:?}");
        assert!(near(row.work_high_pct, 80.0 / 1.5 * 1.25), "{row:?}");
        assert_eq!(row.clock_ratio, Some(1.25));
    }

    #[test]
    fn a_service_that_was_not_saturated_has_no_speedup() {
        let found = of(&smt(), &both(3000, 3000, None));
        assert_eq!(found, SmtFinding::unknown(NoSpeedup::NotSaturated));
    }

    #[test]
    fn the_missing_condition_is_the_reason() {
        let why = |plan: &Plan, trials: &[Trial]| of(plan, trials).speedup.unwrap_err();
        let mut disturbed = both(1000, 1250, None);
        let reason = Invalid::Steal {
            stolen: Share::ONE,
            bound: Share::ZERO,
            on: CpusOf::Machine,
        };
        disturbed[0].verdict = Verdict::Invalid(vec![reason]);
        assert_eq!(why(&smt(), &disturbed[..2]), NoSpeedup::LevelMissing);
        assert_eq!(why(&smt(), &[]), NoSpeedup::LevelMissing);
        assert_eq!(why(&plan(), &disturbed), NoSpeedup::CoresUnknown);
        let mut table = smt();
        table.workload = Workload::Imported(plimsoll_model::ImportedTable {
            name: "web1".to_owned(),
            rows: plimsoll_model::TableRows::Rates,
            cpus: Some(4),
            threads_per_core: Some(2),
            note: None,
            latencies: Vec::new(),
        });
        assert_eq!(why(&table, &disturbed), NoSpeedup::NotOurs);
    }

    /// Copies that keep a share of their CPUs busy, on four CPUs.
    fn busy_copies(n: u32, seconds: u64, busy: f64) -> CopiesTrial {
        let mut trial = copies_trial(n, seconds);
        let all = Duration::from_secs(4 * seconds);
        let used = all.mul_f64(busy * f64::from(n) / 4.0);
        trial.machine.cpu = Some(CpuUse {
            user: CpuTime(used),
            idle: CpuTime(all - used),
            ..CpuUse::default()
        });
        trial
    }

    #[test]
    fn copies_give_their_utilisation_exactly_where_they_kept_their_cpus_busy() {
        let mut plan = copies_plan();
        plan.run = smt().run;
        let trials = [
            busy_copies(1, 100, 1.0),
            busy_copies(2, 100, 0.97),
            busy_copies(3, 130, 0.5),
            busy_copies(4, 160, 1.0),
        ];
        let found = of_copies(&plan, &trials, &copies(&trials));
        assert!(near(found.speedup.unwrap().ratio.value, 1.25));
        let rows: Vec<(u32, f64)> = found
            .copies
            .iter()
            .map(|c| (c.copies, c.work_pct))
            .collect();
        let expected = [(1, 40.0), (2, 80.0), (4, 100.0)];
        assert_eq!(rows.len(), 3, "{rows:?}");
        for (row, expected) in rows.iter().zip(expected) {
            assert!(row.0 == expected.0 && near(row.1, expected.1), "{rows:?}");
        }
    }
}
