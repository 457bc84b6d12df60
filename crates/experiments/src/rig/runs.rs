//! Single runs, for charts that show them beside what follows from them. Pure.

use super::graphs::Planned;
use super::outcome::{ConcurrencyCurve, Part, RigSetting, RigTrial, counts};
use super::plan::RigPlan;
use super::search::Approach;
use plimsoll_graph::svg;
use plimsoll_study::rig::breaking::Trial;

/// What charts need besides the findings.
#[derive(Debug, Default)]
pub struct Series {
    /// Of each row of the findings on peaks: jobs, and run time in microseconds.
    pub(super) peaks: Vec<Vec<(f64, f64)>>,
    /// Of each scheduler the last peak of the shortest jobs.
    pub(super) concurrency: Vec<(String, ConcurrencyCurve)>,
    /// Of each row of the findings on breaking points its trials.
    pub(super) tried: Vec<Vec<Trial>>,
    /// A picture of the graph, if it is small enough.
    pub(super) graph_svg: Option<String>,
}

impl Series {
    pub(super) fn of(plan: &RigPlan, trials: &[RigTrial]) -> Series {
        let planned = plan
            .has(Part::Break)
            .then(|| Planned::of(&plan.graph, plan).ok());
        let planned = planned.flatten();
        let approaches = planned.as_ref().map(|planned| Approach::all(plan, planned));
        let tried = approaches.unwrap_or_default().into_iter();
        Series {
            peaks: peaks(plan, trials),
            concurrency: concurrency(plan, trials),
            tried: tried.map(|approach| approach.tried(trials)).collect(),
            graph_svg: planned.and_then(|planned| svg::picture(planned.graph()).ok()),
        }
    }
}

fn peaks(plan: &RigPlan, trials: &[RigTrial]) -> Vec<Vec<(f64, f64)>> {
    if !plan.has(Part::Peak) {
        return Vec::new();
    }
    let of = |scheduler: &String, grain| {
        let setting = RigSetting::Peak {
            scheduler: scheduler.clone(),
            grain,
        };
        let valid = trials.iter().filter(move |t| t.spec.setting == setting);
        let valid = valid.filter(|t| counts(t));
        let runs = valid.flat_map(|t| &t.outcome.runs);
        runs.map(|run| (f64::from(run.jobs), run.elapsed_ns as f64 / 1e3))
            .collect()
    };
    let rows = plan.schedulers.iter();
    rows.flat_map(|name| plan.peak_grains.iter().map(move |grain| of(name, *grain)))
        .collect()
}

fn concurrency(plan: &RigPlan, trials: &[RigTrial]) -> Vec<(String, ConcurrencyCurve)> {
    let shortest = plan.peak_grains.iter().min();
    let of = |name: &String| {
        let setting = RigSetting::Peak {
            scheduler: name.clone(),
            grain: *shortest?,
        };
        let last = trials
            .iter()
            .rfind(|t| t.spec.setting == setting && counts(t));
        Some((name.clone(), last?.outcome.concurrency.clone()?))
    };
    plan.schedulers.iter().filter_map(of).collect()
}
