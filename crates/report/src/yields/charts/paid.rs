//! Gained against paid: the chart that the page is about.

use super::change::{self, highest};
use super::{Arms, ends, verdict_look, verdict_words};
use crate::chart::{Axis, Chart, Datum, Height, Panel, Scale, Series, Shape, Tone, Unit, Width};
use crate::number::{self, Written};
use crate::sentence::capital;
use crate::yields::sentences;
use crate::yields::table::{self, signed};
use plimsoll_model::{Arm, ArmFinding, BudgetVerdict, Estimate};

struct Mark<'a> {
    place: usize,
    arm: &'a ArmFinding,
    gained: Estimate,
    change: Estimate,
}

pub(super) fn chart(view: Arms<'_>) -> Option<Chart> {
    let marks = marks(view);
    marks.first()?;
    let panel = panel(view, &marks);
    let hint = format!(
        "Right is more of the job's work, down is less latency; bars are {} intervals. Filled circle: \
         within the budget; diamond: beyond it; hollow square: inconclusive. The ring is around the \
         arm to take.{}",
        number::confidence(),
        change::hint(view, &panel.y)
    );
    let description = "Each way to restrict the job as a mark: to the right, the job's work that it \
                       gained; upwards, how much more latency it cost; bars are intervals.";
    Some(Chart {
        description: description.to_owned(),
        width: Width::Full,
        details: view.details(|arm| detail(view, arm)),
        table: table::columns(view.arms(), &view.findings().budget),
        rows_are_picks: true,
        ..Chart::of(panel, "paid", title(view, &marks), hint)
    })
}

fn marks(view: Arms<'_>) -> Vec<Mark<'_>> {
    let arms = view.arms().iter().enumerate();
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
            "{held}, the job gains {} of its work for {} % of {}",
            match mark.arm.work_by_cpu_share {
                None => format!("{} %", Written::pct(mark.gained).value),
                Some(_) => Written::pct(mark.gained).with_ends_of(" %", mark.arm.trials),
            },
            signed(mark.change),
            budget.quantile
        )
    };
    let recommended = &findings.recommended;
    let best = marks
        .iter()
        .find(|mark| Some(mark.arm.arm) == recommended.arm);
    let none = || best.map_or(0, |best| best.arm.trials);
    let worst = match sentences::worst_case(view.report) {
        Some(worst) => format!(" (at worst {worst} %)"),
        None => format!(" ({})", number::no_interval(none())),
    };
    match (best, recommended.verdict) {
        (Some(best), BudgetVerdict::Within) => {
            capital(&format!("{}{worst}, within {budget}", said(best)))
        }
        (Some(best), BudgetVerdict::Inconclusive) => capital(&format!(
            "{}{worst}; whether that is within {budget} is inconclusive",
            said(best)
        )),
        (Some(best), BudgetVerdict::Beyond) => {
            let said = capital(&said(best));
            format!("No arm is within {budget}. {said}{worst}")
        }
        (None, _) => format!("Inconclusive whether any arm is within {budget}"),
    }
}

fn detail(view: Arms<'_>, arm: &ArmFinding) -> Option<String> {
    let change = view.change(arm)?;
    let gained = Written::pct(table::pct(arm.work_gained_share?)).with_ends_of(" %", arm.trials);
    Some(format!(
        "gains {gained} of what the job does alone, {} changes by {} %{}; {}",
        view.findings().budget.quantile,
        signed(change),
        ends(change, arm.trials),
        verdict_words(arm)?
    ))
}

pub(super) fn gained_axis(most: f64) -> Axis {
    let label = "work gained, % of what the job does alone";
    Axis {
        short_label: "work gained, % of the job's alone".to_owned(),
        ..Axis::new(label, Scale::up_to([most]), Unit::Number)
    }
}

fn panel(view: Arms<'_>, marks: &[Mark<'_>]) -> Panel {
    let y = change::axis(view, marks.iter().map(|m| m.change));
    let most = marks.iter().map(|m| highest(m.gained)).fold(0.0, f64::max);
    let datum = |mark: &Mark<'_>| {
        let (tone, shape, hollow) = verdict_look(mark.arm);
        Datum {
            x_range: mark.gained.interval(),
            y_range: mark.change.interval(),
            shape: Some(shape),
            tone: Some(tone),
            hollow,
            name: mark.arm.arm.to_string(),
            is_best: view.is_best(mark.arm),
            ..Datum::at(mark.gained.value, mark.change.value, Some(mark.place))
        }
    };
    let data = marks.iter().map(datum).collect();
    let series = vec![Series::points(Tone::Plain, Shape::Circle, data)];
    Panel {
        height: Height::Fixed(384.0),
        marks: change::marks(view, &y),
        ..Panel::of(gained_axis(1.04 * most), y, series)
    }
}
