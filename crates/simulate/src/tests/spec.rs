use plimsoll_model::{
    Arrivals, HttpService, Phase, Plan, Rate, Setting, Share, TrialSpec, WarmUp, Workload,
};
use std::time::Duration;

const WARM_UP: WarmUp = WarmUp {
    min: Duration::from_millis(500),
    max: Duration::from_secs(2),
};

/// A plan with arrivals, CPUs and bounds set; the rest is irrelevant.
pub(crate) fn plan() -> Plan {
    let service = HttpService::get("http://h/", 1, Duration::from_secs(1));
    let mut plan = Plan::blank(Workload::Http(service));
    plan.arrivals = Arrivals::Poisson;
    plan.run.window = Duration::from_secs(5);
    plan.run.cpus.service = [0].into_iter().collect();
    plan.run.bounds.slip = Duration::from_micros(100);
    plan.run.bounds.slip_share = Share::ZERO;
    plan
}

pub(crate) fn spec(rate: Rate, window: Duration, seed: u64) -> TrialSpec {
    let phase = Phase::Level { level: None };
    TrialSpec {
        warm_up: WARM_UP,
        seed,
        ..TrialSpec::blank(phase, Setting::offer(rate), window)
    }
}
