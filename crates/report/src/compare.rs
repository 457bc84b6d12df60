//! Machines side by side, for a terminal and for programs
//! (`docs/schema/compare.schema.json`).

pub(crate) mod doubt;
pub(crate) mod tables;

use crate::escape::safe;
use crate::json::escape;
use crate::number::{self, Written, confidence};
use crate::secrets;
use crate::sentence::Sentence;
use crate::table::{Ink, Paint, wrap};
use plimsoll_model::{
    ComparedMachine, Comparison, Difference, DifferenceVerdict, Measure, Plan, ThresholdDifference,
    WorkUnit,
};
use serde::Serialize;
use std::path::Path;
use tables::{capacity_rows, grid, threshold_rows};

const SCHEMA_VERSION: u32 = 1;
const WIDEST_SENTENCE: usize = 100;

/// All that is shown of a comparison.
#[derive(Debug, Clone)]
pub struct CompareReport<'a> {
    /// What was concluded.
    pub comparison: &'a Comparison,
    /// Where each of its machines comes from, in the same order.
    pub sources: &'a [Source<'a>],
}

/// Where figures come from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The record, as it was named.
    pub file: &'a Path,
    /// What was asked.
    pub plan: &'a Plan,
}

impl Source<'_> {
    /// What was under test, in a few words and without secrets.
    pub(crate) fn workload(&self) -> String {
        secrets::hide(self.plan).workload.to_string()
    }

    pub(crate) fn file(&self) -> String {
        self.file.to_string_lossy().into_owned()
    }
}

#[derive(Serialize)]
struct Output<'a> {
    schema_version: u32,
    kind: &'static str,
    work_unit: WorkUnit,
    machines: Vec<MachineOutput<'a>>,
    differences: &'a [Difference],
    threshold_differences: &'a [ThresholdDifference],
    cautions: Vec<String>,
}

#[derive(Serialize)]
struct MachineOutput<'a> {
    file: String,
    workload: String,
    #[serde(flatten)]
    machine: &'a ComparedMachine,
}

/// One JSON object with a line per value. What is not known is `null`.
///
/// # Errors
///
/// None that can occur with these types; the signature is that of
/// `serde_json`.
pub fn compare_json(report: &CompareReport<'_>) -> serde_json::Result<String> {
    let comparison = report.comparison;
    let machines = comparison.machines.iter().zip(report.sources);
    let output = Output {
        schema_version: SCHEMA_VERSION,
        kind: "compare",
        work_unit: comparison.work_unit,
        machines: machines
            .map(|(machine, source)| MachineOutput {
                file: source.file(),
                workload: source.workload(),
                machine,
            })
            .collect(),
        differences: &comparison.differences,
        threshold_differences: &comparison.threshold_differences,
        cautions: comparison.cautions.iter().map(doubt::sentence).collect(),
    };
    serde_json::to_string_pretty(&output).map(|json| escape(&json) + "\n")
}

/// Tables with a column per machine, and what follows in sentences.
pub fn compare_text(report: &CompareReport<'_>, width: usize, colour: bool) -> String {
    let comparison = report.comparison;
    let paint = Paint(colour);
    let mut out = String::new();
    for (machine, source) in comparison.machines.iter().zip(report.sources) {
        let (name, file) = (safe(&machine.name), safe(&source.file()));
        let line = format!("{name}: {}, from {file}", safe(&source.workload()));
        put(&mut out, &Sentence::new(Ink::Dim, line), width, paint);
    }
    let goals = comparison.machines.first().map_or(&[][..], |m| &m.capacity);
    for goal in goals {
        out.push('\n');
        let title = format!("Within the goal {}", goal.goal);
        put(&mut out, &Sentence::new(Ink::Bold, title), width, paint);
        out += &grid(capacity_rows(comparison, goal), width, paint);
    }
    out.push('\n');
    for difference in comparison
        .differences
        .iter()
        .filter(|d| is_news(d, comparison))
    {
        put(&mut out, &difference_sentence(difference), width, paint);
    }
    let thresholds = threshold_rows(comparison);
    if thresholds.len() > 1 {
        out.push('\n');
        let title = Sentence::new(Ink::Bold, threshold_title(comparison));
        put(&mut out, &title, width, paint);
        out += &grid(thresholds, width, paint);
        for sentence in threshold_sentences(comparison) {
            put(&mut out, &sentence, width, paint);
        }
    }
    out.push('\n');
    for caution in &comparison.cautions {
        put(
            &mut out,
            &Sentence::new(Ink::Yellow, safe(&doubt::sentence(caution))),
            width,
            paint,
        );
    }
    let text = format!(
        "In brackets: {} intervals. Several verdicts are not corrected for being several.",
        confidence()
    );
    put(&mut out, &Sentence::new(Ink::Dim, text), width, paint);
    out
}

/// A sentence on lines of its own.
pub(crate) fn put(out: &mut String, sentence: &Sentence, width: usize, paint: Paint) {
    for line in wrap(&sentence.text, width.clamp(20, WIDEST_SENTENCE)) {
        *out += &paint.with(sentence.ink, &line);
        out.push('\n');
    }
}

fn ink(verdict: DifferenceVerdict) -> Ink {
    match verdict {
        DifferenceVerdict::Better => Ink::Green,
        DifferenceVerdict::Worse => Ink::Red,
        DifferenceVerdict::CannotTell => Ink::Yellow,
    }
}

/// Whether a difference says more than that of the capacity itself: why
/// nothing can be told is the same by every measure.
pub(crate) fn is_news(difference: &Difference, comparison: &Comparison) -> bool {
    let is_capacity = |d: &Difference| {
        let same = d.name == difference.name && d.goal == difference.goal;
        same && d.measure == Measure::Capacity
    };
    let capacity = comparison.differences.iter().find(|d| is_capacity(d));
    let told = capacity.is_some_and(|c| c.why.is_some() && c.why == difference.why);
    difference.measure == Measure::Capacity || !told
}

