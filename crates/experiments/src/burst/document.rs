//! The findings as a document. Pure.

use super::findings::{
    BurstFindings, Difference, MeanLine, PhaseFinding, PhaseKind, TargetFinding,
};
use super::plan::BurstPlan;
use super::{Burst, charts, spreadsheet};
use crate::experiment::ReportOf;
use plimsoll_report::{Column, Document, Ink, Role, Sentence, Table, estimate, estimate_us};

pub(super) fn document<'a>(report: &'a ReportOf<'a, Burst>, lines: &'a [MeanLine]) -> Document<'a> {
    let (plan, found) = (report.plan, report.findings);
    let mut out = Document::of_run(report, 1, "targets");
    fill(&mut out, plan, found, lines);
    out
}

pub(super) fn fill(
    out: &mut Document<'_>,
    plan: &BurstPlan,
    found: &BurstFindings,
    lines: &[MeanLine],
) {
    if let Some(chart) = charts::time_line(plan, lines) {
        out.chart(chart);
    }
    let targets: Vec<(&str, &TargetFinding)> = match &found.against {
        Some(against) => vec![("A", &found.of), ("B", against)],
        None => vec![("", &found.of)],
    };
    let legend = &[
        ("CPU", "CPU use of the service, in percent of one CPU"),
        ("p50", "latency of the requests of a burst"),
    ];
    let table = Table::of(phases(&targets)).explained("Phases of a cycle", legend);
    out.table(table.on_page("phases").wide());
    out.spreadsheet(&spreadsheet::columns(found));
    answers(out, &targets, found);
    let doubts = targets.iter().flat_map(|target| doubts(plan, target));
    out.say(Role::Doubt, doubts.map(|text| Ink::Yellow.says(text)));
    out.say(Role::Note, notes(found));
}

/// A sentence about a target, of two by its name.
fn about(name: &str, text: &str) -> String {
    let mut letters = text.chars();
    match letters.next().filter(|_| name.is_empty()) {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => format!("{name}: {text}"),
    }
}

fn phases(targets: &[(&str, &TargetFinding)]) -> Vec<Column> {
    let rows: Vec<(&str, &PhaseFinding)> = targets
        .iter()
        .flat_map(|(name, target)| target.phases.iter().map(move |row| (*name, row)))
        .collect();
    let mut columns = Vec::new();
    if targets.len() > 1 {
        columns.push(Column::words("target", "", 0, &rows, |r| r.0.to_owned()));
    }
    columns.extend([
        Column::words("phase", "", 0, &rows, |r| {
            match r.1.phase {
                PhaseKind::Burst => "burst",
                PhaseKind::Break => "break",
            }
            .to_owned()
        }),
        Column::words("length", "s", 1, &rows, |r| r.1.seconds.to_string()),
        Column::words("rate", "rps", 1, &rows, |r| r.1.rate_rps.to_string()),
        Column::estimates_of("CPU", "%", (0, 2), rows.iter().map(|r| r.1.cpu_pct)),
        Column::times_us("p50", 0, rows.iter().map(|r| r.1.latency_us.p50)),
        Column::times_us("p99", 0, rows.iter().map(|r| r.1.latency_us.p99)),
    ]);
    columns
}

fn answers(out: &mut Document<'_>, targets: &[(&str, &TargetFinding)], found: &BurstFindings) {
    for (nth, (name, target)) in targets.iter().enumerate() {
        let head = match target.idle_burn_pct {
            Some(burn) if target.never_quiet > 0 && target.quiet_after_ms.is_none() => format!(
                "it never becomes quiet: {} % of a CPU at the end of breaks.",
                estimate(Some(burn), 2)
            ),
            Some(burn) => format!("{} % of a CPU burned while idle.", estimate(Some(burn), 2)),
            None => "inconclusive: no valid cycle.".to_owned(),
        };
        let ink = match target.idle_burn_pct {
            None => Ink::Red,
            Some(_) if target.quiet_after_ms.is_none() => Ink::Yellow,
            Some(_) => Ink::Green,
        };
        let head = about(name, &head);
        match nth {
            0 => out.answer(ink, head),
            _ => out.say(Role::Answer, [ink.says(head)]),
        }
        out.say(Role::Answer, rest(name, target));
    }
    if let Some(difference) = &found.difference {
        out.say(Role::Answer, differences(difference));
    }
}

/// The differences that are known.
fn differences(difference: &Difference) -> Option<Sentence> {
    let parts = [
        ("idle burn", difference.idle_burn_pct, 2, "% of a CPU"),
        ("burn per request", difference.burn_us_per_request, 0, "us"),
        (
            "first request after a break",
            difference.first_after_break_us,
            0,
            "us",
        ),
    ];
    let known = parts.into_iter().filter(|(_, value, ..)| value.is_some());
    let known: Vec<String> = known
        .map(|(name, value, digits, unit)| format!("{name} {} {unit}", estimate(value, digits)))
        .collect();
    let text = format!("A less B: {}.", known.join(", "));
    (!known.is_empty()).then(|| Ink::Plain.says(text))
}

