use plimsoll_model::{
    Arrivals, Bytes, CpuTime, HashService, Phase, Plan, Rate, Setting, Share, TrialSpec, WarmUp,
    Workload,
};
use std::time::Duration;

const WARM_UP: WarmUp = WarmUp {
    min: Duration::from_millis(500),
    max: Duration::from_secs(2),
};

/// A plan with arrivals, CPUs and bounds set; the rest is irrelevant.
pub(crate) fn plan() -> Plan {
    let mut plan = Plan::blank(Workload::Hash(HashService {
        mean_block: Bytes(1 << 20),
        deviation_share: 0.25,
        request_cpu: CpuTime(Duration::from_millis(1)),
    }));
    plan.arrivals = Arrivals::Poisson;
    plan.run.window = Duration::from_secs(5);
    plan.run.cpus.service = [0].into_iter().collect();
    plan.run.bounds.slip = Duration::from_micros(100);
    plan.run.bounds.slip_share = Share::ZERO;
    plan
}

pub(crate) fn spec(rate: Rate, window: Duration, seed: u64) -> TrialSpec {
    TrialSpec {
        warm_up: WARM_UP,
        seed,
        ..TrialSpec::blank(
            Phase::Level { level: None },
            Setting::Offer { rate },
            window,
        )
    }
}
