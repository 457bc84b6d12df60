//! What was found, in plain words.

use crate::escape::safe;
use crate::number::{self, for_count, per_second, time_us};
use crate::table::Ink;
use crate::{Report, headroom};
use plimsoll_model::{
    CapacityFinding, CapacityStatus, Findings, Goal, LatencyLimit, Outcome, Quantile, Requirement,
    RunEnd, Workload,
};

/// A sentence and how it is painted.
#[derive(Debug, Clone)]
pub(crate) struct Sentence {
    pub(crate) ink: Ink,
    pub(crate) text: String,
}

impl Sentence {
    pub(crate) fn new(ink: Ink, text: impl Into<String>) -> Sentence {
        Sentence {
            ink,
            text: text.into(),
        }
    }
}

/// The three sentences: how much work is carried, at which CPU use, and how
/// far CPU use tells the truth; then one for each further goal.
pub(crate) fn answers(report: &Report<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let who = match report.plan.workload {
        Workload::Http(_) => "The service",
        Workload::Hash(_) | Workload::Copies(_) => "This machine",
    };
    let mut out = Vec::new();
    match findings.capacity.first() {
        Some(first) => {
            out.push(carries(who, first, findings));
            out.push(Sentence::new(Ink::Plain, at_cpu(first)));
        }
        None => out.push(Sentence::new(
            Ink::Yellow,
            "No goal was given, so how much is carried within one is not known.",
        )),
    }
    out.push(Sentence::new(
        Ink::Plain,
        headroom::sentence(&findings.headroom),
    ));
    for further in findings.capacity.iter().skip(1) {
        let mut sentence = carries(who, further, findings);
        if let (Some(_), Some(cpu)) = (further.rate_rps, further.cpu_pct) {
            sentence.text += &format!(" CPU use is then {} %.", number::pct(cpu));
        }
        out.push(sentence);
    }
    out
}

/// How much is carried within a goal.
fn carries(who: &str, finding: &CapacityFinding, findings: &Findings) -> Sentence {
    let goal = format!("the goal {} ({})", finding.goal, promise(finding));
    let (ink, text) = match (finding.status, finding.rate_rps) {
        (CapacityStatus::Found, Some(rate)) => (
            Ink::Green,
            format!("{who} carries {} within {goal}", per_second(rate)),
        ),
        (CapacityStatus::NotReached, Some(rate)) => (
            Ink::Yellow,
            format!(
                "{who} carries at least {} within {goal}; that was the highest load tried, \
                 so how much more it carries is not known",
                per_second(rate)
            ),
        ),
        (CapacityStatus::BelowLowest, _) => {
            let lowest = findings.levels.iter().find(|l| l.trials > 0);
            let lowest =
                lowest.map_or_else(String::new, |l| format!(", {}", per_second(l.offered_rps)));
            let text = format!(
                "{who} keeps {goal} at no load that was tried: it missed it already at the \
                 lowest{lowest}"
            );
            (Ink::Yellow, text)
        }
        (CapacityStatus::Undecided | CapacityStatus::Found | CapacityStatus::NotReached, _) => {
            let who = who.to_lowercase();
            let text = format!("How much {who} carries within {goal} cannot be told");
            (Ink::Yellow, text)
        }
    };
    let note = finding.note.as_ref();
    let note = note.map_or_else(String::new, |note| format!(" ({})", safe(note)));
    Sentence::new(ink, format!("{text}{note}."))
}

/// CPU use at the rate of the sentence before.
fn at_cpu(finding: &CapacityFinding) -> String {
    let has_rate = matches!(
        finding.status,
        CapacityStatus::Found | CapacityStatus::NotReached
    ) && finding.rate_rps.is_some();
    match finding.cpu_pct {
        _ if !has_rate => "Without such a rate there is no CPU use to plan with.".to_owned(),
        Some(cpu) => format!("At that rate CPU use is {} %.", number::pct(cpu)),
        None => "CPU use at that rate is not known.".to_owned(),
    }
}

