//! Latency after a step of the load, slot by slot: a panel for each arm, with
//! the service alone below its line.

use super::super::draw::{Drawing, FONT, Plot, Size, band, line, path, speck, text};
use super::super::layout::{BOLD, fitting, width_of};
use super::super::scale::Scale;
use super::super::{Figure, both, pct_tick, time_tick};
use super::Arms;
use crate::html::markup::{El, el};
use crate::number::{Written, grouped, time_us, trimmed_pct};
use crate::table::Column;
use crate::yields::step::back_after;
use plimsoll_model::{Arm, StepCourse, StepFinding, StepSlot, StepStatus, human_duration};

/// Between two panels, aside.
const GAP: f64 = 26.0;
/// Over each panel, for its two lines of words.
const HEAD: f64 = 44.0;
/// Below the lowest panels.
const FOOT: f64 = 42.0;

/// An arm with what was found of it.
struct Panel<'a> {
    place: usize,
    course: &'a StepCourse,
    found: &'a StepFinding,
}

pub(super) fn figure(view: Arms<'_>) -> Option<Figure> {
    let panels = panels(view);
    panels.first()?;
    let title = title(view, &panels);
    let description = format!(
        "Mean latency of the requests of each slot after the step, a panel per arm, with that of \
         the service alone. {title}."
    );
    Some(Figure {
        id: "slots",
        hint: hint(view),
        drawings: both(|size| draw(view, &panels, size, &title, &description)),
        title,
        told: view.told(|arm| {
            let panel = panels.iter().find(|panel| panel.course.arm == arm.arm)?;
            Some(told(panel, slot_ms(view)))
        }),
        table: table(&panels),
        rows_are_levels: false,
    })
}

fn panels(view: Arms<'_>) -> Vec<Panel<'_>> {
    let found = &view.report.findings.step;
    let mut panels = Vec::new();
    for course in view.steps {
        let place = view.arms().iter().position(|a| a.arm == course.arm);
        let found = found.iter().find(|f| f.arm == course.arm);
        panels.extend(place.zip(found).map(|(place, found)| Panel {
            place,
            course,
            found,
        }));
    }
    panels
}

fn slot_ms(view: Arms<'_>) -> f64 {
    view.findings().step_slot_ms.unwrap_or(0.0)
}

fn hint(view: Arms<'_>) -> String {
    let findings = view.findings();
    let band = findings.step_band_pct.map_or_else(String::new, |band| {
        format!(
            " Pale: up to {} % above it, which counts as back. Dots: slots that are above that in \
             more steps than chance would have it. Upright: when latency is back; the stroke \
             on the axis is its interval.",
            trimmed_pct(band)
        )
    });
    format!(
        "Mean latency of the requests of each {} after the step. Thin line: the service alone, \
         which had the same requests.{band}",
        time_us(slot_ms(view) * 1e3)
    )
}

/// When the latency of these arms is back, the soonest first.
fn title(view: Arms<'_>, panels: &[Panel<'_>]) -> String {
    let window = view.report.plan.step.map(|step| step.after);
    let window = human_duration(window.unwrap_or_default());
    let of = |status: StepStatus| {
        let of = panels
            .iter()
            .filter(move |p| p.found.status == Some(status));
        of.collect::<Vec<_>>()
    };
    let times = of(StepStatus::After);
    let time = |p: &&&Panel<'_>| p.found.yield_time_ms.map(|time| time.value);
    let mut each: Vec<f64> = times.iter().filter_map(|p| time(&p)).collect();
    each.sort_by(f64::total_cmp);
    let ms = |value: f64| trimmed_pct(value);
    let when = match (each.first(), each.last()) {
        (Some(first), Some(last)) if first < last => {
            format!("after {} to {} ms", ms(*first), ms(*last))
        }
        (Some(only), _) => format!("after {} ms", ms(*only)),
        (None, _) => String::new(),
    };
    let untold = of(StepStatus::CannotTell);
    let parts = [
        (of(StepStatus::AtOnce), "at once".to_owned()),
        (times, when),
        (
            of(StepStatus::NotWithinWindow),
            format!("not within {window}"),
        ),
    ];
    let told = parts.iter().filter(|(of, _)| !of.is_empty());
    let told: Vec<String> = told
        .map(|(of, when)| format!("{when} {}", with(of)))
        .collect();
    match (told.is_empty(), untold.is_empty()) {
        (true, _) => "It cannot be told when latency is back after a step".to_owned(),
        (false, true) => format!("After a step latency is back {}", told.join(", ")),
        (false, false) => format!(
            "After a step latency is back {}; {} it cannot be told",
            told.join(", "),
            with(&untold)
        ),
    }
}

