//! What a self-test came to: for `plimsoll selftest`.

use crate::document::json::Json;
use crate::document::{Document, Role, Table};
use crate::no_interval;
use crate::number::{Written, grouped, per_second, trimmed_pct};
use crate::sentence::{Sentence, words_of};
use crate::table::{Cell, Column, ColumnsOf, Ink, all_trials, or_dash};
use plimsoll_model::{
    Difference, DifferenceVerdict, KnownAnswer, Selftest, SelftestAnswer, SelftestNote,
    SelftestRepeat, SelftestVerdict,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The version of docs/schema/selftest.schema.json that the JSON keeps to.
const SCHEMA_VERSION: u32 = 4;

#[derive(Serialize, JsonSchema)]
pub struct Body<'a> {
    /// Whether all known answers were recovered, and `compare` finds no difference
    /// between the two that are one.
    passed: bool,
    #[serde(flatten)]
    selftest: &'a Selftest,
}

pub fn document(selftest: &Selftest) -> Document<'_> {
    let mut out = Document::new("self-test".to_owned(), Vec::new());
    out.headline = headline(selftest);
    out.table(Table {
        id: Some("answers"),
        ..Table::of(columns(&selftest.answers))
    });
    let notes = selftest.answers.iter().filter_map(|answer| {
        let notes: Vec<String> = answer.notes.iter().map(note).collect();
        let text = format!("{}: {}.", answer.service, notes.join("; "));
        (!notes.is_empty()).then(|| Ink::Dim.says(text))
    });
    out.say(Role::Note, notes);
    let answers = [
        repeated(&selftest.repeat),
        Ink::Bold.says(meaning(selftest)),
    ];
    out.say(Role::Answer, answers);
    let body = Body {
        passed: selftest.is_passed(),
        selftest,
    };
    out.json = Some(Json::of(SCHEMA_VERSION, "selftest", body));
    out.download = "selftest.json".to_owned();
    out
}

fn note(note: &SelftestNote) -> String {
    match note {
        SelftestNote::NotSaturated => {
            "no trial of the calibration that counts overloaded the service".to_owned()
        }
        SelftestNote::NotReached => {
            "the goal still held at the highest rate that was tried".to_owned()
        }
        SelftestNote::NotConfirmed => {
            "the longer trial at the lower end of the interval did not keep the goal".to_owned()
        }
        SelftestNote::Capacity { note } => note.to_string(),
        SelftestNote::Stall { shown, p999_us } => {
            let seen = if *shown { "shows" } else { "does not show" };
            format!("p99.9 {seen} it: {:.0} ms", p999_us / 1e3)
        }
        SelftestNote::InvalidTrials { invalid, of, last } => {
            format!("{invalid} of {of} trials are invalid: {last}")
        }
    }
}

fn headline(selftest: &Selftest) -> String {
    let (recovered, all) = (selftest.recovered(), selftest.answers.len());
    let repeat = words_of(failed_repeat(&selftest.repeat), |failed| {
        format!(", {failed}")
    });
    format!("{recovered} of {all} known answers recovered{repeat}")
}

fn failed_repeat(repeat: &SelftestRepeat) -> Option<String> {
    let failed = repeat.verdict != SelftestVerdict::Recovered;
    failed.then(|| format!("the A/A {}", outcome(repeat.verdict)))
}

fn outcome(verdict: SelftestVerdict) -> &'static str {
    match verdict {
        SelftestVerdict::Recovered => "recovered",
        SelftestVerdict::TooWide => "inconclusive (interval too wide)",
        SelftestVerdict::Missed => "missed",
        SelftestVerdict::NotMeasured => "not measured",
    }
}

/// What `compare` says of one service that was measured twice.
fn repeated(repeat: &SelftestRepeat) -> Sentence {
    let Difference {
        name,
        against,
        goal,
        ratio,
        run_to_run,
        verdict,
        why,
        ..
    } = &repeat.difference;
    let assumed = words_of(*run_to_run, |run| {
        let pct = trimmed_pct(run.deviation_pct);
        format!(", with {pct} % from run to run assumed")
    });
    let ratio = words_of(*ratio, |ratio| {
        let ratio = Written::of(ratio, 3).with_ends("");
        format!(": ratio {ratio}{assumed}")
    });
    let called = match (verdict, repeat.verdict) {
        (DifferenceVerdict::Better, _) => "better, but both are one service".to_owned(),
        (DifferenceVerdict::Worse, _) => "worse, but both are one service".to_owned(),
        (_, SelftestVerdict::Recovered) => "inconclusive, as one service should be".to_owned(),
        (_, SelftestVerdict::TooWide) => {
            "inconclusive, but at least one capacity is too uncertain to show that they agree"
                .to_owned()
        }
        _ => {
            let why = words_of(why.as_ref(), |why| {
                format!(": {}", no_interval::clause(why, [against, name]))
            });
            format!("inconclusive{why}")
        }
    };
    ink(repeat.verdict).says(format!(
        "A/A: {name} against {against} within {goal}{ratio}. plimsoll compare calls it {called}."
    ))
}

