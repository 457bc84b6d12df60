//! The findings as a document.

use super::{WakeUps, study::Lateness};
use crate::experiment::ReportOf;
use plimsoll_model::Estimate;
use plimsoll_report::chart::{Axis, Chart, Datum, Panel, Scale, Series, Tone, Unit};
use plimsoll_report::{Column, Document, Ink, Table, estimate_us};

pub(super) fn document<'a>(report: &'a ReportOf<'a, WakeUps>) -> Document<'a> {
    let rows = &report.findings.sleeps;
    let mut out = Document::of_run(report, 1, "lengths of sleep");
    out.chart(chart(rows));
    let sleeps = rows.iter().map(|r| r.sleep_us.to_string());
    let columns = vec![
        Column::new("sleep", "us", 0, sleeps),
        Column::times_us("p50", 0, rows.iter().map(|r| r.p50_us)),
        Column::times_us("p99", 0, rows.iter().map(|r| r.p99_us)),
        Column::new("trials", "", 1, rows.iter().map(|r| r.trials.to_string())),
    ];
    out.table(Table::of(columns).on_page("lengths"));
    let worst = rows.iter().filter_map(|r| r.p99_us);
    let worst = worst.max_by(|a, b| a.value.total_cmp(&b.value));
    let late = format!("The highest p99 is {}.", estimate_us(worst));
    match worst {
        Some(_) => out.answer(Ink::Green, late),
        None => out.answer(Ink::Red, "Inconclusive: no trial of 299 wake-ups.".into()),
    }
    out
}

fn chart(rows: &[Lateness]) -> Chart {
    let line = |name: &str, tone, of: fn(&Lateness) -> Option<Estimate>| {
        let point = |row: &Lateness| Some(Datum::estimate(row.sleep_us, of(row)?));
        Series::line(name, tone, rows.iter().filter_map(point).collect())
    };
    let p50 = line("p50", Tone::P50, |r| r.p50_us);
    let p99 = line("p99", Tone::P99, |r| r.p99_us);
    let sleeps = Scale::log(rows.iter().map(|r| r.sleep_us));
    let late = Scale::log(p50.data.iter().chain(&p99.data).flat_map(Datum::y_extent));
    let x = Axis::new("sleep", sleeps, Unit::Time);
    let y = Axis::new("late by", late, Unit::Time);
    let panel = Panel::of(x, y, vec![p50, p99]);
    let hint = "Both axes are logarithmic; bars are 95 % confidence intervals.";
    Chart::of(panel, "lateness", "Lateness by length of sleep", hint)
}