/// Names of few, the number of many.
fn with(panels: &[&Panel<'_>]) -> String {
    match panels {
        [one] => format!("with {}", one.course.arm),
        [one, other] => format!("with {} and {}", one.course.arm, other.course.arm),
        many => format!("with {} arms", many.len()),
    }
}

fn told(panel: &Panel<'_>, slot_ms: f64) -> String {
    let cost = panel
        .found
        .cost_request_seconds
        .map(|cost| Written::of(cost, 3));
    let cost = cost.map_or_else(String::new, |cost| {
        format!("; a step costs {}", cost.with_ends(" request-seconds"))
    });
    format!("{}{cost}", status(panel.found, slot_ms))
}

/// `back after 350 ms (250 or more)`
fn status(found: &StepFinding, slot_ms: f64) -> String {
    match (found.status, found.yield_time_ms) {
        (Some(StepStatus::AtOnce), Some(time)) => match time.high {
            Some(high) if high > slot_ms => {
                format!("back at once ({} ms at most)", grouped(high, 0))
            }
            _ => "back at once".to_owned(),
        },
        (Some(StepStatus::After), Some(time)) => {
            format!("back after {}", Written::pct(time).with_ends(" ms"))
        }
        _ => back_after(found).text,
    }
}

/// A row per slot, a column per arm.
fn table(panels: &[Panel<'_>]) -> Vec<Column> {
    let Some(first) = panels.first() else {
        return Vec::new();
    };
    let us = |us: f64| trimmed_pct(us / 1e3);
    let slots = &first.course.slots;
    let at = slots.iter().map(|slot| trimmed_pct(slot.at_ms));
    let alone = slots.iter().map(|slot| us(slot.alone_us));
    let mut columns = vec![
        Column::new("middle of slot", "ms", 0, at),
        Column::new(Arm::ServiceAlone.name(), "ms", 0, alone),
    ];
    columns.extend(panels.iter().map(|panel| {
        // A slot without requests in one arm is missing there.
        let of = |at_ms: f64| panel.course.slots.iter().find(move |s| s.at_ms == at_ms);
        let cells = slots.iter().map(|slot| {
            of(slot.at_ms).map_or_else(|| crate::number::MISSING.to_owned(), |s| us(s.with_us))
        });
        Column::new(panel.course.arm.name(), "ms", 0, cells)
    }));
    columns
}

/// How the arm looks: what was found of it.
fn class(found: &StepFinding) -> &'static str {
    match found.status {
        Some(StepStatus::AtOnce | StepStatus::After) => "within",
        Some(StepStatus::NotWithinWindow) => "beyond",
        Some(StepStatus::CannotTell) | None => "untold",
    }
}

/// What all panels have in common.
struct Frame {
    left: f64,
    wide: f64,
    high: f64,
    columns: usize,
    /// What counts as back: times the service alone.
    back: f64,
    longest_ms: f64,
    slot_ms: f64,
    latencies: (f64, f64),
}

fn frame(view: Arms<'_>, panels: &[Panel<'_>], size: Size) -> Frame {
    // Four stand better two by two.
    let most = if panels.len() == 4 { 2 } else { 3 };
    let columns = size.pick(most, 2).min(panels.len().max(1));
    let (width, left) = (size.pick(900.0, 360.0), size.pick(48.0, 44.0));
    let room = width - left - 8.0 - GAP * (columns - 1) as f64;
    let slots = || panels.iter().flat_map(|p| &p.course.slots);
    let back = 1.0 + view.findings().step_band_pct.unwrap_or(0.0) / 100.0;
    let each = || slots().flat_map(|s| [s.with_us, s.alone_us, s.alone_us * back]);
    let slot_ms = slot_ms(view);
    Frame {
        left,
        wide: room / columns as f64,
        high: size.pick(130.0, 110.0),
        columns,
        back,
        longest_ms: slots().map(|s| s.at_ms + slot_ms / 2.0).fold(1.0, f64::max),
        slot_ms,
        latencies: (
            each().fold(f64::INFINITY, f64::min),
            each().fold(0.0, f64::max),
        ),
    }
}

