//! Latency against headroom: where it begins to rise.

use super::super::super::draw::{Drawing, Size, line, load_mark};
use super::super::super::label::along;
use super::super::super::layout::Area;
use super::super::super::scale::Scale;
use super::super::super::{Figure, both, capital};
use super::super::change::{axis, bent, ground, margin, scale};
use super::super::names::{self, Named};
use super::super::{Arms, ends, verdict_words};
use super::{
    Course, class, courses, headrooms, is_best, line_names, lines, named, table, told, x_axis,
};
use crate::html::markup::{El, el};
use crate::number::{self, Written, trimmed_pct};
use crate::yields::table::signed;
use plimsoll_model::{CurvePoint, Estimate, HeadroomCurve, KneeStatus};

pub(super) fn figure(view: Arms<'_>) -> Option<Figure> {
    let change = |point: &CurvePoint| view.change(&point.found);
    let courses = courses(view, change);
    courses.first()?;
    let quantile = view.findings().budget.quantile;
    let title = title(view);
    let description = format!(
        "The change of {quantile} against the service alone, over the headroom that the job \
         leaves, a line per arm; bars are intervals. {title}."
    );
    let tell = |point: &CurvePoint| {
        let change = view.change(&point.found)?;
        let verdict = verdict_words(&point.found)?;
        let (change, ends) = (signed(change), ends(change));
        Some(format!("{quantile} changes by {change} %{ends}; {verdict}"))
    };
    Some(Figure {
        id: "curve",
        hint: hint(view, &courses),
        drawings: both(|size| draw(view, &courses, size, &title, &description)),
        title,
        told: told(view, tell),
        table: table(view.findings()),
        rows_are_levels: true,
    })
}

fn hint(view: Arms<'_>, courses: &[Course<'_>]) -> String {
    let findings = view.findings();
    let noise = match findings.noise_floor_pct {
        Some(_) => " Grey band: less than what two equal measurements differ by.",
        None => "",
    };
    let is_found = |c: &Course<'_>| knee(c.curve).is_some();
    let knee = match courses.iter().any(is_found) {
        true => {
            " A knee is where latency begins to rise as headroom becomes less; the pale stretch is \
             its interval."
        }
        false => "",
    };
    let ring = match findings.recommended.headroom_pct {
        Some(_) => " The ring is around what to take.",
        None => "",
    };
    let aside = match courses.len() {
        1 => "",
        _ => " Marks of one headroom stand side by side.",
    };
    format!(
        "To the right the job leaves more of the machine unused; down is less latency. Bars are \
         {} intervals. Filled circle: within the budget; diamond: beyond it; hollow square: it \
         cannot be told.{aside}{knee}{ring}{noise}{}",
        number::confidence(),
        bent(&of_changes(view, courses, (0.0, 1.0)))
    )
}

/// Where a knee is found, and its interval.
fn knee(curve: &HeadroomCurve) -> Option<Estimate> {
    let found = curve.knee.status == KneeStatus::Found;
    curve.knee.headroom_pct.filter(|_| found)
}

