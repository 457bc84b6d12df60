//! Wake-ups as an experiment.

use super::args::{HELP, WakeArgs};
use super::findings::WakeFindings;
use super::outcome::{WakeOutcome, WakeSetting, WakeTrial};
use super::plan::{WakePlan, WakePlanner};
use super::policy::WakeSite;
use super::runner::WakeRunner;
use super::{prepare, study};
use crate::experiment::{Experiment, HelpPage, Machine, Prepared, ReportOf};
use plimsoll_engine::{Planner, RunError, Runner};
use plimsoll_model::{
    CheckedPlan, FigureName, ImplausiblePlan, NamedFigure, RunPlan, distinct, few_passes,
    human_duration,
};
use plimsoll_report::Document;
use plimsoll_report::chart::LiveCharts;

/// What does it cost that CPUs sleep?
#[derive(Debug)]
pub struct Wake;

impl Experiment for Wake {
    const NAME: &'static str = "wake";
    const ABOUT: &'static str = "Wake threads: what do sleeping CPUs cost, and awake ones?";
    const HELP: HelpPage = HELP;
    const CONDITIONS: &'static str = "'p99 of gate<20us' or 'burn of gate<20%'";
    const FIGURES: &'static [FigureName] = &[FigureName::P99, FigureName::Burn];
    const LIVE: LiveCharts = LiveCharts {
        times_title: "Wake-up latency (log scale) by gap, us",
        cpu_title: "CPU use (%) by gap, us",
        ..LiveCharts::LATENCY
    };

    type Args = WakeArgs;
    type Plan = WakePlan;
    type Setting = WakeSetting;
    type Outcome = WakeOutcome;
    type Findings = WakeFindings;
    type Picture = ();
    type Site = WakeSite;

    fn prepare(
        args: &WakeArgs,
        machine: &Machine,
    ) -> Result<Prepared<WakePlan, WakeSite>, RunError> {
        let (plan, site) = prepare::plan(args, machine)?;
        Ok(Prepared {
            notes: plan.left_out.clone(),
            ..Prepared::new(plan, site)
        })
    }

    fn reopen(
        _: &WakeArgs,
        plan: WakePlan,
        machine: &Machine,
    ) -> Result<Prepared<WakePlan, WakeSite>, RunError> {
        let site = prepare::site(&plan, machine)?;
        Ok(Prepared::new(plan, site))
    }

    fn run(plan: &WakePlan) -> &RunPlan {
        &plan.run
    }

    fn check(plan: &WakePlan) -> Result<(), ImplausiblePlan> {
        plan.run.check()?;
        few_passes(&plan.run)?;
        distinct("policies", &plan.policies)?;
        distinct("waits", &plan.waits)?;
        distinct("placements", &plan.placements)?;
        distinct("gaps_ns", &plan.gaps)?;
        distinct("arrivals", &plan.arrivals)
    }

    fn workload(plan: &WakePlan) -> String {
        if let Some(program) = &plan.program {
            return format!("{} on CPU {}", program.program, program.cpus);
        }
        let placed = plan.placements.iter().find(|p| p.waker_cpu.is_some());
        let at = match placed.or(plan.placements.first()) {
            Some(p) => match p.waker_cpu {
                Some(waker) => format!(" on CPU {}, woken from CPU {waker}", p.wakee_cpu),
                None => format!(" on CPU {}", p.wakee_cpu),
            },
            None => String::new(),
        };
        format!("wake-ups of a thread{at}")
    }

    fn commands(plan: &WakePlan) -> Vec<String> {
        let program = plan.program.iter();
        program
            .map(|p| format!("{:?}", p.program.to_string()))
            .collect()
    }

    fn planner(plan: &WakePlan) -> impl Planner<Setting = WakeSetting, Outcome = WakeOutcome> {
        WakePlanner::new(plan)
    }

    fn runner<'a>(
        plan: &'a WakePlan,
        site: &WakeSite,
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<WakeSetting, WakeOutcome> + 'a>, RunError> {
        Ok(Box::new(WakeRunner::new(plan, site.clone(), machine)))
    }

    fn limit_us(plan: &WakePlan) -> Option<(f64, String)> {
        let limit = plan.latency?;
        let name = format!("p99<{}", human_duration(limit));
        Some((limit.as_secs_f64() * 1e6, name))
    }

    fn findings(plan: &WakePlan, trials: &[WakeTrial]) -> WakeFindings {
        study::findings(plan, trials)
    }

    fn figures(findings: &WakeFindings) -> Vec<NamedFigure> {
        let each = findings.policies.iter().flat_map(|found| {
            [
                (FigureName::P99, found.p99_us),
                (FigureName::Burn, found.burn_pct),
            ]
            .map(|(name, value)| NamedFigure {
                name,
                of: found.policy.to_string(),
                value,
            })
        });
        each.collect()
    }

    fn picture(_: &WakePlan, _: &[WakeTrial]) {}

    fn document<'a>(report: &'a ReportOf<'a, Wake>, (): &'a ()) -> Document<'a> {
        super::document::document(report)
    }
}
