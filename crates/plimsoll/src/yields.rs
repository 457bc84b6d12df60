//! `plimsoll yield`: from the flags to the findings.

mod shown;
mod visits;

pub(crate) use shown::{Shown, format};

use crate::args::YieldArgs;
use crate::failure::Failure;
use crate::finish::finish;
use crate::output::{Output, note};
use crate::record_file::Maker;
use crate::stop::Stop;
use crate::{best, burn, gate, leftovers, meant, needs, progress, record_file, resume};
use plimsoll_control::Journals;
use plimsoll_experiment::sweep::{Place, Tolerance};
use plimsoll_experiment::yields::{self, Means, Request};
use plimsoll_experiment::{Ended, conduct};
use plimsoll_host::Root;
use plimsoll_model::{
    BesideRate, CpuPlan, CpuSet, InterruptTime, Job, LoadLevel, Plan, SideloadPlan, Trial, Workload,
};
use plimsoll_record::Record;
use std::time::SystemTime;

/// The service's load, unless it was asked for.
const LOAD_PCT: f64 = 60.0;

pub(crate) fn run(args: &YieldArgs, output: &Output) -> Result<(), Failure> {
    let root = Root::machine();
    let stop = Stop::on_signals()?;
    let journals = Journals::usual();
    leftovers::give_back(&journals, &root)?;
    let means = Means {
        journal: journals.open(&root)?,
        burner: burn::command(),
        gate: gate::gate(),
    };
    stop.before_exit(means.journal.at_once());
    let (mut record, place) = match &args.resume {
        Some(path) => resume::open_yield(path, &root)?,
        None => begin(args, &means, &root)?,
    };
    let mut trials: Vec<Trial> = record.trials()?.collect::<Result<_, _>>()?;
    let ended = measure(&place, &means, &root, &mut record, &mut trials, &stop);
    finish("yield", &mut record, &trials, ended, |record| {
        shown::show(record, args.format, !args.no_html, output)
    })?;
    if let Some(kept) = best::keep(&record, &trials) {
        note(&kept);
    }
    Ok(())
}

/// A new run: where it runs, its plan, its record.
fn begin(args: &YieldArgs, means: &Means, root: &Root) -> Result<(Record, Place), Failure> {
    let path = match &args.output {
        Some(path) => {
            record_file::check(path, Maker::Sweep)?;
            path.clone()
        }
        None => meant::default_output("yield", SystemTime::now()),
    };
    let job = job(&args.job)?;
    let allowed = meant::allowed_cpus(args.cpus.as_ref(), root)?;
    let workload = meant::service(args.url.as_deref(), &args.http, args.timeout, &allowed)?;
    let place = Place::of(&workload, root)?;
    if !place.is_here() {
        return Err(Failure::Mistake(
            "the service is on another machine, where no job can be run beside it; start plimsoll \
             yield on that machine"
                .to_owned(),
        ));
    }
    let cpus = place.cpus(root, args.cpus.as_ref(), args.http.service_cpus.as_ref());
    let side = side(args, job, job_cpus(&workload, &cpus), means, root)?;
    let plan = plan(args, workload, side, cpus, place.interrupts(root));
    let mut requirements = place.requirements(root, &plan.cpus);
    needs::check(&requirements)?;
    requirements.extend(plimsoll_host::requirements(root));
    let provenance = plimsoll_host::provenance(root, env!("CARGO_PKG_VERSION"));
    let command_line: Vec<String> = std::env::args().collect();
    let record = Record::create(&path, &plan, &provenance, &command_line, &requirements)?;
    Ok((record, place))
}

fn plan(
    args: &YieldArgs,
    workload: Workload,
    side: SideloadPlan,
    cpus: CpuPlan,
    interrupts: InterruptTime,
) -> Plan {
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
        tolerance: Tolerance {
            slip: args.max_slip,
            steal: args.max_steal,
            other: args.max_other,
        },
        interrupts,
        seed: args.seed.unwrap_or_else(meant::any_seed),
    };
    request.plan()
}

fn job(text: &str) -> Result<Job, Failure> {
    if text == "burn" {
        return Ok(Job::Burn);
    }
    yields::check_command(text)?;
    Ok(Job::Command(text.to_owned()))
}

/// Those of the service: beside it is where it runs. The load generator's are
/// left alone, for its lateness would be taken for the service's.
fn job_cpus(workload: &Workload, cpus: &CpuPlan) -> CpuSet {
    let beside = cpus.service.without(&cpus.generator);
    match workload {
        Workload::Http(_) if !beside.is_empty() => beside,
        _ => cpus.service.clone(),
    }
}

fn side(
    args: &YieldArgs,
    job: Job,
    cpus: CpuSet,
    means: &Means,
    root: &Root,
) -> Result<SideloadPlan, Failure> {
    let wanted = visits::wanted(args)?;
    let (mut arms, missing_arms) = yields::able(&wanted, args.headroom, &cpus, means, root)?;
    visits::leave_alike(args, &mut arms);
    for missing in &missing_arms {
        note(&format!(
            "note: {} is left out: {}",
            missing.arm, missing.reason
        ));
    }
    if !arms.iter().any(|arm| arm.is_beside()) {
        return Err(Failure::Mistake(
            "none of the ways to hold a job that were asked for can be had here; name others with \
             --arms, such as nice"
                .to_owned(),
        ));
    }
    let high = args.step.map(|step| step.high);
    let load = args.load.or(high).or_else(|| LoadLevel::percent(LOAD_PCT));
    let service = args
        .rate
        .map(BesideRate::Rate)
        .or(load.map(BesideRate::Load));
    let service = service.ok_or_else(|| Failure::Mistake("give --load or --rate".to_owned()))?;
    Ok(SideloadPlan {
        job,
        service,
        arms,
        missing_arms,
        headroom: args.headroom,
        headrooms: visits::headrooms(args)?,
        budget: args.budget,
        cpus,
        timeout: args.job_timeout,
    })
}

/// Runs the trials of the record's plan that are not in it yet.
fn measure(
    place: &Place,
    means: &Means,
    root: &Root,
    record: &mut Record,
    trials: &mut Vec<Trial>,
    stop: &Stop,
) -> Result<Ended, Failure> {
    let plan = &record.plan().clone();
    let mut runner = yields::runner(plan, place, means, root)?;
    let mut watch = progress::lines();
    conduct(
        |trials| (yields::next(plan, trials), yields::progress(plan, trials)),
        trials,
        runner.as_mut(),
        |trial| record.append(trial).map_err(Failure::from),
        watch.as_mut(),
        stop.flag(),
    )
}