fn title(view: Arms<'_>) -> String {
    let findings = view.findings();
    let quantile = findings.budget.quantile;
    let curves = &findings.curve;
    let with = |status: KneeStatus| {
        let of = curves.iter().filter(move |c| c.knee.status == status);
        of.map(|c| c.arm.to_string()).collect::<Vec<_>>()
    };
    let found = curves.iter().filter_map(|curve| {
        let at = Written::pct(knee(curve)?).with_ends(" %");
        Some(format!("{at} held by {}", curve.arm))
    });
    let found = joined(&found.collect::<Vec<_>>());
    let held = |arms: &[String]| match arms.len() == curves.len() {
        true => String::new(),
        false => format!(" held by {}", joined(arms)),
    };
    let (none, untold) = (with(KneeStatus::None), with(KneeStatus::CannotTell));
    let parts = [
        (!found.is_empty())
            .then(|| format!("{quantile} begins to rise below a headroom of {found}")),
        (!none.is_empty()).then(|| {
            let noise = findings.noise_floor_pct;
            let noise = noise.map_or_else(String::new, |n| format!(" ({} %)", trimmed_pct(n)));
            let held = held(&none);
            format!("less headroom raises {quantile} by no more than noise{noise}{held}")
        }),
        (!untold.is_empty()).then(|| {
            let held = held(&untold);
            format!("it cannot be told where {quantile} begins to rise{held}")
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let title = parts.join("; ");
    match found.is_empty() {
        true => capital(&title),
        // Names of percentiles are written small.
        false => title,
    }
}

/// `a, b and c`
fn joined(parts: &[String]) -> String {
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.join(""),
    }
}

fn of_changes(view: Arms<'_>, courses: &[Course<'_>], pixels: (f64, f64)) -> Scale {
    let marks = courses.iter().flat_map(|c| &c.marks);
    scale(view, marks.map(|m| m.value), pixels)
}

fn draw(view: Arms<'_>, courses: &[Course<'_>], size: Size, title: &str, told: &str) -> El {
    let (width, height) = (size.pick(900.0, 360.0), size.pick(420.0, 400.0));
    let left = margin(&of_changes(view, courses, (height, 0.0)));
    let mut chart = Drawing::new(size, width, height, [34.0, 14.0, 42.0, left]);
    let x = headrooms(courses, chart.plot.x());
    let y = of_changes(view, courses, chart.plot.y());
    x_axis(&mut chart, &x, size);
    axis(&mut chart, view, &y);
    let stretches = courses.iter().filter_map(|c| Some((c, knee(c.curve)?)));
    let knees: Vec<Knee> = stretches
        .map(|(c, at)| put(&mut chart, c, at, &x))
        .collect();
    let goals = ground(&mut chart, view, &y);
    // The ring lies under its mark.
    let marks = || {
        courses
            .iter()
            .flat_map(|c| c.marks.iter().map(move |m| (c, m)))
    };
    let places = lines(&mut chart, courses, (&x, &y));
    let flat: Vec<(f64, f64)> = places.iter().flatten().copied().collect();
    for (_, at) in marks()
        .zip(&flat)
        .filter(|((_, m), _)| is_best(view, m.point))
    {
        chart.put(load_mark(*at, "best open"));
        chart.taken.push(Area::around(*at, 15.0, 9.5));
    }
    let mut crossed: Vec<Area> = places.iter().flat_map(|points| along(points)).collect();
    let bars = marks().zip(&flat).filter_map(|((_, mark), at)| {
        let (low, high) = mark.value.interval()?;
        Some(along(&[(at.0, y.at(low)), (at.0, y.at(high))]))
    });
    crossed.extend(bars.flatten());
    let (plot_left, right) = chart.plot.x();
    // The line of no change may be crossed sooner than a measured one.
    chart.goal_names(&goals, &crossed);
    let goal_lines = goals
        .iter()
        .take(1)
        .flat_map(|g| along(&[(plot_left, g.y), (right, g.y)]));
    crossed.extend(goal_lines);
    let arms = named(courses);
    let knees = knees.iter().map(|knee| Named {
        at: knee.at,
        name: &knee.name,
        class: knee.class,
        reach: 0.0,
    });
    let all: Vec<Named<'_>> = line_names(&arms, &places).chain(knees).collect();
    names::put(&mut chart, &all, &crossed);
    chart.finish("curve", title, told)
}

/// A knee that is drawn, and how it is named.
struct Knee {
    at: (f64, f64),
    name: String,
    class: &'static str,
}

/// The stretch in which a knee lies, and where it is most likely.
fn put(chart: &mut Drawing, course: &Course<'_>, at: Estimate, x: &Scale) -> Knee {
    let (top, bottom) = (chart.plot.top, chart.plot.bottom);
    let class = class(course.nth);
    let across = x.at(at.value);
    if let Some((low, high)) = at.interval() {
        let stretch = el("rect")
            .class(&format!("band {class}"))
            .num("x", x.at(low))
            .num("y", top)
            .num("width", (x.at(high) - x.at(low)).max(1.0))
            .num("height", bottom - top);
        chart.put(stretch);
    }
    chart.put(line(
        (across, top),
        (across, bottom),
        &format!("knee {class}"),
    ));
    Knee {
        // The names of several stand one under the other.
        at: (across, top + 14.0 + 18.0 * course.nth as f64),
        name: format!("knee: {} %", Written::pct(at).value),
        class,
    }
}
