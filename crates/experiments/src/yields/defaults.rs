//! The plan that flags ask for, with the defaults of a yield run.

use super::YieldArgs;
use crate::args::Effort;
use crate::defaults::{first_rate, ms, warm_up};
use plimsoll_model::{
    BesideRate, CalibrationPlan, CpuPlan, InterruptTime, LoadLevel, Plan, RunPlan, SideloadPlan,
    StepPlan, WarmUp, Workload, YieldPlan,
};
use std::time::Duration;

/// The load before and after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepLoads {
    pub low: LoadLevel,
    /// Higher than `low`.
    pub high: LoadLevel,
}

/// The time resolution after a step: half of the longest common quota period (100
/// ms), so that a single throttling is visible, and long enough for some tens of
/// requests at 1,000/s.
const SLOT: Duration = Duration::from_millis(50);

struct Times {
    passes: u32,
    window: Duration,
    window_of_curve: Duration,
    step: StepTimes,
    warm_up: WarmUp,
    calibration: Duration,
    budget: Duration,
}

/// How trials with steps spend their time.
struct StepTimes {
    steps: u32,
    before: Duration,
    after: Duration,
    /// Constant, because steps are at fixed times of the load.
    warm_up: Duration,
}

/// At least 6 passes: the range of fewer paired differences has less than 95 %
/// coverage.
fn times(effort: Effort) -> Times {
    match effort {
        Effort::Quick => Times {
            passes: 6,
            window: ms(900),
            window_of_curve: ms(700),
            step: StepTimes {
                steps: 1,
                before: ms(500),
                after: ms(1500),
                warm_up: ms(200),
            },
            warm_up: warm_up(300, 400),
            calibration: ms(800),
            budget: ms(106_000),
        },
        Effort::Full => Times {
            passes: 8,
            window: ms(4500),
            window_of_curve: ms(2500),
            step: StepTimes {
                steps: 2,
                // The queue after a step drains before the next one.
                before: ms(2000),
                after: ms(3000),
                warm_up: ms(500),
            },
            warm_up: warm_up(800, 1200),
            calibration: ms(2000),
            budget: ms(660_000),
        },
    }
}

/// The plan of a run of `workload` on `cpus`, next to the jobs of `side`.
pub(super) fn plan(
    args: &YieldArgs,
    workload: Workload,
    side: SideloadPlan,
    cpus: CpuPlan,
    interrupts: InterruptTime,
) -> YieldPlan {
    let times = times(args.effort());
    let step = args.step.map(|loads| StepPlan {
        low: loads.low,
        high: loads.high,
        before: times.step.before,
        after: args.duration.unwrap_or(times.step.after),
        steps: times.step.steps,
        slot: SLOT,
    });
    let warm_up = match &step {
        None => times.warm_up,
        Some(_) => WarmUp::fixed(times.step.warm_up),
    };
    let window = step.as_ref().map(StepPlan::window).or(args.duration);
    let levels: Vec<LoadLevel> = match side.service {
        BesideRate::Load(level) => vec![level],
        BesideRate::Rate(_) => Vec::new(),
    };
    let usual_window = match side.headrooms.is_empty() {
        true => times.window,
        false => times.window_of_curve,
    };
    let load = Plan {
        arrivals: args.service.arrivals.into(),
        levels,
        calibration: CalibrationPlan {
            first: first_rate(&workload, &cpus),
            window: times.calibration,
            retries: 1,
            rated: args.rated,
        },
        service_warm_up: args.warm_up.warm_up,
        run: RunPlan {
            passes: args.passes.unwrap_or(times.passes),
            window: window.unwrap_or(usual_window),
            warm_up,
            budget: times.budget,
            ..args.service.blank_run(cpus, interrupts)
        },
        ..Plan::blank(workload)
    };
    YieldPlan {
        load,
        sideload: side,
        step,
    }
}
