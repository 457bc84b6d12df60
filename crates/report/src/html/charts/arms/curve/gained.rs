//! Work gained against headroom.

use super::super::super::draw::{Drawing, Size, load_mark};
use super::super::super::label::along;
use super::super::super::layout::Area;
use super::super::super::scale::Scale;
use super::super::super::{Figure, both, pct_tick, room_beyond};
use super::super::change::highest;
use super::super::names::{self, Named};
use super::super::{Arms, listed};
use super::{Course, courses, headrooms, is_best, line_names, lines, named, told, x_axis};
use crate::html::markup::El;
use crate::number::{Written, trimmed_pct};
use crate::yields::curve::table;
use crate::yields::table::pct;
use plimsoll_model::{CurvePoint, Estimate};

pub(super) fn figure(view: Arms<'_>) -> Option<Figure> {
    let courses = courses(view, gained);
    let title = title(view, &courses)?;
    let description = format!(
        "Work of the job, in percent of what it does alone, over the headroom that it leaves, a \
         line per arm; bars are intervals. {title}."
    );
    let tell = |point: &CurvePoint| {
        let gained = Written::pct(gained(point)?).with_ends(" %");
        let allowed = point.allowed_share.map_or_else(String::new, |share| {
            format!("; allowed {} % of its CPUs", trimmed_pct(share * 100.0))
        });
        Some(format!("{gained} of what the job does alone{allowed}"))
    };
    let shown = ["arm", "headroom", "allowed", "gained", "interval"];
    let mut columns = table(view.findings());
    let mut intervals = 0;
    // Of several intervals, that of the work stands first.
    columns.retain(|column| {
        intervals += usize::from(column.name() == "interval");
        shown.contains(&column.name()) && (column.name() != "interval" || intervals == 1)
    });
    Some(Figure {
        id: "curve-gained",
        hint:
            "What the job does of its work beside the service, of what it does alone. A line that \
               is level was allowed the same whatever headroom was asked for: the service alone \
               leaves no more idle."
                .to_owned(),
        drawings: both(|size| draw(view, &courses, size, &title, &description)),
        title,
        told: told(view, tell),
        table: columns,
        rows_are_levels: true,
    })
}

fn gained(point: &CurvePoint) -> Option<Estimate> {
    point.found.work_gained_share.map(pct)
}

/// Of the arm to take, else of the first: with the least headroom, with that
/// to take, and with the most.
fn title(view: Arms<'_>, courses: &[Course<'_>]) -> Option<String> {
    let best = view.findings().recommended.arm;
    let course = courses.iter().find(|c| Some(c.curve.arm) == best);
    let course = course.or(courses.first())?;
    let marks = &course.marks;
    let chosen = marks.iter().position(|m| is_best(view, m.point));
    let mut places = vec![0, chosen.unwrap_or(0), marks.len() - 1];
    places.dedup();
    let said = places.iter().filter_map(|at| {
        let mark = marks.get(*at)?;
        let headroom = trimmed_pct(mark.point.headroom_pct);
        let with = format!("with a headroom of {headroom} %");
        Some((with, mark.value.value))
    });
    let said: Vec<(String, f64)> = said.collect();
    let show = |value: f64| format!("{} %", Written::pct(Estimate::alone(value)).value);
    let arm = course.curve.arm;
    Some(format!(
        "Held by {arm}, the job does {}",
        listed(&said, show)
    ))
}

fn draw(view: Arms<'_>, courses: &[Course<'_>], size: Size, title: &str, told: &str) -> El {
    let (width, height) = (size.pick(620.0, 360.0), size.pick(300.0, 280.0));
    let mut chart = Drawing::new(size, width, height, [34.0, 14.0, 42.0, 34.0]);
    let x = headrooms(courses, chart.plot.x());
    let marks = || courses.iter().flat_map(|c| &c.marks);
    let most = marks().map(|m| highest(m.value)).fold(0.0, f64::max);
    let y = Scale::linear((0.0, room_beyond(most)), chart.plot.y());
    x_axis(&mut chart, &x, size);
    let label = size.pick(
        "work gained, % of what the job does alone",
        "work gained, % of the job's alone",
    );
    chart.y_axis(&y, label, pct_tick);
    let places = lines(&mut chart, courses, (&x, &y));
    for (mark, at) in marks().zip(places.iter().flatten()) {
        if is_best(view, mark.point) {
            chart.put(load_mark(*at, "best open"));
            chart.taken.push(Area::around(*at, 15.0, 9.5));
        }
    }
    let crossed: Vec<Area> = places.iter().flat_map(|points| along(points)).collect();
    let arms = named(courses);
    let all: Vec<Named<'_>> = line_names(&arms, &places).collect();
    names::put(&mut chart, &all, &crossed);
    chart.finish("curve-gained", title, told)
}
