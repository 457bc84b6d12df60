//! Bursts as an experiment.

use super::args::{BurstArgs, HELP};
use super::findings::{BurstFindings, MeanLine};
use super::outcome::{BurstOutcome, BurstSetting, BurstTrial, Target};
use super::plan::{BurstPlan, BurstPlanner};
use super::prepare::BurstSite;
use super::runner::BurstRunner;
use super::server::written;
use super::{prepare, study};
use crate::args::phases;
use crate::experiment::{Experiment, HelpPage, Machine, Prepared, ReportOf, Stage};
use crate::given_again;
use plimsoll_engine::{Planner, RunError, Runner};
use plimsoll_model::{CheckedPlan, ImplausiblePlan, Requirement, RunPlan};
use plimsoll_report::Document;
use plimsoll_report::chart::LiveCharts;
use std::time::Duration;

/// What does a server burn while it has nothing to do?
#[derive(Debug)]
pub struct Burst;

impl Experiment for Burst {
    const NAME: &'static str = "burst";
    const ABOUT: &'static str =
        "Offer bursts and breaks: what does a server burn while it has nothing to do?";
    const HELP: HelpPage = HELP;
    const LIVE: LiveCharts = LiveCharts {
        times_title: "Latency (log scale) by cycle",
        cpu_title: "CPU use (%) by cycle",
        x_is_count: true,
        ..LiveCharts::LATENCY
    };

    type Args = BurstArgs;
    type Plan = BurstPlan;
    type Setting = BurstSetting;
    type Outcome = BurstOutcome;
    type Findings = BurstFindings;
    type Picture = Vec<MeanLine>;
    type Site = BurstSite;

    fn prepare(
        args: &BurstArgs,
        machine: &Machine,
    ) -> Result<Prepared<BurstPlan, BurstSite>, RunError> {
        prepare::plan(args, machine)
    }

    fn reopen(
        args: &BurstArgs,
        plan: BurstPlan,
        machine: &Machine,
    ) -> Result<Prepared<BurstPlan, BurstSite>, RunError> {
        prepare::again(args, plan, machine)
    }

    fn run(plan: &BurstPlan) -> &RunPlan {
        &plan.load.run
    }

    fn check(plan: &BurstPlan) -> Result<(), ImplausiblePlan> {
        plan.load.check()?;
        plan.against.iter().try_for_each(CheckedPlan::check)?;
        plan.phases().check()
    }

    fn workload(plan: &BurstPlan) -> String {
        let written = phases::written(&plan.pattern);
        let names: Vec<String> = plan.loads().map(|(_, l)| l.workload.to_string()).collect();
        format!(
            "{} in bursts and breaks ({written})",
            names.join(" against ")
        )
    }

    fn keeps_secrets(args: &BurstArgs) -> bool {
        args.load.server.keep_secrets
    }

    fn shown(plan: &BurstPlan) -> BurstPlan {
        BurstPlan {
            load: plan.load.without_secrets(),
            against: plan
                .against
                .as_ref()
                .map(|against| against.without_secrets()),
            ..plan.clone()
        }
    }

    fn flags_to_resume(plan: &BurstPlan) -> String {
        let of_other = plan.against.as_ref().map(given_again::against_to_resume);
        given_again::flags_to_resume(&plan.load) + &of_other.unwrap_or_default()
    }

    fn commands(plan: &BurstPlan) -> Vec<String> {
        let command = &plan.command;
        let named = (!command.is_empty()).then(|| format!("the server {}", written(command)));
        named.into_iter().collect()
    }

    fn requirements(
        plan: &BurstPlan,
        site: &BurstSite,
        machine: &Machine,
        since: Duration,
    ) -> Vec<Requirement> {
        let of_each = plan.loads().zip(&site.sites);
        let requirements = of_each.map(|((target, load), site)| {
            let mut of = site.requirements(&machine.root, &load.run.cpus, since);
            if target == Target::Against {
                of.iter_mut().for_each(|one| one.name += ", of --against");
            }
            of
        });
        requirements.flatten().collect()
    }

    fn planner(plan: &BurstPlan) -> impl Planner<Setting = BurstSetting, Outcome = BurstOutcome> {
        BurstPlanner::new(plan)
    }

    fn runner<'a>(
        plan: &'a BurstPlan,
        site: &BurstSite,
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<BurstSetting, BurstOutcome> + 'a>, RunError> {
        Ok(Box::new(BurstRunner::new(plan, site, machine)?))
    }

    fn stages(plan: &BurstPlan) -> Vec<Stage> {
        let words = format!("{} cycles of each target", plan.load.run.passes);
        let visits = Some(Stage::visits(words));
        [Stage::idle(&plan.load.run), visits]
            .into_iter()
            .flatten()
            .collect()
    }

    fn findings(plan: &BurstPlan, trials: &[BurstTrial]) -> BurstFindings {
        study::findings(plan, trials)
    }

    fn picture(plan: &BurstPlan, trials: &[BurstTrial]) -> Vec<MeanLine> {
        study::lines(plan, trials)
    }

    fn document<'a>(report: &'a ReportOf<'a, Burst>, lines: &'a Vec<MeanLine>) -> Document<'a> {
        super::document::document(report, lines)
    }
}
