//! All work that the machine does with each arm: the service's and the job's.

use super::{Arms, known, listed, rows, within_row};
use crate::chart::{At, Axis, Bar, Chart, Key, Mark, MarkKind, Panel, Scale, Tone, Unit};
use crate::number::Written;
use crate::sentence::words_if;
use crate::table::{Column, ColumnsOf, ends};
use crate::yields::table::pct;
use plimsoll_model::{ArmFinding, Estimate};

/// What the service did and what the job did, in percent of what each does
/// alone; the former is `None` where that is not known.
#[derive(Clone, Copy)]
struct Work {
    service: Option<f64>,
    job: f64,
    /// Of both together, as far as they are known.
    end: Estimate,
}

impl Work {
    fn of(arm: &ArmFinding) -> Option<Work> {
        let gained = pct(arm.work_gained_share?);
        let total = arm.total_work_share.map(pct);
        Some(Work {
            service: total.map(|total| total.value - gained.value),
            job: gained.value,
            end: total.unwrap_or(gained),
        })
    }

    fn words(&self) -> String {
        format!("{} %", Written::pct(self.end).value)
    }
}

pub(super) fn chart(view: Arms<'_>) -> Option<Chart> {
    let arms = known(view, Work::of);
    arms.iter().find(|(_, arm)| arm.arm.is_beside())?;
    let is_total = arms.iter().any(|(_, arm)| arm.total_work_share.is_some());
    let hint = match is_total {
        true => {
            "First the service's work, of what it carries alone, then the job's, of what it does \
             alone. Dotted: as much as either does alone. Strokes at the ends are intervals."
        }
        false => {
            "The job's work, of what it does alone. The service's part is unknown: give its \
             capacity (--rated RATE), or --load in place of --rate."
        }
    };
    Some(Chart {
        description: "Work done, a bar per arm: the service's part and the job's.".to_owned(),
        details: view.details(detail),
        table: table(view),
        rows_are_picks: true,
        ..Chart::of(panel(view, &arms), "total", title(view, is_total), hint)
    })
}

fn title(view: Arms<'_>, is_total: bool) -> String {
    let of = |arm: &ArmFinding| Some(Work::of(arm)?.end.value);
    let show = |pct: f64| format!("{} %", Written::pct(Estimate::alone(pct)).value);
    let mut values = view.of_interest(of);
    let beside = view.arms().iter().filter(|arm| arm.arm.is_beside());
    let mut ends = beside.filter_map(Work::of).map(|work| work.end.interval());
    let unsure = words_if(
        ends.all(|ends| ends.is_none()),
        " (no intervals: too few passes)",
    );
    match is_total {
        true => format!("Machine throughput: {}{unsure}", listed(&values, show)),
        false => {
            values.retain(|(_, pct)| *pct > 0.0);
            format!("Job throughput: {}{unsure}", listed(&values, show))
        }
    }
}

fn detail(arm: &ArmFinding) -> Option<String> {
    let work = Work::of(arm)?;
    let show = |pct: f64| Written::pct(Estimate::alone(pct)).value;
    let end = Written::pct(work.end).with_ends_of(" %", arm.trials);
    Some(match work.service {
        Some(service) => format!(
            "{end} in all, {} % the service's and {} % the job's",
            show(service),
            show(work.job)
        ),
        None => format!("{end} of the job's work"),
    })
}

fn table(view: Arms<'_>) -> Vec<Column> {
    let mut columns = view.columns(&["arm", "gained", "total"]);
    let total = |arm: &ArmFinding| arm.total_work_share.map(|share| Written::pct(pct(share)));
    let of = ColumnsOf(view.arms());
    columns.push(of.column("interval of total", "95 %", |arm| ends(total(arm))));
    columns
}

fn panel(view: Arms<'_>, arms: &[(usize, &ArmFinding)]) -> Panel {
    let known = arms.iter().enumerate();
    let known = known.filter_map(|(row, (place, arm))| Some((row, *place, Work::of(arm)?)));
    let works: Vec<(usize, usize, Work)> = known.collect();
    let ends = works
        .iter()
        .map(|(_, _, w)| w.end.high.unwrap_or(w.end.value));
    let scale = Scale::linear(0.0, ends.fold(100.0, f64::max));
    let key = |name: &str, tone| Key {
        name: name.to_owned(),
        tone,
        at: None,
    };
    let has_service = works.iter().any(|(_, _, work)| work.service.is_some());
    let service = has_service.then(|| key("service", Tone::P99));
    let x = Axis::new("work, % of the machine's", scale, Unit::Number);
    let bars = works.into_iter().flat_map(bars).collect();
    Panel {
        marks: vec![Mark::new(MarkKind::Guide, At::X(100.0))],
        legend: service.into_iter().chain([key("job", Tone::P50)]).collect(),
        ..Panel::of_rows(x, rows(view, arms), bars)
    }
}

/// The service's part and, after it, the job's, which has the value and the
/// interval of both. A part of nothing is not drawn.
fn bars((row, place, work): (usize, usize, Work)) -> [Bar; 2] {
    let service = work.service.unwrap_or(0.0).max(0.0);
    let part = |x, tone| Bar {
        x,
        y: within_row(row),
        tone,
        pick: Some(place),
        ..Bar::default()
    };
    [
        part((0.0, service), Tone::Service),
        Bar {
            interval: work.end.interval().filter(|(low, high)| high > low),
            value: work.words(),
            ..part((service, service + work.job.max(0.0)), Tone::Job)
        },
    ]
}
