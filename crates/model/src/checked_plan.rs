//! Whether a plan from a file is one that a run could have made. Flags have limits of
//! their own; these are wider, and keep sums of times and counts within their types.

use crate::{CopiesPlan, PhasedRate, Plan, RunPlan, ServiceWarmUp, StepPlan, Workload, YieldPlan};
use std::time::Duration;

/// The longest time in a plan.
const LONGEST: Duration = Duration::from_secs(31 * 86_400);
/// The largest number of passes, levels, copies, steps or repeats.
const MOST: u64 = 1_000_000;

/// A value that no run has in its plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, and a run has {range}; the file was changed or damaged")]
pub struct ImplausiblePlan {
    /// As it is named in JSON.
    field: &'static str,
    value: String,
    range: &'static str,
}

/// A plan that a record holds.
pub trait CheckedPlan {
    /// # Errors
    /// The first value that no run has.
    fn check(&self) -> Result<(), ImplausiblePlan>;
}

impl CheckedPlan for RunPlan {
    fn check(&self) -> Result<(), ImplausiblePlan> {
        count("passes", self.passes.into(), 0)?;
        window("window_ns", self.window)?;
        time("warm_up.max_ns", self.warm_up.max)?;
        if self.warm_up.min > self.warm_up.max {
            let value = format!("{} ns", self.warm_up.min.as_nanos());
            return Err(ImplausiblePlan {
                field: "warm_up.min_ns",
                value,
                range: "at most warm_up.max_ns",
            });
        }
        time("idle_ns", self.idle)?;
        time("bounds.slip_ns", self.bounds.slip)?;
        count("bounds.retries", self.bounds.retries.into(), 0)
    }
}

impl CheckedPlan for PhasedRate {
    fn check(&self) -> Result<(), ImplausiblePlan> {
        count("the number of phases", self.0.len() as u64, 1)?;
        let mut phases = self.0.iter();
        phases.try_for_each(|phase| window("length_ns", phase.length))?;
        time("the length of all phases", self.length())
    }
}

/// Findings of each goal take some 30 ms.
const MOST_GOALS: usize = 64;

impl CheckedPlan for Plan {
    fn check(&self) -> Result<(), ImplausiblePlan> {
        self.run.check()?;
        count("the number of levels", self.levels.len() as u64, 0)?;
        distinct("goals", &self.goals)?;
        within(
            "goals",
            self.goals.len() <= MOST_GOALS,
            || format!("a list of {}", self.goals.len()),
            "at most 64 goals there",
        )?;
        let calibration = &self.calibration;
        let is_imported = matches!(self.workload, Workload::Imported(_));
        if calibration.rated.is_none() && !is_imported {
            window("calibration.window_ns", calibration.window)?;
            number(
                "calibration.first_rps",
                calibration.first.get(),
                f64::MIN_POSITIVE,
            )?;
        }
        if let Some(ServiceWarmUp::Time(length)) = self.service_warm_up {
            time("service_warm_up.time_ns", length)?;
        }
        count("calibration.retries", calibration.retries.into(), 0)?;
        if let Some(search) = &self.search {
            window("search.window_ns", search.window)?;
            time("search.confirm_ns", search.confirm)?;
        }
        if let Some(smt) = &self.smt {
            count("smt.trials", smt.trials.into(), 0)?;
            window("smt.window_ns", smt.window)?;
            time("smt.warm_up_ns", smt.warm_up)?;
        }
        if let Some(pace) = &self.pace {
            time("pace.first_answer_ns", pace.first_answer)?;
            number("pace.warm_up_latencies", pace.warm_up_latencies, 0.0)?;
            number("pace.window_latencies", pace.window_latencies, 0.0)?;
        }
        Ok(())
    }
}

impl CheckedPlan for CopiesPlan {
    fn check(&self) -> Result<(), ImplausiblePlan> {
        self.run.check()?;
        let mut numbers = self.numbers.iter();
        numbers.try_for_each(|number| count("a number of copies", (*number).into(), 1))
    }
}

impl CheckedPlan for YieldPlan {
    fn check(&self) -> Result<(), ImplausiblePlan> {
        self.load.check()?;
        time("sideload.timeout_ns", self.sideload.timeout)?;
        distinct("sideload.arms", &self.sideload.arms)?;
        distinct("sideload.missing_arms", &self.sideload.missing_arms)?;
        distinct("sideload.headrooms_share", &self.sideload.headrooms)?;
        self.step.as_ref().map_or(Ok(()), StepPlan::check)
    }
}

impl CheckedPlan for StepPlan {
    fn check(&self) -> Result<(), ImplausiblePlan> {
        window("step.before_ns", self.before)?;
        window("step.after_ns", self.after)?;
        window("step.slot_ns", self.slot)?;
        count("step.steps", self.steps.into(), 1)
    }
}

fn time(field: &'static str, value: Duration) -> Result<(), ImplausiblePlan> {
    let range = "at most 31 days";
    within(
        field,
        value <= LONGEST,
        || format!("{} ns", value.as_nanos()),
        range,
    )
}

