//! The slow-down of copies of a command that run at once.

use crate::levels::mean;
use crate::{smt, student};
use plimsoll_model::{
    CopiesFinding, CopiesFindings, CopiesPlan, CopiesSetting, CopiesTrial, Estimate, Phase, Share,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// The findings of a run of copies so far.
pub fn findings(plan: &CopiesPlan, trials: &[CopiesTrial]) -> CopiesFindings {
    let copies = copies(trials);
    let idle = |t: &&CopiesTrial| t.spec.phase == Phase::Idle && t.verdict.is_valid();
    let idle = trials.iter().rfind(idle);
    CopiesFindings {
        idle_cpu_pct: idle.and_then(|t| t.machine.cpu.as_ref()?.busy_share().map(Share::pct)),
        smt: smt::of_copies(plan, trials, &copies),
        copies,
    }
}

/// One row per number of copies, ascending.
///
/// Efficiency is the mean time of one copy alone over the mean time of a copy
/// among n: 1 when n CPUs do n times the work of one. Copies of one trial share
/// its disturbances, so its interval goes by the means of trials.
pub fn copies(trials: &[CopiesTrial]) -> Vec<CopiesFinding> {
    let mut groups: BTreeMap<u32, Vec<&CopiesTrial>> = BTreeMap::new();
    for trial in trials {
        if let CopiesSetting::Copies { copies } = trial.spec.setting {
            groups.entry(copies).or_default().push(trial);
        }
    }
    let means = |copies: u32| -> Vec<f64> {
        let trials = groups.get(&copies).into_iter().flatten();
        let valid = trials.filter(|trial| trial.verdict.is_valid());
        valid.filter_map(|trial| mean_seconds(trial)).collect()
    };
    let alone = means(1);
    let efficiency = |copies: u32| match copies {
        // It is what the others are measured by.
        1 => alone.first().map(|_| Estimate::within(1.0, 1.0, 1.0)),
        copies => student::ratio(&alone, &means(copies)),
    };
    let row = |(copies, trials): (&u32, &Vec<&CopiesTrial>)| {
        let row = row(*copies, trials)?;
        let efficiency_ratio = efficiency(*copies);
        Some(CopiesFinding {
            efficiency_ratio,
            ..row
        })
    };
    groups.iter().filter_map(row).collect()
}

fn mean_seconds(trial: &CopiesTrial) -> Option<f64> {
    let times = &trial.outcome.copy_times;
    let sum: Duration = times.iter().sum();
    (!times.is_empty()).then(|| sum.as_secs_f64() / times.len() as f64)
}

/// Valid trials if there are any; else the invalid ones, for display without
/// findings.
fn row(copies: u32, trials: &[&CopiesTrial]) -> Option<CopiesFinding> {
    let valid: Vec<&CopiesTrial> = trials
        .iter()
        .copied()
        .filter(|t| t.verdict.is_valid())
        .collect();
    let used = if valid.is_empty() { trials } else { &valid };
    let times: Vec<Duration> = used
        .iter()
        .flat_map(|t| t.outcome.copy_times.iter().copied())
        .collect();
    let slowest = times.iter().max()?;
    let sum: Duration = times.iter().sum();
    let cpu = used.iter().map(|t| {
        // The row of a table has no window.
        let window = t.machine.window;
        let is_known = window.is_zero() || window >= CopiesFinding::SHORTEST;
        let cpu = t.machine.cpu.as_ref().filter(|_| is_known)?;
        cpu.busy_share().map(Share::pct)
    });
    Some(CopiesFinding {
        copies,
        seconds: sum.as_secs_f64() / times.len() as f64,
        slowest_seconds: slowest.as_secs_f64(),
        cpu_pct: mean(cpu),
        efficiency_ratio: None,
        trials: valid.len() as u32,
        invalid_trials: (trials.len() - valid.len()) as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::copies_trial;

    #[test]
    fn the_published_compile_times_give_the_published_efficiency() {
        for (alone, eight, efficiency) in [(244, 253, 0.964), (223, 354, 0.63)] {
            let rows = copies(&[copies_trial(8, eight), copies_trial(1, alone)]);
            assert_eq!(rows[0].efficiency_ratio.unwrap().value, 1.0);
            let found = rows[1].efficiency_ratio.unwrap();
            assert!((found.value - efficiency).abs() < 0.0006);
            assert_eq!(found.interval(), None, "one trial of each");
        }
    }

    #[test]
    fn two_trials_of_each_give_an_interval() {
        let trials = [(1, 100), (1, 102), (4, 110), (4, 113)];
        let rows = copies(&trials.map(|(copies, seconds)| copies_trial(copies, seconds)));
        let efficiency = rows[1].efficiency_ratio.unwrap();
        assert!((efficiency.value - 101.0 / 111.5).abs() < 1e-9);
        assert!(
            efficiency.holds(0.88) && !efficiency.holds(1.0),
            "{efficiency:?}"
        );
    }

    #[test]
    fn cpu_use_of_a_trial_of_a_few_ticks_is_unknown() {
        let of = |ms| {
            let mut trial = copies_trial(1, 0);
            trial.machine.window = Duration::from_millis(ms);
            let idle = plimsoll_model::CpuTime(Duration::from_millis(ms.max(1)));
            trial.machine.cpu = Some(plimsoll_model::CpuUse {
                idle,
                ..Default::default()
            });
            copies(&[trial])[0].cpu_pct
        };
        assert_eq!((of(199), of(200)), (None, Some(0.0)));
        assert_eq!(of(0), Some(0.0), "the row of a table");
    }

    #[test]
    fn invalid_trials_give_no_efficiency() {
        let mut disturbed = copies_trial(1, 100);
        disturbed.verdict = plimsoll_model::Verdict::Invalid(vec![]);
        let rows = copies(&[disturbed, copies_trial(2, 10)]);
        assert!(rows.iter().all(|r| r.efficiency_ratio.is_none()));
    }

    #[test]
    fn without_a_copy_alone_there_is_no_efficiency() {
        assert_eq!(copies(&[copies_trial(2, 10)])[0].efficiency_ratio, None);
    }
}