fn rest(name: &str, target: &TargetFinding) -> Vec<Sentence> {
    let mut texts = Vec::new();
    if target.quiet_after_ms.is_some() {
        let after = estimate(target.quiet_after_ms, 0);
        texts.push(format!("quiet {after} ms after the last answer."));
    }
    if target.burn_us_per_request.is_some() {
        let burn = estimate(target.burn_us_per_request, 0);
        texts.push(format!("{burn} us of CPU time per request in bursts."));
    }
    if target.first_after_break_us.is_some() {
        texts.push(format!(
            "the first request after a break takes {}, in the steady state {}.",
            estimate_us(target.first_after_break_us),
            estimate_us(target.steady_us)
        ));
    } else if target.failed_first > 0 {
        texts.push(format!(
            "the first request failed after {} of {} breaks: it has no median.",
            target.failed_first, target.breaks
        ));
    }
    if target.fast_after_requests.is_some() {
        texts.push(format!(
            "fast again after {} slow requests.",
            estimate(target.fast_after_requests, 0)
        ));
    }
    texts
        .into_iter()
        .map(|text| Ink::Plain.says(about(name, &text)))
        .collect()
}

/// Below, a burst of a service that answers is not its own.
const NOTHING_PCT: f64 = 0.001;

fn doubts(plan: &BurstPlan, (name, target): &(&str, &TargetFinding)) -> Vec<String> {
    let mut texts = untypical(target);
    if target.never_quiet > 0 && target.quiet_after_ms.is_some() {
        texts.push(format!(
            "not quiet by the end of {} of {} breaks, which are left out.",
            target.never_quiet, target.breaks
        ));
    }
    if target.not_fast > 0 {
        texts.push(format!(
            "not as fast as in the steady state within the requests followed, after {} of {} breaks.",
            target.not_fast, target.breaks
        ));
    }
    if target.failed > 0 {
        texts.push(format!("{} requests failed.", target.failed));
    }
    if target.cycles < 3 {
        texts.push("fewer than 3 valid cycles: means have no interval.".to_owned());
    } else if target.breaks < 6 {
        texts.push("fewer than 6 breaks: neither the first request after one nor the steady state has an interval.".to_owned());
    } else if target.cycles < 6 {
        texts.push("fewer than 6 valid cycles: the steady state has no interval.".to_owned());
    }
    let bursts = target.phases.iter().filter(|p| p.phase == PhaseKind::Burst);
    let used = bursts.filter_map(|p| p.cpu_pct).map(|e| e.value);
    let used: Vec<f64> = used.collect();
    if !used.is_empty() && used.iter().all(|pct| *pct < NOTHING_PCT) {
        texts.push("it used no CPU time in bursts: is it the process that answers?".to_owned());
    }
    if plan.pattern.iter().all(|p| !p.is_break()) {
        texts.push("the pattern has no break.".to_owned());
    }
    texts.iter().map(|text| about(name, text)).collect()
}

/// Why the figures may not be those of the service as it usually is.
fn untypical(target: &TargetFinding) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(late) = target.late_ms {
        texts.push(format!(
            "its last answers came {late:.0} ms after the end of {} bursts: it could not keep up, or a few \
             requests were slow. Latencies may be those of a queue, not of a steady state.",
            target.late_bursts
        ));
    }
    if target.part_outside {
        texts.push(format!(
            "other processes used {} % of a CPU more in bursts than in breaks: is a part of the service \
             not counted? --service-cgroup counts all processes of a cgroup.",
            estimate(target.others_more_in_bursts_pct, 2)
        ));
    }
    if target.failed_first > 0 && target.first_after_break_us.is_some() {
        texts.push(format!(
            "the first request failed after {} of {} breaks: in the median, it is slower than any.",
            target.failed_first, target.breaks
        ));
    }
    texts
}

fn notes(found: &BurstFindings) -> Vec<Sentence> {
    let counter = match &found.counter {
        Some(counter) => format!(", from {counter}"),
        None => String::new(),
    };
    let mut texts = vec![format!(
        "CPU use is in percent of one CPU, read every {} ms{counter}. No time is known better than a step.",
        found.step_ms
    )];
    let answered = found.of.breaks.saturating_sub(found.of.failed_first);
    if answered > 0 {
        texts.push(format!(
            "{} breaks have {answered} first requests that were answered: their median says nothing about rare ones.",
            found.of.breaks
        ));
    }
    if let Some(against) = &found.against {
        texts.push(format!("A: {}. B: {}.", found.of.target, against.target));
    }
    texts
        .into_iter()
        .map(|text| Ink::Plain.says(text))
        .collect()
}
