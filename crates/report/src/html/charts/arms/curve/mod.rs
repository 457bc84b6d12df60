//! Arms over headrooms: a line for each, of what is paid and of what is gained.

mod gained;
mod paid;

use super::super::draw::{Drawing, Size, line, path, point};
use super::super::layout::Area;
use super::super::scale::Scale;
use super::super::{Figure, pct_tick};
use super::Arms;
use super::change::shape;
use super::names::Named;
use crate::number::trimmed_pct;
use crate::yields::curve::table;
use plimsoll_model::{CurvePoint, Estimate, HeadroomCurve};

/// Between the bars of two arms with one headroom.
const ASIDE: f64 = 6.0;

/// Colours of lines: none is that of the budget.
const COLOURS: [&str; 5] = ["m0", "m3", "m2", "m4", "m5"];

fn class(nth: usize) -> &'static str {
    COLOURS[nth % COLOURS.len()]
}

/// Headrooms of which something is known, with what that is.
struct Course<'a> {
    curve: &'a HeadroomCurve,
    /// Which of all curves.
    nth: usize,
    marks: Vec<Mark<'a>>,
}

struct Mark<'a> {
    /// Its place among all that can be picked.
    place: usize,
    point: &'a CurvePoint,
    value: Estimate,
}

pub(super) fn figures(view: Arms<'_>) -> [Option<Figure>; 2] {
    [paid::figure(view), gained::figure(view)]
}

/// The curves, as far as they tell this.
fn courses<'a>(view: Arms<'a>, of: impl Fn(&CurvePoint) -> Option<Estimate>) -> Vec<Course<'a>> {
    let mut before = view.arms().len();
    let mut course = |(nth, curve): (usize, &'a HeadroomCurve)| {
        let places = before..;
        before += curve.points.len();
        let mark = |(place, point)| {
            let value = of(point)?;
            Some(Mark {
                place,
                point,
                value,
            })
        };
        let marks: Vec<Mark<'a>> = places.zip(&curve.points).filter_map(mark).collect();
        (!marks.is_empty()).then_some(Course { curve, nth, marks })
    };
    let curves = view.findings().curve.iter().enumerate();
    curves.filter_map(&mut course).collect()
}

/// Whether this is the arm and the headroom to take.
fn is_best(view: Arms<'_>, point: &CurvePoint) -> bool {
    let best = &view.findings().recommended;
    best.arm == Some(point.found.arm) && best.headroom_pct == Some(point.headroom_pct)
}

/// The headrooms from left to right, with room for marks at both ends.
fn headrooms(courses: &[Course<'_>], pixels: (f64, f64)) -> Scale {
    let all = courses.iter().flat_map(|c| &c.marks);
    let most = all.map(|m| m.point.headroom_pct).fold(1.0, f64::max);
    Scale::linear((-0.05 * most, 1.05 * most), pixels)
}

fn x_axis(chart: &mut Drawing, x: &Scale, size: Size) {
    let label = size.pick("headroom, % of the machine left unused", "headroom, %");
    chart.x_axis(x, label, pct_tick);
}

/// What is told of everything that can be picked, of which arms without a
/// headroom have no point here.
fn told(view: Arms<'_>, tell: impl Fn(&CurvePoint) -> Option<String>) -> Vec<String> {
    let arms = view.arms().iter().map(|arm| arm.arm.to_string());
    let arms = arms.map(|name| format!("{name}: leaves no headroom that was chosen"));
    let points = view.findings().curve.iter().flat_map(|c| &c.points);
    let one = |point: &CurvePoint| {
        let told = tell(point).unwrap_or_else(|| "not known".to_owned());
        format!("{}: {told}", name(point))
    };
    arms.chain(points.map(one)).collect()
}

/// `quota-10ms, 20 % headroom`
pub(super) fn name(point: &CurvePoint) -> String {
    let headroom = trimmed_pct(point.headroom_pct);
    format!("{}, {headroom} % headroom", point.found.arm)
}

/// Lines with their marks and intervals. What is drawn is taken, and given back
/// for labels to keep off.
fn lines(
    chart: &mut Drawing,
    courses: &[Course<'_>],
    (x, y): (&Scale, &Scale),
) -> Vec<Vec<(f64, f64)>> {
    let middle = courses.len().saturating_sub(1) as f64 / 2.0;
    let aside = |nth: usize| ASIDE * (nth as f64 - middle);
    let at = |course: &Course<'_>, mark: &Mark<'_>| {
        let across = x.at(mark.point.headroom_pct) + aside(course.nth);
        (across, y.at(mark.value.value))
    };
    let places = |course: &Course<'_>| course.marks.iter().map(|m| at(course, m)).collect();
    let all: Vec<Vec<(f64, f64)>> = courses.iter().map(places).collect();
    for (course, points) in courses.iter().zip(&all) {
        let class = class(course.nth);
        chart.put(path(points, &format!("line {class}")));
        for (mark, place) in course.marks.iter().zip(points) {
            if let Some((low, high)) = mark.value.interval() {
                let (low, high) = ((place.0, y.at(low)), (place.0, y.at(high)));
                chart.put(line(low, high, &format!("reach {class}")).level(mark.place));
            }
        }
    }
    // Marks stand over all lines.
    for (course, points) in courses.iter().zip(&all) {
        for (mark, place) in course.marks.iter().zip(points) {
            let (shape, hollow) = shape(&mark.point.found);
            let class = format!("pt {}{hollow}", class(course.nth));
            chart.put(point(*place, shape, &class).level(mark.place));
            chart.taken.push(Area::around(*place, 5.0, 5.0));
        }
    }
    all
}

/// The name of each arm, at its point with the least headroom, where lines lie
/// furthest apart.
fn line_names<'c>(
    names: &'c [(String, String)],
    places: &[Vec<(f64, f64)>],
) -> impl Iterator<Item = Named<'c>> {
    let firsts: Vec<(f64, f64)> = places.iter().filter_map(|p| p.first().copied()).collect();
    names.iter().zip(firsts).map(|((name, class), at)| Named {
        at,
        name,
        class,
        reach: 4.0,
    })
}

fn named(courses: &[Course<'_>]) -> Vec<(String, String)> {
    let one = |c: &Course<'_>| (c.curve.arm.to_string(), class(c.nth).to_owned());
    courses.iter().map(one).collect()
}
