//! Looks both services up, and makes the plan.

use super::args::VersusArgs;
use super::plan::{Side, VersusPlan};
use super::runner::Sites;
use super::{doubts, sentences};
use crate::args::offered_rate;
use crate::defaults::{connections_open_within, ms};
use crate::experiment::{Machine, Prepared};
use crate::given_again::{self, GivenAgain};
use plimsoll_engine::visits::AROUND;
use plimsoll_engine::{RunError, Site};
use plimsoll_host::Root;
use plimsoll_model::{Plan, Rate, WarmUp, Workload};
use std::time::Duration;

const USUAL_RPS: f64 = 1000.0;
/// Requests of a connection in a window.
const PER_CONNECTION: f64 = 10.0;
/// A slow answer is not to hold up the next request.
const FEWEST_CONNECTIONS: u32 = 4;
/// After the connections are open.
const SETTLED: Duration = ms(100);
/// Each trial of a service's warm-up.
const WARM_UP_TRIAL: Duration = ms(1000);

pub(super) fn plan(
    args: &VersusArgs,
    machine: &Machine,
) -> Result<Prepared<VersusPlan, Sites>, RunError> {
    let root = &machine.root;
    // Before a server that does not answer is waited for.
    let (rate, note) = offered_rate::resolved(args.rate.as_ref(), machine)?;
    let usual = Rate::per_second(USUAL_RPS).unwrap_or(Rate::ZERO);
    let rate = rate.unwrap_or(usual);
    let service_warm_up = args.warm_up.at(rate)?;
    let base = args.other.workload(&args.load, root)?;
    let mut base = base.ok_or_else(|| {
        let why = "give the service to compare with: --against URL";
        RunError::Usage(why.to_owned())
    })?;
    let mut new = args.load.workload(args.url.as_deref(), root)?;
    let site = Sites::of(&base, &new, root)?;
    if args.load.server.connections.is_none() {
        let few = fewest_connections(rate, args.duration, site.first_answer());
        with_fewer(&mut base, few);
        with_fewer(&mut new, few);
    }
    let load = |workload, side| Plan {
        service_warm_up,
        ..load(args, rate, workload, site.of_side(side), root)
    };
    let plan = VersusPlan {
        rate,
        against: load(base, Side::Base),
        load: load(new, Side::New),
    };
    let doubt = doubts::new_connections(&plan);
    let notes = note
        .into_iter()
        .chain(doubt.iter().map(sentences::sentence));
    let notes = notes.collect();
    Ok(Prepared { plan, site, notes })
}

/// Each has some ten of the requests of a window; twice as many as are in use on average, by Little's law, if
/// every answer takes as long as the first.
fn fewest_connections(rate: Rate, window: Duration, first_answer: Duration) -> u32 {
    let tenth = rate.get() * window.as_secs_f64() / PER_CONNECTION;
    let in_use = rate.get() * first_answer.as_secs_f64();
    let most = tenth.max(2.0 * in_use).ceil() as u32;
    most.max(FEWEST_CONNECTIONS)
}

/// Unless each connection is to have few requests.
fn with_fewer(workload: &mut Workload, connections: u32) {
    if let Workload::Http(http) = workload
        && http.requests_per_connection.is_none()
    {
        http.connections = connections.min(http.connections);
    }
}

pub(super) fn again(
    args: &VersusArgs,
    plan: &VersusPlan,
    machine: &Machine,
) -> Result<Prepared<VersusPlan, Sites>, RunError> {
    let given = |url| GivenAgain::of(url, None, &args.load.request);
    let url = args.other.against.as_ref();
    let (load, mut notes) = given_again::supply(&plan.load, given(args.url.as_ref())?)?;
    let (against, more) = given_again::supply(&plan.against, given(url)?)?;
    notes.extend(more);
    let site = Sites::of(&against.workload, &load.workload, &machine.root)?;
    let rate = plan.rate;
    let plan = VersusPlan {
        rate,
        against,
        load,
    };
    Ok(Prepared { plan, site, notes })
}

fn load(args: &VersusArgs, rate: Rate, workload: Workload, site: &Site, root: &Root) -> Plan {
    let mut plan = Plan::blank(workload);
    plan.arrivals = args.load.arrivals.into();
    plan.calibration.rated = Some(rate);
    plan.calibration.window = WARM_UP_TRIAL;
    plan.run = args
        .load
        .blank_run(args.load.cpus(site, root), site.interrupts(root));
    plan.run.passes = args.passes;
    plan.run.window = args.duration;
    let warm_up = SETTLED + connections_open_within(&plan.workload);
    plan.run.warm_up = WarmUp::fixed(warm_up);
    let pass = (warm_up + args.duration + AROUND) * 2;
    // As much again for trials that are repeated.
    plan.run.budget = pass * args.passes * 2;
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_has_ten_requests_unless_answers_are_slow() {
        let of = |rps, answer_ms| {
            let rate = Rate::per_second(rps).unwrap();
            fewest_connections(rate, ms(500), ms(answer_ms))
        };
        assert_eq!(of(200.0, 2), 10);
        assert_eq!(of(10.0, 2), FEWEST_CONNECTIONS);
        assert_eq!(of(200.0, 100), 40);
    }
}
