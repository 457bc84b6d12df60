//! One run of a machine, as far as machines are compared by it.

use super::watts_at;
use crate::{connections, picture, tightest};
use plimsoll_model::{
    Arrivals, CapacityFinding, Carried, CpuThreshold, Estimate, Findings, Goal, Plan,
    ThresholdFinding, Trial, Workload,
};

/// A run, with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What it is called.
    pub name: String,
    pub workload: Workload,
    /// How requests arrived; `None` where that is not known.
    pub arrivals: Option<Arrivals>,
    /// The client's connections at the end of the run; `None` without a client that has any.
    pub connections: Option<u32>,
    pub capacities: Vec<Capacity>,
    /// The goal that the threshold table is of; `None` where it is of the
    /// highest rate.
    pub thresholds_goal: Option<Goal>,
    pub thresholds: Vec<CpuThreshold>,
    pub cpus: Option<u32>,
}

/// What a machine carried within a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    pub goal: Goal,
    /// How much, in requests per second.
    pub carried: Carried,
    /// The limit that the goal came to, in microseconds.
    pub limit_us: Option<f64>,
    /// CPU use in percent then.
    pub cpu_pct: Option<Estimate>,
    /// What the machine draws then. Taken as exact.
    pub watts: Option<f64>,
}

impl Run {
    /// A run of this plan, with these trials and what was found from them.
    pub fn of(name: &str, plan: &Plan, trials: &[Trial], findings: &Findings) -> Run {
        let trials = &*crate::measured(trials);
        let is_table = matches!(plan.workload, Workload::Imported(_));
        let capacities = findings.capacity.iter();
        Run {
            name: name.to_owned(),
            workload: plan.workload.clone(),
            arrivals: (!is_table).then_some(plan.arrivals),
            connections: connections::connections(plan, trials),
            capacities: capacities.map(|c| Capacity::of(trials, c)).collect(),
            thresholds_goal: tightest(&findings.capacity).map(|c| c.goal),
            thresholds: findings.thresholds.iter().filter_map(threshold).collect(),
            cpus: picture::service_cpus(plan, trials),
        }
    }
}

impl Capacity {
    fn of(trials: &[Trial], finding: &CapacityFinding) -> Capacity {
        let carried = Carried::from(finding);
        let rate = carried.estimate().map(|rate| rate.value);
        Capacity {
            goal: finding.goal,
            carried,
            limit_us: finding.limit_us,
            cpu_pct: finding.cpu_pct,
            watts: rate.and_then(|rate| watts_at(trials, rate)),
        }
    }
}

fn threshold(finding: &ThresholdFinding) -> Option<CpuThreshold> {
    Some(CpuThreshold {
        headroom_pct: finding.headroom_pct,
        cpu_pct: finding.cpu_pct?,
    })
}
