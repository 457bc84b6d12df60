//! `plimsoll plan`: how many instances, and at which CPU use to add one.
//!
//! Nothing is run, so every failure is a usage error: another record or another
//! goal may help.

mod args;
mod refuse;
mod traffic;

pub(crate) use args::PlanArgs;

use crate::failure::Failure;
use crate::format::{PlanFormat, choose};
use crate::load_record::LoadRecord;
use crate::output::{Output, spare_sources};
use crate::session::rendered;
use plimsoll_model::{CapacityFinding, Carried, Doubt, Estimate, Rate};
use plimsoll_report::Look;
use plimsoll_report::sizing::{PlanAsked, PlanReport, plan_hpa};
use plimsoll_study::sizing::{CpuLine, Demand, Request, least, size};
use std::path::Path;

pub(crate) fn run(args: &PlanArgs, output: &Output) -> Result<(), Failure> {
    let file = args.output.as_deref();
    let format = choose(args.format, file)?;
    let sources = [Some(&args.file), args.traffic.as_ref()];
    let sources: Vec<&Path> = sources.into_iter().flatten().map(AsRef::as_ref).collect();
    spare_sources(file, &sources)?;
    let demand = demand(args)?;
    let loaded = LoadRecord::open(&args.file, &args.goals)?;
    let capacity = lowest(&loaded)?;
    let is_flat = |doubt: &Doubt| matches!(doubt, Doubt::FlatCpu { .. });
    let is_flat = loaded.findings.doubts.iter().any(is_flat);
    if is_flat && matches!(format, PlanFormat::Hpa) {
        return Err(refuse::flat_cpu(&loaded));
    }
    let line = CpuLine::of(&loaded.plan, &loaded.trials).filter(|_| !is_flat);
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
        doubts: &loaded.findings.doubts,
        cpus: loaded.cpus(),
        cpu_known_to: line.as_ref().and_then(CpuLine::highest),
        source: loaded.source(),
    };
    let written = written(&report, format, output.look(file))?;
    output.put(&written, file)
}

/// The plan in a format; text that looks so.
fn written(report: &PlanReport<'_>, format: PlanFormat, look: Look) -> Result<String, Failure> {
    let shown = |format| rendered(&plimsoll_report::sizing::document(report), format, look);
    match format {
        PlanFormat::Text => shown(plimsoll_report::Format::Text),
        PlanFormat::Json => shown(plimsoll_report::Format::Json),
        PlanFormat::Hpa => plan_hpa(report).ok_or_else(|| refuse::no_target(report)),
    }
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

/// The goal that is planned for, if all of them can be.
fn lowest(loaded: &LoadRecord) -> Result<&CapacityFinding, Failure> {
    refuse::without_rates(loaded)?;
    let all = &loaded.findings.capacity;
    if let Some(unknown) = all.iter().find(|c| Carried::from(*c) == Carried::Unknown) {
        return Err(refuse::unknown_capacity(loaded, unknown));
    }
    least(all).ok_or_else(|| refuse::no_goal(loaded))
}
