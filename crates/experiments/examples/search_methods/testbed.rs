//! The services, and a simulated machine as the other tools would load it.

use crate::simulated;
use plimsoll_model::{Arrivals, Phase, Plan, Quantile, Rate, Setting, Share, TrialSpec, WarmUp};
use plimsoll_simulate::{Disturbance, Effect, Machine, Service, truth};
use plimsoll_study::seeded::Rng;
use std::time::Duration;

/// A service with a goal for its latency.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) service: Service,
    /// What 99 % of all requests must stay below.
    pub(crate) limit: Duration,
    disturbed: bool,
}

/// Limits differ between seeds by up to this part to either side. The rates
/// that a bisection tries are fixed by the peak; on one fixed service they
/// would hit or miss the capacity by luck, the same for all seeds.
const LIMITS: f64 = 0.1;

/// What one run of a method found.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answer {
    /// Requests per second; `None` when it found nothing.
    pub(crate) rate: Option<f64>,
    /// With its interval, if it gives one.
    pub(crate) interval: Option<(f64, f64)>,
    /// All its trials in sum, warm-ups and drains included.
    pub(crate) took: Duration,
}

const MS: Duration = Duration::from_millis(1);

pub(crate) fn cases() -> Vec<Case> {
    let exponential = |servers| Service::Exponential { mean: MS, servers };
    let deterministic = Service::Deterministic {
        service: MS,
        servers: 4,
    };
    let cliff = Service::Cliff {
        below: 5 * MS,
        at: Rate::per_second(2000.0).unwrap_or(Rate::ZERO),
    };
    let case = |name, service, limit, disturbed| Case {
        name,
        service,
        limit,
        disturbed,
    };
    vec![
        case("M/M/1, p99 < 20 ms", exponential(1), 20 * MS, false),
        case("M/M/4, p99 < 10 ms", exponential(4), 10 * MS, false),
        case("M/D/4, p99 < 4 ms", deterministic, 4 * MS, false),
        case("A cliff at 2,000/s, p99 < 10 ms", cliff, 10 * MS, false),
        case(
            "M/M/4, p99 < 10 ms, one trial in ten 1.3 times slower, unseen",
            exponential(4),
            10 * MS,
            true,
        ),
    ]
}

impl Case {
    /// The case of one seed.
    pub(crate) fn of(&self, seed: u64) -> Case {
        let part = 1.0 + LIMITS * (2.0 * Rng::seeded(seed ^ 0x11).unit() - 1.0);
        let limit = self.limit.as_secs_f64() * part;
        Case {
            limit: Duration::from_micros((limit * 1e6).round() as u64),
            ..self.clone()
        }
    }

    /// The true capacity; not a number if there is none.
    pub(crate) fn truth(&self) -> f64 {
        let rate = truth(&self.service, Arrivals::Poisson, Quantile::P99, self.limit);
        rate.map_or(f64::NAN, Rate::get)
    }

    /// The throughput when there is always a request waiting.
    pub(crate) fn saturation(&self) -> f64 {
        self.service.saturation().get()
    }

    /// Flags of a full sweep for its goal.
    pub(crate) fn flags(&self, seed: u64) -> String {
        format!("--goal p99<{}us --seed {seed}", self.limit.as_micros())
    }

    pub(crate) fn machine(&self, seed: u64) -> Machine {
        let slower = Share::new(0.1).map(|share| Disturbance {
            share,
            effect: Effect::Slower { factor: 1.3 },
        });
        Machine {
            disturbance: slower.filter(|_| self.disturbed),
            ..Machine::new(self.service.clone(), 1000 + seed)
        }
    }
}

/// What a probe measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    /// p99 latency in seconds; infinite when nothing was answered.
    pub(crate) p99: f64,
    /// Answers per second.
    pub(crate) throughput: f64,
}

/// A machine that counts how long it was loaded.
pub(crate) struct Testbed {
    machine: Machine,
    plan: Plan,
    /// The limit on p99, in seconds.
    pub(crate) limit: f64,
    saturation: f64,
    pub(crate) took: Duration,
    probes: u32,
}

impl Testbed {
    pub(crate) fn new(case: &Case, seed: u64) -> Testbed {
        Testbed {
            machine: case.machine(seed),
            plan: simulated::plan(&case.flags(seed)),
            limit: case.limit.as_secs_f64(),
            saturation: case.saturation(),
            took: Duration::ZERO,
            probes: 0,
        }
    }

    /// Poisson arrivals at `rate`, with a pattern of their own each time.
    pub(crate) fn offer(&mut self, rate: f64, warm_up: Duration, window: Duration) -> Probe {
        self.offer_seeded(rate, warm_up, window, u64::from(self.probes))
    }

    /// The same with the pattern of `seed`, stretched to the rate: common
    /// random numbers. The service's own chance differs each time.
    pub(crate) fn offer_seeded(
        &mut self,
        rate: f64,
        warm_up: Duration,
        window: Duration,
        seed: u64,
    ) -> Probe {
        let rate = Rate::per_second(rate).unwrap_or(Rate::ZERO);
        let spec = TrialSpec {
            attempt: self.probes,
            warm_up: WarmUp::fixed(warm_up),
            seed: seed ^ (self.machine.seed << 32),
            ..TrialSpec::blank(Phase::Search, Setting::offer(rate), window)
        };
        let trial = self.machine.run(&spec, &self.plan);
        self.probes += 1;
        self.took += trial.took;
        let p99 = trial.work.latency.quantile(0.99);
        Probe {
            p99: p99.map_or(f64::INFINITY, |p99| p99.as_secs_f64()),
            throughput: trial.achieved().get(),
        }
    }

    /// As many requests as are served: what a closed loop with enough
    /// connections has. Given twice what the service can do, so that it never
    /// runs out of requests.
    pub(crate) fn flat_out(&mut self, warm_up: Duration, window: Duration) -> Probe {
        self.offer(2.0 * self.saturation, warm_up, window)
    }
}
