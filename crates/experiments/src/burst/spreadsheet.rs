//! All figures as one long table for spreadsheets and plots. Pure.
//!
//! A row a figure: the target, the phase where the figure is of one, its name as in JSON (with its
//! unit at the end), its value with the ends of its interval, and the valid cycles behind it. A figure
//! without a value has no row.

use super::findings::{BurstFindings, Difference, PhaseFinding, PhaseKind, TargetFinding};
use plimsoll_model::Estimate;
use plimsoll_report::Column;

struct Row<'f> {
    target: &'static str,
    /// Its number in the cycle, from 1.
    phase: Option<(usize, &'f PhaseFinding)>,
    figure: &'static str,
    value: Estimate,
    cycles: Option<usize>,
}

pub(super) fn columns(found: &BurstFindings) -> Vec<Column> {
    let mut rows = of_target("first", &found.of);
    if let Some(against) = &found.against {
        rows.extend(of_target("against", against));
    }
    if let Some(difference) = &found.difference {
        rows.extend(of_difference(difference));
    }
    let words =
        |name, of: &dyn Fn(&Row<'_>) -> String| Column::new(name, "", 0, rows.iter().map(of));
    let of_phase = |row: &Row<'_>, of: &dyn Fn(usize, &PhaseFinding) -> String| {
        let phase = row.phase.map(|(number, phase)| of(number, phase));
        phase.unwrap_or_default()
    };
    vec![
        words("target", &|row| row.target.to_owned()),
        words("phase", &|row| {
            of_phase(row, &|_, phase| match phase.phase {
                PhaseKind::Burst => "burst".to_owned(),
                PhaseKind::Break => "break".to_owned(),
            })
        }),
        words("phase_number", &|row| of_phase(row, &|n, _| n.to_string())),
        words("seconds", &|row| {
            of_phase(row, &|_, phase| phase.seconds.to_string())
        }),
        words("rate_rps", &|row| {
            of_phase(row, &|_, phase| phase.rate_rps.to_string())
        }),
        words("figure", &|row| row.figure.to_owned()),
        Column::estimates_of("value", "", (0, 3), rows.iter().map(|row| Some(row.value))),
        words("cycles", &|row| {
            row.cycles.map(|n| n.to_string()).unwrap_or_default()
        }),
    ]
}

fn of_target<'f>(target: &'static str, found: &'f TargetFinding) -> Vec<Row<'f>> {
    let row = |phase| {
        move |(figure, value): (&'static str, Option<Estimate>)| {
            Some(Row {
                target,
                phase,
                figure,
                value: value?,
                cycles: Some(found.cycles),
            })
        }
    };
    let of_phase = |(at, phase): (usize, &'f PhaseFinding)| {
        [
            ("cpu_pct", phase.cpu_pct),
            ("latency_p50_us", phase.latency_us.p50),
            ("latency_p99_us", phase.latency_us.p99),
        ]
        .into_iter()
        .filter_map(row(Some((at + 1, phase))))
    };
    let mut rows: Vec<Row<'f>> = found.phases.iter().enumerate().flat_map(of_phase).collect();
    let of_cycle = [
        (
            "before_load_pct",
            found.before_load_pct.map(Estimate::alone),
        ),
        ("idle_burn_pct", found.idle_burn_pct),
        ("burn_us_per_request", found.burn_us_per_request),
        ("first_after_break_us", found.first_after_break_us),
        ("steady_us", found.steady_us),
        ("quiet_after_ms", found.quiet_after_ms),
        ("fast_after_requests", found.fast_after_requests),
        ("others_more_in_bursts_pct", found.others_more_in_bursts_pct),
        ("late_ms", found.late_ms.map(Estimate::alone)),
    ];
    rows.extend(of_cycle.into_iter().filter_map(row(None)));
    rows
}

fn of_difference<'f>(found: &Difference) -> impl Iterator<Item = Row<'f>> + use<'f> {
    let figures = [
        ("idle_burn_pct", found.idle_burn_pct),
        ("burn_us_per_request", found.burn_us_per_request),
        ("first_after_break_us", found.first_after_break_us),
    ];
    figures.into_iter().filter_map(|(figure, value)| {
        Some(Row {
            target: "difference",
            phase: None,
            figure,
            value: value?,
            cycles: None,
        })
    })
}
