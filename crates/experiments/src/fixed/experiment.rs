//! A fixed rate as an experiment.

use super::args::{FixedArgs, HELP};
use super::charts::SecondOf;
use super::phases::FixedOutcome;
use super::plan::{AtRate, FixedPlan, FixedPlanner};
use super::runner::FixedRunner;
use super::study::FixedFindings;
use super::{document, judge, plan, shape, study};
use crate::args::offered_rate;
use crate::experiment::{Experiment, HelpPage, Machine, Prepared, ReportOf, Stage};
use crate::given_again::{self, GivenAgain};
use plimsoll_engine::{Planner, RunError, Runner, Site};
use plimsoll_model::{
    CheckedPlan, Condition, ImplausiblePlan, Judgement, Requirement, RunPlan, Second, Trial,
    human_minutes,
};
use plimsoll_report::Document;
use std::time::Duration;

pub(super) type FixedTrial = Trial<AtRate, FixedOutcome>;

/// The trial that is not of the warm-up.
pub(super) fn measured(trials: &[FixedTrial]) -> Option<&FixedTrial> {
    trials.iter().rfind(|trial| trial.spec.phase.is_level())
}

/// What does a service answer at this rate?
#[derive(Debug)]
pub struct FixedRate;

impl Experiment for FixedRate {
    const NAME: &'static str = "run";
    const ABOUT: &'static str = "Offer one rate: what does the service answer?";
    const HELP: HelpPage = HELP;
    const CONDITIONS: &'static str = "'p99<10ms', 'errors<1%' or 'cpu<80%'";

    type Args = FixedArgs;
    type Plan = FixedPlan;
    type Setting = AtRate;
    type Outcome = FixedOutcome;
    type Findings = FixedFindings;
    type Picture = Vec<SecondOf>;
    type Site = Site;

    fn prepare(args: &FixedArgs, machine: &Machine) -> Result<Prepared<FixedPlan, Site>, RunError> {
        let root = &machine.root;
        // Before a server that does not answer is waited for.
        let (rate, note) = offered_rate::resolved(args.rate.as_ref(), machine)?;
        let asked = plan::asked(rate, args.duration, args.requests)?;
        let phases = shape::phases(args)?;
        let workload = args.load.workload(args.url.as_deref(), root)?;
        let site = Site::of(&workload, root)?;
        let mut plan = plan::plan(&args.load, (asked, phases), workload, &site, root);
        plan.load.service_warm_up = args.warm_up.at(plan.rate)?;
        let notes = note.into_iter().collect();
        Ok(Prepared { plan, site, notes })
    }

    fn reopen(
        args: &FixedArgs,
        plan: FixedPlan,
        machine: &Machine,
    ) -> Result<Prepared<FixedPlan, Site>, RunError> {
        let given = GivenAgain::of(args.url.as_ref(), None, &args.load.request)?;
        let (load, notes) = given_again::supply(&plan.load, given)?;
        let site = Site::of(&load.workload, &machine.root)?;
        let plan = FixedPlan { load, ..plan };
        Ok(Prepared { plan, site, notes })
    }

    fn run(plan: &FixedPlan) -> &RunPlan {
        &plan.load.run
    }

    fn check(plan: &FixedPlan) -> Result<(), ImplausiblePlan> {
        plan.check()
    }

    fn workload(plan: &FixedPlan) -> String {
        format!("{} at {}", plan.load.workload, AtRate::of(plan))
    }

    fn keeps_secrets(args: &FixedArgs) -> bool {
        args.load.server.keep_secrets
    }

    fn shown(plan: &FixedPlan) -> FixedPlan {
        FixedPlan {
            load: plan.load.without_secrets(),
            ..plan.clone()
        }
    }

    fn flags_to_resume(plan: &FixedPlan) -> String {
        given_again::flags_to_resume(&plan.load)
    }

    fn requirements(
        plan: &FixedPlan,
        site: &Site,
        machine: &Machine,
        since: Duration,
    ) -> Vec<Requirement> {
        site.requirements(&machine.root, &plan.load.run.cpus, since)
    }

    fn planner(plan: &FixedPlan) -> impl Planner<Setting = AtRate, Outcome = FixedOutcome> {
        FixedPlanner::new(plan)
    }

    fn runner<'a>(
        plan: &'a FixedPlan,
        site: &Site,
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<AtRate, FixedOutcome> + 'a>, RunError> {
        Ok(Box::new(FixedRunner::new(plan, site, &machine.root)?))
    }

    fn stages(plan: &FixedPlan) -> Vec<Stage> {
        let window = human_minutes(plan.load.run.window);
        let words = format!("{} for {window}", AtRate::of(plan));
        let warm_up = Stage::warm_up(&plan.load).into_iter();
        warm_up.chain([Stage::visits(words)]).collect()
    }

    fn findings(plan: &FixedPlan, trials: &[FixedTrial]) -> FixedFindings {
        study::findings(plan, trials)
    }

    fn unanswered(findings: &FixedFindings) -> Option<String> {
        let of = findings.intended;
        match (findings.completed, findings.failed, findings.unfinished) {
            (0, ..) => Some("no request was answered".to_owned()),
            (_, 0, 0) => None,
            (_, 0, unfinished) => Some(format!("{unfinished} of {of} requests had no answer")),
            (_, failed, _) => Some(format!("{failed} of {of} requests failed")),
        }
    }

    fn judge(plan: &FixedPlan, trials: &[FixedTrial], condition: &Condition) -> Option<Judgement> {
        judge::judge(plan, trials, condition)
    }

    fn picture(plan: &FixedPlan, trials: &[FixedTrial]) -> Vec<SecondOf> {
        let seconds = measured(trials).map_or(&[][..], |trial| &trial.seconds);
        let measured = seconds.iter().filter(|second| second.measured);
        let of = |second: &Second| SecondOf {
            due: study::due(plan, second),
            second: second.clone(),
        };
        measured.map(of).collect()
    }

    fn document<'a>(
        report: &'a ReportOf<'a, FixedRate>,
        seconds: &'a Vec<SecondOf>,
    ) -> Document<'a> {
        document::document(report, seconds)
    }
}