fn columns(answers: &[SelftestAnswer]) -> Vec<Column> {
    let of = ColumnsOf(answers);
    let ends = |a: &SelftestAnswer| a.known.answer()?.interval();
    vec![
        of.column("service", "", |a| a.service.clone()),
        of.ranked("asked", "", 3, |a| asked(&a.known)),
        of.column("truth", "", |a| shown(&a.known, a.known.truth())),
        of.column("answer", "", |a| {
            or_dash(a.known.answer(), |e| shown(&a.known, e.value))
        }),
        of.ranked("interval", "95 %", 1, |a| {
            or_dash(ends(a), |(low, high)| {
                format!("{} to {}", shown(&a.known, low), shown(&a.known, high))
            })
        }),
        of.column("error", "%", |a| {
            or_dash(a.error_pct, |error| format!("{error:+.1}"))
        }),
        of.ranked("trials", "", 2, |a| all_trials(a.trials, a.invalid_trials)),
        of.column("verdict", "", verdict),
    ]
}

fn asked(known: &KnownAnswer) -> String {
    match known {
        KnownAnswer::Capacity { goal, .. } => goal.to_string(),
        KnownAnswer::Saturation { .. } => "at saturation".to_owned(),
        KnownAnswer::Stall { .. } => "its length".to_owned(),
    }
}

fn shown(known: &KnownAnswer, value: f64) -> String {
    match known {
        KnownAnswer::Capacity { .. } | KnownAnswer::Saturation { .. } => per_second(value),
        KnownAnswer::Stall { .. } => grouped(value / 1e3, 1) + "ms",
    }
}

fn verdict(answer: &SelftestAnswer) -> Cell {
    let text = match answer.verdict {
        SelftestVerdict::Recovered => "recovered",
        SelftestVerdict::TooWide => "INCONCLUSIVE",
        SelftestVerdict::Missed => "MISSED",
        SelftestVerdict::NotMeasured => "NOT MEASURED",
    };
    Cell::new(ink(answer.verdict), text)
}

fn ink(verdict: SelftestVerdict) -> Ink {
    match verdict {
        SelftestVerdict::Recovered => Ink::Green,
        SelftestVerdict::TooWide => Ink::Yellow,
        SelftestVerdict::Missed | SelftestVerdict::NotMeasured => Ink::Red,
    }
}

fn meaning(selftest: &Selftest) -> String {
    let (recovered, all) = (selftest.recovered(), selftest.answers.len());
    let tolerance = selftest.answers.iter().map(|a| a.tolerance_pct);
    let tolerance = tolerance.fold(0.0, f64::max);
    let worst = words_of(selftest.largest_error_pct(), |worst| {
        format!("; the largest error was {worst:.1} %")
    });
    if selftest.is_passed() && all > 0 {
        return format!(
            "All {all} known answers were recovered within {tolerance:.0} %{worst}. {}",
            reliance(selftest, tolerance)
        );
    }
    let counted = [
        SelftestVerdict::TooWide,
        SelftestVerdict::Missed,
        SelftestVerdict::NotMeasured,
    ];
    let answers = counted
        .into_iter()
        .map(|verdict| (selftest.count(verdict), outcome(verdict)))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"));
    let rest: Vec<String> = answers.chain(failed_repeat(&selftest.repeat)).collect();
    format!(
        "{recovered} of {all} known answers were recovered within {tolerance:.0} %, {}{worst}. {}",
        rest.join(", "),
        advice(selftest)
    )
}

/// How far a passed test may be relied on: as far as its widest interval.
fn reliance(selftest: &Selftest, tolerance: f64) -> &'static str {
    let narrow = |a: &SelftestAnswer| a.widest_pct <= tolerance;
    if selftest.answers.iter().all(narrow) {
        "Capacities measured on this machine are accurate to about that."
    } else {
        "The intervals are wide: only a gross disturbance would show. Run it without --quick for narrow ones."
    }
}

fn advice(selftest: &Selftest) -> &'static str {
    let missed = SelftestVerdict::Missed;
    if selftest.count(missed) > 0 || selftest.repeat.verdict == missed {
        return "Do not rely on capacities measured on this machine as it is: stop other load on it and try again; if the result stays, the machine itself disturbs measurements.";
    }
    "Nothing is wrong, but too few trials are valid to show that all is right: stop other load on this machine and try again, without --quick if it was given."
}

#[cfg(test)]
mod tests;
