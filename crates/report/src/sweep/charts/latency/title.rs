//! What the chart of latency says: its title, and how to read it.

use super::super::{View, known_loads, load_name};
use super::{PERCENTILES, is_met};
use crate::capacity::{self, Subject, is_decided, leading, met};
use crate::chart::Panel;
use crate::number::{Written, per_second, time_us};
use plimsoll_model::{CapacityFinding, CapacityStatus, Findings, Goal, LevelFinding};

/// What the chart shows: up to which load the goal that leads is met; if that
/// is none of latency, which this chart is about, the first that is; without
/// one, how latency grows.
pub(super) fn title(view: View<'_>) -> String {
    let findings = view.findings();
    let first = leading(&findings.capacity).map(|l| l.finding);
    let about_latency = |c: &&CapacityFinding| is_decided(c) && c.latency_limit_us().is_some();
    let of_latency = || findings.capacity.iter().find(about_latency);
    let first = first.filter(|c| about_latency(c)).or_else(of_latency);
    let Some((first, rate)) = first.and_then(|first| Some((first, first.rate_rps?))) else {
        return growth(&findings.levels, view);
    };
    let what = met(first, view.report.is_imported());
    let low = rate.low.unwrap_or(rate.value);
    match first.status {
        CapacityStatus::Cliff => format!(
            "{what} up to {}, and not at all beyond: a cliff",
            per_second(low)
        ),
        CapacityStatus::NotReached => format!(
            "{what} up to {}/s, {}",
            Written::rate(rate).value,
            Subject::of(&view.report.plan.workload).limited_by(first)
        ),
        _ => format!("{what} up to {}/s", Written::rate(rate).value),
    }
}

/// The same in the words of a goal, for a terminal.
pub(super) fn short(findings: &Findings) -> String {
    let against = "Latency against load".to_owned();
    let Some(capacity) = leading(&findings.capacity).map(|first| first.finding) else {
        return against;
    };
    let goal = capacity.goal;
    let what = match goal {
        Goal::Latency { .. } => "Latency:",
        Goal::Errors { .. } | Goal::Cpu { .. } => "Latency against load;",
    };
    match (
        capacity.status,
        capacity.rate_rps,
        capacity::load_line(capacity),
    ) {
        (CapacityStatus::NotReached, Some(rate), _) => {
            let rate = Written::rate(rate).value;
            format!("{what} {goal} is met up to {rate}/s at least")
        }
        (_, _, Some((_, rate))) => format!("{what} {goal} is met up to {rate}"),
        _ => against,
    }
}

/// Without a goal that was found: how latency grows.
fn growth(levels: &[LevelFinding], view: View<'_>) -> String {
    let name = match view.report.is_imported() {
        true => "Latency",
        false => "p99",
    };
    let known = |l: &LevelFinding| Some((l.load_pct, load_name(l), l.latency_us.as_ref()?.p99));
    let first = levels.iter().find_map(known);
    let last = levels.iter().rev().find_map(known);
    match (first, last) {
        (Some((low, at, us)), Some((high, end, most))) if low < high => {
            let (us, most) = (time_us(us), time_us(most));
            format!("{name} goes from {us} at {at} to {most} at {end}")
        }
        (Some((_, at, us)), _) => format!("{name} is {} at {at}", time_us(us)),
        _ => "No level has a valid trial".to_owned(),
    }
}

pub(super) fn hint(view: View<'_>, panel: &Panel) -> String {
    let findings = view.findings();
    let data = || panel.series.iter().flat_map(|s| &s.data);
    let specks = panel.series.last().is_some_and(|s| !s.data.is_empty());
    let met = || findings.capacity.iter().filter(|c| is_met(c));
    let is_table = view.report.is_imported();
    let parts = [
        ("Latency against offered load.", true),
        (
            match is_table {
                true => " Shaded: from the smallest to the largest of a load's rows.",
                false => " Shaded: from the smallest to the largest of a level's trials.",
            },
            data().any(|d| d.y_range.is_some()),
        ),
        (" Small dots: p99 of single trials of the search.", specks),
        (
            match is_table {
                true => " The ring: where latency reaches the limit of the goal.",
                false => {
                    " The ring: where the goal's percentile, by all trials, reaches its limit."
                }
            },
            met().next().is_some(),
        ),
        (
            " The bar through it: the 95 % interval of that load.",
            panel.rings.iter().any(|ring| ring.x_range.is_some()),
        ),
        (
            " Within that interval the line of the levels stays on one side of the limit: line and \
             ring disagree, so measure longer before you act on either.",
            met().any(|c| is_off_its_line(c, &findings.levels)),
        ),
        (
            " Upright: the load line with its 95 % interval.",
            panel.marks.iter().any(|mark| mark.range.is_some()),
        ),
        (
            " Thin: those of the other goals.",
            known_loads(findings).count() > 1,
        ),
    ];
    let true_of_it = parts.iter().filter(|(_, is)| *is);
    true_of_it.map(|(words, _)| *words).collect()
}

/// Whether the drawn line of a goal's percentile stays on one side of its limit
/// all over the interval of the rate where the goal is met: then ring and line
/// disagree beyond what the interval allows. Where the line does not cover the
/// interval it says nothing.
fn is_off_its_line(finding: &CapacityFinding, levels: &[LevelFinding]) -> bool {
    let line = line_of(finding, levels);
    let (Some(line), Some(limit)) = (line, finding.latency_limit_us()) else {
        return false;
    };
    let Some((low, high)) = finding.rate_rps.and_then(|rate| rate.interval()) else {
        return false;
    };
    let ends = [low, high].map(|rate| read_off(&line, rate));
    let [Some(first), Some(last)] = ends else {
        return false;
    };
    let within = line.iter().filter(|(rate, _)| (low..=high).contains(rate));
    let mut seen = within.map(|(_, us)| *us).chain([first, last]);
    let is_above = first > limit;
    seen.all(|us| (us > limit) == is_above)
}

fn line_of(finding: &CapacityFinding, levels: &[LevelFinding]) -> Option<Vec<(f64, f64)>> {
    let Goal::Latency { quantile, .. } = finding.goal else {
        return None;
    };
    let name = quantile.to_string();
    let line = PERCENTILES.iter().find(|line| line.name == name)?;
    let latency = |l: &LevelFinding| l.latency_us.as_ref().map_or(f64::NAN, line.of);
    Some(levels.iter().map(|l| (l.offered_rps, latency(l))).collect())
}

/// The latency of a line at a rate, as it is drawn: straight on a logarithmic
/// axis. `None` outside of it, and in its gaps.
fn read_off(line: &[(f64, f64)], rate: f64) -> Option<f64> {
    let beside = line
        .windows(2)
        .find(|pair| (pair[0].0..=pair[1].0).contains(&rate))?;
    let ((from, us), (to, next)) = (beside[0], beside[1]);
    let is_step = to <= from;
    let part = if is_step {
        0.0
    } else {
        (rate - from) / (to - from)
    };
    Some(us * (next / us).powf(part)).filter(|us| us.is_finite())
}
