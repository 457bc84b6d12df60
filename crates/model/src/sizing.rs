//! How many instances a peak needs: made by `study`, shown by `report`.
//! Names and doc comments go to `docs/schema/plan.schema.json`.

use crate::{Estimate, Millicores};
use schemars::JsonSchema;
use serde::Serialize;

/// A HorizontalPodAutoscaler does nothing while CPU use is within this share
/// of its target, unless the cluster or the autoscaler says otherwise
/// (Kubernetes documentation, "Horizontal Pod Autoscaling", algorithm
/// details; `--horizontal-pod-autoscaler-tolerance`).
pub const HPA_TOLERANCE: f64 = 0.1;

/// The instances for a peak, and what to put into an autoscaler.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sizing {
    /// The highest rate, in requests per second.
    pub peak_rps: f64,
    /// What one instance is planned to carry, in requests per second.
    pub planned_rps: f64,
    /// What that is of what is known about its capacity.
    pub planned_from: PlannedFrom,
    /// How much more than the rate now must be carried while a new instance
    /// gets ready: 1 + growth per minute times minutes.
    #[schemars(range(min = 1.0))]
    pub growth_ratio: f64,
    /// The fewest instances that carry the peak, with those that may be lost
    /// and with growth: a fixed fleet needs no more.
    pub least_instances: u32,
    /// Instances that the autoscaler holds at the peak. More than the fewest
    /// where its CPU target is below the CPU use of those.
    pub instances: u32,
    /// What each of them then carries at the peak, in requests per second.
    pub rate_at_peak_rps: f64,
    /// What CPU use in percent is of, in all that is said of an instance here.
    pub cpu_of: CpuGauge,
    /// What 100 % of it are, in thousandths of a CPU; `None` where it is not of the
    /// service's own CPU time. The CPU request of a pod should be this.
    #[serde(rename = "own_of_millicores")]
    pub own_of: Option<Millicores>,
    /// How fast the autoscaler may change the fleet.
    pub behavior: HpaBehavior,
    /// Its CPU use in percent then.
    pub cpu_at_peak_pct: Option<Estimate>,
    /// What to put into an autoscaler.
    pub autoscaler: Autoscaler,
    /// The outcome of a target set by the linear rule; `None` where CPU use at the planned
    /// rate is not known.
    pub linear_rule: Option<LinearRule>,
    /// What the instances at the peak cost per hour.
    pub cost_per_hour: Option<f64>,
    /// The fleet over time, for traffic by time.
    pub over_time: Option<FleetOverTime>,
    /// What is in doubt about all this.
    pub cautions: Vec<SizingCaution>,
}

/// What is in doubt about a plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum SizingCaution {
    /// CPU use is stated at a rate below the lowest that was measured, where
    /// it is taken from a straight line down to no load.
    BelowMeasured {
        /// Which CPU use.
        figure: CpuFigure,
        /// The rate that it is stated at, in requests per second.
        rate_rps: f64,
        /// The lowest rate at which CPU use was measured.
        lowest_measured_rps: f64,
    },
    /// The interval of the capacity is wide: half its width is above 20 %.
    WideCapacity {
        /// Half of its width, in percent of its value.
        half_width_pct: f64,
        /// Instances for the peak if its upper end were the truth.
        instances_at_high_end: u32,
    },
    /// Traffic rises faster than was allowed for: instances are too late.
    TooSteep {
        /// As in `over_time`; above 1.
        #[schemars(extend("exclusiveMinimum" = 1))]
        worst_load_ratio: f64,
    },
}

/// A CPU use that a plan states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuFigure {
    /// That at which an instance is added.
    Target,
    /// That of each instance at the peak.
    AtPeak,
}

/// What the rate that is planned with is of the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlannedFrom {
    /// The lower end of its interval.
    LowerEnd,
    /// The highest rate that was tried: the capacity is higher, by how much is
    /// not known.
    HighestTried,
    /// Its value, which has no interval: the plan is as good as a guess.
    Value,
}

