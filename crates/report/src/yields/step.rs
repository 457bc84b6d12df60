//! What became of latency after a step of the load: a row per arm, and what
//! follows in sentences.

use super::YieldReport;
use super::table::{known, signed};
use crate::number::{MISSING, TimeUnit, Written, confidence, per_second, time_us, trimmed_pct};
use crate::sentence::Sentence;
use crate::table::{Cell, Column, Ink};
use plimsoll_model::{
    Arm, Estimate, KeptUp, StepFinding, StepPlan, StepStatus, YieldFindings, human_duration,
};

/// What the arms have in common.
pub(super) fn asked(report: &YieldReport<'_>, step: &StepPlan) -> Sentence {
    let findings = report.findings;
    let rated = findings.rated.as_ref().map_or_else(String::new, |rated| {
        format!(
            " of the {} that the service carries alone",
            per_second(rated.rate_rps)
        )
    });
    let slots = findings.step_slot_ms.map_or_else(String::new, |ms| {
        format!(", watched in slots of {}", time_us(ms * 1e3))
    });
    let text = format!(
        "Steps from {} % to {} %{rated}, {} before and {} after each{slots}; {}.",
        trimmed_pct(step.low.pct()),
        trimmed_pct(step.high.pct()),
        human_duration(step.before),
        human_duration(step.after),
        super::said::passes(findings.passes)
    );
    Sentence::new(Ink::Dim, text)
}

pub(super) fn columns(findings: &YieldFindings) -> Vec<Column> {
    let found = &findings.step;
    let column = |name, unit, rank, cell: &dyn Fn(&StepFinding) -> Cell| {
        Column::new(name, unit, rank, found.iter().map(cell))
    };
    let worst = |f: &StepFinding| f.worst_slot_p99_us.map(|e| e.value);
    let each: Vec<f64> = found.iter().filter_map(worst).collect();
    let unit = TimeUnit::of(each.into_iter());
    vec![
        column("arm", "", 0, &|f| f.arm.to_string().into()),
        column("back after", "ms", 0, &back_after),
        column("interval", "95 %", 2, &|f| {
            ends(f.yield_time_ms.map(Written::pct))
        }),
        column("cost", "request-s", 0, &|f| {
            known(f.cost_request_seconds.map(seconds), |w| w.value)
        }),
        column("interval", "95 %", 3, &|f| {
            ends(f.cost_request_seconds.map(seconds))
        }),
        column("settled", "%", 1, &|f| known(f.settled_change_pct, signed)),
        column("worst p99", unit.name, 4, &|f| {
            known(worst(f), |us| unit.show(us))
        }),
        column("steps", "", 5, &|f| f.steps.to_string().into()),
    ]
}

fn ends(written: Option<Written>) -> Cell {
    known(written.and_then(|w| w.ends()), |ends| ends)
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
        (Some(StepStatus::CannotTell | StepStatus::After), _) => {
            ("cannot tell".to_owned(), Ink::Yellow)
        }
    };
    Cell { text, ink }
}

/// How the table is to be read.
pub(super) fn notes(report: &YieldReport<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let mut said = vec![Sentence::new(
        Ink::Dim,
        "back after: from the step until the mean latency of a slot is that of the service alone \
         at the same time after the step, for good. cost: latency beyond that of the service \
         alone, of all requests of a step together. settled: what is left of it in the last third. \
         worst p99: that of the slowest slot after a step, the median over the steps. All arms of a \
         pass had the same requests at the same times.",
    )];
    said.push(match findings.step_band_pct {
        Some(band) => Sentence::new(
            Ink::Plain,
            format!(
                "Back is what lies no more than {} % above the service alone: as much as {} allows, \
                 or by which a second measurement of it differs here, whichever is more ({}).",
                trimmed_pct(band),
                findings.budget,
                confidence()
            ),
        ),
        None => Sentence::new(
            Ink::Yellow,
            "When latency is back cannot be told from chance: fewer than 6 steps count.",
        ),
    });
    said.extend(super::notes::doubtful_rate(report));
    said.extend(super::notes::coarse(report));
    said.extend(findings.arms.iter().filter_map(super::notes::held));
    said.extend(super::notes::hasty(report));
    said
}

