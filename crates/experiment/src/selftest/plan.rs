//! What is done with each service, and how long it takes.

use super::KnownService;
use super::load::asked_at;
use super::services::Asks;
use crate::conduct::RunError;
use crate::sweep::Effort;
use plimsoll_model::{
    Arrivals, Bounds, CalibrationPlan, CpuPlan, Goal, LoadLevel, Plan, Rate, SearchPlan, Share,
    WarmUp, Workload,
};
use std::time::Duration;

/// The rate at which a service that stalls is asked.
const STALL_RATE: f64 = 500.0;
/// What a trial takes beside warm-up and window.
const AROUND: Duration = Duration::from_millis(100);

/// The numbers that differ between efforts.
struct Times {
    warm_up: Duration,
    window: Duration,
    /// One whole period of the stall and more; in the full test four.
    stall_window: Duration,
    search: Duration,
    precision: f64,
    goal: &'static str,
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// There are few seconds for each service, in which what breaks a p90 is seen
/// ten times as often as what breaks a p99. The warm-ups are several times as
/// long as these queues take to forget how they began.
fn times(effort: Effort) -> Times {
    match effort {
        Effort::Quick => Times {
            warm_up: ms(250),
            window: ms(650),
            stall_window: ms(5500),
            search: ms(6000),
            precision: 0.02,
            goal: "p90<5ms",
        },
        Effort::Full => Times {
            warm_up: ms(600),
            window: ms(2000),
            stall_window: ms(20_500),
            search: ms(42_000),
            precision: 0.01,
            goal: "p95<10ms",
        },
    }
}

/// The plan for one service. Two levels take the boundary between them, and
/// the search does the rest.
pub(super) fn plan(
    service: &KnownService,
    effort: Effort,
    cpus: &CpuPlan,
    seed: u64,
) -> Result<Plan, RunError> {
    let times = times(effort);
    let stalls = service.asks == Asks::Stall;
    let (goals, levels): (&[&str], &[f64]) = match service.asks {
        Asks::Latency => (&[times.goal], &[75.0, 103.0]),
        Asks::Refusals => (&["errors<1%"], &[80.0, 110.0]),
        Asks::Stall => (&[], &[100.0]),
    };
    let goals: Result<Vec<Goal>, _> = goals.iter().map(|goal| goal.parse()).collect();
    let window = if stalls {
        times.stall_window
    } else {
        times.window
    };
    let rated = service.discipline(seed).saturation();
    let one_trial = times.warm_up + window + AROUND;
    Ok(Plan {
        workload: Workload::Http(asked_at("http://127.0.0.1/".to_owned())),
        goals: goals.map_err(|e| RunError::Stuck(e.to_string()))?,
        arrivals: match service.asks {
            Asks::Latency => Arrivals::Poisson,
            // What is refused, and who meets a stall, is then no chance.
            Asks::Refusals | Asks::Stall => Arrivals::Constant,
        },
        levels: levels
            .iter()
            .filter_map(|l| LoadLevel::percent(*l))
            .collect(),
        copies: Vec::new(),
        passes: 1,
        restart: None,
        window,
        warm_up: WarmUp {
            min: times.warm_up,
            max: times.warm_up,
        },
        calibration: CalibrationPlan {
            first: Rate::ZERO,
            window,
            retries: 0,
            rated: rated.or(Rate::per_second(STALL_RATE)),
        },
        search: (!stalls).then(|| SearchPlan {
            precision: share(times.precision),
            window,
            budget: times.search,
            confirm: Duration::ZERO,
        }),
        idle: Duration::ZERO,
        bounds: bounds(service),
        cpus: cpus.clone(),
        seed,
        // Room for one more try of one level.
        budget: one_trial * (levels.len() as u32 + 1),
    })
}

/// About how long a service takes.
pub(super) fn takes(service: &KnownService, effort: Effort) -> Duration {
    let times = times(effort);
    match service.asks {
        Asks::Stall => times.warm_up + times.stall_window + AROUND,
        Asks::Latency | Asks::Refusals => {
            2 * (times.warm_up + times.window + AROUND) + times.search
        }
    }
}

/// How late the generator may be, in one request of a hundred.
const SLIP: Duration = Duration::from_micros(2500);

/// What makes a trial invalid: gross disturbances only. Answers are waited for
/// and not worked for, one late request in a hundred hardly moves a p90 or a
/// p95, and what is wrong all the same shows in the error. A stall is to be seen
/// whatever others do.
fn bounds(service: &KnownService) -> Bounds {
    let others = match service.asks {
        Asks::Stall => 1.0,
        Asks::Latency | Asks::Refusals => 0.25,
    };
    Bounds {
        slip: SLIP,
        slip_share: share(0.1),
        steal_share: share(0.15),
        other_share: share(others),
        retries: 1,
    }
}

fn share(x: f64) -> Share {
    Share::new(x).unwrap_or(Share::ZERO)
}
