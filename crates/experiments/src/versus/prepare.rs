//! Looks both services up, and makes the plan.

use super::args::VersusArgs;
use super::plan::{Side, VersusPlan};
use super::runner::Sites;
use crate::args::offered_rate;
use crate::defaults::ms;
use crate::experiment::{Machine, Prepared};
use crate::given_again::{self, GivenAgain};
use plimsoll_engine::visits::AROUND;
use plimsoll_engine::{RunError, Site};
use plimsoll_host::Root;
use plimsoll_model::{Plan, Rate, ServiceWarmUp, WarmUp, Workload};
use std::time::Duration;

const USUAL_RPS: f64 = 1000.0;
/// Twice what an asyncio server takes for a new connection.
const OPENED_WITHIN: Duration = Duration::from_micros(250);
/// After the connections are open.
const SETTLED: Duration = ms(100);
/// Each trial of a service's warm-up.
const WARM_UP_TRIAL: Duration = ms(1000);
const LONGEST_WARM_UP_S: f64 = 24.0 * 3600.0;

pub(super) fn plan(
    args: &VersusArgs,
    machine: &Machine,
) -> Result<Prepared<VersusPlan, Sites>, RunError> {
    let root = &machine.root;
    // Before a server that does not answer is waited for.
    let (rate, note) = offered_rate::resolved(args.rate.as_ref(), machine)?;
    let usual = Rate::per_second(USUAL_RPS).unwrap_or(Rate::ZERO);
    let rate = rate.unwrap_or(usual);
    check_warm_up(args.warm_up.warm_up, rate)?;
    let base = args.base.workload(&args.load, root)?;
    let base = base.ok_or_else(|| {
        let why = "give the service to compare with: --against URL";
        RunError::Usage(why.to_owned())
    })?;
    let new = args.load.workload(args.url.as_deref(), root)?;
    let site = Sites::of(&base, &new, root)?;
    let load = |workload, side| load(args, rate, workload, site.of_side(side), root);
    let plan = VersusPlan {
        rate,
        against: load(base, Side::Base),
        load: load(new, Side::New),
    };
    let notes = note.into_iter().collect();
    Ok(Prepared { plan, site, notes })
}

pub(super) fn again(
    args: &VersusArgs,
    plan: &VersusPlan,
    machine: &Machine,
) -> Result<Prepared<VersusPlan, Sites>, RunError> {
    let given = |url| GivenAgain::of(url, None, &args.load.request);
    let url = args.base.against.as_ref();
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
    plan.service_warm_up = args.warm_up.warm_up;
    plan.run = args
        .load
        .blank_run(args.load.cpus(site, root), site.interrupts(root));
    plan.run.passes = args.passes;
    plan.run.window = args.duration;
    let warm_up = warm_up(&plan.workload);
    plan.run.warm_up = WarmUp::fixed(warm_up);
    let pass = (warm_up + args.duration + AROUND) * 2;
    // As much again for trials that are repeated.
    plan.run.budget = pass * args.passes * 2;
    plan
}

/// The connections are open before the window begins.
fn warm_up(workload: &Workload) -> Duration {
    match workload {
        Workload::Http(http) => SETTLED + OPENED_WITHIN * http.connections,
        Workload::Hash(_) | Workload::Command(_) | Workload::Imported(_) => SETTLED,
    }
}

/// The requests that warm a service up have an end.
fn check_warm_up(warm_up: Option<ServiceWarmUp>, rate: Rate) -> Result<(), RunError> {
    let Some(ServiceWarmUp::Requests(requests)) = warm_up else {
        return Ok(());
    };
    match requests as f64 / rate.get() <= LONGEST_WARM_UP_S {
        true => Ok(()),
        false => Err(RunError::Usage(format!(
            "the requests of --warm-up take more than a day at {rate}; give fewer, or a higher --rate"
        ))),
    }
}
