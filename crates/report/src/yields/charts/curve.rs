//! Arms over headrooms: a line for each, of what is paid and of what is gained.

use super::change::{self, highest};
use super::paid::gained_axis;
use super::{Arms, and, ends, listed, verdict_look, verdict_words};
use crate::chart::{
    At, Axis, Chart, Datum, Height, Mark as Stroke, MarkKind, Panel, Scale, Series, Tone, Unit,
    Width,
};
use crate::number::{self, Written, trimmed_pct};
use crate::sentence::{capital, words_if, words_of};
use crate::yields::curve::table;
use crate::yields::table::{pct, signed};
use plimsoll_model::{CurvePoint, Estimate, HeadroomCurve, KneeStatus};

/// The colour of a curve: none is that of the budget.
fn tone(nth: usize) -> Tone {
    Tone::Nth([0, 3, 2, 4, 5][nth % 5])
}

struct Course<'a> {
    curve: &'a HeadroomCurve,
    nth: usize,
    marks: Vec<Mark<'a>>,
}

struct Mark<'a> {
    place: usize,
    point: &'a CurvePoint,
    value: Estimate,
}

pub(super) fn paid(view: Arms<'_>) -> Option<Chart> {
    let courses = courses(view, |point| view.change(&point.found));
    courses.first()?;
    let quantile = view.findings().budget.quantile;
    let mut panel = panel(view, &courses);
    let values = courses.iter().flat_map(|c| &c.marks).map(|m| m.value);
    panel.y = change::axis(view, values);
    panel.height = Height::Fixed(344.0);
    panel.marks = courses.iter().filter_map(knee_mark).collect();
    panel.marks.extend(change::marks(view, &panel.y));
    let tell = |point: &CurvePoint| {
        let change = view.change(&point.found)?;
        let verdict = verdict_words(&point.found)?;
        let (change, ends) = (signed(change), ends(change, point.found.trials));
        Some(format!("{quantile} changes by {change} %{ends}; {verdict}"))
    };
    let description = format!(
        "The change of {quantile} against the service alone, over the headroom that the job leaves, a \
         line per arm; bars are intervals."
    );
    let hint = paid_hint(view, &courses, &panel);
    Some(Chart {
        description,
        width: Width::Full,
        details: details(view, tell),
        table: table(view.findings()),
        rows_are_picks: true,
        ..Chart::of(panel, "curve", paid_title(view), hint)
    })
}

pub(super) fn gained(view: Arms<'_>) -> Option<Chart> {
    let courses = courses(view, gained_of);
    let marks = courses.iter().flat_map(|c| &c.marks);
    let most = marks.map(|m| highest(m.value));
    let panel = Panel {
        y: gained_axis(most.fold(0.0, f64::max)),
        height: Height::Fixed(224.0),
        ..panel(view, &courses)
    };
    let tell = |point: &CurvePoint| {
        let gained = Written::pct(gained_of(point)?).with_ends_of(" %", point.found.trials);
        let allowed = words_of(point.allowed_share, |share| {
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
    let hint = "What the job does of its work beside the service, of what it does alone. A line that \
                is level was allowed the same whatever headroom was asked for: the service alone \
                leaves no more idle.";
    let description = "Work of the job, in percent of what it does alone, over the headroom that it \
                       leaves, a line per arm; bars are intervals.";
    Some(Chart {
        description: description.to_owned(),
        details: details(view, tell),
        table: columns,
        rows_are_picks: true,
        ..Chart::of(panel, "curve-gained", gained_title(view, &courses)?, hint)
    })
}

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

fn is_best(view: Arms<'_>, point: &CurvePoint) -> bool {
    let headroom_pct = view.findings().recommended.headroom_pct;
    view.is_best(&point.found) && headroom_pct == Some(point.headroom_pct)
}

/// A line per arm over the headrooms, named at its point with the least
/// headroom, where lines lie furthest apart.
fn panel(view: Arms<'_>, courses: &[Course<'_>]) -> Panel {
    let headrooms = courses.iter().flat_map(|c| &c.marks);
    let headrooms = headrooms.map(|m| m.point.headroom_pct);
    let most = headrooms.fold(1.0, f64::max);
    let middle = courses.len().saturating_sub(1) as f64 / 2.0;
    let datum = |(i, course, mark): (usize, &Course<'_>, &Mark<'_>)| {
        let (_, shape, hollow) = verdict_look(&mark.point.found);
        Datum {
            y_range: mark.value.interval(),
            shape: Some(shape),
            hollow,
            name: match i {
                0 => course.curve.arm.to_string(),
                _ => String::new(),
            },
            is_best: is_best(view, mark.point),
            ..Datum::at(mark.point.headroom_pct, mark.value.value, Some(mark.place))
        }
    };
    let line = |course: &Course<'_>| {
        let marks = course.marks.iter().enumerate();
        let data = marks.map(|(i, mark)| datum((i, course, mark))).collect();
        Series {
            aside: course.nth as f64 - middle,
            ..Series::line("", tone(course.nth), data)
        }
    };
    let label = "headroom, % of the machine left unused";
    // Room for marks at both ends.
    let scale = Scale::linear(-0.05 * most, 1.05 * most);
    Panel {
        x: Axis {
            short_label: "headroom, %".to_owned(),
            ..Axis::new(label, scale, Unit::Number)
        },
        series: courses.iter().map(line).collect(),
        ..Panel::default()
    }
}

fn knee_mark(course: &Course<'_>) -> Option<Stroke> {
    let at = knee(course.curve)?;
    Some(Stroke {
        range: at.interval(),
        name: format!("knee: {} %", Written::pct(at).value),
        tone: tone(course.nth),
        ..Stroke::new(MarkKind::Knee, At::X(at.value))
    })
}

/// Details of everything that can be picked, of which arms without a
/// headroom have no point here.
fn details(view: Arms<'_>, tell: impl Fn(&CurvePoint) -> Option<String>) -> Vec<String> {
    let arms = view.arms().iter().map(|arm| arm.arm.to_string());
    let arms = arms.map(|name| format!("{name}: leaves no headroom that was chosen"));
    let points = view.findings().curve.iter().flat_map(|c| &c.points);
    let one = |point: &CurvePoint| {
        let detail = tell(point).unwrap_or_else(|| "not known".to_owned());
        format!("{}: {detail}", name(point))
    };
    arms.chain(points.map(one)).collect()
}

/// `quota-10ms, 20 % headroom`
pub(super) fn name(point: &CurvePoint) -> String {
    let headroom = trimmed_pct(point.headroom_pct);
    format!("{}, {headroom} % headroom", point.found.arm)
}

fn paid_hint(view: Arms<'_>, courses: &[Course<'_>], panel: &Panel) -> String {
    let knee = words_if(
        courses.iter().any(|c| knee(c.curve).is_some()),
        " A knee is where latency begins to rise as headroom becomes less; the pale stretch is \
             its interval.",
    );
    let ring = match view.best() {
        Some(_) => " The ring is around what to take.",
        None => "",
    };
    let aside = match courses.len() {
        1 => "",
        _ => " Marks of one headroom stand side by side.",
    };
    format!(
        "To the right the job leaves more of the machine unused; down is less latency. Bars are \
         {} intervals. Filled circle: within the budget; diamond: beyond it; hollow square: \
         inconclusive.{aside}{knee}{ring}{}",
        number::confidence(),
        change::hint(view, &panel.y)
    )
}

