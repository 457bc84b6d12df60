//! What a self-test came to: for `plimsoll selftest`.

use crate::escape::safe;
use crate::number::{MISSING, grouped, per_second};
use crate::table::{Cell, Column, Ink, Paint, render, wrap};
use plimsoll_model::{KnownAnswer, SCHEMA_VERSION, Selftest, SelftestAnswer, SelftestVerdict};
use serde::Serialize;

/// Longer lines are hard to read.
const WIDEST_SENTENCE: usize = 100;

/// A table of what is known and what was found, what there is to know about
/// single rows, and in the last lines what it means.
pub fn selftest_text(selftest: &Selftest, width: usize, colour: bool) -> String {
    let paint = Paint(colour);
    let mut out = render(columns(&selftest.answers), width, paint);
    out.push('\n');
    let mut sentence = |ink: Ink, text: &str| {
        for line in wrap(text, width.clamp(20, WIDEST_SENTENCE)) {
            out += &paint.with(ink, &line);
            out.push('\n');
        }
    };
    for answer in &selftest.answers {
        if let Some(note) = &answer.note {
            sentence(Ink::Dim, &format!("{}: {}.", answer.service, safe(note)));
        }
    }
    sentence(Ink::Bold, &meaning(selftest));
    out
}

/// The same for programs: one JSON object, with its unit in the name of each
/// value.
///
/// # Errors
///
/// None that can occur with these types; the signature is that of
/// `serde_json`.
pub fn selftest_json(selftest: &Selftest) -> serde_json::Result<String> {
    let output = Output {
        schema_version: SCHEMA_VERSION,
        kind: "selftest",
        passed: selftest.is_passed(),
        selftest,
    };
    serde_json::to_string_pretty(&output).map(|json| json + "\n")
}

#[derive(Serialize)]
struct Output<'a> {
    schema_version: u32,
    kind: &'static str,
    passed: bool,
    #[serde(flatten)]
    selftest: &'a Selftest,
}

fn columns(answers: &[SelftestAnswer]) -> Vec<Column> {
    let column = |name, unit, rank, cell: fn(&SelftestAnswer) -> Cell| {
        Column::new(name, unit, rank, answers.iter().map(cell))
    };
    vec![
        column("service", "", 0, |a| a.service.clone().into()),
        column("asked", "", 3, |a| asked(&a.known).into()),
        column("truth", "", 0, |a| shown(&a.known, a.known.truth()).into()),
        column("answer", "", 0, |a| answer(&a.known).into()),
        column("interval", "95 %", 1, |a| interval(&a.known).into()),
        column("error", "%", 0, |a| error(a).into()),
        column("trials", "", 2, |a| trials(a).into()),
        column("verdict", "", 0, verdict),
    ]
}

fn asked(known: &KnownAnswer) -> String {
    match known {
        KnownAnswer::Capacity { goal, .. } => goal.to_string(),
        KnownAnswer::Stall { .. } => "its length".to_owned(),
    }
}

/// A value in the unit of what was asked.
fn shown(known: &KnownAnswer, value: f64) -> String {
    match known {
        KnownAnswer::Capacity { .. } => per_second(value),
        KnownAnswer::Stall { .. } => grouped(value / 1e3, 1) + "ms",
    }
}

fn answer(known: &KnownAnswer) -> String {
    let answer = known.answer();
    answer.map_or_else(|| MISSING.to_owned(), |a| shown(known, a.value))
}

fn interval(known: &KnownAnswer) -> String {
    let ends = known.answer().and_then(|a| a.interval());
    ends.map_or_else(
        || MISSING.to_owned(),
        |(low, high)| format!("{} to {}", shown(known, low), shown(known, high)),
    )
}

fn error(answer: &SelftestAnswer) -> String {
    let signed = |error: f64| format!("{error:+.1}");
    answer.error_pct.map_or_else(|| MISSING.to_owned(), signed)
}

fn trials(answer: &SelftestAnswer) -> String {
    match answer.invalid_trials {
        0 => answer.trials.to_string(),
        bad => format!("{} ({bad} bad)", answer.trials + bad),
    }
}

