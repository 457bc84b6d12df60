//! Machines, or versions of a service, side by side
//! (`docs/schema/compare.schema.json`).

mod charts;
mod doubt;
mod parts;
mod tables;
mod thresholds;

pub use crate::document::Source;
pub use doubt::sentence as caution_sentence;

use crate::document::json::Json;
use crate::document::{Document, Role, Rows, Table};
use crate::markup::{El, beginning, el, shortened};
use crate::no_interval;
use crate::number::{self, Written, confidence};
use crate::sentence::{Sentence, words_of};
use crate::table::Ink;
use charts::Machine;
use plimsoll_model::safe;
use plimsoll_model::{
    ComparedMachine, Comparison, ComparisonCaution, Difference, DifferenceVerdict, Findings,
    Measure, Picture, RunToRunFrom, ThresholdDifference, WorkUnit, Workload,
};
use schemars::JsonSchema;
use serde::Serialize;
use tables::{capacity_rows, threshold_rows};

const SCHEMA_VERSION: u32 = 4;

#[derive(Debug, Clone)]
pub struct CompareReport<'a> {
    pub comparison: &'a Comparison,
    /// Where each run of each of its machines comes from, in the same order.
    pub sources: &'a [Vec<Source<'a>>],
}

#[derive(Debug, Clone)]
pub struct ComparedRun {
    pub findings: Findings,
    pub picture: Picture,
    /// What its rates are multiplied with, by measure.
    pub factors: Vec<(Measure, f64)>,
}

#[derive(Serialize, JsonSchema)]
pub struct Body<'a> {
    work_unit: WorkUnit,
    /// The machines; the others are compared with the first.
    #[schemars(length(min = 2))]
    machines: Vec<MachineBody<'a>>,
    /// Each machine but the first against the first, by each measure that is known of both.
    differences: &'a [Difference],
    /// CPU use at each headroom against the first machine's.
    threshold_differences: &'a [ThresholdDifference],
    /// What a reader should know.
    cautions: &'a [ComparisonCaution],
}

#[derive(Serialize, JsonSchema)]
struct MachineBody<'a> {
    /// The records of its runs, as they were named.
    #[schemars(length(min = 1))]
    files: Vec<String>,
    /// The workload under test, in a few words.
    workload: String,
    #[serde(flatten)]
    machine: &'a ComparedMachine,
}

pub fn document<'a>(report: &CompareReport<'a>, runs: Option<&[Vec<ComparedRun>]>) -> Document<'a> {
    let comparison = report.comparison;
    let names = comparison.machines.iter().map(|m| beginning(&m.name, 40));
    let rows = || comparison.machines.iter().zip(report.sources);
    let subject = rows().map(|(ComparedMachine { name, .. }, sources)| {
        let (workload, files) = (workload(sources), files(sources).join(", "));
        Ink::Dim.says(format!("{name}: {workload}, from {files}"))
    });
    let title = names.collect::<Vec<_>>().join(" and ");
    let mut out = Document::new(title, subject.collect());
    let lines = rows().enumerate();
    let lines = lines.map(|(i, (m, sources))| source_line(i, m, sources));
    out.subject_html = el("ul").class("machines").with_all(lines).into();
    let goals = comparison.machines.first().map_or(&[][..], |m| &m.capacity);
    for goal in goals {
        out.table(Table {
            heading: Some(format!("Within the goal {}", goal.goal)),
            rows: Rows::Grid(capacity_rows(comparison, &goal.goal)),
            ..Table::of(Vec::new())
        });
    }
    if let Some(runs) = runs {
        let machines = rows().zip(runs).enumerate();
        let drawn = machines.flat_map(|(nth, ((machine, sources), runs))| {
            let names = if runs.len() == 1 {
                std::slice::from_ref(&machine.name)
            } else {
                &machine.runs[..]
            };
            let runs = names.iter().zip(sources).zip(runs);
            runs.map(move |((name, source), run)| Machine {
                name: safe(name),
                nth,
                findings: &run.findings,
                picture: &run.picture,
                factors: &run.factors,
                is_table: matches!(source.plan.workload, Workload::Imported(_)),
            })
        });
        let machines: Vec<Machine<'_>> = drawn.collect();
        out.blocks.extend(parts::all(comparison, &machines));
    }
    out.table(Table {
        id: Some("thresholds"),
        heading: Some(thresholds::title(comparison)),
        rows: Rows::Grid(threshold_rows(comparison)),
        below: thresholds::sentences(comparison),
        ..Table::of(Vec::new())
    });
    let cautions: Vec<String> = comparison.cautions.iter().map(caution_sentence).collect();
    let answers = answers(comparison, &cautions);
    let first = answers
        .first()
        .filter(|_| !comparison.differences.is_empty());
    let headline = first.map_or("Machines side by side", |first| &first.text);
    out.headline = headline.trim_end_matches('.').to_owned();
    out.say(Role::Answer, answers);
    out.json = Some(Json::of(SCHEMA_VERSION, "compare", body(report)));
    out.download = "compare.json".to_owned();
    out
}

