//! What became of latency after a step of the load: a row per arm, and what
//! follows in sentences.

use super::YieldReport;
use super::table::{NO_INTERVAL, mark, signed};
use crate::document::Table;
use crate::number::{MISSING, TimeUnit, Written, confidence, per_second, time_us, trimmed_pct};
use crate::sentence::{Sentence, words_of};
use crate::table::{Cell, Column, ColumnsOf, Ink, ends, or_dash};
use plimsoll_model::{
    Arm, Estimate, KeptUp, StepFinding, StepPlan, StepStatus, YieldFindings, human_duration,
};

pub(super) fn asked(report: &YieldReport<'_>, step: &StepPlan) -> Sentence {
    let findings = report.findings;
    let rated = words_of(findings.rated.as_ref(), |rated| {
        let rate = per_second(rated.rate_rps);
        format!(" of the {rate} that the service carries alone")
    });
    let slots = words_of(findings.step_slot_ms, |ms| {
        format!(", in slots of {}", time_us(ms * 1e3))
    });
    Ink::Dim.says(format!(
        "Steps from {} % to {} %{rated}, {} before and {} after each{slots}; {}.",
        trimmed_pct(step.low.pct()),
        trimmed_pct(step.high.pct()),
        human_duration(step.before),
        human_duration(step.after),
        super::sentences::passes(findings.passes)
    ))
}

const LEGEND: [(&str, &str); 4] = [
    (
        "back after",
        "time from the step until the mean latency of a slot returns to that of the service alone, \
         for good",
    ),
    (
        "cost",
        "latency above that of the service alone, summed over the requests of a step",
    ),
    ("settled", "what is left of it in the last third"),
    (
        "worst p99",
        "that of the slowest slot after a step, median over steps",
    ),
];

const NO_CHARTS: &str = "There is no chart of work gained and latency paid, and none of total work: \
                         where the load steps, the job is not run alone, and the latency of a \
                         whole trial mixes both loads. Except for the slots after a step, the \
                         charts are of whole trials.";

pub(super) fn table(findings: &YieldFindings) -> Table {
    Table {
        id: Some("step"),
        heading: Some("After a step of the load".to_owned()),
        hint: Some(NO_CHARTS),
        legend: LEGEND.map(|(name, is)| (name, is.to_owned())).to_vec(),
        ..Table::of(columns(findings))
    }
}

fn columns(findings: &YieldFindings) -> Vec<Column> {
    let found = &findings.step;
    let of = ColumnsOf(found);
    let worst = |f: &StepFinding| f.worst_slot_p99_us.map(|e| e.value);
    let unit = TimeUnit::of(found.iter().filter_map(worst));
    let cost = |f: &StepFinding| f.cost_request_seconds.map(seconds);
    vec![
        of.column("arm", "", |f| f.arm.to_string()),
        of.column("back after", "ms", back_after),
        of.ranked("interval", "95 %", 2, |f| {
            ends(f.yield_time_ms.map(Written::pct))
        }),
        of.column("cost", "request-s", |f| {
            or_dash(f.cost_request_seconds, |e| seconds(e).value + mark(e))
        }),
        of.ranked("interval", "95 %", 3, |f| ends(cost(f))),
        of.ranked("settled", "%", 1, |f| {
            or_dash(f.settled_change_pct, |e| signed(e) + mark(e))
        }),
        of.ranked("worst p99", unit.name, 4, |f| {
            or_dash(f.worst_slot_p99_us, |e| unit.show(e.value) + mark(e))
        }),
        of.ranked("steps", "", 5, |f| f.steps.to_string()),
    ]
}

fn seconds(estimate: Estimate) -> Written {
    Written::of(estimate, 3)
}

pub(crate) fn back_after(found: &StepFinding) -> Cell {
    let (text, ink) = match (found.status, found.yield_time_ms) {
        (None, _) => (MISSING.to_owned(), Ink::Plain),
        (Some(StepStatus::AtOnce), _) => ("at once".to_owned(), Ink::Green),
        (Some(StepStatus::After), Some(time)) => (trimmed_pct(time.value), Ink::Plain),
        (Some(StepStatus::NotWithinWindow), _) => ("not back".to_owned(), Ink::Red),
        (Some(StepStatus::Inconclusive | StepStatus::After), _) => {
            ("inconclusive".to_owned(), Ink::Yellow)
        }
    };
    Cell { text, ink }
}

pub(super) fn notes(report: &YieldReport<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let mut said =
        vec![Ink::Dim.says("All arms of a pass had the same requests at the same times.")];
    said.push(match findings.step_band_pct {
        Some(band) => Ink::Plain.says(format!(
            "Back means at most {} % above the service alone: what {} allows, or the noise floor \
                 (A/A), whichever is more ({}).",
            trimmed_pct(band),
            findings.budget,
            confidence()
        )),
        None => {
            Ink::Yellow.says("When latency is back: inconclusive, with fewer than 6 valid passes.")
        }
    });
    said.extend(without_interval(findings));
    said.extend(super::notes::doubtful_rate(report));
    said.extend(super::notes::coarse(report));
    said.extend(findings.arms.iter().filter_map(super::notes::held));
    said.extend(super::notes::hasty(report));
    said
}

