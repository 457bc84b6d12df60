//! Where the extra latency comes from: CPU time and waiting for a CPU.

use super::super::draw::{Drawing, FONT, Size, line, text};
use super::super::layout::{BOLD, width_of};
use super::super::scale::Scale;
use super::super::{Figure, both, room_beyond, time_tick};
use super::rows::{self, ROW, known};
use super::{Arms, listed};
use crate::html::markup::{El, el};
use crate::number::time_us;
use crate::yields::table::cause_name;
use plimsoll_model::ArmFinding;

/// A time per request.
struct Part {
    class: &'static str,
    name: &'static str,
    of: fn(&ArmFinding) -> Option<f64>,
}

const PARTS: [Part; 2] = [
    Part {
        class: "part of-cpu",
        name: "CPU time",
        of: |arm| arm.cpu_us_per_request,
    },
    Part {
        class: "part of-wait",
        name: "wait for a CPU",
        of: |arm| arm.run_delay_us_per_request,
    },
];

/// Between two panels.
const GAP: f64 = 14.0;

pub(super) fn figure(view: Arms<'_>) -> Option<Figure> {
    let rows = known(view, |arm| PARTS.iter().find_map(|part| (part.of)(arm)));
    rows.first().filter(|_| view.compares())?;
    let title = title(view);
    let description = format!(
        "CPU time of the service and its wait for a CPU, both per request, a bar per arm. {title}."
    );
    Some(Figure {
        id: "cause",
        hint: "Both are of the service's own threads, per request. What reaches beyond the dotted \
               line is more than with the service alone: more waiting is lost to the job's turns on \
               the CPUs, more CPU time to shared caches, memory, cores or clock."
            .to_owned(),
        drawings: both(|size| draw(view, &rows, size, &title, &description)),
        title,
        told: view.told(told),
        table: view.columns(&["arm", "waits", "CPU time", "cause"]),
        rows_are_levels: true,
    })
}

fn title(view: Arms<'_>) -> String {
    let [cpu, wait] = &PARTS;
    let waits = view.of_interest(wait.of);
    match waits.is_empty() {
        false => format!("A request waits for a CPU for {}", listed(&waits, time_us)),
        true => {
            let values = view.of_interest(cpu.of);
            format!("A request takes CPU time of {}", listed(&values, time_us))
        }
    }
}

fn told(arm: &ArmFinding) -> Option<String> {
    let one = |part: &Part| Some(format!("{} {}", part.name, time_us((part.of)(arm)?)));
    let parts: Vec<String> = PARTS.iter().filter_map(one).collect();
    let cause = arm.cause.map_or_else(String::new, |cause| {
        format!("; more latency comes from: {}", cause_name(cause))
    });
    let known = !parts.is_empty();
    known.then(|| format!("per request {}{cause}", parts.join(", ")))
}

fn draw(
    view: Arms<'_>,
    rows: &[(usize, &ArmFinding)],
    size: Size,
    title: &str,
    description: &str,
) -> El {
    let width = size.pick(620.0, 360.0);
    let mut chart = rows::drawing(size, width, rows.len(), [28.0, 4.0, 42.0]);
    rows::names(&mut chart, view, rows);
    let is_known = |part: &&Part| rows.iter().any(|(_, arm)| (part.of)(arm).is_some());
    let parts: Vec<&Part> = PARTS.iter().filter(is_known).collect();
    let whole = chart.plot;
    let count = parts.len().max(1) as f64;
    let wide = (whole.right - whole.left - GAP * (count - 1.0)) / count;
    for (i, part) in parts.iter().enumerate() {
        chart.plot.left = whole.left + (wide + GAP) * i as f64;
        chart.plot.right = chart.plot.left + wide;
        panel(&mut chart, part, rows, size);
    }
    chart.plot = whole;
    chart.finish("cause", title, description)
}

/// One time per request of all arms, on an axis of its own.
fn panel(chart: &mut Drawing, part: &Part, rows: &[(usize, &ArmFinding)], size: Size) {
    let values = || rows.iter().filter_map(|(_, arm)| (part.of)(arm));
    let longest = values().map(|us| BOLD * width_of(&time_us(us), FONT));
    let room = longest.fold(0.0, f64::max) + 7.0;
    let (left, right) = chart.plot.x();
    let ticks = size.pick(3, 2);
    chart.plot.right = right - room;
    let most = room_beyond(values().fold(0.0, f64::max));
    let x = Scale::linear((0.0, most), (left, right - room));
    let named = x.ticks(ticks).into_iter().map(|t| (t, tick(t)));
    let named: Vec<(f64, String)> = named.collect();
    chart.x_axis_at(&x, "per request", &named);
    let (top, bottom) = (chart.plot.top, chart.plot.bottom);
    chart.put(text((left, top - 12.0), "axis-name", part.name));
    for (row, (place, arm)) in rows.iter().enumerate() {
        let y = rows::middle(chart, row);
        let Some(us) = (part.of)(arm) else {
            continue;
        };
        let bar = el("rect")
            .class(part.class)
            .num("x", left)
            .num("y", y - 0.3 * ROW)
            .num("width", x.at(us) - left)
            .num("height", 0.6 * ROW)
            .level(*place);
        chart.put(bar);
        chart.put(text((x.at(us) + 5.0, y + 4.0), "value halo", &time_us(us)));
    }
    let alone = rows.iter().find(|(_, arm)| !arm.arm.has_job());
    if let Some(us) = alone.and_then(|(_, arm)| (part.of)(arm)) {
        chart.put(line((x.at(us), top), (x.at(us), bottom), "diagonal"));
    }
}

fn tick(us: f64) -> String {
    match us > 0.0 {
        true => time_tick(us),
        false => "0".to_owned(),
    }
}