/// Which arm yields, and how soon.
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
        Some(best) => said.push(Sentence::new(Ink::Green, yields(best, findings))),
        None if is_none_back(findings) => {
            let text = format!(
                "Held in none of these ways does the job let latency come back within {window} of \
                 a step. Leave more headroom (--headroom), allow more (--budget), or let the job \
                 run elsewhere."
            );
            said.push(Sentence::new(Ink::Red, text));
        }
        None => {
            let text = "It cannot be told when latency is back after a step: take more passes \
                        (--passes), or a service that answers more requests a second.";
            said.push(Sentence::new(Ink::Yellow, text));
        }
    }
    let worst = of(StepStatus::NotWithinWindow).filter(|_| best.is_some());
    let not_back: Vec<String> = worst.map(|f| stays(f.arm, f)).collect();
    if !not_back.is_empty() {
        let text = format!("Not back within {window}: {}.", not_back.join("; "));
        said.push(Sentence::new(Ink::Red, text));
    }
    said
}

/// Where the service alone cannot carry the higher load, latency comes back to
/// nothing that stays.
fn overload(findings: &YieldFindings) -> Option<Sentence> {
    let how = match findings.step_alone? {
        KeptUp::KeptUp => return None,
        KeptUp::FellBehind => "it answered fewer requests than came",
        KeptUp::KeptGrowing => "its latency grew for as long as it was watched",
    };
    let text = format!(
        "The service alone did not keep up after the step: {how}. When latency is back means \
         nothing then; step to a lower load (--step=LOW,HIGH), or say what the service carries \
         (--rated)."
    );
    Some(Sentence::new(Ink::Red, text))
}

/// The arm that costs the least of those that let latency come back.
fn best(findings: &YieldFindings) -> Option<&StepFinding> {
    let cost = |f: &StepFinding| f.cost_request_seconds.map_or(f64::INFINITY, |e| e.value);
    let is_back =
        |f: &&StepFinding| matches!(f.status, Some(StepStatus::AtOnce | StepStatus::After));
    let back = findings.step.iter().filter(is_back);
    back.min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// Whether it is told of every arm that it does not.
fn is_none_back(findings: &YieldFindings) -> bool {
    let mut told = findings.step.iter().filter_map(|f| f.status).peekable();
    told.peek().is_some() && told.all(|status| status == StepStatus::NotWithinWindow)
}

/// The answer in one line.
pub(crate) fn headline(findings: &YieldFindings, step: &StepPlan) -> String {
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
            format!("With the job held by {}, latency is back {when}", best.arm)
        }
        None if is_none_back(findings) => format!(
            "Held in none of these ways does the job let latency come back within {}",
            human_duration(step.after)
        ),
        None => "It cannot be told when latency is back after a step".to_owned(),
    }
}

/// Why such a run has no chart of work gained and latency paid.
pub(crate) fn no_charts() -> Sentence {
    Sentence::new(
        Ink::Dim,
        "There is no chart of work gained and latency paid, and none of all work: where the load \
         steps, the job is not run alone, so what it gains is not known, and the latency of a \
         whole trial mixes both loads, so it is not held against the budget. But for the slots \
         after a step, the charts are of whole trials.",
    )
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
                Some(None) => " (how late it may be cannot be told)".to_owned(),
                _ => String::new(),
            };
            format!("at once, within {}{at_most}", time_us(slot * 1e3))
        }
    };
    let cost = best.cost_request_seconds.map_or_else(String::new, |cost| {
        let cost = seconds(cost).with_ends(" request-seconds");
        format!("; a step costs {cost}")
    });
    format!(
        "{} yields at the least cost: latency is back {when}{cost}.",
        best.arm
    )
}

/// `none (+40 % in the end)`
fn stays(arm: Arm, found: &StepFinding) -> String {
    let settled = found.settled_change_pct.map_or_else(String::new, |change| {
        format!(" ({} % in the end)", signed(change))
    });
    format!("{arm}{settled}")
}
