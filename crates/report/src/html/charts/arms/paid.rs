//! Gained against paid: the chart that the page is about.

use super::super::draw::{Drawing, Size, line, load_mark, point};
use super::super::label::along;
use super::super::layout::Area;
use super::super::scale::Scale;
use super::super::{Figure, both, capital, pct_tick};
use super::change::{axis, bent, ground, highest, margin, scale, shape};
use super::names::{self, Named};
use super::{Arms, ends, verdict_class, verdict_words};
use crate::html::markup::El;
use crate::number::{self, Written};
use crate::yields::table::{self, signed};
use plimsoll_model::{Arm, ArmFinding, Estimate};

/// An arm of which both are known.
struct Mark<'a> {
    place: usize,
    arm: &'a ArmFinding,
    gained: Estimate,
    change: Estimate,
}

pub(super) fn figure(view: Arms<'_>) -> Option<Figure> {
    let marks = marks(view);
    marks.first()?;
    let title = title(view, &marks);
    let description = format!(
        "Each way to hold the job as a mark: to the right, the job's work that it gained; upwards, \
         how much more latency it cost; bars are intervals. {title}."
    );
    Some(Figure {
        id: "paid",
        hint: hint(view, &of_changes(view, &marks, (0.0, 1.0))),
        drawings: both(|size| draw(view, &marks, size, &title, &description)),
        title,
        told: view.told(|arm| told(view, arm)),
        table: table::columns(&view.findings().arms, &view.findings().budget),
        rows_are_levels: true,
    })
}

fn marks(view: Arms<'_>) -> Vec<Mark<'_>> {
    let arms = view.report.findings.arms.iter().enumerate();
    let beside = arms.filter(|(_, arm)| arm.arm.is_beside());
    let mark = |(place, arm)| {
        Some(Mark {
            place,
            arm,
            gained: table::pct(arm.work_gained_share?),
            change: view.change(arm)?,
        })
    };
    beside.filter_map(mark).collect()
}

fn title(view: Arms<'_>, marks: &[Mark<'_>]) -> String {
    let findings = view.findings();
    let budget = &findings.budget;
    let said = |mark: &Mark<'_>| {
        let held = match mark.arm.arm {
            Arm::None => "not held".to_owned(),
            arm => format!("held by {arm}"),
        };
        format!(
            "{held}, the job gains {} % of its work for {} % of {}",
            Written::pct(mark.gained).value,
            signed(mark.change),
            budget.quantile
        )
    };
    let best = marks.iter().find(|mark| view.is_best(mark.arm));
    let nearest = || {
        let by_price = |a: &&Mark<'_>, b: &&Mark<'_>| a.change.value.total_cmp(&b.change.value);
        marks.iter().min_by(by_price)
    };
    match (best, findings.recommended.within_budget) {
        (Some(best), _) => capital(&format!("{}, within {budget}", said(best))),
        (None, Some(_)) => match nearest() {
            Some(near) => format!("No arm is within {budget}. {}", capital(&said(near))),
            None => format!("No arm is within {budget}"),
        },
        (None, None) => format!("It cannot be told whether any arm is within {budget}"),
    }
}

fn hint(view: Arms<'_>, y: &Scale) -> String {
    let noise = match view.findings().noise_floor_pct {
        Some(_) => " Grey band: less than what two equal measurements differ by.",
        None => "",
    };
    format!(
        "Right is more of the job's work, down is less latency; bars are {} intervals. Filled \
         circle: within the budget; diamond: beyond it; hollow square: it cannot be told. The ring \
         is around the arm to take.{noise}{}",
        number::confidence(),
        bent(y)
    )
}

fn told(view: Arms<'_>, arm: &ArmFinding) -> Option<String> {
    let change = view.change(arm)?;
    let gained = Written::pct(table::pct(arm.work_gained_share?)).with_ends(" %");
    Some(format!(
        "gains {gained} of what the job does alone, {} changes by {} %{}; {}",
        view.findings().budget.quantile,
        signed(change),
        ends(change),
        verdict_words(arm)?
    ))
}

fn of_changes(view: Arms<'_>, marks: &[Mark<'_>], pixels: (f64, f64)) -> Scale {
    scale(view, marks.iter().map(|m| m.change), pixels)
}