/// One machine against the first.
pub(crate) fn difference_sentence(difference: &Difference) -> Sentence {
    let (name, against) = (safe(&difference.name), safe(&difference.against));
    let goal = difference.goal;
    let per = match difference.measure {
        Measure::Capacity => "",
        Measure::PerCpu => " per CPU",
        Measure::PerPrice => " for the same money",
        Measure::PerWatt => " for the same energy",
    };
    let ratio = difference.ratio.map(|ratio| Written::of(ratio, 3));
    let text = match (&ratio, difference.verdict) {
        (Some(ratio), DifferenceVerdict::Better | DifferenceVerdict::Worse) => {
            let verdict = match difference.verdict {
                DifferenceVerdict::Better => "better",
                _ => "worse",
            };
            format!(
                "{name} carries {} as much{per} as {against} within {goal}: {verdict}.",
                ratio.with_ends(" times")
            )
        }
        _ => {
            let seen = ratio.map(|ratio| {
                let times = ratio.with_ends(" times");
                let holds_one = difference.why.is_none();
                let holds_one = if holds_one {
                    ", which may be as much"
                } else {
                    ""
                };
                format!(" ({times} as much was seen{holds_one})")
            });
            let why = difference
                .why
                .as_ref()
                .map_or_else(String::new, |why| format!(": {}", safe(why)));
            format!(
                "Whether {name} carries more{per} than {against} within {goal} cannot be told{}{why}.",
                seen.unwrap_or_default()
            )
        }
    };
    Sentence::new(ink(difference.verdict), text)
}

/// What the threshold table is of: with several goals, of the one that allows
/// the least, which need not be the same on all machines.
pub(crate) fn threshold_title(comparison: &Comparison) -> String {
    let with_table = comparison.machines.iter();
    let with_table = with_table.filter(|m| !m.thresholds.is_empty());
    let of = |machine: &ComparedMachine| match machine.thresholds_goal {
        Some(goal) => format!("the capacity within {goal}"),
        None => "the highest rate tried".to_owned(),
    };
    let all: Vec<String> = with_table.clone().map(of).collect();
    let Some(first) = all.first() else {
        return "CPU use in percent by headroom".to_owned();
    };
    let several = comparison.machines.first().map_or(0, |m| m.capacity.len()) > 1;
    let is_of_a_goal = with_table.clone().any(|m| m.thresholds_goal.is_some());
    let least = match several && is_of_a_goal {
        true => " (of the goals the one that allows the least)",
        false => "",
    };
    if all.iter().all(|one| one == first) {
        return format!(
            "CPU use in percent at which a part of {first}{least} is left: the headroom"
        );
    }
    let each = with_table.zip(&all);
    let each: Vec<String> = each
        .map(|(m, of)| format!("{} of {of}", safe(&m.name)))
        .collect();
    format!(
        "CPU use in percent at which a part of what is carried is left, the headroom; it is not a \
         part of the same{least}: {}",
        each.join(", ")
    )
}

/// One per machine that is held against the first; one in all where nothing can
/// be, for want of the first one's own.
pub(crate) fn threshold_sentences(comparison: &Comparison) -> Vec<Sentence> {
    match comparison.machines.split_first() {
        Some((first, _)) if first.thresholds.is_empty() => {
            let text = format!(
                "Of {} no CPU use at a headroom is known, so no other can be held against it.",
                safe(&first.name)
            );
            vec![Sentence::new(Ink::Yellow, text)]
        }
        Some((_, others)) => {
            let each = others.iter();
            each.map(|machine| threshold_sentence(comparison, machine))
                .collect()
        }
        None => Vec::new(),
    }
}

/// At which headrooms a machine's CPU use is another than the first one's.
fn threshold_sentence(comparison: &Comparison, machine: &ComparedMachine) -> Sentence {
    let own = comparison.threshold_differences.iter();
    let own: Vec<_> = own.filter(|d| d.name == machine.name).collect();
    let name = safe(&machine.name);
    let Some(first) = own.first() else {
        let text = format!("Of {name} no CPU use at a headroom is known that could be compared.");
        return Sentence::new(Ink::Yellow, text);
    };
    let part = |verdict: DifferenceVerdict, words: &str| {
        let at = own.iter().filter(|d| d.verdict == verdict);
        let at: Vec<String> = at.map(|d| number::trimmed_pct(d.headroom_pct)).collect();
        // At all of them: the table shows which these are.
        let at = match at.len() {
            0 => return None,
            n if n > 1 && n == own.len() => match verdict {
                DifferenceVerdict::CannotTell => "at any headroom".to_owned(),
                DifferenceVerdict::Better | DifferenceVerdict::Worse => {
                    "at every headroom".to_owned()
                }
            },
            _ => format!("at {} % headroom", at.join(", ")),
        };
        Some(format!("{words} {at}"))
    };
    let parts = [
        part(DifferenceVerdict::Better, "may be higher (better)"),
        part(DifferenceVerdict::Worse, "must be lower (worse)"),
        part(DifferenceVerdict::CannotTell, "cannot be told apart"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let against = safe(&first.against);
    let no_interval = own
        .iter()
        .all(|d| d.cpu_points.low.is_none() && d.cpu_points.high.is_none());
    let why = if no_interval {
        ": too little was measured for an interval"
    } else {
        ""
    };
    let text = format!(
        "Against {against}, the CPU use of {name} {}{why}.",
        parts.join("; ")
    );
    Sentence::new(Ink::Plain, text)
}
