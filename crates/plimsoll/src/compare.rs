//! `plimsoll compare`: machines, or versions of a service, side by side.

use crate::args::{CompareArgs, CompareFormat, Ending, Price};
use crate::failure::Failure;
use crate::loaded::Loaded;
use crate::output::{Output, spare_sources};
use crate::session::rendered;
use plimsoll_model::{
    CapacityFinding, Carried, ComparisonCaution, CpuThreshold, Respect, ThresholdFinding, Workload,
};
use plimsoll_report::compare::{CompareReport, ComparedRun, Source};
use plimsoll_study::compare::{Capacity, CompareError, Machine, compare, factors, watts_at};
use plimsoll_study::picture::picture;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &CompareArgs, output: &Output) -> Result<(), Failure> {
    if args.files.len() < 2 {
        return Err(mistake(CompareError::TooFew));
    }
    let file = args.output.as_deref();
    let format = CompareFormat::of(args.format, file, CompareFormat::Text);
    let format = format.map_err(Failure::Mistake)?;
    let records: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    spare_sources(file, &records)?;
    let open = |file| Loaded::open(file, &args.goals);
    let loaded: Vec<Loaded> = args
        .files
        .iter()
        .map(|f| open(f))
        .collect::<Result<_, _>>()?;
    let names = names(&loaded);
    let prices = prices(&args.prices, &names)?;
    let machines: Vec<Machine> = loaded
        .iter()
        .zip(&names)
        .zip(prices)
        .map(|((loaded, name), price)| machine(loaded, name, price))
        .collect();
    let mut comparison = compare(&machines).map_err(mistake)?;
    comparison.cautions.extend(cautions(&loaded, &names));
    let sources: Vec<Source<'_>> = loaded.iter().map(Loaded::source).collect();
    let report = CompareReport {
        comparison: &comparison,
        sources: &sources,
    };
    let drawn = (format == CompareFormat::Html).then(|| runs(&loaded, &machines));
    let document = plimsoll_report::compare::document(&report, drawn.as_deref());
    let written = rendered(&document, format.into(), output.look(file))?;
    output.put(&written, file)
}

/// What is drawn of each machine.
fn runs(loaded: &[Loaded], machines: &[Machine]) -> Vec<ComparedRun> {
    let run = |(loaded, machine): (&Loaded, &Machine)| ComparedRun {
        findings: loaded.findings.clone(),
        picture: picture(&loaded.plan, &loaded.trials),
        factors: factors(machine),
    };
    loaded.iter().zip(machines).map(run).collect()
}

fn mistake(error: CompareError) -> Failure {
    Failure::Mistake(error.to_string())
}

/// A name for each record: its own, or its file's where others have the same.
fn names(loaded: &[Loaded]) -> Vec<String> {
    let mut names: Vec<String> = loaded.iter().map(Loaded::name).collect();
    let path = |l: &Loaded| l.file.to_string_lossy().into_owned();
    for next in [Loaded::stem, path] {
        let taken = names.clone();
        let is_shared = |name: &String| taken.iter().filter(|other| *other == name).count() > 1;
        for (name, loaded) in names.iter_mut().zip(loaded) {
            if is_shared(name) {
                *name = next(loaded);
            }
        }
    }
    names
}

/// A price, or none, for each name.
fn prices(given: &[Price], names: &[String]) -> Result<Vec<Option<f64>>, Failure> {
    for (i, price) in given.iter().enumerate() {
        let name = &price.name;
        if !names.contains(name) {
            return Err(Failure::Mistake(format!(
                "--price names '{name}', but the records are called '{}'; use one of these names",
                names.join("', '")
            )));
        }
        if given[..i].iter().any(|before| before.name == *name) {
            return Err(Failure::Mistake(format!(
                "--price is given twice for '{name}'; leave one out"
            )));
        }
    }
    let of = |name: &String| given.iter().find(|p| p.name == *name).map(|p| p.per_hour);
    Ok(names.iter().map(of).collect())
}

fn machine(loaded: &Loaded, name: &str, price_per_hour: Option<f64>) -> Machine {
    let findings = &loaded.findings;
    let is_table = matches!(loaded.plan.workload, Workload::Imported(_));
    Machine {
        name: name.to_owned(),
        workload: loaded.plan.workload.clone(),
        arrivals: (!is_table).then_some(loaded.plan.arrivals),
        capacities: findings
            .capacity
            .iter()
            .map(|c| capacity(loaded, c))
            .collect(),
        thresholds_goal: plimsoll_study::tightest(&findings.capacity).map(|c| c.goal),
        thresholds: findings.thresholds.iter().filter_map(threshold).collect(),
        cpus: loaded.cpus(),
        price_per_hour,
    }
}

fn capacity(loaded: &Loaded, finding: &CapacityFinding) -> Capacity {
    let carried = Carried::from(finding);
    let rate = carried.estimate().map(|rate| rate.value);
    Capacity {
        goal: finding.goal,
        carried,
        limit_us: finding.limit_us,
        cpu_pct: finding.cpu_pct,
        watts: rate.and_then(|rate| watts_at(&loaded.trials, rate)),
    }
}

fn threshold(finding: &ThresholdFinding) -> Option<CpuThreshold> {
    Some(CpuThreshold {
        headroom_pct: finding.headroom_pct,
        cpu_pct: finding.cpu_pct?,
    })
}

/// What may differ besides what is compared, and what is in doubt.
fn cautions(loaded: &[Loaded], names: &[String]) -> Vec<ComparisonCaution> {
    let mut out = Vec::new();
    let Some((first, others)) = loaded.split_first() else {
        return out;
    };
    for (other, name) in others.iter().zip(&names[1..]) {
        let are_named = names[0] == first.name() && *name == other.name();
        let (one, two) = (&first.provenance, &other.provenance);
        // Hosts that the machines are called by are no news.
        let found = one.differences(two).into_iter();
        let news = found.filter(|m| !(are_named && m.respect == Respect::Host));
        out.extend(news.map(|differs| ComparisonCaution::Surroundings {
            name: name.clone(),
            first: names[0].clone(),
            differs,
        }));
        if one.plimsoll_version != two.plimsoll_version {
            out.push(ComparisonCaution::Version {
                name: name.clone(),
                first: names[0].clone(),
                versions: [one, two].map(|p| p.plimsoll_version.clone()),
            });
        }
    }
    for (loaded, name) in loaded.iter().zip(names) {
        let broken = loaded.findings.capacity.iter();
        let broken = broken.filter(|c| c.confirmed == Some(false));
        out.extend(broken.map(|finding| ComparisonCaution::NotConfirmed {
            name: name.clone(),
            goal: finding.goal,
        }));
    }
    out
}
