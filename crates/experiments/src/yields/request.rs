//! From what is asked to a plan: all defaults of a yield run stand here.

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

/// A yield run as it was asked for. What was not asked for is `None` and gets
/// the default of the effort.
#[derive(Debug, Clone)]
pub struct Request {
    /// The service.
    pub workload: Workload,
    /// The job beside it, and how it is held.
    pub side: SideloadPlan,
    /// The load before and after a step, where that is asked for.
    pub step: Option<StepLoads>,
    /// How much time it may take.
    pub effort: Effort,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// The rated rate, where it is known.
    pub rated: Option<Rate>,
    /// How often each arm is visited.
    pub passes: Option<u32>,
    /// How long each trial measures; how long after each step, where there are
    /// steps.
    pub window: Option<Duration>,
    /// Which CPUs serve and which ask.
    pub cpus: CpuPlan,
    /// What does not make a trial invalid yet.
    pub tolerance: Tolerance,
    /// Where the kernel counts the time of interrupts.
    pub interrupts: InterruptTime,
    /// Seeds everything.
    pub seed: u64,
}

/// The load before and after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepLoads {
    /// Before it.
    pub low: LoadLevel,
    /// After it, and higher.
    pub high: LoadLevel,
}

/// What is told apart after a step: half of the longest period that a quota
/// commonly has (100 ms), so that being held off once shows, and long enough
/// for some tens of requests of a service that answers a thousand a second.
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
    /// Always the same, for the steps lie at fixed times of the load.
    warm_up: Duration,
}

impl Effort {
    /// Whether an arm is tried if nobody names arms. A law decides once a second,
    /// and a quick trial is over by then.
    pub fn tries(self, arm: Arm) -> bool {
        self == Effort::Full || !arm.is_law()
    }

    /// The arms of a curve over headrooms, unless others are asked for.
    pub const ARMS_OF_CURVE: [Arm; 2] = [Arm::Quota10ms, Arm::Quota100ms];

    /// The arms of a run whose load steps, unless others are asked for: those that
    /// differ most, of which not all are run.
    pub const ARMS_OF_STEP: [Arm; 6] = [
        Arm::None,
        Arm::Nice,
        Arm::SchedIdle,
        Arm::Weight,
        Arm::CpuIdle,
        Arm::Quota10ms,
    ];

    /// Leaves one way of each kind: a cgroup's, or where there is none that of
    /// the processes.
    pub fn leave_one_of_a_kind(arms: &mut Vec<Arm>) {
        for (by_group, by_process) in [(Arm::Weight, Arm::Nice), (Arm::CpuIdle, Arm::SchedIdle)] {
            if arms.contains(&by_group) {
                arms.retain(|arm| *arm != by_process);
            }
        }
    }

    /// The headrooms of a curve, unless others are asked for. They lie closer
    /// to nothing, where latency is expected to rise.
    pub fn headrooms(self) -> Vec<Share> {
        let pct: &[f64] = match self {
            Effort::Quick => &[0.0, 5.0, 10.0, 20.0, 40.0],
            Effort::Full => &[0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0],
        };
        pct.iter()
            .filter_map(|pct| Share::new(pct / 100.0))
            .collect()
    }

    /// Passes are at least 6: of fewer paired differences the extremes
    /// themselves hold the truth in less than 95 of 100 cases.
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
                    // What piled up after a step is worked off until the next.
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
    /// The plan for what was asked.
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
