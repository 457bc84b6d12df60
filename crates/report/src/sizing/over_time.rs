//! A fleet that follows traffic, as a table and sentences.

use super::money;
use crate::compare::put;
use crate::number;
use crate::sentence::Sentence;
use crate::table::{Cell, Column, Ink, Paint, render};
use plimsoll_model::{FleetOverTime, FleetStep};

/// More rows than these are for programs.
const MOST_STEPS_SHOWN: usize = 48;

/// The fleet step by step, what it saves, and its worst moment.
pub(super) fn over_time_text(
    over_time: &FleetOverTime,
    fixed_instances: u32,
    width: usize,
    paint: Paint,
) -> String {
    let mut out = String::new();
    let steps = &over_time.steps;
    if steps.len() <= MOST_STEPS_SHOWN {
        let cells = |show: fn(&FleetStep) -> String| -> Vec<Cell> {
            steps.iter().map(|step| show(step).into()).collect()
        };
        let columns = vec![
            Column::new("from", "s", 0, cells(|s| number::trimmed(s.at_s))),
            Column::new("highest", "/s", 0, cells(|s| number::rate(s.rate_rps))),
            Column::new("fleet", "instances", 0, cells(|s| s.instances.to_string())),
        ];
        out += &render(columns, width, paint);
        out.push('\n');
    }
    let (hours, fixed) = (over_time.instance_hours, over_time.fixed_instance_hours);
    let cost = over_time.cost.zip(over_time.fixed_cost);
    let cost = cost.map_or_else(String::new, |(cost, fixed)| {
        format!(", {} instead of {}", money(cost), money(fixed))
    });
    let text = format!(
        "Over this traffic the autoscaled fleet takes {} instance-hours instead of {} for a fixed \
         fleet of {}{cost}.",
        number::short(hours),
        number::short(fixed),
        number::grouped(f64::from(fixed_instances), 0)
    );
    put(&mut out, &Sentence::new(Ink::Plain, text), width, paint);
    let worst = over_time.worst_load_ratio;
    // Above 1 it is the first of the cautions.
    if worst <= 1.0 {
        let text = format!(
            "At its worst moment an instance has to carry {} % of what the plan takes it to carry.",
            number::trimmed((1000.0 * worst).round() / 10.0)
        );
        put(&mut out, &Sentence::new(Ink::Plain, text), width, paint);
    }
    out
}
