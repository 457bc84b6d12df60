//! The yield as an experiment.

use super::args::YieldArgs;
use super::{Request, YieldPlanner, able, check_command, runner, visits};
use crate::args::workload;
use crate::experiment::{Experiment, HelpPage, Machine, Prepared, ReportOf, Stage};
use crate::headers;
use plimsoll_engine::{Planner, RunError, Runner, Site};
use plimsoll_model::{
    BesideRate, CpuPlan, CpuSet, Job, LoadLevel, Phase, Plan, Requirement, RunPlan, SideloadPlan,
    Workload, YieldFindings, YieldOutcome, YieldPlan, YieldSetting, YieldTrial, counted,
};
use plimsoll_report::Document;
use plimsoll_report::yields::YieldPicture;

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
        let allowed = args.run.allowed_cpus(root)?;
        let workload = workload(args.url.as_deref(), &args.server, &args.header, &allowed)?;
        let site = Site::of(&workload, root)?;
        if !site.is_here() {
            return Err(RunError::Usage(
                "the service is on another machine, where no job can run next to it; start \
                 plimsoll yield on that machine"
                    .to_owned(),
            ));
        }
        let cpus = site.cpus(
            root,
            args.run.cpus.as_ref(),
            args.server.service_cpus.as_ref(),
        );
        let (side, notes) = sideload(args, job, job_cpus(&workload, &cpus), machine)?;
        let request = Request {
            workload,
            side,
            step: args.step,
            effort: visits::effort(args),
            arrivals: args.arrivals.into(),
            rated: args.rated,
            passes: args.passes,
            window: args.duration,
            cpus,
            tolerance: args.run.tolerance(),
            interrupts: site.interrupts(root),
            seed: args.run.seed(),
        };
        Ok(Prepared {
            plan: request.plan(),
            site,
            notes,
        })
    }

    fn reopen(
        args: &YieldArgs,
        plan: YieldPlan,
        machine: &Machine,
    ) -> Result<Prepared<YieldPlan, Site>, RunError> {
        let load = headers::supply(&plan.load, &args.header)?;
        let site = Site::of(&load.workload, &machine.root)?;
        Ok(Prepared::new(YieldPlan { load, ..plan }, site))
    }

    fn run(plan: &YieldPlan) -> &RunPlan {
        &plan.load.run
    }

    fn workload(plan: &YieldPlan) -> String {
        plan.load.workload.to_string()
    }

    fn recorded(
        args: &YieldArgs,
        plan: &YieldPlan,
        command_line: Vec<String>,
    ) -> (YieldPlan, Vec<String>) {
        let (load, words) = headers::recorded(&plan.load, command_line, &args.header, &args.server);
        (with_load(plan, load), words)
    }

    fn shown(plan: &YieldPlan) -> YieldPlan {
        with_load(plan, plimsoll_report::hide_secrets(&plan.load))
    }

    fn flags_to_resume(plan: &YieldPlan) -> String {
        headers::flags_to_resume(&plan.load)
    }

    fn commands(plan: &YieldPlan) -> Vec<String> {
        match &plan.sideload.job {
            Job::Command(command) => vec![format!("the --job command {command:?}")],
            Job::Burn => Vec::new(),
        }
    }

    fn requirements(plan: &YieldPlan, site: &Site, machine: &Machine) -> Vec<Requirement> {
        site.requirements(&machine.root, &plan.load.run.cpus)
    }

    fn planner(plan: &YieldPlan) -> impl Planner<Setting = YieldSetting, Outcome = YieldOutcome> {
        YieldPlanner(plan)
    }

    fn runner<'a>(
        plan: &'a YieldPlan,
        site: &Site,
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<YieldSetting, YieldOutcome> + 'a>, RunError> {
        runner(plan, site, machine)
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
        let stage = |phase, words: &str| Stage {
            phase,
            words: words.to_owned(),
        };
        vec![
            stage(Phase::Calibration, calibration),
            stage(Phase::Level { level: None }, &arms),
        ]
    }

    fn findings(plan: &YieldPlan, trials: &[YieldTrial]) -> YieldFindings {
        plimsoll_study::yields::findings(plan, trials)
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
        super::best::keep(report.findings, report.provenance, report.record.file)
    }
}

fn with_load(plan: &YieldPlan, load: Plan) -> YieldPlan {
    YieldPlan {
        load,
        ..plan.clone()
    }
}

fn job(text: &str) -> Result<Job, RunError> {
    if text == "burn" {
        return Ok(Job::Burn);
    }
    check_command(text)?;
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

/// The job and its arms, with a message for each arm that is unavailable here.
fn sideload(
    args: &YieldArgs,
    job: Job,
    cpus: CpuSet,
    machine: &Machine,
) -> Result<(SideloadPlan, Vec<String>), RunError> {
    let wanted = visits::wanted(args)?;
    let (mut arms, missing_arms) = able(&wanted, args.headroom, &cpus, machine)?;
    visits::leave_alike(args, &mut arms);
    let notes = missing_arms
        .iter()
        .map(|missing| format!("{} is left out: {}", missing.arm, missing.reason))
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