/// A time that something is measured in.
fn window(field: &'static str, value: Duration) -> Result<(), ImplausiblePlan> {
    let range = "more than 0 and at most 31 days";
    let is_within = !value.is_zero() && value <= LONGEST;
    within(
        field,
        is_within,
        || format!("{} ns", value.as_nanos()),
        range,
    )
}

fn count(field: &'static str, value: u64, least: u64) -> Result<(), ImplausiblePlan> {
    let range = match least {
        0 => "at most 1000000",
        _ => "1 to 1000000",
    };
    within(
        field,
        (least..=MOST).contains(&value),
        || value.to_string(),
        range,
    )
}

fn number(field: &'static str, value: f64, least: f64) -> Result<(), ImplausiblePlan> {
    let range = match least > 0.0 {
        true => "a number above 0",
        false => "0 to 1000000",
    };
    let most = if least > 0.0 { f64::MAX } else { MOST as f64 };
    within(
        field,
        (least..=most).contains(&value),
        || value.to_string(),
        range,
    )
}

/// The passes of an experiment that computes with each of them.
///
/// # Errors
/// There are more than 1,000.
pub fn few_passes(run: &RunPlan) -> Result<(), ImplausiblePlan> {
    let passes = run.passes;
    within(
        "passes",
        passes <= 1000,
        || passes.to_string(),
        "at most 1000",
    )
}

/// A list of a plan, of which each item makes trials of its own.
///
/// # Errors
/// It has more than 1,000 items, or one of them twice.
pub fn distinct<T: PartialEq>(field: &'static str, list: &[T]) -> Result<(), ImplausiblePlan> {
    let is_new = |(at, item): (usize, &T)| !list[..at].contains(item);
    within(
        field,
        list.len() <= 1000 && list.iter().enumerate().all(is_new),
        || format!("a list of {}", list.len()),
        "at most 1000 items there, each once",
    )
}

fn within(
    field: &'static str,
    is_within: bool,
    value: impl FnOnce() -> String,
    range: &'static str,
) -> Result<(), ImplausiblePlan> {
    match is_within {
        true => Ok(()),
        false => Err(ImplausiblePlan {
            field,
            value: value(),
            range,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_each_item_once() {
        assert_eq!(distinct("gaps_ns", &[3, 1, 2]), Ok(()));
        let refused = distinct("gaps_ns", &[3, 1, 3]).unwrap_err();
        assert!(
            refused.to_string().contains("gaps_ns is a list of 3"),
            "{refused}"
        );
        let long: Vec<u32> = (0..1001).collect();
        assert!(distinct("gaps_ns", &long).is_err());
    }
    use crate::{Bytes, CpuTime, HashService, Pace, Rate, SearchPlan, Share, WarmUp};

    fn plan() -> Plan {
        let mut plan = Plan::blank(Workload::Hash(HashService {
            mean_block: Bytes(1 << 20),
            deviation_share: 0.1,
            request_cpu: CpuTime::ZERO,
            waiting: None,
            memory: None,
            files: None,
        }));
        plan.calibration.window = Duration::from_secs(1);
        plan.calibration.first = Rate::of(10, Duration::from_secs(1));
        plan
    }

    #[test]
    fn a_value_that_no_run_has_is_named() {
        let day = Duration::from_secs(86_400);
        type Change = (&'static str, fn(&mut Plan));
        let changes: [Change; 8] = [
            ("window_ns is 0 ns", |p| p.run.window = Duration::ZERO),
            ("passes is 4294967295", |p| p.run.passes = u32::MAX),
            ("idle_ns", |p| p.run.idle = Duration::from_nanos(u64::MAX)),
            ("warm_up.min_ns", |p| {
                p.run.warm_up = WarmUp {
                    min: Duration::from_secs(2),
                    max: Duration::from_secs(1),
                }
            }),
            ("calibration.first_rps", |p| {
                p.calibration.first = Rate::ZERO
            }),
            ("calibration.window_ns", |p| {
                p.calibration.window = Duration::ZERO
            }),
            ("search.window_ns", |p| {
                p.search = Some(SearchPlan {
                    precision: Share::ONE,
                    window: Duration::ZERO,
                    budget: Duration::ZERO,
                    confirm: Duration::ZERO,
                })
            }),
            ("pace.window_latencies is NaN", |p| {
                p.pace = Some(Pace {
                    first_answer: Duration::ZERO,
                    warm_up_latencies: 0.0,
                    window_latencies: f64::NAN,
                })
            }),
        ];
        assert_eq!(plan().check(), Ok(()));
        for (words, change) in changes {
            let mut plan = plan();
            change(&mut plan);
            let why = plan.check().unwrap_err().to_string();
            assert!(why.contains(words), "{words}: {why}");
        }
        let mut long = plan();
        long.run.window = 30 * day;
        assert_eq!(long.check(), Ok(()));
    }
}
