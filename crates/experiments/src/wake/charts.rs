//! The charts. Pure.

use super::findings::{WakeFindings, WakeupFinding};
use plimsoll_model::{Arrivals, IdlePolicy};
use plimsoll_report::chart::{Axis, Chart, Datum, Panel, Scale, Series, Tone, Unit};

pub(super) fn all(found: &WakeFindings) -> Vec<Chart> {
    [by_burn(found), by_gap(found)]
        .into_iter()
        .flatten()
        .collect()
}

/// A tone of its own for each policy.
fn tone(policy: IdlePolicy) -> Tone {
    let at = IdlePolicy::ALL.iter().position(|other| *other == policy);
    Tone::Nth(at.unwrap_or_default())
}

/// Latency against burn, one point a policy.
fn by_burn(found: &WakeFindings) -> Option<Chart> {
    let of = |row: &super::findings::PolicyFinding| {
        let (burn, p99) = (row.burn_pct?, row.p99_us?);
        let point = Datum {
            x_range: burn.interval(),
            is_best: found.recommended.policy == Some(row.policy),
            ..Datum::estimate(burn.value, p99)
        };
        let name = row.policy.to_string();
        Some(Series::line(&name, tone(row.policy), vec![point]))
    };
    let series: Vec<Series> = found.policies.iter().filter_map(of).collect();
    let points = || series.iter().flat_map(|s| &s.data);
    let burned = points().flat_map(|d| {
        let (low, high) = d.x_range.unwrap_or((d.x, d.x));
        [low, high]
    });
    let x = Axis::new(
        "burn, % of all CPU time",
        Scale::up_to(burned),
        Unit::Number,
    );
    let late = Scale::up_to(points().flat_map(Datum::y_extent));
    let y = Axis::new("mean p99", late, Unit::Time);
    let hint = "One point for each policy; lower and further left is better. Bars are 95 % confidence intervals.";
    let has_data = !series.is_empty();
    let panel = Panel::of(x, y, series);
    has_data.then(|| Chart::of(panel, "burn", "Wake-up latency by burn", hint))
}

/// Latency against gap, a panel for each kind of wait, placement and arrivals, a line a policy.
fn by_gap(found: &WakeFindings) -> Option<Chart> {
    let kind = |row: &WakeupFinding| (row.wait, row.placement, row.arrivals);
    let mut kinds = Vec::new();
    for row in &found.wakeups {
        if row.latency_us.p99.is_some() && !kinds.contains(&kind(row)) {
            kinds.push(kind(row));
        }
    }
    let panels: Vec<Panel> = kinds
        .into_iter()
        .map(|(wait, placement, arrivals)| {
            let rows = found.wakeups.iter();
            let rows: Vec<&WakeupFinding> = rows
                .filter(|row| kind(row) == (wait, placement, arrivals))
                .filter(|row| row.policy != IdlePolicy::AsIsAgain)
                .collect();
            let arrivals = match arrivals {
                Arrivals::Constant => "constant gaps",
                Arrivals::Poisson => "Poisson gaps",
            };
            Panel {
                title: format!("{wait}, {placement}, {arrivals}"),
                ..of_kind(&rows)
            }
        })
        .collect();
    let first = panels.first().cloned()?;
    let hint = "p99 of wake-ups by the gap between them, a line for each policy. Both axes are logarithmic; bars are 95 % confidence intervals.";
    let mut chart = Chart::of(first, "gap", "Wake-up latency by gap", hint);
    chart.panels = panels;
    Some(chart)
}

fn of_kind(rows: &[&WakeupFinding]) -> Panel {
    let line = |policy: &IdlePolicy| {
        let own = rows.iter().filter(|row| row.policy == *policy);
        let data = own.filter_map(|row| Some(Datum::estimate(row.gap_us, row.latency_us.p99?)));
        Series::line(&policy.to_string(), tone(*policy), data.collect())
    };
    let lines = IdlePolicy::ALL.iter().map(line);
    let series: Vec<Series> = lines.filter(|line| !line.data.is_empty()).collect();
    let points = || series.iter().flat_map(|s| &s.data);
    let x = Axis::new("gap", Scale::log(points().map(|d| d.x)), Unit::Time);
    let late = Scale::log(points().flat_map(Datum::y_extent));
    let y = Axis::new("p99", late, Unit::Time);
    Panel::of(x, y, series)
}
