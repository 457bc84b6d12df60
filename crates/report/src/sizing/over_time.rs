//! A fleet that follows traffic, as a table and sentences.

use super::money;
use crate::document::Table;
use crate::number;
use crate::sentence::{Sentence, words_of};
use crate::table::{ColumnsOf, Ink};
use plimsoll_model::FleetOverTime;

/// More rows than these are for programs.
const MOST_STEPS_SHOWN: usize = 48;

/// The fleet step by step; without rows if there are too many.
pub(super) fn table(over_time: &FleetOverTime) -> Table {
    let of = ColumnsOf(match over_time.steps.len() {
        n if n > MOST_STEPS_SHOWN => &[][..],
        _ => &over_time.steps,
    });
    let columns = vec![
        of.column("from", "s", |s| number::trimmed(s.at_s)),
        of.column("highest", "/s", |s| number::rate(s.rate_rps)),
        of.column("fleet", "instances", |s| s.instances.to_string()),
    ];
    Table::of(columns).on_page("fleet")
}

pub(super) fn sentences(over_time: &FleetOverTime, fixed_instances: u32) -> Vec<Sentence> {
    let (hours, fixed) = (over_time.instance_hours, over_time.fixed_instance_hours);
    let costs = over_time.cost.zip(over_time.fixed_cost);
    let cost = words_of(costs, |(cost, fixed)| {
        format!(", {} instead of {}", money(cost), money(fixed))
    });
    let text = format!(
        "Over this traffic the autoscaled fleet takes {} instance-hours instead of {} for a fixed \
         fleet of {}{cost}.",
        number::short(hours),
        number::short(fixed),
        number::grouped(f64::from(fixed_instances), 0)
    );
    let worst = over_time.worst_load_ratio;
    // Above 1 it is the first of the cautions.
    let worst = (worst <= 1.0).then(|| {
        let load = number::trimmed_pct(100.0 * worst);
        format!("At the worst moment an instance runs at {load} % of its planned capacity.")
    });
    let all = [Some(text), worst].into_iter().flatten();
    all.map(|text| Ink::Plain.says(text)).collect()
}
