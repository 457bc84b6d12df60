//! Machines, or versions of a service, side by side
//! (`docs/schema/compare.schema.json`).

mod charts;
mod doubt;
mod parts;
mod tables;

pub use crate::document::Source;
use crate::document::json::Json;
use crate::document::{Document, Role, Rows, Table};
use crate::escape::safe;
use crate::markup::{El, beginning, el, shortened};
use crate::number::{self, Written, confidence};
use crate::sentence::{Sentence, words_if, words_of};
use crate::table::Ink;
use charts::Machine;
use plimsoll_model::{
    ComparedMachine, Comparison, Difference, DifferenceVerdict, Findings, Measure, NoInterval,
    NoIntervalCode, Picture, ThresholdDifference, WorkUnit, Workload,
};
use schemars::JsonSchema;
use serde::Serialize;
use tables::{capacity_rows, threshold_rows};

const SCHEMA_VERSION: u32 = 2;

#[derive(Debug, Clone)]
pub struct CompareReport<'a> {
    pub comparison: &'a Comparison,
    /// Where each of its machines comes from, in the same order.
    pub sources: &'a [Source<'a>],
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
    /// The machines as they were given; the others are compared with the first.
    #[schemars(length(min = 2))]
    machines: Vec<MachineBody<'a>>,
    /// Each machine but the first against the first, by each measure that is known of both.
    differences: &'a [Difference],
    /// CPU use at each headroom against the first machine's.
    threshold_differences: &'a [ThresholdDifference],
    /// What a reader should know, in sentences.
    cautions: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct MachineBody<'a> {
    /// The record, as it was named.
    file: String,
    /// The workload under test, in a few words.
    workload: String,
    #[serde(flatten)]
    machine: &'a ComparedMachine,
}

pub fn document<'a>(report: &CompareReport<'a>, runs: Option<&[ComparedRun]>) -> Document<'a> {
    let comparison = report.comparison;
    let names = comparison.machines.iter().map(|m| beginning(&m.name, 40));
    let rows = || comparison.machines.iter().zip(report.sources);
    let subject = rows().map(|(ComparedMachine { name, .. }, source)| {
        let (workload, file) = (source.workload(), source.file());
        Ink::Dim.says(format!("{name}: {workload}, from {file}"))
    });
    let title = names.collect::<Vec<_>>().join(" and ");
    let mut out = Document::new(title, subject.collect());
    let lines = rows().enumerate();
    let lines = lines.map(|(i, (m, source))| source_line(i, m, source));
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
        let drawn = rows().zip(runs).map(|((machine, source), run)| Machine {
            name: safe(&machine.name),
            findings: &run.findings,
            picture: &run.picture,
            factors: &run.factors,
            is_table: matches!(source.plan.workload, Workload::Imported(_)),
        });
        let machines: Vec<Machine<'_>> = drawn.collect();
        out.blocks.extend(parts::all(comparison, &machines));
    }
    out.table(Table {
        id: Some("thresholds"),
        heading: Some(threshold_title(comparison)),
        rows: Rows::Grid(threshold_rows(comparison)),
        below: threshold_sentences(comparison),
        ..Table::of(Vec::new())
    });
    let cautions: Vec<String> = comparison.cautions.iter().map(doubt::sentence).collect();
    let answers = answers(comparison, &cautions);
    let first = answers
        .first()
        .filter(|_| !comparison.differences.is_empty());
    let headline = first.map_or("Machines side by side", |first| &first.text);
    out.headline = headline.trim_end_matches('.').to_owned();
    out.say(Role::Answer, answers);
    out.json = Some(Json::of(SCHEMA_VERSION, "compare", body(report, cautions)));
    out.download = "compare.json".to_owned();
    out
}

fn answers(comparison: &Comparison, cautions: &[String]) -> Vec<Sentence> {
    let news = comparison.differences.iter();
    let news = news.filter(|d| is_news(d, comparison));
    let brackets = format!(
        "In brackets: {} intervals. No correction for multiple comparisons.",
        confidence()
    );
    news.map(difference_sentence)
        .chain(cautions.iter().map(|c| Ink::Yellow.says(c.as_str())))
        .chain([Ink::Dim.says(brackets)])
        .collect()
}

fn body<'a>(report: &CompareReport<'a>, cautions: Vec<String>) -> Body<'a> {
    let comparison = report.comparison;
    let machines = comparison.machines.iter().zip(report.sources);
    let machine = |(machine, source): (&'a ComparedMachine, &Source<'_>)| MachineBody {
        file: source.file(),
        workload: source.workload(),
        machine,
    };
    Body {
        work_unit: comparison.work_unit,
        machines: machines.map(machine).collect(),
        differences: &comparison.differences,
        threshold_differences: &comparison.threshold_differences,
        cautions,
    }
}

