//! Turns a request into a plan; holds all defaults of a sweep.

use crate::defaults::{Tolerance, bounds, first_rate};
use plimsoll_model::{
    Arrivals, CalibrationPlan, CpuPlan, Goal, InterruptTime, LoadLevel, Plan, Rate, RunPlan,
    SearchPlan, Share, SmtPlan, WarmUp, Workload,
};
use std::time::Duration;

/// How much time a sweep takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Under 90 seconds: a first look.
    Quick,
    /// Under 6 minutes, or under 10 where an interval narrower than 5 % is
    /// asked for: figures to act on.
    Full,
}

/// A requested sweep. `None` means the default of the effort.
#[derive(Debug, Clone)]
pub struct Request {
    /// The workload.
    pub workload: Workload,
    /// How much time it may take.
    pub effort: Effort,
    /// The goals; empty for the published rule.
    pub goals: Vec<Goal>,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// The graduated levels.
    pub levels: Option<Vec<LoadLevel>>,
    /// How often each level is visited.
    pub trials: Option<u32>,
    /// How long each trial measures.
    pub window: Option<Duration>,
    /// Half the width of the interval at which the search for a capacity
    /// ends, as a share of the rate.
    pub precision: Option<Share>,
    /// A shell command that restarts the service between passes.
    pub restart: Option<String>,
    /// The rated rate, where it is known.
    pub rated: Option<Rate>,
    /// The CPUs of the service and of the generator.
    pub cpus: CpuPlan,
    /// The bounds below which a trial is valid.
    pub tolerance: Tolerance,
    /// Where the kernel below the service counts the time of interrupts.
    pub interrupts: InterruptTime,
    pub seed: u64,
}

/// 5 % and 10 % to 100 % of the rated rate, in steps of 10.
pub fn default_levels() -> Vec<LoadLevel> {
    std::iter::once(5.0)
        .chain((1..=10).map(|tens| f64::from(tens) * 10.0))
        .filter_map(LoadLevel::percent)
        .collect()
}

/// The numbers that depend on the effort.
struct Times {
    trials: u32,
    window: Duration,
    warm_up: WarmUp,
    calibration: Duration,
    idle: Duration,
    budget: Duration,
    search_window: Duration,
    search: Duration,
    confirm: Duration,
    smt: SmtPlan,
}

/// The precision that a full sweep reaches within 6 minutes.
const PRECISION: f64 = 0.05;
/// Additional time for a finer precision.
const FINER: Duration = Duration::from_secs(240);

impl Effort {
    fn times(self) -> Times {
        let ms = Duration::from_millis;
        match self {
            Effort::Quick => Times {
                trials: 2,
                window: ms(1500),
                warm_up: WarmUp {
                    min: ms(500),
                    max: ms(800),
                },
                calibration: ms(1000),
                idle: ms(2000),
                budget: ms(62_000),
                search_window: ms(1500),
                search: ms(18_000),
                confirm: ms(0),
                // Three of each kind are the minimum for an interval.
                smt: SmtPlan {
                    trials: 3,
                    warm_up: ms(300),
                    window: ms(600),
                    budget: ms(10_000),
                },
            },
            Effort::Full => Times {
                trials: 2,
                window: ms(5000),
                warm_up: WarmUp {
                    min: ms(1000),
                    max: ms(2000),
                },
                calibration: ms(2000),
                idle: ms(5000),
                budget: ms(205_000),
                search_window: ms(5000),
                search: ms(135_000),
                confirm: ms(12_000),
                smt: SmtPlan {
                    trials: 4,
                    warm_up: ms(1000),
                    window: ms(3000),
                    budget: ms(40_000),
                },
            },
        }
    }
}

impl Request {
    /// A sweep of `workload` with defaults.
    pub fn new(workload: Workload, effort: Effort, cpus: CpuPlan, seed: u64) -> Request {
        Request {
            workload,
            effort,
            goals: Vec::new(),
            arrivals: Arrivals::Poisson,
            levels: None,
            trials: None,
            window: None,
            precision: None,
            restart: None,
            rated: None,
            cpus,
            tolerance: Tolerance::default(),
            interrupts: InterruptTime::Unknown,
            seed,
        }
    }

    pub fn plan(self) -> Plan {
        let mut times = self.effort.times();
        let smt = smt_plan(&times, &self.workload, &self.cpus);
        // Their time is taken from the search.
        times.search -= smt.map_or(Duration::ZERO, |smt| smt.budget);
        let goals = match self.goals {
            asked if !asked.is_empty() => asked,
            _ => vec![Goal::default()],
        };
        let mut levels = self.levels.unwrap_or_else(default_levels);
        levels.sort_unstable();
        levels.dedup();
        // Two starts cannot show the variance between starts.
        let default_trials = match self.restart {
            Some(_) => 3,
            None => times.trials,
        };
        Plan {
            calibration: CalibrationPlan {
                first: first_rate(&self.workload, &self.cpus),
                window: times.calibration,
                // Once: on a disturbed machine the calibration would take the whole
                // run.
                retries: 1,
                rated: self.rated,
            },
            workload: self.workload,
            restart: self.restart,
            search: Some(search_plan(&times, self.precision, self.window)),
            smt,
            goals,
            arrivals: self.arrivals,
            levels,
            run: RunPlan {
                passes: self.trials.unwrap_or(default_trials),
                window: self.window.unwrap_or(times.window),
                warm_up: times.warm_up,
                idle: times.idle,
                bounds: bounds(self.tolerance, self.interrupts),
                cpus: self.cpus,
                seed: self.seed,
                budget: times.budget,
            },
        }
    }
}

/// Trials on one thread of each core and on both: for the hash service only,
/// because Plimsoll does not place the threads of other services, and copies show
/// it in their own table.
fn smt_plan(times: &Times, workload: &Workload, cpus: &CpuPlan) -> Option<SmtPlan> {
    let ours = matches!(workload, Workload::Hash(_));
    (ours && cpus.two_thread_cores().is_ok()).then_some(times.smt)
}

/// The search that fits the remaining time.
fn search_plan(times: &Times, precision: Option<Share>, window: Option<Duration>) -> SearchPlan {
    let coarse = Share::new(PRECISION).unwrap_or(Share::ONE);
    let precision = precision.unwrap_or(coarse);
    let finer = match precision < coarse && !times.confirm.is_zero() {
        true => FINER,
        false => Duration::ZERO,
    };
    SearchPlan {
        precision,
        window: window.unwrap_or(times.search_window),
        budget: times.search + finer,
        confirm: times.confirm,
    }
}
