//! The yield as an experiment.

use super::args::YieldArgs;
use super::job::SideJob;
use super::plan::YieldPlanner;
use super::{arms, command, defaults, visits};
use crate::args::counted_job;
use crate::experiment::{Experiment, HelpPage, Machine, Prepared, ReportOf, Stage};
use crate::given_again::{self, GivenAgain};
use plimsoll_control::CgroupLayout;
use plimsoll_engine::{Planner, RunError, Runner, Site};
use plimsoll_model::{
    BesideRate, CheckedPlan, CountedJob, CpuPlan, CpuSet, Estimate, FigureName, ImplausiblePlan,
    Job, LoadLevel, MissingArm, NamedFigure, Phase, Requirement, RunPlan, SideloadPlan, Workload,
    YieldFindings, YieldOutcome, YieldPlan, YieldSetting, YieldTrial, counted,
};
use plimsoll_report::Document;
use plimsoll_report::yields::YieldPicture;
use std::time::Duration;

/// The service's default load.
const LOAD_PCT: f64 = 60.0;

/// What does batch work next to a service gain, and what does the service pay?
#[derive(Debug)]
pub struct Yield;

impl Experiment for Yield {
    const NAME: &'static str = "yield";
    const ABOUT: &'static str =
        "Run batch work next to a service: what does it gain, what does the service pay?";
    const HELP: HelpPage = super::args::HELP;
    const CONDITIONS: &'static str = "'gain of plimsoll>30%' or 'cost of plimsoll<5%'";
    const FIGURES: &'static [FigureName] = &[FigureName::Gain, FigureName::Cost];

    type Args = YieldArgs;
    type Plan = YieldPlan;
    type Setting = YieldSetting;
    type Outcome = YieldOutcome;
    type Findings = YieldFindings;
    type Picture = YieldPicture;
    type Site = Site;

    fn prepare(args: &YieldArgs, machine: &Machine) -> Result<Prepared<YieldPlan, Site>, RunError> {
        let root = &machine.root;
        let job = job(&args.job)?;
        let workload = args.service.workload(args.url.as_deref(), root)?;
        let site = Site::of(&workload, root)?;
        if !site.is_here() {
            return Err(RunError::Usage(
                "the service is on another machine, where no job can run next to it; start \
                 plimsoll yield on that machine"
                    .to_owned(),
            ));
        }
        let cpus = args.service.cpus(&site, root);
        let (side, notes) = sideload(args, job, job_cpus(&workload, &cpus), machine)?;
        Ok(Prepared {
            plan: defaults::plan(args, workload, side, cpus, site.interrupts(root)),
            site,
            notes,
        })
    }

    fn reopen(
        args: &YieldArgs,
        plan: YieldPlan,
        machine: &Machine,
    ) -> Result<Prepared<YieldPlan, Site>, RunError> {
        let given = GivenAgain::of(args.url.as_ref(), None, &args.service.request)?;
        let (load, notes) = given_again::supply(&plan.load, given)?;
        let site = Site::of(&load.workload, &machine.root)?;
        let plan = YieldPlan { load, ..plan };
        Ok(Prepared { plan, site, notes })
    }

    fn run(plan: &YieldPlan) -> &RunPlan {
        &plan.load.run
    }

    fn check(plan: &YieldPlan) -> Result<(), ImplausiblePlan> {
        plan.check()
    }

    fn workload(plan: &YieldPlan) -> String {
        plan.load.workload.to_string()
    }

    fn keeps_secrets(args: &YieldArgs) -> bool {
        args.service.server.keep_secrets
    }

    fn shown(plan: &YieldPlan) -> YieldPlan {
        YieldPlan {
            load: plan.load.without_secrets(),
            ..plan.clone()
        }
    }

    fn flags_to_resume(plan: &YieldPlan) -> String {
        given_again::flags_to_resume(&plan.load)
    }

    fn commands(plan: &YieldPlan) -> Vec<String> {
        match &plan.sideload.job {
            Job::Command(command) => vec![format!("the --job command {command:?}")],
            Job::Counted(_) => Vec::new(),
        }
    }

    fn requirements(
        plan: &YieldPlan,
        site: &Site,
        machine: &Machine,
        since: Duration,
    ) -> Vec<Requirement> {
        site.requirements(&machine.root, &plan.load.run.cpus, since)
    }

    fn planner(plan: &YieldPlan) -> impl Planner<Setting = YieldSetting, Outcome = YieldOutcome> {
        YieldPlanner(plan)
    }

