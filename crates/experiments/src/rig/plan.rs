//! The plan of a rig.

use super::outcome::Part;
use super::waiting::WaitPlan;
use plimsoll_model::RunPlan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RigPlan {
    /// What is measured.
    pub parts: Vec<Part>,
    /// The schedulers under test: names, or paths of plug-ins.
    pub schedulers: Vec<String>,
    /// The SHA-1 of each plug-in, by its path as above.
    #[serde(default)]
    pub library_sha1: BTreeMap<String, String>,
    /// What a job does.
    pub kernel: String,
    /// The lengths of the jobs of peaks.
    #[serde(rename = "peak_grains_ns", with = "plimsoll_model::NsList")]
    pub peak_grains: Vec<Duration>,
    /// The lengths of the jobs of which the efficiency is measured.
    #[serde(rename = "grains_ns", with = "plimsoll_model::NsList")]
    pub grains: Vec<Duration>,
    /// How many jobs each of those needs to have ended.
    pub dependencies: Vec<u32>,
    /// The length of a job of weight 1 of the graph.
    #[serde(rename = "graph_grain_ns", with = "plimsoll_model::Ns")]
    pub graph_grain: Duration,
    /// The graph whose schedule is broken.
    pub graph: GraphPlan,
    /// The graph of a steady load.
    pub steady_graph: GraphPlan,
    /// The trials of a search for a breaking point may take this long in sum.
    #[serde(rename = "search_budget_ns", with = "plimsoll_model::Ns")]
    pub search_budget: Duration,
    /// How idle workers wait; null unless that is measured.
    #[serde(default)]
    pub wait: Option<WaitPlan>,
    /// What every run has.
    #[serde(flatten)]
    pub run: RunPlan,
}

/// A graph by its name or rules, or as DOT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphPlan {
    /// The name of a shape, rules, or the name of a file.
    pub name: String,
    /// The text of the file.
    pub dot: Option<String>,
}

impl RigPlan {
    pub(super) fn workers(&self) -> u32 {
        self.run.cpus.service.len() as u32
    }

    pub(super) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

/// The number of jobs of peaks: about even steps of the logarithm, as far as a peak of
/// them takes no more than half a second; multiples of the workers, so that all of them
/// have as many.
pub(super) fn peak_sizes(grain: Duration, workers: u32) -> Vec<u32> {
    const SIZES: [u32; 11] = [10, 20, 40, 70, 100, 150, 200, 300, 500, 700, 1000];
    let takes = |jobs: &u32| grain * *jobs / workers.max(1) <= Duration::from_millis(500);
    let sizes = SIZES.map(|jobs: u32| jobs.next_multiple_of(workers.max(1)));
    sizes.into_iter().filter(takes).collect()
}
