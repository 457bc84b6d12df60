//! The two charts of copies: how they slow each other down, and CPU use.

use super::parts::{percent, solid};
use super::{Axis, Chart, Scale};
use crate::number;
use crate::table::Ink;
use plimsoll_model::CopiesFinding;

/// Neither where there is but one number of copies; no CPU use where it is
/// not known.
pub(super) fn of_copies(rows: &[CopiesFinding]) -> Vec<Chart> {
    let rows: Vec<&CopiesFinding> = rows.iter().filter(|r| r.trials > 0).collect();
    // Of one number of copies there is no curve.
    if rows.len() < 2 {
        return Vec::new();
    }
    let copies = || Axis {
        label: "copies at once".to_owned(),
        scale: Scale::from_zero(rows.iter().map(|r| f64::from(r.copies))),
        show: super::whole_tick,
    };
    let of = |value: fn(&CopiesFinding) -> Option<f64>| -> Vec<(f64, f64)> {
        let point = |r: &&CopiesFinding| Some((f64::from(r.copies), value(r)?));
        rows.iter().filter_map(point).collect()
    };
    let mean = solid("mean", Ink::Cyan, '*', of(|r| Some(r.seconds)));
    let slowest = solid("slowest", Ink::Yellow, '+', of(|r| Some(r.slowest_seconds)));
    let times = Chart {
        title: "How long a copy takes".to_owned(),
        x: copies(),
        y: Axis {
            label: "time, s".to_owned(),
            scale: Scale::from_zero(slowest.points.iter().map(|p| p.1)),
            show: number::tick,
        },
        series: vec![mean, slowest],
        marks: vec![],
    };
    let cpu = of(|r| r.cpu_pct);
    let mut charts = vec![times];
    if !cpu.is_empty() {
        charts.push(Chart {
            title: "CPU use meanwhile".to_owned(),
            x: copies(),
            y: percent(),
            series: vec![solid("CPU", Ink::Cyan, '*', cpu)],
            marks: vec![],
        });
    }
    charts
}