/// What to put into an autoscaler. The parts belong together: the target is
/// right for fleets of `floor_instances` and more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Autoscaler {
    /// The smallest fleet.
    pub floor_instances: u32,
    /// Why it is not smaller.
    pub floor_from: FloorFrom,
    /// The largest: for the peak, grown by what it may grow.
    pub ceiling_instances: u32,
    /// What is left of the smallest fleet after the failures: (n - k) / n.
    pub left_after_failures_share: f64,
    /// What is left for growth until a new instance is ready: 1 / (1 + g T).
    pub left_for_growth_share: f64,
    /// What an instance may be asked for, in requests per second.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rate_rps: f64,
    /// CPU use in percent at that rate. The target is read off its lower end,
    /// off its value where there is none.
    pub cpu_pct: Option<Estimate>,
    /// CPU use in percent that must not be exceeded; `None` also where CPU use
    /// is above it without load, so that it tells nothing about load.
    pub target_cpu_pct: Option<f64>,
    /// The target of a HorizontalPodAutoscaler, so that CPU use stays within
    /// `target_cpu_pct` in spite of its tolerance; `None` also where that is
    /// below the least that can be given.
    pub hpa_target: Option<HpaTarget>,
    /// CPU use at that rate in percent of the host's CPUs that the service may
    /// run on, interrupts and others included: for an alarm on a host. `None`
    /// also for a service under a quota, which has no CPUs of its own.
    pub host_cpu_pct: Option<Estimate>,
}

/// The metric target of a HorizontalPodAutoscaler.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum HpaTarget {
    /// Of a pod's own CPU time, whatever it requests.
    AverageValue {
        /// In thousandths of a CPU.
        millicores: Millicores,
    },
    /// Of the share of a pod's CPU request that it uses.
    AverageUtilization {
        /// In whole percent.
        #[schemars(range(min = 1, max = 100))]
        pct: u32,
    },
}

/// What CPU use is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuGauge {
    /// The service's own CPU time, as the cgroup of a container counts it.
    OwnTime,
    /// The CPUs that it may run on, by whomever they were used.
    ServiceCpus,
}

/// How fast a HorizontalPodAutoscaler may change a fleet: `behavior` of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HpaBehavior {
    /// By how much it may grow within a minute, in percent of itself.
    #[schemars(range(min = 100))]
    pub scale_up_pct_per_min: u32,
    /// For how long it stays as large as was called for, in seconds.
    #[schemars(range(min = 300, max = 3600))]
    pub scale_down_window_s: u32,
}

/// Why the smallest fleet of an autoscaler is as large as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FloorFrom {
    /// It was asked for.
    Asked,
    /// It is the fleet for the peak: how low traffic gets is not known.
    Peak,
    /// It makes the traffic by time cheapest. A smaller one would take a lower
    /// CPU target at all times, for a failure would be a larger part of it.
    Cheapest,
    /// No instance may be lost, so that the target is right for any fleet.
    NoFailures,
}

/// A target set by the linear rule, and where an autoscaler ends with it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LinearRule {
    /// The linear rule's target, in percent of CPU use.
    pub target_cpu_pct: f64,
    /// CPU use in percent at what an instance is planned to carry.
    pub cpu_at_planned_pct: f64,
    /// The fleet round after round at the peak, from the smallest that
    /// survives the failures.
    pub rounds_instances: Vec<u32>,
    /// The fleet that it ends at; the smallest of the circle, where it goes in
    /// one.
    pub instances: u32,
    /// Whether it came to rest.
    pub settled: bool,
    /// Whether it adds instances without end, because CPU use stays above its
    /// target however many there are.
    pub runs_away: bool,
    /// What an instance has to carry in that fleet when the failures and the
    /// growth come that are planned for, over what it is planned to carry.
    /// Above 1 the goal is missed.
    pub load_ratio: f64,
    /// Instances that the peak needs besides these, or, below 0, how many of
    /// these it does not need.
    pub missing_instances: i64,
}

/// A fleet that follows traffic.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FleetOverTime {
    /// One entry per stretch between two moments of the traffic.
    pub steps: Vec<FleetStep>,
    /// Instances times hours, at the autoscaler's target, while the rate goes
    /// straight from moment to moment. It holds some more while it waits.
    pub instance_hours: f64,
    /// The same for the fewest instances that carry the peak, all the time.
    pub fixed_instance_hours: f64,
    /// What the autoscaled fleet costs over the traffic's time.
    pub cost: Option<f64>,
    /// What those cost over that time.
    pub fixed_cost: Option<f64>,
    /// The worst moment: what an instance that is left has to carry when those
    /// called for are not ready yet, over what it is planned to carry. Above 1
    /// the traffic rises faster than was allowed for.
    pub worst_load_ratio: f64,
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FleetStep {
    /// Its start, in seconds.
    pub at_s: f64,
    /// Its highest rate, in requests per second.
    pub rate_rps: f64,
    /// Instances.
    pub instances: u32,
}
