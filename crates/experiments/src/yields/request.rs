//! Turns a request into a plan; holds all defaults of a yield run.

use crate::defaults::{Tolerance, bounds, first_rate};
use plimsoll_model::{
    Arm, Arrivals, BesideRate, CalibrationPlan, CpuPlan, InterruptTime, LoadLevel, Plan, Rate,
    RunPlan, Share, SideloadPlan, StepPlan, WarmUp, Workload, YieldPlan,
};
use std::time::Duration;

/// How much time a run takes with a job that hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Under 2 minutes: a first look.
    Quick,
    /// Under 12 minutes.
    Full,
}

/// A requested yield run. `None` means the default of the effort.
#[derive(Debug, Clone)]
pub struct Request {
    pub workload: Workload,
    /// The job and its restrictions.
    pub side: SideloadPlan,
    /// The load before and after a step, if requested.
    pub step: Option<StepLoads>,
    /// How much time it may take.
    pub effort: Effort,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// The rated rate, where it is known.
    pub rated: Option<Rate>,
    /// How often each arm is visited.
    pub passes: Option<u32>,
    /// How long each trial measures; with steps, how long after each.
    pub window: Option<Duration>,
    /// The CPUs of the service and of the generator.
    pub cpus: CpuPlan,
    /// The bounds below which a trial is valid.
    pub tolerance: Tolerance,
    /// Where the kernel counts the time of interrupts.
    pub interrupts: InterruptTime,
    pub seed: u64,
}

/// The load before and after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepLoads {
    pub low: LoadLevel,
    /// Higher than `before`.
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

impl Effort {
    /// Whether an arm is tried by default. A law decides once a second, which is too
    /// slow for a quick trial.
    pub fn tries(self, arm: Arm) -> bool {
        self == Effort::Full || !arm.is_law()
    }

    /// The default arms of a curve over headrooms.
    pub const ARMS_OF_CURVE: [Arm; 2] = [Arm::Quota10ms, Arm::Quota100ms];

    /// The default arms of a run with a stepped load: the most different ones, because
    /// there is no time for all.
    pub const ARMS_OF_STEP: [Arm; 6] = [
        Arm::None,
        Arm::Nice,
        Arm::SchedIdle,
        Arm::Weight,
        Arm::CpuIdle,
        Arm::Quota10ms,
    ];

    /// Keeps one arm of each kind: the cgroup's, or without cgroups the fallback.
    pub fn leave_one_of_a_kind(arms: &mut Vec<Arm>) {
        for (by_group, by_process) in [(Arm::Weight, Arm::Nice), (Arm::CpuIdle, Arm::SchedIdle)] {
            if arms.contains(&by_group) {
                arms.retain(|arm| *arm != by_process);
            }
        }
    }

    /// The default headrooms of a curve. They are denser near zero, where latency is
    /// expected to rise.
    pub fn headrooms(self) -> Vec<Share> {
        let pct: &[f64] = match self {
            Effort::Quick => &[0.0, 5.0, 10.0, 20.0, 40.0],
            Effort::Full => &[0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0],
        };
        pct.iter()
            .filter_map(|pct| Share::new(pct / 100.0))
            .collect()
    }

    /// At least 6 passes: the range of fewer paired differences has less than 95 %
    /// coverage.
    fn times(self) -> Times {
        let ms = Duration::from_millis;
        let warm_up = |min, max| WarmUp {
            min: ms(min),
            max: ms(max),
        };
        match self {
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
}

impl StepTimes {
    fn plan(&self, loads: StepLoads, after: Option<Duration>) -> StepPlan {
        StepPlan {
            low: loads.low,
            high: loads.high,
            before: self.before,
            after: after.unwrap_or(self.after),
            steps: self.steps,
            slot: SLOT,
        }
    }
}

impl Request {
    pub fn plan(self) -> YieldPlan {
        let times = self.effort.times();
        let step = self.step.map(|loads| times.step.plan(loads, self.window));
        let warm_up = match &step {
            None => times.warm_up,
            Some(_) => WarmUp {
                min: times.step.warm_up,
                max: times.step.warm_up,
            },
        };
        let window = step.as_ref().map(StepPlan::window).or(self.window);
        let levels: Vec<LoadLevel> = match self.side.service {
            BesideRate::Load(level) => vec![level],
            BesideRate::Rate(_) => Vec::new(),
        };
        let usual_window = match self.side.headrooms.is_empty() {
            true => times.window,
            false => times.window_of_curve,
        };
        let load = Plan {
            arrivals: self.arrivals,
            levels,
            calibration: CalibrationPlan {
                first: first_rate(&self.workload, &self.cpus),
                window: times.calibration,
                retries: 1,
                rated: self.rated,
            },
            run: RunPlan {
                passes: self.passes.unwrap_or(times.passes),
                window: window.unwrap_or(usual_window),
                warm_up,
                idle: Duration::ZERO,
                bounds: bounds(self.tolerance, self.interrupts),
                cpus: self.cpus,
                seed: self.seed,
                budget: times.budget,
            },
            ..Plan::blank(self.workload)
        };
        YieldPlan {
            load,
            sideload: self.side,
            step,
        }
    }
}
