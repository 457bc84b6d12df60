//! What more or less headroom costs and gains: the findings of a curve.

use crate::{Arm, ArmFinding, Estimate};
use schemars::JsonSchema;
use serde::Serialize;

/// One arm over the headrooms that it was tried with.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeadroomCurve {
    /// Which.
    pub arm: Arm,
    /// By headroom, ascending.
    pub points: Vec<CurvePoint>,
    /// Where latency begins to rise as the headroom becomes less.
    pub knee: Knee,
    /// The headroom with which the job does the most within the budget, in
    /// percent of the machine; `None` where none can be said to be within it.
    pub recommended_headroom_pct: Option<f64>,
}

/// An arm with one headroom.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CurvePoint {
    /// What was to stay unused, in percent of the machine.
    pub headroom_pct: f64,
    /// The part of its CPUs that the job might use at most; `None` where the
    /// arm sets no such limit, or before any trial.
    pub allowed_share: Option<f64>,
    /// What it gained and what it cost.
    #[serde(flatten)]
    pub found: ArmFinding,
}

/// Where latency begins to rise as the headroom becomes less.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Knee {
    /// Whether there is one.
    pub status: KneeStatus,
    /// At which headroom, in percent of the machine; `None` where there is none, or it is
    /// inconclusive.
    pub headroom_pct: Option<Estimate>,
    /// By how much latency rises from the most headroom to the least, in
    /// percent; 0 or more.
    pub rise_pct: Option<Estimate>,
}

/// Whether there is a knee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KneeStatus {
    /// Latency rises below some headroom.
    Found,
    /// From the most headroom to the least it rises by no more than two equal
    /// measurements differ.
    None,
    /// There are too few passes or headrooms, or the interval is wider than
    /// half of the range that was tried.
    #[serde(rename = "cannot_tell")]
    Inconclusive,
}
