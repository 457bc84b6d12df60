//! The plan of a run of copies, and its planner.

use crate::defaults::{Tolerance, bounds};
use plimsoll_engine::visits::VisitPlanner;
use plimsoll_model::{
    Copies, CopiesOutcome, CopiesPlan, CopiesSetting, CopiesTrial, CopiesWorkload, CpuPlan,
    InterruptTime, RunPlan, WarmUp, human_duration,
};
use std::time::Duration;

/// A requested run of copies. `None` means the default.
#[derive(Debug, Clone)]
pub struct CopiesRequest {
    /// The command.
    pub command: Copies,
    /// The numbers of copies, ascending.
    pub numbers: Vec<u32>,
    /// Whether the run is to be short.
    pub quick: bool,
    /// How often each number is tried.
    pub trials: Option<u32>,
    /// The CPUs that copies are pinned to.
    pub cpus: CpuPlan,
    /// How much disturbance a trial may show.
    pub tolerance: Tolerance,
    /// Where the kernel counts the time of interrupts.
    pub interrupts: InterruptTime,
    pub seed: u64,
}

pub fn plan(asked: CopiesRequest) -> CopiesPlan {
    let ms = Duration::from_millis;
    let (trials, idle, budget) = match asked.quick {
        true => (1, ms(2000), ms(62_000)),
        false => (2, ms(5000), ms(205_000)),
    };
    CopiesPlan {
        workload: CopiesWorkload::Copies(asked.command),
        numbers: asked.numbers,
        run: RunPlan {
            passes: asked.trials.unwrap_or(trials),
            // A trial lasts as long as its copies do.
            window: ms(1000),
            warm_up: WarmUp::NONE,
            idle,
            bounds: bounds(asked.tolerance, asked.interrupts),
            cpus: asked.cpus,
            seed: asked.seed,
            budget,
        },
    }
}

/// Plans the trials of a run of copies: each number once in each pass.
pub fn planner(plan: &CopiesPlan) -> VisitPlanner<'_, CopiesSetting, CopiesOutcome> {
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
        times: Some(times),
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
