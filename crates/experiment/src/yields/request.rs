//! From what is asked to a plan: all defaults of a yield run stand here.

use crate::sweep::Tolerance;
use crate::sweep::request::{bounds, first_rate};
use plimsoll_model::{
    Arm, Arrivals, BesideRate, CalibrationPlan, CpuPlan, LoadLevel, Plan, Rate, Share,
    SideloadPlan, WarmUp, Workload,
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
    /// How much time it may take.
    pub effort: Effort,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// The rated rate, where it is known.
    pub rated: Option<Rate>,
    /// How often each arm is visited.
    pub passes: Option<u32>,
    /// How long each trial measures.
    pub window: Option<Duration>,
    /// Which CPUs serve and which ask.
    pub cpus: CpuPlan,
    /// What does not make a trial invalid yet.
    pub tolerance: Tolerance,
    /// Seeds everything.
    pub seed: u64,
}

struct Times {
    passes: u32,
    window: Duration,
    window_of_curve: Duration,
    warm_up: WarmUp,
    calibration: Duration,
    budget: Duration,
}

impl Effort {
    /// Whether an arm is tried if nobody names arms. A law decides once a second,
    /// and a quick trial is over by then.
    pub fn tries(self, arm: Arm) -> bool {
        self == Effort::Full || !arm.is_law()
    }

    /// The arms of a curve over headrooms, unless others are asked for.
    pub const ARMS_OF_CURVE: [Arm; 2] = [Arm::Quota10ms, Arm::Quota100ms];

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
                warm_up: warm_up(300, 400),
                calibration: ms(800),
                budget: ms(106_000),
            },
            Effort::Full => Times {
                passes: 8,
                window: ms(4500),
                window_of_curve: ms(2500),
                warm_up: warm_up(800, 1200),
                calibration: ms(2000),
                budget: ms(660_000),
            },
        }
    }
}

impl Request {
    /// The plan for what was asked.
    pub fn plan(self) -> Plan {
        let times = self.effort.times();
        let levels: Vec<LoadLevel> = match self.side.service {
            BesideRate::Load(level) => vec![level],
            BesideRate::Rate(_) => Vec::new(),
        };
        let window = match self.side.headrooms.is_empty() {
            true => times.window,
            false => times.window_of_curve,
        };
        Plan {
            arrivals: self.arrivals,
            levels,
            passes: self.passes.unwrap_or(times.passes),
            window: self.window.unwrap_or(window),
            warm_up: times.warm_up,
            calibration: CalibrationPlan {
                first: first_rate(&self.workload, &self.cpus),
                window: times.calibration,
                retries: 1,
                rated: self.rated,
            },
            sideload: Some(self.side),
            bounds: bounds(self.tolerance),
            cpus: self.cpus,
            seed: self.seed,
            budget: times.budget,
            ..Plan::blank(self.workload)
        }
    }
}
