//! How it was measured, as facts.

use crate::document::Fact;
use crate::method::{cpus, visits};
use crate::number;
use plimsoll_model::{Arrivals, Plan, Workload, human_duration};

pub(super) fn facts(plan: &Plan) -> Vec<Fact> {
    let joined = |texts: Vec<String>| texts.join(", ");
    let goals = plan.goals.iter().map(ToString::to_string).collect();
    let levels = plan
        .levels
        .iter()
        .map(|l| number::trimmed_pct(l.pct()))
        .collect();
    let arrivals = match plan.arrivals {
        Arrivals::Poisson => "open loop, independent users (Poisson)",
        Arrivals::Constant => "open loop, equal gaps",
    };
    let search = plan.search.as_ref().map(|search| {
        let precision = format!("to ±{} %", number::trimmed(search.precision.pct()));
        format!("{precision}, trials of {}", human_duration(search.window))
    });
    let warm_up = plan.run.warm_up;
    let request = match &plan.workload {
        Workload::Http(http) => Some(format!(
            "{} connections, time-out {}",
            http.connections,
            human_duration(http.timeout)
        )),
        _ => None,
    };
    let (min, max) = (human_duration(warm_up.min), human_duration(warm_up.max));
    Fact::known([
        ("Goals", Some(joined(goals)).filter(|g| !g.is_empty())),
        ("Load", Some(arrivals.to_owned())),
        ("Requests", request),
        ("Levels, % of the rated rate", Some(joined(levels))),
        ("Visits of each", Some(visits(plan.run.passes))),
        ("Window of a trial", Some(human_duration(plan.run.window))),
        ("Warm-up", Some(format!("until steady, {min} to {max}"))),
        ("Search", search),
        ("CPUs", cpus(&plan.run.cpus)),
        ("Seed", Some(plan.run.seed.to_string())),
    ])
}