fn draw(view: Arms<'_>, panels: &[Panel<'_>], size: Size, title: &str, description: &str) -> El {
    let frame = frame(view, panels, size);
    let rows = panels.len().div_ceil(frame.columns);
    let top = 18.0;
    let height = top + rows as f64 * (HEAD + frame.high) + FOOT;
    let mut chart = Drawing::new(size, size.pick(900.0, 360.0), height, [0.0; 4]);
    for (nth, panel) in panels.iter().enumerate() {
        let (row, column) = (nth / frame.columns, nth % frame.columns);
        let left = frame.left + column as f64 * (frame.wide + GAP);
        let above = top + row as f64 * (HEAD + frame.high) + HEAD;
        chart.plot = Plot {
            left,
            right: left + frame.wide,
            top: above,
            bottom: above + frame.high,
        };
        let is_lowest = nth + frame.columns >= panels.len();
        one(&mut chart, panel, &frame, (column == 0, is_lowest));
    }
    chart.put(text((2.0, FONT), "axis-name", "mean latency of a slot"));
    let below = (size.pick(450.0, 180.0), height - 6.0);
    chart.put(text(below, "axis-name mid", "time after the step, s"));
    chart.finish("slots", title, description)
}

/// The panel of an arm, with the names of its axes where it is the first.
fn one(chart: &mut Drawing, panel: &Panel<'_>, frame: &Frame, (is_first, is_lowest): (bool, bool)) {
    let Plot {
        left,
        right,
        top,
        bottom,
    } = chart.plot;
    let x = Scale::linear((0.0, frame.longest_ms / 1e3), chart.plot.x());
    let (least, most) = frame.latencies;
    let y = Scale::log(least, most, chart.plot.y());
    match is_first {
        true => chart.y_ticks(&y, 4, time_tick),
        false => chart.y_ticks(&y, 4, |_| String::new()),
    }
    let ticks = x.ticks(4).into_iter();
    let ticks: Vec<(f64, String)> = match is_lowest {
        true => ticks.map(|s| (s, pct_tick(s))).collect(),
        false => ticks.map(|s| (s, String::new())).collect(),
    };
    chart.x_axis_at(&x, "", &ticks);
    let class = class(panel.found);
    let slots = &panel.course.slots;
    let along = |of: &dyn Fn(&StepSlot) -> f64| -> Vec<(f64, f64)> {
        let at = |s: &StepSlot| (x.at(s.at_ms / 1e3), y.at(of(s)));
        slots.iter().map(at).collect()
    };
    let alone = along(&|s| s.alone_us);
    let back = along(&|s| s.alone_us * frame.back);
    chart.put(band(&alone, &back, "band p99"));
    moment(chart, panel.found, &x, class);
    chart.put(path(&alone, "line alone p99"));
    let own = along(&|s| s.with_us);
    chart.put(path(&own, &format!("line course {class}")).level(panel.place));
    for (slot, at) in slots.iter().zip(&own) {
        if slot.is_late == Some(true) {
            chart.put(speck(*at, "late"));
        }
    }
    let room = (right - left) / BOLD;
    let name = fitting(panel.course.arm.name(), room, FONT);
    chart.put(text((left, top - 21.0), "name row-name", &name));
    let said = status(panel.found, frame.slot_ms);
    // Where it has no room, its interval is left to the stroke on the axis.
    let said = match width_of(&said, FONT) > right - left {
        true => said.split(['(', ',']).next().unwrap_or_default().trim_end(),
        false => &said,
    };
    let status = fitting(said, right - left, FONT);
    chart.put(text((left, top - 6.0), &format!("status {class}"), &status));
    chart.put(line((left, top), (left, bottom), "axis"));
}

/// When latency is back, and its interval; nothing where it is not.
fn moment(chart: &mut Drawing, found: &StepFinding, x: &Scale, class: &str) {
    let is_back = matches!(found.status, Some(StepStatus::AtOnce | StepStatus::After));
    let Some(time) = found.yield_time_ms.filter(|_| is_back) else {
        return;
    };
    let Plot {
        right, top, bottom, ..
    } = chart.plot;
    let low = x.at(time.low.unwrap_or(time.value) / 1e3);
    // One without an upper end may lie beyond what was watched.
    let high = time.high.map_or(right, |high| x.at(high / 1e3));
    let stretch = el("rect")
        .class(&format!("back-span {class}"))
        .num("x", low)
        .num("y", bottom - 5.0)
        .num("width", (high - low).max(1.0))
        .num("height", 5.0);
    chart.put(stretch);
    let at = x.at(time.value / 1e3);
    chart.put(line((at, top), (at, bottom), &format!("knee back {class}")));
}
