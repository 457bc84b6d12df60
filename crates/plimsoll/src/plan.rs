//! `plimsoll plan`: how many instances, and at which CPU use to add one.
//!
//! Nothing is run, so whatever a record does not tell is put right by asking
//! for something else: another record, another goal.

mod traffic;

use crate::args::{PlanArgs, PlanFormat};
use crate::failure::Failure;
use crate::loaded::Loaded;
use crate::output::Output;
use plimsoll_model::{CapacityFinding, Carried, Estimate, Rate};
use plimsoll_report::{PlanAsked, PlanReport, plan_hpa, plan_json, plan_text};
use plimsoll_study::sizing::{CpuLine, Demand, Request, size};

pub(crate) fn run(args: &PlanArgs, output: &Output) -> Result<(), Failure> {
    let demand = demand(args)?;
    let loaded = Loaded::open(&args.file, &args.goals)?;
    let capacity = lowest(&loaded)?;
    let line = CpuLine::of(&loaded.plan, &loaded.trials);
    let cpu = |rate: Rate| -> Option<Estimate> { line.as_ref()?.at(rate) };
    let request = Request {
        capacity: Carried::from(capacity),
        cpu: &cpu,
        lowest_measured: line.as_ref().and_then(CpuLine::lowest),
        demand: &demand,
        failures: args.failures,
        growth_per_minute: args.growth.0,
        ready_in: args.ready_in,
        price_per_hour: args.price,
        floor: args.floor,
    };
    let sizing = size(&request).map_err(|e| Failure::Mistake(e.to_string()))?;
    let report = PlanReport {
        sizing: &sizing,
        asked: PlanAsked {
            failures: args.failures,
            growth_pct_per_min: 100.0 * args.growth.0,
            ready_in_s: args.ready_in.as_secs_f64(),
            price_per_hour: args.price,
            floor_instances: args.floor,
        },
        capacity,
        goals: loaded.findings.capacity.len(),
        cpus: loaded.cpus(),
        source: loaded.source(),
    };
    show(&report, args.format, output)
}

fn show(report: &PlanReport<'_>, format: PlanFormat, output: &Output) -> Result<(), Failure> {
    match format {
        PlanFormat::Text => output.print(&plan_text(report, output.text_width(), output.colour)),
        PlanFormat::Json => {
            let json = plan_json(report)
                .map_err(|e| Failure::Run(format!("the plan cannot be put into JSON: {e}")))?;
            output.print(&json)
        }
        PlanFormat::Hpa => match plan_hpa(report) {
            Some(yaml) => output.print(&yaml),
            None => Err(no_target(report)),
        },
    }
}

fn no_target(report: &PlanReport<'_>) -> Failure {
    let auto = &report.sizing.autoscaler;
    let file = report.source.file.display();
    let rate = auto.rate_rps;
    Failure::Mistake(match auto.target_cpu_pct {
        Some(pct) => format!(
            "CPU use at {rate:.1} requests per second is {pct:.2} %, too little for a target in whole percent; allow for fewer failures or less growth"
        ),
        None => format!(
            "{file} does not tell the CPU use at {rate:.1} requests per second, so there is no CPU target to give Kubernetes; take a record in which the service's CPU use was measured, as `plimsoll report {file}` shows"
        ),
    })
}

fn demand(args: &PlanArgs) -> Result<Demand, Failure> {
    match (&args.traffic, args.peak) {
        (Some(file), _) => Ok(Demand::Traffic(traffic::read(file)?)),
        (None, Some(peak)) => Ok(Demand::Peak(peak)),
        (None, None) => Err(Failure::Mistake(
            "nothing is to be carried; give --peak or --traffic".to_owned(),
        )),
    }
}

/// The goal that allows the least, for all of them are to be kept.
fn lowest(loaded: &Loaded) -> Result<&CapacityFinding, Failure> {
    let file = loaded.file.display();
    if !loaded.plan.copies.is_empty() {
        return Err(Failure::Mistake(format!(
            "{file} tells of copies of a command, which have no capacity in requests per second; plan from a record of a sweep over rates"
        )));
    }
    let all = &loaded.findings.capacity;
    if let Some(unknown) = all.iter().find(|c| Carried::from(*c) == Carried::Unknown) {
        let why = unknown.note.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        return Err(Failure::Mistake(format!(
            "what an instance carries within {} cannot be told from {file}{why}; choose another goal with --goal, or sweep again with other load levels (--levels) or longer trials (--duration)",
            unknown.goal
        )));
    }
    let planned = |c: &CapacityFinding| {
        let rate = Carried::from(c).estimate();
        rate.map_or(f64::INFINITY, |rate| rate.low.unwrap_or(rate.value))
    };
    let lowest = all.iter().min_by(|a, b| planned(a).total_cmp(&planned(b)));
    lowest.ok_or_else(|| {
        Failure::Mistake(format!(
            "{file} was made without a goal, so it has no capacity; give one with --goal, such as --goal 'p99<10ms'"
        ))
    })
}
