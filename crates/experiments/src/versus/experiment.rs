//! Two services in turn as an experiment.

use super::args::{HELP, VersusArgs};
use super::findings::{ComparedFigure, VersusFindings};
use super::plan::{Side, VersusOutcome, VersusPlan, VersusPlanner, VersusSetting};
use super::runner::{Sites, VersusRunner};
use super::{document, judge, prepare, study};
use crate::experiment::{Experiment, HelpPage, Machine, Prepared, ReportOf, Stage};
use crate::given_again;
use plimsoll_engine::{Planner, RunError, Runner};
use plimsoll_model::{
    CheckedPlan, Condition, FigureName, ImplausiblePlan, Judgement, NamedFigure, Requirement,
    RunPlan, Trial,
};
use plimsoll_report::Document;
use plimsoll_report::chart::LiveCharts;
use std::time::Duration;

pub(super) type VersusTrial = Trial<VersusSetting, VersusOutcome>;

/// What does a request cost on one service, and on the other?
#[derive(Debug)]
pub struct Versus;

impl Experiment for Versus {
    const NAME: &'static str = "versus";
    const ABOUT: &'static str = "Load two versions in turn: which takes more for a request?";
    const HELP: HelpPage = HELP;
    const CONDITIONS: &'static str = "'change of cpu<3%' or 'change of p99<10%'";
    const FIGURES: &'static [FigureName] = &[FigureName::Change];

    const LIVE: LiveCharts = LiveCharts {
        times_title: "CPU time per request (log scale) by pass",
        cpu_title: "CPU use (%) by pass",
        times: &["base", "new"],
        x_is_count: true,
    };

    type Args = VersusArgs;
    type Plan = VersusPlan;
    type Setting = VersusSetting;
    type Outcome = VersusOutcome;
    type Findings = VersusFindings;
    type Picture = ();
    type Site = Sites;

    fn prepare(
        args: &VersusArgs,
        machine: &Machine,
    ) -> Result<Prepared<VersusPlan, Sites>, RunError> {
        prepare::plan(args, machine)
    }

    fn reopen(
        args: &VersusArgs,
        plan: VersusPlan,
        machine: &Machine,
    ) -> Result<Prepared<VersusPlan, Sites>, RunError> {
        prepare::again(args, &plan, machine)
    }

    fn run(plan: &VersusPlan) -> &RunPlan {
        &plan.load.run
    }

    fn check(plan: &VersusPlan) -> Result<(), ImplausiblePlan> {
        plan.check()
    }

    fn workload(plan: &VersusPlan) -> String {
        let [base, new] = Side::BOTH.map(|side| &plan.load_of(side).workload);
        format!("{new} against {base} at {}", plan.rate)
    }

    fn keeps_secrets(args: &VersusArgs) -> bool {
        args.load.server.keep_secrets
    }

    fn shown(plan: &VersusPlan) -> VersusPlan {
        VersusPlan {
            rate: plan.rate,
            against: plan.against.without_secrets(),
            load: plan.load.without_secrets(),
        }
    }

    fn flags_to_resume(plan: &VersusPlan) -> String {
        given_again::flags_to_resume(&plan.load) + &given_again::against_to_resume(&plan.against)
    }

    fn requirements(
        plan: &VersusPlan,
        sites: &Sites,
        machine: &Machine,
        since: Duration,
    ) -> Vec<Requirement> {
        let of = |side| {
            let cpus = &plan.load_of(side).run.cpus;
            let site = sites.of_side(side);
            let each = site.requirements(&machine.root, cpus, since).into_iter();
            each.map(move |mut one| {
                one.name += &format!(", {side}");
                one
            })
        };
        Side::BOTH.into_iter().flat_map(of).collect()
    }

    fn planner(
        plan: &VersusPlan,
    ) -> impl Planner<Setting = VersusSetting, Outcome = VersusOutcome> {
        VersusPlanner::new(plan)
    }

    fn runner<'a>(
        plan: &'a VersusPlan,
        sites: &Sites,
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<VersusSetting, VersusOutcome> + 'a>, RunError> {
        Ok(Box::new(VersusRunner::new(plan, sites, &machine.root)?))
    }

    fn stages(plan: &VersusPlan) -> Vec<Stage> {
        let words = format!("both services {} times, in turn", plan.load.run.passes);
        let warm_up = Stage::warm_up(&plan.load).into_iter();
        warm_up.chain([Stage::visits(words)]).collect()
    }

    fn findings(plan: &VersusPlan, trials: &[VersusTrial]) -> VersusFindings {
        study::findings(plan, trials)
    }

    fn unanswered(findings: &VersusFindings) -> Option<String> {
        match findings.figures.is_empty() {
            true => Some("no pass has a valid trial of both services".to_owned()),
            false => None,
        }
    }

    fn figures(findings: &VersusFindings) -> Vec<NamedFigure> {
        let named = |figure: ComparedFigure, value| NamedFigure {
            name: FigureName::Change,
            of: figure.name().to_owned(),
            value,
        };
        let found = findings.figures.iter();
        match findings.figures.is_empty() {
            true => findings.shown.iter().map(|of| named(*of, None)).collect(),
            false => found.map(|f| named(f.figure, Some(f.change_pct))).collect(),
        }
    }

    fn judge(
        plan: &VersusPlan,
        trials: &[VersusTrial],
        condition: &Condition,
    ) -> Option<Judgement> {
        judge::judge(&study::findings(plan, trials), condition)
    }

    fn picture(_: &VersusPlan, _: &[VersusTrial]) {}

    fn document<'a>(report: &'a ReportOf<'a, Versus>, (): &'a ()) -> Document<'a> {
        document::document(report)
    }
}
