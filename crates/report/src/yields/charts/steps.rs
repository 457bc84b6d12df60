//! Latency after a step of the load, slot by slot: a panel for each arm, with
//! the service alone below its line.

use super::Arms;
use crate::chart::{
    At, Axis, Chart, Datum, Facets, Height, Line, Mark, MarkKind, Panel as Plot, Ranges, Scale,
    Series, Subtitle, Tone, Unit, Width,
};
use crate::number::{Written, grouped, time_us, trimmed_pct};
use crate::table::Column;
use crate::yields::step::{back_after, cost};
use plimsoll_model::{Arm, StepCourse, StepFinding, StepSlot, StepStatus, human_duration};

struct Panel<'a> {
    place: usize,
    course: &'a StepCourse,
    found: &'a StepFinding,
}

pub(super) fn chart(view: Arms<'_>) -> Option<Chart> {
    let panels = panels(view);
    panels.first()?;
    let description = "Mean latency of the requests of each slot after the step, a panel per arm, \
                       with that of the service alone.";
    Some(Chart {
        description: description.to_owned(),
        panels: plots(view, &panels),
        facets: Facets {
            // Four stand better two by two.
            abreast: if panels.len() == 4 { 2 } else { 3 },
            abreast_narrow: 2,
            shares_x: true,
            shares_y: true,
        },
        width: Width::Full,
        details: view.details(|arm| {
            let panel = panels.iter().find(|panel| panel.course.arm == arm.arm)?;
            Some(detail(panel, slot_ms(view)))
        }),
        table: table(&panels),
        ..Chart::of(Plot::default(), "slots", title(view, &panels), hint(view))
    })
}

fn panels(view: Arms<'_>) -> Vec<Panel<'_>> {
    let found = &view.report.findings.step;
    let panel = |course| {
        let &StepCourse { arm, .. } = course;
        Some(Panel {
            place: view.arms().iter().position(|a| a.arm == arm)?,
            course,
            found: found.iter().find(|f| f.arm == arm)?,
        })
    };
    view.steps.iter().filter_map(panel).collect()
}

fn slot_ms(view: Arms<'_>) -> f64 {
    view.findings().step_slot_ms.unwrap_or(0.0)
}

fn hint(view: Arms<'_>) -> String {
    let findings = view.findings();
    let band = findings.step_band_pct.map(|band| {
        format!(
            " Pale: up to {} % above it, where latency is back. Dots: slots that are above that in \
             more steps than by chance. Upright: when latency is back; the stroke \
             on the axis is its interval.",
            trimmed_pct(band)
        )
    }).unwrap_or_default();
    format!(
        "Mean latency of the requests of each {} after the step. Thin line: the service alone, \
         which had the same requests.{band}",
        time_us(slot_ms(view) * 1e3)
    )
}

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
    let open = of(StepStatus::Inconclusive);
    let parts = [
        (of(StepStatus::AtOnce), "at once".to_owned()),
        (times, when),
        (
            of(StepStatus::NotWithinWindow),
            format!("not within {window}"),
        ),
    ];
    let known = parts.iter().filter(|(of, _)| !of.is_empty());
    let known: Vec<String> = known
        .map(|(of, when)| format!("{when} {}", with(of)))
        .collect();
    match (known.is_empty(), open.is_empty()) {
        (true, _) => "Inconclusive when latency is back after a step".to_owned(),
        (false, true) => format!("After a step latency is back {}", known.join(", ")),
        (false, false) => format!(
            "After a step latency is back {}; {} it is inconclusive",
            known.join(", "),
            with(&open)
        ),
    }
}

fn with(panels: &[&Panel<'_>]) -> String {
    match panels {
        [one] => format!("with {}", one.course.arm),
        [one, other] => format!("with {} and {}", one.course.arm, other.course.arm),
        many => format!("with {} arms", many.len()),
    }
}

fn detail(panel: &Panel<'_>, slot_ms: f64) -> String {
    status(panel.found, slot_ms) + &cost(panel.found)
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

fn tone(found: &StepFinding) -> Tone {
    match found.status {
        Some(StepStatus::AtOnce | StepStatus::After) => Tone::Within,
        Some(StepStatus::NotWithinWindow) => Tone::Beyond,
        Some(StepStatus::Inconclusive) | None => Tone::Open,
    }
}

fn plots(view: Arms<'_>, panels: &[Panel<'_>]) -> Vec<Plot> {
    let back = 1.0 + view.findings().step_band_pct.unwrap_or(0.0) / 100.0;
    let slots = || panels.iter().flat_map(|p| &p.course.slots);
    let us = slots().flat_map(|s| [s.with_us, s.alone_us, s.alone_us * back]);
    let end = slots().map(|s| s.at_ms + slot_ms(view) / 2.0);
    let scale = Scale::linear(0.0, end.fold(1.0, f64::max) / 1e3);
    let x = Axis::new("time after the step, s", scale, Unit::Number);
    let y = Axis::latency("mean latency of a slot", us);
    let plot = |panel: &Panel<'_>| {
        let status = status(panel.found, slot_ms(view));
        // Where it has no room, its interval is left to the stroke on the axis.
        let short = status.split(['(', ',']).next().unwrap_or_default();
        Plot {
            title: panel.course.arm.name().to_owned(),
            subtitle: Subtitle {
                short: short.trim_end().to_owned(),
                text: status,
                tone: tone(panel.found),
            },
            height: Height::Fixed(130.0),
            marks: moment(panel.found).into_iter().collect(),
            ..Plot::of(x.clone(), y.clone(), courses(panel, back))
        }
    };
    panels.iter().map(plot).collect()
}

/// The service alone with the range that is back, the arm, and its late slots.
fn courses(panel: &Panel<'_>, back: f64) -> Vec<Series> {
    let slots = || panel.course.slots.iter();
    let datum = |slot: &StepSlot, us: f64| Datum::at(slot.at_ms / 1e3, us, None);
    let alone = slots().map(|slot| Datum {
        y_range: Some((slot.alone_us, slot.alone_us * back)),
        ..datum(slot, slot.alone_us)
    });
    let own = slots().map(|slot| datum(slot, slot.with_us));
    let late = slots().filter(|slot| slot.is_late == Some(true));
    vec![
        Series {
            tone: Tone::P99,
            line: Line::Thin,
            ranges: Ranges::Band,
            data: alone.collect(),
            ..Series::default()
        },
        Series {
            marker: None,
            pick: Some(panel.place),
            ..Series::line("", tone(panel.found), own.collect())
        },
        Series::specks(
            Tone::Late,
            late.map(|slot| (slot.at_ms / 1e3, slot.with_us)),
        ),
    ]
}

fn moment(found: &StepFinding) -> Option<Mark> {
    let is_back = matches!(found.status, Some(StepStatus::AtOnce | StepStatus::After));
    let time = found.yield_time_ms.filter(|_| is_back)?;
    let low = time.low.unwrap_or(time.value) / 1e3;
    let high = time.high.map_or(f64::INFINITY, |high| high / 1e3);
    Some(Mark {
        range: Some((low, high)),
        tone: tone(found),
        ..Mark::new(MarkKind::Moment, At::X(time.value / 1e3))
    })
}
