//! `plimsoll compare`: machines, or versions of a service, side by side.

mod differences;
mod names;

use crate::failure::Failure;
use crate::format::{CompareFormat, Format, choose};
use crate::load_record::LoadRecord;
use crate::output::{Output, spare_sources};
use crate::record_file;
use crate::session::rendered;
use crate::session::require::{self, NoWorseBy};
use clap::Args;
use names::Names;
use plimsoll_experiments::args::value::share;
use plimsoll_model::{Comparison, Doubt, Goal, Holds, Judgement, Share};
use plimsoll_report::compare::{CompareReport, ComparedRun, Source, caution_sentence};
use plimsoll_report::verdicts::Verdicts;
use plimsoll_study::compare::{CompareError, Run, Side, compare, factors};
use plimsoll_study::judge;
use plimsoll_study::picture::picture;
use std::path::{Path, PathBuf};

const COMPARE_HELP: &str = "\
Each record is compared with the first; with --against, its records are runs of
one machine, and so are the others. A difference is called better or worse
only where its 95 % interval lies on one side; else it is inconclusive. Records
of different workloads or goals are refused, and those of copies, which have no
capacity. With several goals the table of CPU use by headroom is of the one that
allows the least. A record is called by the name of its machine (of
its table, if it is imported), or by its file where two have the same.

