//! How it was measured, as facts.

use crate::document::Fact;
use crate::method::{cpus, visits};
use crate::number;
use plimsoll_model::{
    Arrivals, HttpService, Plan, RatedRate, RequestFile, Workload, human_duration,
};

pub(super) fn facts(plan: &Plan, rated: Option<&RatedRate>) -> Vec<Fact> {
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
        Workload::Http(http) => Some(request(http, rated.and_then(|rated| rated.connections))),
        _ => None,
    };
    let load = match &plan.workload {
        Workload::Command(load) => format!(
            "by the command {}, read as {}; how late it sent requests is not known, and latency is what \
             it calls so",
            load.command, load.format
        ),
        _ => arrivals.to_owned(),
    };
    let pace = plan.pace.map(|pace| {
        format!(
            "at least {} times the mean latency at light load; its warm-up {} times",
            number::trimmed(pace.window_latencies),
            number::trimmed(pace.warm_up_latencies)
        )
    });
    let window = human_duration(plan.run.window);
    let window = [Some(window), pace].into_iter().flatten();
    let (min, max) = (human_duration(warm_up.min), human_duration(warm_up.max));
    Fact::known([
        ("Goals", Some(joined(goals)).filter(|g| !g.is_empty())),
        ("Load", Some(load)),
        ("Requests", request),
        ("Levels, % of the rated rate", Some(joined(levels))),
        ("Visits of each", Some(visits(plan.run.passes))),
        ("Window of a trial", Some(joined(window.collect()))),
        ("Warm-up", Some(format!("until steady, {min} to {max}"))),
        ("Search", search),
        ("CPUs", cpus(&plan.run.cpus)),
        ("Seed", Some(plan.run.seed.to_string())),
    ])
}

/// `connections`: how many it were at the levels.
fn request(http: &HttpService, connections: Option<u32>) -> String {
    let connections = connections.unwrap_or(http.connections);
    let of = match http.max_connections {
        Some(most) => format!(" (from {} to at most {most}, as needed)", http.connections),
        None => String::new(),
    };
    let timeout = human_duration(http.timeout);
    let several = http.requests.as_deref().map(several).unwrap_or_default();
    format!("{several}{connections} connections{of}, time-out {timeout}")
}

/// `of shop.http: list 70 %, cart 30 %; `
fn several(file: &RequestFile) -> String {
    let shares = file.requests.iter().map(|request| {
        let pct = 100.0 * file.share(request);
        format!("{} {} %", request.name, number::trimmed(pct))
    });
    let shares: Vec<String> = shares.collect();
    let left_out = match file.left_out {
        0 => String::new(),
        n => format!(
            " ({n} to other hosts, without a good answer, or with a body that is not recorded, left out)"
        ),
    };
    format!("of {}: {}{left_out}; ", file.file, shares.join(", "))
}
