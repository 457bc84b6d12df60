//! Table, chart and sentences of waiting. Pure.

use super::study::waiting_rows;
use super::{GapPattern, WaitPlan, WaitingBecause, WaitingFinding, WaitingRecommendation};
use plimsoll_model::{Estimate, for_count, human_duration, sort_by_number};
use plimsoll_report::chart::{
    Axis, Chart, Datum, Line, Panel, Scale, Series, Shape, Tone, Unit, Width,
};
use plimsoll_report::{Column, Ink, time_us};
use plimsoll_schedulers::WaitPolicy;

pub(in super::super) fn table(rows: &[WaitingFinding]) -> Vec<Column> {
    let times = |name, rank, of: fn(&WaitingFinding) -> Option<Estimate>| {
        Column::estimates_of(name, "us", (rank, 1), rows.iter().map(of))
    };
    let front = |row: &WaitingFinding| match row.on_front {
        true => "*".to_owned(),
        false => String::new(),
    };
    vec![
        Column::words("policy", "", 0, rows, |r| r.policy.clone()),
        Column::words("gaps", "", 0, rows, |r| r.gaps.to_string()),
        Column::words("mean", "", 0, rows, |r| time_us(r.mean_gap_us)),
        times("p50", 3, |r| r.latency_us.p50),
        times("p99", 0, |r| r.latency_us.p99),
        times("p99.9", 4, |r| r.latency_us.p999),
        Column::estimates_of("burn", "%", (0, 2), rows.iter().map(|r| r.burn_pct)),
        Column::words("front", "", 1, rows, front),
        Column::estimates_of("slept", "%", (5, 0), rows.iter().map(|r| r.parked_pct)),
        Column::estimates_of(
            "ratio",
            "",
            (2, 2),
            rows.iter().map(|r| r.competitive_ratio),
        ),
        Column::words("trials", "", 6, rows, |r| r.trials.to_string()),
    ]
}

/// Latency against burn, a panel for each kind of gaps.
pub(in super::super) fn chart(found: &[WaitingFinding]) -> Option<Chart> {
    let mut kinds: Vec<(GapPattern, f64)> = Vec::new();
    let mut policies: Vec<&str> = Vec::new();
    for row in found {
        let kind = (row.gaps, row.mean_gap_us);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
        if !policies.contains(&row.policy.as_str()) {
            policies.push(&row.policy);
        }
    }
    let panels: Vec<Panel> = kinds
        .into_iter()
        .filter_map(|kind| {
            let rows: Vec<&WaitingFinding> = waiting_rows(found, kind).collect();
            panel(&policies, &rows)
        })
        .collect();
    let first = panels.first().cloned()?;
    let hint = "One point for each policy; lower and further left is better. The line joins the front: no other policy is both faster and cheaper. Both axes are logarithmic; bars are 95 % confidence intervals.";
    let mut chart = Chart::of(
        first,
        "waiting",
        "Wake-up latency by burn while waiting",
        hint,
    );
    chart.panels = panels;
    chart.width = Width::Full;
    chart.facets.abreast = 2;
    Some(chart)
}

fn panel(policies: &[&str], rows: &[&WaitingFinding]) -> Option<Panel> {
    let point = |row: &WaitingFinding| {
        let (burn, p99) = (row.burn_pct?, row.latency_us.p99?);
        Some(Datum {
            x_range: burn.interval(),
            is_best: row.on_front,
            ..Datum::estimate(burn.value, p99)
        })
    };
    let of = |row: &&WaitingFinding| {
        let at = policies.iter().position(|name| *name == row.policy);
        let tone = Tone::Nth(at.unwrap_or_default());
        Some(Series::line(&row.policy, tone, vec![point(row)?]))
    };
    let mut series: Vec<Series> = rows.iter().filter_map(of).collect();
    let first = rows.first()?;
    let points = || series.iter().flat_map(|s| &s.data);
    let burned = points().flat_map(|d| {
        let (low, high) = d.x_range.unwrap_or((d.x, d.x));
        [low, high]
    });
    let x = Axis::new("burn, % of a core", Scale::log(burned), Unit::Number);
    let late = Scale::log(points().flat_map(Datum::y_extent));
    let y = Axis::new("p99", late, Unit::Time);
    let mut front: Vec<Datum> = points().filter(|d| d.is_best).cloned().collect();
    if front.is_empty() {
        return None;
    }
    sort_by_number(&mut front, |one| one.x);
    let joined = front.iter().map(|d| Datum::at(d.x, d.y, None)).collect();
    series.push(Series {
        name: "front".to_owned(),
        tone: Tone::Dim,
        line: Line::Guide,
        marker: None::<Shape>,
        data: joined,
        ..Series::default()
    });
    Some(Panel {
        title: format!("{}, {}", first.gaps, time_us(first.mean_gap_us)),
        ..Panel::of(x, y, series)
    })
}

pub(in super::super) fn answer(found: &WaitingRecommendation) -> (Ink, String) {
    let why = &found.why;
    match found.because {
        WaitingBecause::WithinLimits | WaitingBecause::Knee => {
            (Ink::Green, format!("Recommended waiting: {why}"))
        }
        WaitingBecause::NoneWithinLimits => (Ink::Yellow, why.clone()),
        WaitingBecause::Inconclusive => (Ink::Red, format!("Inconclusive. {why}")),
    }
}

pub(in super::super) fn notes(plan: &WaitPlan, found: &[WaitingFinding]) -> Vec<String> {
    let mut texts = vec![
        "Waiting: latency runs from the call that wakes to the first instruction of the job. Burn is the CPU time of the workers, one for each CPU but that of the waker, with wake-ups and empty jobs.".to_owned(),
        format!(
            "Ratio: CPU time, and {} of spinning for each sleep, relative to an oracle that knows each gap before.",
            human_duration(plan.price)
        ),
        "tpause and umwait are not available: they need unsafe code.".to_owned(),
    ];
    if let Some(idle) = plan.idle {
        texts.push(format!(
            "Idle: nothing came for {}, after wake-ups 1 ms apart. It has no part in the recommendation.",
            human_duration(idle)
        ));
    }
    let dominated = found.iter().filter(|row| !row.dominated_by.is_empty());
    let by = |row| format!("{} (by {})", at(row), row.dominated_by.join(", "));
    let each: Vec<String> = dominated.map(by).collect();
    if !each.is_empty() {
        texts.push(format!(
            "Slower and dearer than another, by intervals that do not overlap: {}.",
            each.join("; ")
        ));
    }
    texts
}

fn at(row: &WaitingFinding) -> String {
    let mean = time_us(row.mean_gap_us);
    format!("{} at {} gaps of {mean}", row.policy, row.gaps)
}

/// Peers that may be better than a policy of Plimsoll's own: values say so, intervals do not.
pub(in super::super) fn undecided(found: &[WaitingFinding]) -> Option<String> {
    let is_peer = |name: &String| name.parse::<WaitPolicy>().is_ok_and(|p| p.is_peer());
    let each: Vec<String> = found
        .iter()
        .filter(|row| !is_peer(&row.policy))
        .filter_map(|row| {
            let lower = row.lower_within_noise.iter();
            let peers: Vec<&str> = lower.filter(|n| is_peer(n)).map(String::as_str).collect();
            let verb = for_count(peers.len(), "is", "are");
            let names = peers.join(" and ");
            (!peers.is_empty()).then(|| format!("{names} {verb} lower in both than {}", at(row)))
        })
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "Undecided: {}, within the noise (p99 and burn).",
            each.join("; ")
        )
    })
}