Runs of one machine differ by more than what varies within each. Several runs
of each, made in turn, measure that: the interval is Student's t on the
logarithms of their capacities (Welch's test, from three runs of each on). One
run of each cannot show it; --run-to-run is assumed, and a difference below
some 10 % is inconclusive.

Worked example: web1 carries 1,000/s (950 to 1,050) and web2 1,200/s (1,150 to
1,250), each in one run. 1.2 times as much (1.08 to 1.33, with 3 % from run to
run) lies above 1 as a whole: better. At --price web1=0.30 --price web2=0.42 it
is 0.86 times (0.77 to 0.95) as much for the same money: worse.

Examples:
  plimsoll compare old.plimsoll new.plimsoll
  plimsoll compare new1 new2 new3 --against old1 old2 old3
  plimsoll compare web1.plimsoll web2.plimsoll --goal 'p99<10ms' \\
      --price web1=0.34 --price web2=0.29";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_HELP)]
pub(crate) struct CompareArgs {
    /// The records: two or more, or with --against the runs of one machine.
    #[arg(required = true, value_name = "RECORD")]
    files: Vec<PathBuf>,

    /// Runs of the machine that the others, which are runs of one, are compared with.
    #[arg(long, value_name = "RECORD", num_args = 1..)]
    against: Vec<PathBuf>,

    /// Take runs of one machine to differ by this standard deviation, at least (default: as several
    /// runs of each differ; with single ones 3%). At 0%, single runs are compared as they are.
    #[arg(long, value_name = "SHARE", value_parser = run_to_run, allow_hyphen_values = true)]
    run_to_run: Option<Share>,

    /// What a machine costs per hour, such as web1=0.34; all in one currency. Repeatable.
    #[arg(long = "price", value_name = "NAME=PRICE", value_parser = price)]
    prices: Vec<Price>,

    /// Judge all trials by another goal. Repeatable; replaces those of the runs.
    #[arg(long = "goal", value_name = "GOAL")]
    goals: Vec<Goal>,

    /// The comparison passes if no machine carries less than the first (with --against, than its runs), by more than this share: 'no worse' (5%) or 'no worse by 10%'. Exit status 0 if so, 3 if not, 4 if the figures allow both. Repeatable.
    #[arg(long = "require", value_name = "CONDITION")]
    require: Vec<NoWorseBy>,

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

fn run_to_run(text: &str) -> Result<Share, String> {
    share(text).map_err(|_| "give a share between 0% and 100%, such as 3%".into())
}

pub(crate) fn run(args: &CompareArgs, output: &Output) -> Result<(), Failure> {
    let groups = groups(args);
    if groups.len() < 2 {
        return Err(mistake(CompareError::TooFew));
    }
    let file = args.output.as_deref();
    let format = Format::from(choose(args.format, file)?);
    require::check_format(format, &args.require)?;
    let records = args.files.iter().chain(&args.against);
    let records: Vec<&Path> = records.map(PathBuf::as_path).collect();
    spare_sources(file, &records)?;
    let mut budget = record_file::memory_budget();
    let mut open = |file: &&PathBuf| LoadRecord::open(file, &args.goals, &mut budget);
    let open = |group: &Vec<&PathBuf>| group.iter().map(&mut open).collect::<Result<Vec<_>, _>>();
    let loaded: Vec<Vec<LoadRecord>> = groups.iter().map(open).collect::<Result<_, _>>()?;
    let all: Vec<&LoadRecord> = loaded.iter().flatten().collect();
    refuse_same_run(&all)?;
    let names = names::of(&loaded);
    differences::refuse_within(&loaded, &names)?;
    let prices = prices(&args.prices, &names.machines)?;
    let sides = sides(&loaded, &names, &prices);
    let mut comparison = compare(&sides, args.run_to_run).map_err(mistake)?;
    let cautions = differences::cautions(&loaded, &names);
    comparison.cautions.extend(cautions);
    let sources = loaded.iter();
    let sources = sources.map(|runs| runs.iter().map(LoadRecord::source).collect());
    let sources: Vec<Vec<Source<'_>>> = sources.collect();
    let report = CompareReport {
        comparison: &comparison,
        sources: &sources,
    };
    let verdicts = verdicts(&args.require, &comparison, &loaded);
    let mut written = require::written(format, &verdicts);
    if let Some(format) = format.of_findings() {
        let drawn = (format == plimsoll_report::Format::Html).then(|| runs(&loaded, &sides));
        let document = plimsoll_report::compare::document(&report, drawn.as_deref());
        written += &rendered(&document, format, output.look(file))?;
    }
    output.put(&written, file)?;
    require::conclude(&verdicts)
}

fn verdicts(
    required: &[NoWorseBy],
    comparison: &Comparison,
    loaded: &[Vec<LoadRecord>],
) -> Verdicts {
    let names: Vec<&str> = comparison
        .machines
        .iter()
        .map(|m| m.name.as_str())
        .collect();
    let judged = |by: &NoWorseBy| (by.to_string(), no_worse(comparison, loaded, by.0));
    Verdicts {
        subject: format!("plimsoll compare of {}", names.join(", ")),
        all: required.iter().map(judged).collect(),
    }
}

/// Whether no machine carries less than the first by more than a share.
fn no_worse(comparison: &Comparison, loaded: &[Vec<LoadRecord>], by: Share) -> Judgement {
    let judged = judge::no_worse(&comparison.differences, by);
    let unfinished = loaded.iter().flatten().find(|record| !record.is_complete);
    if let Some(record) = unfinished {
        let why = format!("the run in {} did not end", record.file.display());
        return judge::doubted(judged, &why);
    }
    if let Some(caution) = comparison
        .cautions
        .iter()
        .find(|caution| caution.unsettles())
    {
        return judge::doubted(judged, &caution_sentence(caution));
    }
    let judged = match judged.holds {
        Holds::Undecided => missed_where_kept(loaded, by).unwrap_or(judged),
        Holds::Yes | Holds::No => judged,
    };
    unless_paused(judged, loaded)
}

/// Pauses of the generator may have made the first machine seem to carry too little, so that no other seems worse, or
/// another one.
fn unless_paused(judged: Judgement, loaded: &[Vec<LoadRecord>]) -> Judgement {
    let (first, others) = loaded.split_at(1.min(loaded.len()));
    let understated = match judged.holds {
        Holds::Yes => first,
        Holds::No => others,
        Holds::Undecided => &[],
    };
    let is_paused = |doubt: &Doubt| matches!(doubt, Doubt::GeneratorPauses { .. });
    let mut runs = understated.iter().flatten();
    match runs.find(|run| run.findings.doubts.iter().any(is_paused)) {
        None => judged,
        Some(run) => {
            let why = "pauses of the generator may have lowered the capacity of";
            judge::doubted(judged, &format!("{why} {}", run.file.display()))
        }
    }
}

/// A goal that all runs of a machine miss from the lowest load on, where all of the first keep it.
fn missed_where_kept(loaded: &[Vec<LoadRecord>], by: Share) -> Option<Judgement> {
    let (first, others) = loaded.split_first()?;
    let mut of_machines = others.iter().map(|runs| {
        let pairs = first
            .iter()
            .flat_map(|one| runs.iter().map(move |run| (one, run)));
        let missed = pairs
            .map(|(one, run)| judge::missed_where_kept(&one.findings, &run.plan, &run.trials, by));
        missed.collect::<Option<Vec<Judgement>>>()?.pop()
    });
    of_machines.find_map(|missed| missed)
}

/// Whether the capacity of a record is that of another, less a share. Goals, if any, replace theirs.
pub(crate) fn of_two(
    first: &Path,
    other: &Path,
    goals: &[Goal],
    by: Share,
) -> Result<Judgement, Failure> {
    let mut budget = record_file::memory_budget();
    let mut open = |file: &Path| LoadRecord::open(file, goals, &mut budget);
    let loaded = vec![vec![open(first)?], vec![open(other)?]];
    refuse_same_run(&loaded.iter().flatten().collect::<Vec<_>>())?;
    let names = names::of(&loaded);
    let sides = sides(&loaded, &names, &[None, None]);
    let mut comparison = compare(&sides, None).map_err(mistake)?;
    comparison
        .cautions
        .extend(differences::cautions(&loaded, &names));
    Ok(no_worse(&comparison, &loaded, by))
}

/// The records by machine; the others are compared with the first.
fn groups(args: &CompareArgs) -> Vec<Vec<&PathBuf>> {
    match args.against.is_empty() {
        true => args.files.iter().map(|file| vec![file]).collect(),
        false => vec![args.against.iter().collect(), args.files.iter().collect()],
    }
}

fn sides(loaded: &[Vec<LoadRecord>], names: &Names, prices: &[Option<f64>]) -> Vec<Side> {
    let run = |(loaded, name): (&LoadRecord, &String)| {
        Run::of(name, &loaded.plan, &loaded.trials, &loaded.findings)
    };
    let machines = loaded
        .iter()
        .zip(&names.runs)
        .zip(&names.machines)
        .zip(prices);
    let side =
        |(((loaded, names), name), price): (((&Vec<_>, &Vec<_>), &String), &Option<f64>)| Side {
            name: name.clone(),
            runs: loaded.iter().zip(names).map(run).collect(),
            price_per_hour: *price,
        };
    machines.map(side).collect()
}

/// Refuses copies of one record: a run does not differ from itself.
fn refuse_same_run(loaded: &[&LoadRecord]) -> Result<(), Failure> {
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

/// What is drawn of each run.
fn runs(loaded: &[Vec<LoadRecord>], sides: &[Side]) -> Vec<Vec<ComparedRun>> {
    let machine = |(loaded, side): (&Vec<LoadRecord>, &Side)| {
        let run = |(loaded, run): (&LoadRecord, &Run)| ComparedRun {
            findings: loaded.findings.clone(),
            picture: picture(&loaded.plan, &loaded.trials),
            factors: factors(run, side.price_per_hour),
        };
        loaded.iter().zip(&side.runs).map(run).collect()
    };
    loaded.iter().zip(sides).map(machine).collect()
}

fn mistake(error: CompareError) -> Failure {
    Failure::Mistake(error.to_string())
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
