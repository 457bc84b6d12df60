//! The rig as an experiment.

use super::args::{HELP, RigArgs};
use super::files::{self, RigSite};
use super::findings::RigFindings;
use super::outcome::{Part, RigOutcome, RigSetting, RigTrial};
use super::plan::RigPlan;
use super::planner::RigPlanner;
use super::prepare;
use super::runner::RigRunner;
use super::runs::Series;
use super::study;
use crate::experiment::{Experiment, HelpPage, Machine, Prepared, ReportOf, Stage};
use plimsoll_engine::{Planner, RunError, Runner};
use plimsoll_model::{
    CheckedPlan, FigureName, ImplausiblePlan, NamedFigure, Phase, RunPlan, counted, distinct,
    few_passes,
};
use plimsoll_record::check_input;
use plimsoll_report::Document;
use std::path::{Path, PathBuf};

/// Where does a task scheduler break?
#[derive(Debug)]
pub struct Rig;

fn absolute(path: &str) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

impl Experiment for Rig {
    const NAME: &'static str = "rig";
    const ABOUT: &'static str = "Stress task schedulers: where do they break?";
    const HELP: HelpPage = HELP;
    const CONDITIONS: &'static str =
        "'metg50 of ours<1us', 'efficiency>97%', 'concurrency>1.9', 'break>90%' or 'idle<0.1%'";
    const FIGURES: &'static [FigureName] = super::figures::FIGURES;

    type Args = RigArgs;
    type Plan = RigPlan;
    type Setting = RigSetting;
    type Outcome = RigOutcome;
    type Findings = RigFindings;
    type Picture = Series;
    type Site = RigSite;

    fn prepare(args: &RigArgs, machine: &Machine) -> Result<Prepared<RigPlan, RigSite>, RunError> {
        let plan = prepare::plan(args, machine)?;
        let notes = prepare::check(&plan, machine)?;
        if let Some(path) = &args.save_graph {
            files::save_graph(&plan, path)?;
        }
        let prepared = Prepared::new(plan, prepare::site(args));
        Ok(Prepared { notes, ..prepared })
    }

    fn reopen(
        args: &RigArgs,
        plan: RigPlan,
        machine: &Machine,
    ) -> Result<Prepared<RigPlan, RigSite>, RunError> {
        // Before they are opened, which runs what is in them.
        for library in plan.schedulers.iter().filter(|name| name.contains('/')) {
            let checked = check_input(Path::new(library));
            checked.map_err(|e| RunError::Usage(e.to_string()))?;
        }
        files::refuse_changed_libraries(&plan)?;
        let notes = prepare::check(&plan, machine)?;
        let prepared = Prepared::new(plan, prepare::site(args));
        Ok(Prepared { notes, ..prepared })
    }

    fn run(plan: &RigPlan) -> &RunPlan {
        &plan.run
    }

    fn check(plan: &RigPlan) -> Result<(), ImplausiblePlan> {
        plan.run.check()?;
        few_passes(&plan.run)?;
        distinct("parts", &plan.parts)?;
        distinct("schedulers", &plan.schedulers)?;
        distinct("peak_grains_ns", &plan.peak_grains)?;
        distinct("grains_ns", &plan.grains)?;
        distinct("dependencies", &plan.dependencies)
    }

    fn workload(plan: &RigPlan) -> String {
        let workers = counted(plan.workers(), "worker", "workers");
        match &plan.wait {
            Some(wait) if plan.parts == [Part::Wait] => {
                let policies = counted(wait.policies.len(), "waiting policy", "waiting policies");
                let waiting = plan.workers().saturating_sub(1);
                format!("{policies} on {}", counted(waiting, "worker", "workers"))
            }
            _ => format!("{} on {workers}", plan.schedulers.join(", ")),
        }
    }

    fn commands(plan: &RigPlan) -> Vec<String> {
        let libraries = plan.schedulers.iter().filter(|name| name.contains('/'));
        libraries
            .map(|path| format!("the library {:?}", absolute(path)))
            .collect()
    }

    fn planner(plan: &RigPlan) -> impl Planner<Setting = RigSetting, Outcome = RigOutcome> {
        RigPlanner::new(plan)
    }

    fn runner<'a>(
        plan: &'a RigPlan,
        site: &RigSite,
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<RigSetting, RigOutcome> + 'a>, RunError> {
        Ok(Box::new(RigRunner::new(plan, site, machine)?))
    }

    fn stages(plan: &RigPlan) -> Vec<Stage> {
        let words = format!("every setting {} times, in shuffled order", plan.run.passes);
        let mut stages = vec![Stage::visits(words)];
        if plan.has(Part::Break) {
            let words = "the breaking point of each scheduler, from below and from above";
            stages.push(Stage::new(Phase::Search, words));
        }
        stages
    }

    fn findings(plan: &RigPlan, trials: &[RigTrial]) -> RigFindings {
        study::findings(plan, trials)
    }

    fn figures(findings: &RigFindings) -> Vec<NamedFigure> {
        findings.figures()
    }

    fn unanswered(findings: &RigFindings) -> Option<String> {
        let names: Vec<&str> = findings
            .failed
            .iter()
            .map(|failed| &*failed.scheduler)
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "{} broke the contract of schedulers, and has no findings from then on",
                names.join(", ")
            )
        })
    }

    fn picture(plan: &RigPlan, trials: &[RigTrial]) -> Series {
        Series::of(plan, trials)
    }

    fn document<'a>(report: &'a ReportOf<'a, Rig>, series: &'a Series) -> Document<'a> {
        super::document::document(report, series)
    }
}