/// What all its runs are of.
fn workload(sources: &[Source<'_>]) -> String {
    sources.first().map(Source::workload).unwrap_or_default()
}

fn files(sources: &[Source<'_>]) -> Vec<String> {
    sources.iter().map(Source::file).collect()
}

fn answers(comparison: &Comparison, cautions: &[String]) -> Vec<Sentence> {
    let news = comparison.differences.iter();
    let news = news.filter(|d| is_news(d, comparison));
    let brackets = format!(
        "In brackets: {} intervals{}. No correction for multiple comparisons.",
        confidence(),
        words_of(measured(comparison), |pct| format!(
            ", by how the runs of a machine differ (standard deviation {pct} %)"
        ))
    );
    news.map(difference_sentence)
        .chain(cautions.iter().map(|c| Ink::Yellow.says(c.as_str())))
        .chain([Ink::Dim.says(brackets)])
        .collect()
}

/// The deviation from run to run, where runs showed it.
fn measured(comparison: &Comparison) -> Option<String> {
    let mut known = comparison.differences.iter().filter_map(|d| d.run_to_run);
    let found = known.find(|d| d.from == RunToRunFrom::Measured)?;
    Some(number::pct(found.deviation_pct))
}

fn body<'a>(report: &CompareReport<'a>) -> Body<'a> {
    let comparison = report.comparison;
    let machines = comparison.machines.iter().zip(report.sources);
    let machine = |(machine, sources): (&'a ComparedMachine, &Vec<Source<'_>>)| MachineBody {
        files: files(sources),
        workload: workload(sources),
        machine,
    };
    Body {
        work_unit: comparison.work_unit,
        machines: machines.map(machine).collect(),
        differences: &comparison.differences,
        threshold_differences: &comparison.threshold_differences,
        cautions: &comparison.cautions,
    }
}

fn source_line(i: usize, machine: &ComparedMachine, sources: &[Source<'_>]) -> El {
    let name = el("strong")
        .class(&format!("m{}", i % 6))
        .with(shortened(&machine.name, 60));
    el("li")
        .with(name)
        .with(": ")
        .with(shortened(&workload(sources), 120))
        .with(", from ")
        .with(shortened(&files(sources).join(", "), 160))
}

fn ink(verdict: DifferenceVerdict) -> Ink {
    match verdict {
        DifferenceVerdict::Better => Ink::Green,
        DifferenceVerdict::Worse => Ink::Red,
        DifferenceVerdict::Inconclusive => Ink::Yellow,
    }
}

/// Whether a difference says more than that of the capacity itself: why
/// it is inconclusive is the same by every measure.
fn is_news(difference: &Difference, comparison: &Comparison) -> bool {
    let is_capacity = |d: &Difference| {
        let same = d.name == difference.name && d.goal == difference.goal;
        same && d.measure == Measure::Capacity
    };
    let capacity = comparison.differences.iter().find(|d| is_capacity(d));
    let told = capacity.is_some_and(|c| c.why.is_some() && c.why == difference.why);
    difference.measure == Measure::Capacity || !told
}

fn difference_sentence(difference: &Difference) -> Sentence {
    let (name, against) = (&difference.name, &difference.against);
    let goal = difference.goal;
    let per = match difference.measure {
        Measure::Capacity => "",
        Measure::PerCpu => " per CPU",
        Measure::PerPrice => " for the same money",
        Measure::PerWatt => " for the same energy",
    };
    let ratio = difference.ratio.map(|ratio| Written::of(ratio, 3));
    let verdict = match difference.verdict {
        DifferenceVerdict::Better => Some("better"),
        DifferenceVerdict::Worse => Some("worse"),
        DifferenceVerdict::Inconclusive => None,
    };
    let text = match (&ratio, verdict) {
        (Some(ratio), Some(verdict)) => format!(
            "{name} carries {} as much{per} as {against} within {goal}: {verdict}.",
            ratio.with_ends(" times")
        ),
        _ => {
            let seen = words_of(ratio, |ratio| format!(" (ratio {})", ratio.with_ends("")));
            let why = difference.why.as_ref();
            let both = [against, name];
            let why = words_of(why, |why| format!(": {}", no_interval::clause(why, both)));
            format!("{name} against {against}{per} within {goal}: inconclusive{seen}{why}.")
        }
    };
    ink(difference.verdict).says(text)
}