/// A goal in words.
fn promise(finding: &CapacityFinding) -> String {
    match finding.goal {
        Goal::Latency { quantile, limit } => {
            let share = if quantile == Quantile::P50 {
                "half".to_owned()
            } else {
                // A quantile writes itself as p99.9.
                format!("{} %", quantile.to_string().trim_start_matches('p'))
            };
            let limit = match (limit, finding.limit_us) {
                (LatencyLimit::Absolute(limit), _) => time_us(limit.as_secs_f64() * 1e6),
                (LatencyLimit::TimesLight(times), None) => {
                    format!("{times} times their time at light load")
                }
                (LatencyLimit::TimesLight(times), Some(us)) => {
                    format!("{}, {times} times their time at light load", time_us(us))
                }
            };
            format!("{share} of the requests answered within {limit}")
        }
        Goal::Errors { limit } => format!(
            "less than {} % of the requests failed",
            number::trimmed(limit.pct())
        ),
        Goal::Cpu { limit } => format!("CPU use below {} %", number::trimmed(limit.pct())),
    }
}

/// What else a reader should know: noise, the rated rate, how the run ended,
/// what the machine lacks.
pub(crate) fn notes(report: &Report<'_>) -> Vec<Sentence> {
    let mut out = vec![noise(report)];
    out.extend(rated(report));
    if let Some(idle) = report.findings.idle_cpu_pct {
        let text = format!("Without load CPU use was {} %.", number::pct(idle));
        out.push(Sentence::new(Ink::Dim, text));
    }
    out.extend(ended(report));
    out.extend(lacking(report.requirements));
    let file = safe(&report.record.file.to_string_lossy());
    out.push(Sentence::new(Ink::Dim, format!("Record: {file}")));
    out
}

fn noise(report: &Report<'_>) -> Sentence {
    let trials = &report.record.trials;
    let (all, invalid) = (trials.all(), trials.invalid());
    if all == 0 {
        return Sentence::new(Ink::Red, "No trial was made.");
    }
    if invalid == 0 {
        let text = match all {
            1 => "The only trial counts.".to_owned(),
            _ => format!("All trials count ({all})."),
        };
        return Sentence::new(Ink::Dim, text);
    }
    let verb = for_count(invalid, "does", "do");
    let noun = for_count(all, "trial", "trials");
    let reason = trials.commonest_reason();
    let reason = reason.map_or_else(String::new, |why| {
        let often = for_count(invalid, "", "most often ");
        format!(", {often}because {why}")
    });
    let advice = if 2 * invalid > all {
        " Run it again when the machine is quieter, or allow more with --max-slip, --max-steal or --max-other."
    } else {
        ""
    };
    let text = format!(
        "{invalid} of {all} {noun}, idle baseline and search included, {verb} not count{reason}.{advice}"
    );
    Sentence::new(Ink::Red, text)
}

fn rated(report: &Report<'_>) -> Option<Sentence> {
    let rated = report.findings.rated.as_ref()?;
    let rate = per_second(rated.rate_rps);
    let (ink, text) = if report.plan.calibration.rated.is_some() {
        (Ink::Dim, format!("100 % load is {rate}, as was given."))
    } else if rated.limited_by_service {
        let text = format!(
            "100 % load is {rate}, the highest throughput seen while the rated rate was sought."
        );
        (Ink::Dim, text)
    } else {
        let text = format!(
            "100 % load is {rate}: that is what the load generator reached, not the service, \
             which may carry more."
        );
        (Ink::Yellow, text)
    };
    Some(Sentence::new(ink, text))
}

fn ended(report: &Report<'_>) -> Option<Sentence> {
    let text = match report.record.ended {
        Some(RunEnd::Complete) => return None,
        Some(RunEnd::Interrupted) => {
            "The run was stopped before its plan was done; all this comes from \
                               the trials until then."
                .to_owned()
        }
        Some(RunEnd::Failed(why)) => {
            let why = safe(why);
            format!("The run failed: {}.", why.trim_end_matches('.'))
        }
        None => "The record does not say how its run ended: it was killed, or still \
                           goes on."
            .to_owned(),
    };
    Some(Sentence::new(Ink::Yellow, text))
}

/// What the machine lacks, by name: `plimsoll doctor` has the rest.
fn lacking(requirements: &[Requirement]) -> Option<Sentence> {
    let is_met = |r: &&Requirement| !matches!(r.outcome, Outcome::Met { .. });
    let names: Vec<String> = requirements
        .iter()
        .filter(is_met)
        .map(|r| safe(&r.name))
        .collect();
    if names.is_empty() {
        return None;
    }
    let text = format!(
        "Not to be had here: {}; `plimsoll doctor` says why.",
        names.join(", ")
    );
    Some(Sentence::new(Ink::Dim, text))
}
