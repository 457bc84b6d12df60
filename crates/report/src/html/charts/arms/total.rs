//! All work that the machine does with each arm: the service's and the job's.

use super::super::draw::{Drawing, FONT, Size, line, text};
use super::super::layout::{BOLD, width_of};
use super::super::scale::Scale;
use super::super::{Figure, both, pct_tick};
use super::rows::{self, ROW, known};
use super::{Arms, listed};
use crate::html::markup::{El, el};
use crate::number::{MISSING, Written};
use crate::table::Column;
use crate::yields::table::pct;
use plimsoll_model::{ArmFinding, Estimate};

/// What the service did and what the job did, in percent of what each does
/// alone; the former is `None` where nobody knows what that is.
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

    /// What stands at the end of its bar.
    fn words(&self) -> String {
        format!("{} %", Written::pct(self.end).value)
    }
}

pub(super) fn figure(view: Arms<'_>) -> Option<Figure> {
    let rows = known(view, Work::of);
    let gains = |(_, arm): &(usize, &ArmFinding)| arm.arm.is_beside();
    rows.iter().find(|row| gains(row))?;
    let is_total = rows.iter().any(|(_, arm)| arm.total_work_share.is_some());
    let title = title(view, is_total);
    let description =
        format!("Work done, a bar per arm: the service's part and the job's. {title}.");
    let hint = match is_total {
        true => {
            "First the service's work, of what it carries alone, then the job's, of what it does \
             alone. Dotted: as much as either does alone. Strokes at the ends are intervals."
        }
        false => {
            "The job's work, of what it does alone. That of the service is not known, for nobody \
             has said what it carries alone: give --rated RATE, or --load in place of --rate."
        }
    };
    Some(Figure {
        id: "total",
        hint: hint.to_owned(),
        drawings: both(|size| draw(view, &rows, size, &title, &description)),
        title,
        told: view.told(told),
        table: table(view),
        rows_are_levels: true,
    })
}

fn title(view: Arms<'_>, is_total: bool) -> String {
    let of = |arm: &ArmFinding| Some(Work::of(arm)?.end.value);
    let show = |pct: f64| format!("{} %", Written::pct(Estimate::alone(pct)).value);
    let mut values = view.of_interest(of);
    match is_total {
        true => format!("Of its work the machine does {}", listed(&values, show)),
        false => {
            values.retain(|(_, pct)| *pct > 0.0);
            format!("Of its work the job does {}", listed(&values, show))
        }
    }
}

fn told(arm: &ArmFinding) -> Option<String> {
    let work = Work::of(arm)?;
    let show = |pct: f64| Written::pct(Estimate::alone(pct)).value;
    let end = Written::pct(work.end).with_ends(" %");
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
    let ends = |arm: &ArmFinding| {
        let total = arm.total_work_share.map(|share| Written::pct(pct(share)));
        let ends = total.and_then(|written| written.ends());
        ends.unwrap_or_else(|| MISSING.to_owned())
    };
    columns.push(Column::new(
        "interval of total",
        "95 %",
        0,
        view.arms().iter().map(ends),
    ));
    columns
}

fn draw(
    view: Arms<'_>,
    rows: &[(usize, &ArmFinding)],
    size: Size,
    title: &str,
    description: &str,
) -> El {
    let width = size.pick(620.0, 360.0);
    let works = || rows.iter().filter_map(|(_, arm)| Work::of(arm));
    let widths = works().map(|work| BOLD * width_of(&work.words(), FONT));
    let room = 8.0 + widths.fold(0.0, f64::max);
    let mut chart = rows::drawing(size, width, rows.len(), [24.0, room, 42.0]);
    let most = works().map(|w| w.end.high.unwrap_or(w.end.value));
    let most = most.fold(100.0, f64::max);
    let x = Scale::linear((0.0, most), chart.plot.x());
    chart.x_axis(&x, "work, % of the machine's", pct_tick);
    rows::names(&mut chart, view, rows);
    legend(&mut chart, works().any(|work| work.service.is_some()));
    let (top, bottom) = (chart.plot.top, chart.plot.bottom);
    for (row, (place, arm)) in rows.iter().enumerate() {
        let Some(work) = Work::of(arm) else { continue };
        let y = rows::middle(&chart, row);
        let bar = |from: f64, to: f64, class: &str| {
            let (from, to) = (x.at(from), x.at(to));
            el("rect")
                .class(class)
                .num("x", from)
                .num("y", y - 0.3 * ROW)
                .num("width", (to - from).max(0.0))
                .num("height", 0.6 * ROW)
                .level(*place)
        };
        let service = work.service.unwrap_or(0.0).max(0.0);
        if service > 0.0 {
            chart.put(bar(0.0, service, "part of-service"));
        }
        if work.job > 0.0 {
            chart.put(bar(service, service + work.job, "part of-job"));
        }
        let end = work.end.interval();
        let (low, high) = end.unwrap_or((work.end.value, work.end.value));
        if high > low {
            chart.put(line((x.at(low), y), (x.at(high), y), "whisker ends"));
        }
        let words = text((x.at(high) + 6.0, y + 4.0), "value halo", &work.words());
        chart.put(words);
    }
    chart.put(line((x.at(100.0), top), (x.at(100.0), bottom), "diagonal"));
    chart.finish("total", title, description)
}

/// Which part of a bar is whose, in their colours.
fn legend(chart: &mut Drawing, has_service: bool) {
    let (mut left, y) = (chart.plot.left, chart.plot.top - 8.0);
    for (name, class) in [("service", "name p99"), ("job", "name p50")] {
        if name == "job" || has_service {
            chart.put(text((left, y), class, name));
            left += BOLD * width_of(name, FONT) + 12.0;
        }
    }
}