    fn runner<'a>(
        plan: &'a YieldPlan,
        site: &Site,
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<YieldSetting, YieldOutcome> + 'a>, RunError> {
        let serves_here = matches!(plan.load.workload, Workload::Hash(_));
        let job = SideJob::new(&plan.sideload, serves_here, machine)?;
        let offered = site.runner(&plan.load, &machine.root)?;
        Ok(Box::new(offered.with_job(Box::new(job), plan.step)))
    }

    fn stages(plan: &YieldPlan) -> Vec<Stage> {
        let calibrates = matches!(plan.sideload.service, BesideRate::Load(_))
            && plan.load.calibration.rated.is_none();
        let calibration = match calibrates {
            true => "the rated rate, and the service alone at its load",
            false => "the service alone at its load",
        };
        let visits = counted(plan.sideload.visits().len(), "arm", "arms");
        let arms = format!(
            "{visits}, each {} times, in shuffled order",
            plan.load.run.passes
        );
        let warm_up = Stage::warm_up(&plan.load).into_iter();
        let others = [
            Stage::new(Phase::Calibration, calibration),
            Stage::visits(arms),
        ];
        warm_up.chain(others).collect()
    }

    fn findings(plan: &YieldPlan, trials: &[YieldTrial]) -> YieldFindings {
        plimsoll_study::yields::findings(plan, trials)
    }

    fn figures(findings: &YieldFindings) -> Vec<NamedFigure> {
        let arms = findings.arms.iter().filter(|found| found.arm.is_beside());
        let each = arms.flat_map(|found| {
            let change = found.latency_change_pct.as_ref();
            let gain = |share: Estimate| share.map_rising(|share| share * 100.0);
            [
                (FigureName::Gain, found.work_gained_share.map(gain)),
                (
                    FigureName::Cost,
                    change.and_then(|c| c.under(&findings.budget)),
                ),
            ]
            .map(|(name, value)| NamedFigure {
                name,
                of: found.arm.to_string(),
                value,
            })
        });
        each.collect()
    }

    fn picture(plan: &YieldPlan, trials: &[YieldTrial]) -> YieldPicture {
        YieldPicture {
            trials: plimsoll_study::picture::of_yield(plan, trials),
            steps: plimsoll_study::yields::step_courses(plan, trials),
        }
    }

    fn document<'a>(report: &'a ReportOf<'a, Yield>, picture: &'a YieldPicture) -> Document<'a> {
        plimsoll_report::yields::document(report, Some(picture))
    }

    fn conclude(report: &ReportOf<'_, Yield>) -> Option<String> {
        // What is best beside a job of memory is not so beside one of CPU time.
        match &report.plan.sideload.job {
            Job::Counted(CountedJob::Memory { .. } | CountedJob::Disk { .. }) => return None,
            Job::Counted(CountedJob::Burn) | Job::Command(_) => {}
        }
        super::best::keep(report.findings, report.provenance, report.record.file)
    }
}

fn job(text: &str) -> Result<Job, RunError> {
    let counted =
        counted_job(text).map_err(|why| RunError::Usage(format!("--job {text}: {why}")))?;
    if let Some(counted) = counted {
        return Ok(Job::Counted(counted));
    }
    command::check(text)?;
    Ok(Job::Command(text.to_owned()))
}

/// The CPUs of the service, because the job runs where the service does. The job
/// does not use the load generator's CPUs, because slip would look like latency of
/// the service.
fn job_cpus(workload: &Workload, cpus: &CpuPlan) -> CpuSet {
    let beside = cpus.service.without(&cpus.generator);
    match workload {
        Workload::Http(_) if !beside.is_empty() => beside,
        _ => cpus.service.clone(),
    }
}

const DETACHED: &str = "processes that the job detaches are not counted where no cgroup holds it, and their CPU time looks \
    like that of others, because this process began with a child, as with `2> >(tee log)` of a shell, or is init; start \
    it without";

/// The job and its arms, with a message for each arm that is unavailable here.
fn sideload(
    args: &YieldArgs,
    job: Job,
    cpus: CpuSet,
    machine: &Machine,
) -> Result<(SideloadPlan, Vec<String>), RunError> {
    let wanted = visits::wanted(args, &job)?;
    let layout = CgroupLayout::find(&machine.root)?;
    let journal = machine.journal()?;
    let (mut arms, mut missing_arms) = (Vec::new(), Vec::new());
    for arm in wanted {
        // With nothing in it.
        match arms::try_once(arm, args.headroom, &cpus, &layout, journal, &machine.root) {
            Ok(()) => arms.push(arm),
            Err(reason) => missing_arms.push(MissingArm { arm, reason }),
        }
    }
    visits::leave_alike(args, &mut arms);
    let left_out = missing_arms
        .iter()
        .map(|missing| format!("{} is left out: {}", missing.arm, missing.reason));
    let is_command = matches!(job, Job::Command(_));
    let uncounted = is_command && !layout.keeping_orphans().keeps_orphans();
    let notes = left_out
        .chain(uncounted.then(|| DETACHED.to_owned()))
        .collect();
    if !arms.iter().any(|arm| arm.is_beside()) {
        return Err(RunError::Usage(
            "none of the isolation mechanisms asked for is available here; name others with \
             --arms, such as nice"
                .to_owned(),
        ));
    }
    let high = args.step.map(|step| step.high);
    let load = args.load.or(high).or_else(|| LoadLevel::percent(LOAD_PCT));
    let rate = args.rate.map(BesideRate::Rate);
    let service = rate.or(load.map(BesideRate::Load));
    let service = service.ok_or_else(|| RunError::Usage("give --load or --rate".to_owned()))?;
    let plan = SideloadPlan {
        job,
        service,
        arms,
        missing_arms,
        headroom: args.headroom,
        headrooms: visits::headrooms(args)?,
        budget: args.budget,
        cpus,
        timeout: args.job_timeout,
    };
    Ok((plan, notes))
}
