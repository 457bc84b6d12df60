//! `plimsoll compare`: machines, or versions of a service, side by side.

use crate::failure::Failure;
use crate::format::{CompareFormat, choose};
use crate::load_record::LoadRecord;
use crate::output::{Output, spare_sources};
use crate::session::rendered;
use clap::Args;
use plimsoll_model::{
    CapacityFinding, Carried, ComparisonCaution, CpuThreshold, Goal, Respect, ThresholdFinding,
    Workload,
};
use plimsoll_report::compare::{CompareReport, ComparedRun, Source};
use plimsoll_study::compare::{Capacity, CompareError, Machine, compare, factors, watts_at};
use plimsoll_study::picture::picture;
use std::path::{Path, PathBuf};

const COMPARE_HELP: &str = "\
Each record is compared with the first. A difference is called better or worse
only where its 95 % interval lies on one side; else it is inconclusive. Records
of different workloads or goals are refused, and those of copies, which have no
capacity. With several goals the table of CPU use by headroom is of the one that
allows the least. A record is called by the name of its machine (of
its table, if it is imported), or by its file where two have the same.

Worked example: web1 carries 1,000/s (950 to 1,050) and web2 1,200/s (1,150 to
1,250). 1.2 times as much (1.12 to 1.29) lies above 1 as a whole: better. At
--price web1=0.30 --price web2=0.40 it is 0.9 times (0.84 to 0.97) as much for
the same money: worse.

Examples:
  plimsoll compare old.plimsoll new.plimsoll
  plimsoll compare web1.plimsoll web2.plimsoll --goal 'p99<10ms' \\
      --price web1=0.34 --price web2=0.29";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_HELP)]
pub(crate) struct CompareArgs {
    /// The records, two or more.
    #[arg(required = true, value_name = "RECORD")]
    files: Vec<PathBuf>,

    /// What a machine costs per hour, such as web1=0.34; all in one currency. Repeatable.
    #[arg(long = "price", value_name = "NAME=PRICE", value_parser = price)]
    prices: Vec<Price>,

    /// Judge all trials by another goal. Repeatable; replaces those of the runs.
    #[arg(long = "goal", value_name = "GOAL")]
    goals: Vec<Goal>,

    /// How to print the comparison (default: as the name after -o ends, else text).
    #[arg(long, value_name = "FORMAT")]
    format: Option<CompareFormat>,

    /// Write it to this file, such as compare.html, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The price per hour of the machine of this name; any number.
#[derive(Debug, Clone, PartialEq)]
struct Price {
    name: String,
    per_hour: f64,
}

fn price(text: &str) -> Result<Price, String> {
    // A name may contain a '=', a price does not.
    let parts = text.rsplit_once('=');
    parts
        .and_then(|(name, price)| Some((name.trim(), price.trim().parse().ok()?)))
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, per_hour)| Price {
            name: name.to_owned(),
            per_hour,
        })
        .ok_or_else(|| "give a machine's name and what it costs per hour, such as web1=0.34".into())
}

pub(crate) fn run(args: &CompareArgs, output: &Output) -> Result<(), Failure> {
    if args.files.len() < 2 {
        return Err(mistake(CompareError::TooFew));
    }
    let file = args.output.as_deref();
    let format = choose(args.format, file)?;
    let records: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    spare_sources(file, &records)?;
    let open = |file: &PathBuf| LoadRecord::open(file, &args.goals);
    let loaded: Vec<LoadRecord> = args.files.iter().map(open).collect::<Result<_, _>>()?;
    refuse_same_run(&loaded)?;
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
    let sources: Vec<Source<'_>> = loaded.iter().map(LoadRecord::source).collect();
    let report = CompareReport {
        comparison: &comparison,
        sources: &sources,
    };
    let drawn = (format == CompareFormat::Html).then(|| runs(&loaded, &machines));
    let document = plimsoll_report::compare::document(&report, drawn.as_deref());
    let written = rendered(&document, format.into(), output.look(file))?;
    output.put(&written, file)
}

/// Refuses copies of one record: a run does not differ from itself.
fn refuse_same_run(loaded: &[LoadRecord]) -> Result<(), Failure> {
    let is_same = |a: &LoadRecord, b: &LoadRecord| {
        let dates = a.created_unix_ms == b.created_unix_ms;
        dates && a.plan.run.seed == b.plan.run.seed && a.provenance == b.provenance
    };
    for (nth, other) in loaded.iter().enumerate() {
        let same = loaded[..nth].iter().find(|one| is_same(one, other));
        // A file that is named twice is refused for that.
        if let Some(one) = same.filter(|one| one.file != other.file) {
            return Err(Failure::Mistake(format!(
                "{} and {} hold the same run, which cannot be compared with itself; name records of different runs",
                one.file.display(),
                other.file.display()
            )));
        }
    }
    Ok(())
}

/// What is drawn of each machine.
fn runs(loaded: &[LoadRecord], machines: &[Machine]) -> Vec<ComparedRun> {
    let run = |(loaded, machine): (&LoadRecord, &Machine)| ComparedRun {
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
fn names(loaded: &[LoadRecord]) -> Vec<String> {
    let mut names: Vec<String> = loaded.iter().map(LoadRecord::name).collect();
    let path = |l: &LoadRecord| l.file.to_string_lossy().into_owned();
    for next in [LoadRecord::stem, path] {
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

fn machine(loaded: &LoadRecord, name: &str, price_per_hour: Option<f64>) -> Machine {
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

fn capacity(loaded: &LoadRecord, finding: &CapacityFinding) -> Capacity {
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
fn cautions(loaded: &[LoadRecord], names: &[String]) -> Vec<ComparisonCaution> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_machine_may_contain_an_equals_sign() {
        let read = price("a=b = 0.5").unwrap();
        assert_eq!((read.name.as_str(), read.per_hour), ("a=b", 0.5));
        for bad in ["web1", "=0.5", "web1=", "web1=cheap", ""] {
            assert!(price(bad).unwrap_err().contains("web1=0.34"), "{bad}");
        }
    }
}
