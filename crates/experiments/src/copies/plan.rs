//! The planner of a run of copies.

use plimsoll_engine::visits::VisitPlanner;
use plimsoll_model::{CopiesOutcome, CopiesPlan, CopiesSetting, CopiesTrial, human_duration};
use std::time::Duration;

/// Plans the trials of a run of copies: each number once in each pass.
pub(super) fn planner(plan: &CopiesPlan) -> VisitPlanner<'_, CopiesSetting, CopiesOutcome> {
    let copies = |copies: &u32| CopiesSetting::Copies { copies: *copies };
    VisitPlanner {
        run: &plan.run,
        idle: Some(CopiesSetting::Idle),
        settings: plan.numbers.iter().map(copies).collect(),
        words: |setting| match setting {
            CopiesSetting::Idle => "idle baseline".to_owned(),
            CopiesSetting::Copies { copies: 1 } => "one copy alone".to_owned(),
            CopiesSetting::Copies { copies } => format!("{copies} copies"),
        },
        x: |setting| match setting {
            CopiesSetting::Idle => None,
            CopiesSetting::Copies { copies } => Some(f64::from(*copies)),
        },
        times,
    }
}

/// The mean time of a copy and that of the slowest.
fn times(trial: &CopiesTrial) -> (Vec<f64>, String) {
    let times = &trial.outcome.copy_times;
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let Some(slowest) = times.iter().max() else {
        return (Vec::new(), String::new());
    };
    let mean = us(times.iter().sum()) / times.len() as f64;
    let words = format!("slowest copy {}", human_duration(*slowest));
    (vec![mean, us(*slowest)], words)
}