/// What the mark in the table means, where there is one.
fn without_interval(findings: &YieldFindings) -> Option<Sentence> {
    let figures = |f: &StepFinding| {
        let known = [
            f.cost_request_seconds,
            f.settled_change_pct,
            f.worst_slot_p99_us,
        ];
        known.into_iter().flatten()
    };
    let mut all = findings.step.iter().flat_map(figures);
    all.any(|figure| figure.interval().is_none()).then(|| {
        Ink::Yellow.says(format!(
            "{NO_INTERVAL} No interval: it takes 3 valid passes, and for worst p99 5."
        ))
    })
}

pub(super) fn answer(report: &YieldReport<'_>, step: &StepPlan) -> Vec<Sentence> {
    let findings = report.findings;
    let of = |status: StepStatus| {
        let found = findings.step.iter();
        found.filter(move |f| f.status == Some(status))
    };
    let best = best(findings);
    let window = human_duration(step.after);
    let mut said: Vec<Sentence> = overload(findings).into_iter().collect();
    match best {
        Some(best) => said.push(Ink::Green.says(yields(best, findings))),
        None if is_none_back(findings) => {
            said.push(Ink::Red.says(format!(
                "With no isolation mechanism is latency back within {window} of a step. Leave more \
                 headroom (--headroom), allow more (--budget), or run the job elsewhere."
            )));
        }
        None => {
            said.push(Ink::Yellow.says(
                "When latency is back after a step: inconclusive. Take more passes (--passes), \
                        or a service that answers more requests a second.",
            ));
        }
    }
    let worst = of(StepStatus::NotWithinWindow).filter(|_| best.is_some());
    let not_back: Vec<String> = worst.map(|f| stays(f.arm, f)).collect();
    if !not_back.is_empty() {
        said.push(Ink::Red.says(format!(
            "Not back within {window}: {}.",
            not_back.join("; ")
        )));
    }
    said
}

/// Where the service alone cannot carry the higher load, latency comes back to
/// nothing that stays.
fn overload(findings: &YieldFindings) -> Option<Sentence> {
    let how = match findings.step_alone? {
        KeptUp::KeptUp => return None,
        KeptUp::FellBehind => "it answered fewer requests than came",
        KeptUp::KeptGrowing => "its latency kept growing",
    };
    Some(Ink::Red.says(format!(
        "The service alone did not keep up after the step: {how}. When latency is back is \
         meaningless then; step to a lower load (--step=LOW,HIGH), or give the capacity (--rated)."
    )))
}

fn best(findings: &YieldFindings) -> Option<&StepFinding> {
    let cost = |f: &StepFinding| f.cost_request_seconds.map_or(f64::INFINITY, |e| e.value);
    let is_back =
        |f: &&StepFinding| matches!(f.status, Some(StepStatus::AtOnce | StepStatus::After));
    let back = findings.step.iter().filter(is_back);
    back.min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

fn is_none_back(findings: &YieldFindings) -> bool {
    let mut known = findings.step.iter().filter_map(|f| f.status).peekable();
    known.peek().is_some() && known.all(|status| status == StepStatus::NotWithinWindow)
}

pub(super) fn headline(findings: &YieldFindings, step: &StepPlan) -> String {
    if overload(findings).is_some() {
        return "The service alone did not keep up after the step".to_owned();
    }
    match best(findings) {
        Some(best) => {
            let when = match best.yield_time_ms {
                Some(time) if best.status == Some(StepStatus::After) => {
                    format!("{} ms after a step", Written::pct(time).value)
                }
                _ => "at once after a step".to_owned(),
            };
            format!("With {}, latency is back {when}", best.arm)
        }
        None if is_none_back(findings) => format!(
            "With no isolation mechanism is latency back within {} of a step",
            human_duration(step.after)
        ),
        None => "When latency is back after a step: inconclusive".to_owned(),
    }
}

fn yields(best: &StepFinding, findings: &YieldFindings) -> String {
    let when = match (best.status, best.yield_time_ms) {
        (Some(StepStatus::After), Some(time)) => {
            format!("after {}", Written::pct(time).with_ends(" ms"))
        }
        (_, time) => {
            let slot = findings.step_slot_ms.unwrap_or(0.0);
            let at_most = match time.map(|time| time.high) {
                Some(Some(high)) if high > slot => format!(" ({} at most)", time_us(high * 1e3)),
                Some(None) => " (no upper bound)".to_owned(),
                _ => String::new(),
            };
            format!("at once, within {}{at_most}", time_us(slot * 1e3))
        }
    };
    let (arm, cost) = (best.arm, cost(best));
    format!("{arm} costs the least: latency is back {when}{cost}.")
}

/// `; a step costs 2.4 request-seconds`
pub(crate) fn cost(found: &StepFinding) -> String {
    words_of(found.cost_request_seconds, |cost| {
        format!(
            "; a step costs {}",
            seconds(cost).with_ends(" request-seconds")
        )
    })
}

/// `none (+40 % in the end)`
fn stays(arm: Arm, found: &StepFinding) -> String {
    let settled = words_of(found.settled_change_pct, |change| {
        format!(" ({} % in the end)", signed(change))
    });
    format!("{arm}{settled}")
}
