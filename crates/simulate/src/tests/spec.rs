use plimsoll_model::{
    Arrivals, Bounds, Bytes, CalibrationPlan, CpuPlan, CpuSet, CpuTime, HashService, Phase, Plan,
    Rate, Setting, Share, TrialSpec, WarmUp, Workload,
};
use std::time::Duration;

const WARM_UP: WarmUp = WarmUp {
    min: Duration::from_millis(500),
    max: Duration::from_secs(2),
};

/// A plan whose arrivals, CPUs and bounds are what matters.
pub(crate) fn plan() -> Plan {
    Plan {
        workload: Workload::Hash(HashService {
            mean_block: Bytes(1 << 20),
            deviation_share: 0.25,
            request_cpu: CpuTime(Duration::from_millis(1)),
        }),
        goals: vec![],
        arrivals: Arrivals::Poisson,
        levels: vec![],
        copies: vec![],
        passes: 2,
        window: Duration::from_secs(5),
        warm_up: WARM_UP,
        calibration: CalibrationPlan {
            first: Rate::ZERO,
            window: Duration::from_secs(1),
            retries: 1,
            rated: None,
        },
        idle: Duration::ZERO,
        bounds: Bounds {
            slip: Duration::from_micros(100),
            slip_share: Share::ZERO,
            steal_share: Share::ONE,
            other_share: Share::ONE,
            retries: 3,
        },
        cpus: CpuPlan {
            service: [0].into_iter().collect(),
            generator: CpuSet::default(),
        },
        seed: 1,
        restart: None,
        search: None,
        budget: Duration::from_secs(1000),
    }
}

/// A trial at `rate`.
pub(crate) fn spec(rate: Rate, window: Duration, seed: u64) -> TrialSpec {
    TrialSpec {
        phase: Phase::Level { level: None },
        setting: Setting::Offer { rate },
        pass: 0,
        attempt: 0,
        warm_up: WARM_UP,
        window,
        seed,
    }
}