fn knee(curve: &HeadroomCurve) -> Option<Estimate> {
    let found = curve.knee.status == KneeStatus::Found;
    curve.knee.headroom_pct.filter(|_| found)
}

fn paid_title(view: Arms<'_>) -> String {
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
    let found = and(&found.collect::<Vec<_>>());
    let held = |arms: &[String]| match arms.len() == curves.len() {
        true => String::new(),
        false => format!(" held by {}", and(arms)),
    };
    let (none, untold) = (with(KneeStatus::None), with(KneeStatus::Inconclusive));
    let rises = format!("{quantile} begins to rise below a headroom of {found}");
    let noise = words_of(findings.noise_floor_pct, |n| {
        format!(" ({} %)", trimmed_pct(n))
    });
    let level = format!(
        "less headroom raises {quantile} by no more than noise{noise}{}",
        held(&none)
    );
    let open = format!(
        "where {quantile} begins to rise is inconclusive{}",
        held(&untold)
    );
    let parts = [
        (!found.is_empty()).then_some(rises),
        (!none.is_empty()).then_some(level),
        (!untold.is_empty()).then_some(open),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let title = parts.join("; ");
    match found.is_empty() {
        true => capital(&title),
        // Names of percentiles are written small.
        false => title,
    }
}

fn gained_of(point: &CurvePoint) -> Option<Estimate> {
    point.found.work_gained_share.map(pct)
}

/// Of the arm to take, else of the first: with the least headroom, with that
/// to take, and with the most.
fn gained_title(view: Arms<'_>, courses: &[Course<'_>]) -> Option<String> {
    let best = view.best();
    let course = courses.iter().find(|c| Some(c.curve.arm) == best);
    let course = course.or(courses.first())?;
    let marks = &course.marks;
    let chosen = marks.iter().position(|m| is_best(view, m.point));
    let mut places = vec![0, chosen.unwrap_or(0), marks.len() - 1];
    places.dedup();
    let values = places.iter().filter_map(|at| {
        let mark = marks.get(*at)?;
        let headroom = trimmed_pct(mark.point.headroom_pct);
        let with = format!("with a headroom of {headroom} %");
        Some((with, mark.value.value))
    });
    let values: Vec<(String, f64)> = values.collect();
    let show = |value: f64| format!("{} %", Written::pct(Estimate::alone(value)).value);
    let arm = course.curve.arm;
    Some(format!(
        "Held by {arm}, the job does {}",
        listed(&values, show)
    ))
}
