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
use crate::record_file;
use crate::session::rendered;
use plimsoll_model::{CapacityFinding, Carried, CpuGauge, Doubt, Estimate, Rate};
use plimsoll_report::Look;
use plimsoll_report::sizing::{PlanAsked, PlanReport, plan_hpa};
use plimsoll_study::sizing::{CpuLine, Demand, InstanceCpu, Request, least, size};
use std::path::Path;

pub(crate) fn run(args: &PlanArgs, output: &Output) -> Result<(), Failure> {
    let file = args.output.as_deref();
    let format = choose(args.format, file)?;
    let sources = [Some(&args.file), args.traffic.as_ref()];
    let sources: Vec<&Path> = sources.into_iter().flatten().map(AsRef::as_ref).collect();
    spare_sources(file, &sources)?;
    let demand = demand(args)?;
    let loaded = LoadRecord::open(&args.file, &args.goals, &mut record_file::memory_budget())?;
    let capacity = lowest(&loaded, args.lower_bound)?;
    let of_gauge = |gauge| CpuLine::of(&loaded.plan, &loaded.trials, gauge);
    let (own, host) = (of_gauge(CpuGauge::OwnTime), of_gauge(CpuGauge::ServiceCpus));
    let doubts = doubts(&loaded, capacity, own.as_ref());
    let flat = doubts.iter().find(|doubt| doubt.leaves_no_threshold());
    if let (Some(doubt), PlanFormat::Hpa) = (flat, format) {
        return Err(refuse::no_threshold(&loaded, doubt));
    }
    let is_clear = flat.is_none();
    let cpus = &loaded.plan.run.cpus;
    let own_of = own.as_ref().and(cpus.usable());
    let has_cpus = cpus.quota().is_none();
    let host_line = host.as_ref().filter(|_| is_clear && has_cpus);
    let line = own.as_ref().or(host.as_ref()).filter(|_| is_clear);
    let at = |line: Option<&CpuLine>, rate| -> Option<Estimate> { line?.at(rate) };
    let (seen, alarm) = (|rate| at(line, rate), |rate| at(host_line, rate));
    let request = Request {
        capacity: Carried::from(capacity),
        cpu: InstanceCpu {
            line: &seen,
            own_of,
            host: &alarm,
        },
        lowest_measured: line.and_then(CpuLine::lowest),
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
        doubts: &doubts,
        cpus: loaded.cpus(),
        cpu_known_to: line.and_then(CpuLine::highest),
        source: loaded.source(),
    };
    let written = written(&report, format, output.look(file))?;
    output.put(&written, file)
}

/// What is in doubt about a record, and about the service's own CPU time if that
/// does not follow the load.
fn doubts(loaded: &LoadRecord, capacity: &CapacityFinding, own: Option<&CpuLine>) -> Vec<Doubt> {
    let mut doubts = loaded.findings.doubts.clone();
    if !doubts.iter().any(Doubt::leaves_no_threshold) {
        let carried = Carried::from(capacity)
            .estimate()
            .map(|carried| carried.value);
        let carried = carried.and_then(Rate::per_second);
        doubts.extend(
            own.zip(carried)
                .and_then(|(own, carried)| own.flat(carried)),
        );
    }
    doubts
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
fn lowest(loaded: &LoadRecord, lower_bound: bool) -> Result<&CapacityFinding, Failure> {
    refuse::without_rates(loaded)?;
    let all = &loaded.findings.capacity;
    if let Some(unknown) = all.iter().find(|c| Carried::from(*c) == Carried::Unknown) {
        return Err(refuse::unknown_capacity(loaded, unknown));
    }
    let lowest = least(all).ok_or_else(|| refuse::no_goal(loaded))?;
    match Carried::from(lowest) {
        Carried::AtLeast(rate) if !lower_bound => Err(refuse::lower_bound(loaded, lowest, rate)),
        _ => Ok(lowest),
    }
}