fn draw(view: Arms<'_>, marks: &[Mark<'_>], size: Size, title: &str, description: &str) -> El {
    let (width, height) = (size.pick(900.0, 360.0), size.pick(460.0, 420.0));
    let left = margin(&of_changes(view, marks, (height, 0.0)));
    let margins = [34.0, 14.0, 42.0, left];
    let mut chart = Drawing::new(size, width, height, margins);
    let most = marks.iter().map(|m| highest(m.gained)).fold(0.0, f64::max);
    let x = Scale::linear(
        (0.0, super::super::room_beyond(1.04 * most)),
        chart.plot.x(),
    );
    let y = of_changes(view, marks, chart.plot.y());
    let gained = size.pick(
        "work gained, % of what the job does alone",
        "work gained, % of the job's alone",
    );
    chart.x_axis(&x, gained, pct_tick);
    axis(&mut chart, view, &y);
    let goals = ground(&mut chart, view, &y);
    // That to take stands over the others.
    let (best, others): (Vec<_>, Vec<_>) = marks.iter().partition(|m| view.is_best(m.arm));
    for mark in others.into_iter().chain(best) {
        put(&mut chart, mark, (&x, &y), view.is_best(mark.arm));
    }
    let bars: Vec<Area> = marks.iter().flat_map(|m| bars(m, &x, &y)).collect();
    let (left, right) = chart.plot.x();
    let zero = along(&[(left, y.at(0.0)), (right, y.at(0.0))]);
    let better_free: Vec<Area> = bars.iter().copied().chain(zero).collect();
    chart.goal_names(&goals, &better_free);
    let names: Vec<String> = marks.iter().map(|m| m.arm.arm.to_string()).collect();
    let mut named: Vec<(bool, Named<'_>)> = marks
        .iter()
        .zip(&names)
        .map(|(mark, name)| {
            let is_best = view.is_best(mark.arm);
            let named = Named {
                at: at(mark, &x, &y),
                name,
                class: if is_best {
                    "best"
                } else {
                    verdict_class(mark.arm)
                },
                reach: if is_best { 8.0 } else { 4.0 },
            };
            (is_best, named)
        })
        .collect();
    // The one to take has the first choice of a place.
    named.sort_by_key(|(is_best, _)| !is_best);
    let named: Vec<Named<'_>> = named.into_iter().map(|(_, named)| named).collect();
    names::put(&mut chart, &named, &bars);
    chart.finish("paid", title, description)
}

fn at(mark: &Mark<'_>, x: &Scale, y: &Scale) -> (f64, f64) {
    (x.at(mark.gained.value), y.at(mark.change.value))
}

/// The ends of both intervals, as lines through the mark.
fn reaches(mark: &Mark<'_>, x: &Scale, y: &Scale) -> Vec<[(f64, f64); 2]> {
    let (across, up) = at(mark, x, y);
    let gained = mark.gained.interval();
    let change = mark.change.interval();
    let aside = gained.map(|(low, high)| [(x.at(low), up), (x.at(high), up)]);
    let upward = change.map(|(low, high)| [(across, y.at(low)), (across, y.at(high))]);
    aside.into_iter().chain(upward).collect()
}

/// Places along the bars of an arm.
fn bars(mark: &Mark<'_>, x: &Scale, y: &Scale) -> Vec<Area> {
    let lines = reaches(mark, x, y);
    lines.iter().flat_map(|ends| along(ends)).collect()
}

fn put(chart: &mut Drawing, mark: &Mark<'_>, (x, y): (&Scale, &Scale), is_best: bool) {
    let class = verdict_class(mark.arm);
    let place = at(mark, x, y);
    for [from, to] in reaches(mark, x, y) {
        let reach = line(from, to, &format!("reach {class}"));
        chart.put(reach.level(mark.place));
    }
    if is_best {
        chart.put(load_mark(place, "best"));
        chart.taken.push(Area::around(place, 15.0, 9.5));
    }
    let (shape, hollow) = shape(mark.arm);
    let point = point(place, shape, &format!("pt {class}{hollow}"));
    chart.put(point.level(mark.place));
    chart.taken.push(Area::around(place, 5.0, 5.0));
}