fn verdict(answer: &SelftestAnswer) -> Cell {
    let (text, ink) = match answer.verdict {
        SelftestVerdict::Recovered => ("recovered", Ink::Green),
        SelftestVerdict::Missed => ("MISSED", Ink::Red),
        SelftestVerdict::NotMeasured => ("NOT MEASURED", Ink::Red),
    };
    Cell {
        text: text.to_owned(),
        ink,
    }
}

/// What the whole means to somebody who wants to rely on it.
fn meaning(selftest: &Selftest) -> String {
    let (recovered, all) = (selftest.recovered(), selftest.answers.len());
    let worst = selftest.largest_error_pct();
    let worst = worst.map(|error| format!("the largest error was {error:.1} %"));
    if selftest.is_passed() && all > 0 {
        let worst = worst.unwrap_or_default();
        return format!(
            "All {all} known answers were recovered; {worst}. Capacities that Plimsoll finds on this machine can be relied on to about that."
        );
    }
    let worst = worst.map_or_else(String::new, |worst| format!("; {worst}"));
    format!(
        "{recovered} of {all} known answers were recovered{worst}. Do not rely on capacities measured on this machine as it is now: close what else runs on it and try again; if it stays so, the machine itself disturbs measurements."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Estimate;

    fn selftest() -> Selftest {
        let answer =
            |service: &str, known: KnownAnswer, verdict, note: Option<&str>| SelftestAnswer {
                service: service.to_owned(),
                error_pct: known.error_pct(),
                known,
                tolerance_pct: 5.0,
                verdict,
                trials: 7,
                invalid_trials: 1,
                note: note.map(str::to_owned),
            };
        let capacity = |answer_rps| KnownAnswer::Capacity {
            goal: "p99<15ms".parse().unwrap(),
            truth_rps: 2000.0,
            answer_rps,
        };
        let stall = KnownAnswer::Stall {
            truth_us: 200_000.0,
            answer_us: Some(Estimate::within(199_000.0, 198_900.0, 201_000.0)),
            p999_us: Some(198_000.0),
        };
        let found = Some(Estimate::within(2040.0, 1990.0, 2100.0));
        Selftest {
            seed: 1,
            took_s: 57.0,
            answers: vec![
                answer("fixed", capacity(found), SelftestVerdict::Recovered, None),
                answer(
                    "stall",
                    stall,
                    SelftestVerdict::Recovered,
                    Some("p99.9 shows it"),
                ),
                answer(
                    "lock",
                    capacity(None),
                    SelftestVerdict::NotMeasured,
                    Some("steal"),
                ),
            ],
        }
    }

    #[test]
    fn truth_and_answer_stand_side_by_side_and_the_last_line_says_what_it_means() {
        let text = selftest_text(&selftest(), 160, false);
        let line = |start: &str| {
            text.lines()
                .find(|l| l.trim_start().starts_with(start))
                .unwrap()
        };
        for part in [
            "2,000/s",
            "2,040/s",
            "1,990/s to 2,100/s",
            "+2.0",
            "recovered",
        ] {
            assert!(line("fixed").contains(part), "{text}");
        }
        assert!(line("stall ").contains("200.0ms"), "{text}");
        assert!(line("lock ").contains("NOT MEASURED"), "{text}");
        assert!(text.contains("lock: steal."), "{text}");
        assert!(
            text.contains("2 of 3 known answers were recovered"),
            "{text}"
        );
        let mut passed = selftest();
        passed.answers.pop();
        let text = selftest_text(&passed, 160, false);
        assert!(text.contains("All 2 known answers were recovered; the largest error was 2.0 %"));
    }

    #[test]
    fn programs_get_units_in_the_names() {
        let json = selftest_json(&selftest()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["passed"], false);
        assert_eq!(value["answers"][0]["quantity"], "capacity");
        assert_eq!(value["answers"][0]["truth_rps"], 2000.0);
        assert_eq!(value["answers"][1]["answer_us"]["value"], 199_000.0);
        assert_eq!(value["answers"][2]["verdict"], "not_measured");
    }
}