fn source_line(i: usize, machine: &ComparedMachine, source: &Source<'_>) -> El {
    let name = el("strong")
        .class(&format!("m{}", i % 6))
        .with(shortened(&machine.name, 60));
    el("li")
        .with(name)
        .with(": ")
        .with(shortened(&source.workload(), 120))
        .with(", from ")
        .with(shortened(&source.file(), 80))
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
            let why = words_of(why, |why| format!(": {}", no_interval(why)));
            format!("{name} against {against}{per} within {goal}: inconclusive{seen}{why}.")
        }
    };
    ink(difference.verdict).says(text)
}

/// Why there is no interval, as a clause.
fn no_interval(why: &NoInterval) -> String {
    let machines = match &why.machines[..] {
        [one] => one,
        _ => "both",
    };
    match why.code {
        NoIntervalCode::UnknownCapacity => {
            format!("the capacity of {machines} is not known")
        }
        NoIntervalCode::LowerBound => format!(
            "{machines} still met the goal at the highest load measured, so the boundary lies \
             outside of what was measured"
        ),
        NoIntervalCode::TooFewTrials => {
            format!("too little was measured of {machines} for an interval")
        }
        NoIntervalCode::ReachesZero => "the interval of one reaches down to nothing".to_owned(),
    }
}

/// What the threshold table is of: with several goals, of the one that allows
/// the least, which need not be the same on all machines.
fn threshold_title(comparison: &Comparison) -> String {
    let with_table = comparison.machines.iter();
    let with_table = with_table.filter(|m| !m.thresholds.is_empty());
    let of = |machine: &ComparedMachine| match machine.thresholds_goal {
        Some(goal) => format!("the capacity within {goal}"),
        None => "the highest rate measured".to_owned(),
    };
    let all: Vec<String> = with_table.clone().map(of).collect();
    let Some(first) = all.first() else {
        return "Scale-out threshold (CPU %) by headroom".to_owned();
    };
    let several = comparison.machines.first().map_or(0, |m| m.capacity.len()) > 1;
    let is_of_a_goal = with_table.clone().any(|m| m.thresholds_goal.is_some());
    let least = words_if(several && is_of_a_goal, " (the lowest of the goals)");
    if all.iter().all(|one| one == first) {
        return format!(
            "Scale-out threshold (CPU %) by headroom, the part of {first}{least} left free"
        );
    }
    let each = with_table.zip(&all);
    let each: Vec<String> = each.map(|(m, of)| format!("{} of {of}", m.name)).collect();
    format!(
        "Scale-out threshold (CPU %) by headroom; the headroom is not a part of the same{least}: {}",
        each.join(", ")
    )
}

/// One per machine but the first; one in all where the first has no thresholds.
fn threshold_sentences(comparison: &Comparison) -> Vec<Sentence> {
    match comparison.machines.split_first() {
        Some((first, _)) if first.thresholds.is_empty() => {
            vec![Ink::Yellow.says(format!(
                "No threshold of {} is known, so there is nothing to compare with.",
                first.name
            ))]
        }
        Some((_, others)) => others
            .iter()
            .map(|machine| threshold_sentence(comparison, machine))
            .collect(),
        None => Vec::new(),
    }
}

fn threshold_sentence(comparison: &Comparison, machine: &ComparedMachine) -> Sentence {
    let own = comparison.threshold_differences.iter();
    let own: Vec<_> = own.filter(|d| d.name == machine.name).collect();
    let name = &machine.name;
    let Some(first) = own.first() else {
        return Ink::Yellow.says(format!(
            "No threshold of {name} is known that could be compared."
        ));
    };
    let part = |words: &str, why: &str, is: &dyn Fn(&ThresholdDifference) -> bool| {
        let at = own.iter().filter(|d| is(d));
        let at: Vec<String> = at.map(|d| number::trimmed_pct(d.headroom_pct)).collect();
        // At all of them: the table shows which these are.
        let at = match at.len() {
            0 => return None,
            n if n > 1 && n == own.len() => "every headroom".to_owned(),
            _ => format!("{} % headroom", at.join(", ")),
        };
        Some(format!("{words} at {at}{why}"))
    };
    use DifferenceVerdict::{Better, Inconclusive, Worse};
    let has_interval = |d: &ThresholdDifference| d.cpu_points.low.or(d.cpu_points.high).is_some();
    let (same, why) = (
        "is not significantly different",
        ": too little was measured for an interval",
    );
    let parts = [
        part("may be higher (better)", "", &|d| d.verdict == Better),
        part("must be lower (worse)", "", &|d| d.verdict == Worse),
        part(same, "", &|d| d.verdict == Inconclusive && has_interval(d)),
        part("is inconclusive", why, &|d| {
            d.verdict == Inconclusive && !has_interval(d)
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let against = &first.against;
    Ink::Plain.says(format!(
        "Against {against}, the threshold of {name} {}.",
        parts.join("; ")
    ))
}
