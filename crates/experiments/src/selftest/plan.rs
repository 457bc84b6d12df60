//! What is done with each service, and how long it takes.

use super::KnownService;
use super::load::asked_at;
use super::services::{Asks, TOLERANCE_PCT};
use crate::sweep::Effort;
use plimsoll_engine::RunError;
use plimsoll_load::known::Discipline;
use plimsoll_model::{
    Arrivals, Bounds, CalibrationPlan, CpuPlan, Goal, InterruptTime, LIGHT_PCT, LoadLevel, Phase,
    Plan, Rate, RunPlan, SearchPlan, Share, Trial, WarmUp, Workload,
};
use std::time::Duration;

/// The rate at which a service that stalls is asked.
const STALL_RATE: f64 = 500.0;
/// Where a calibration begins: far below what the service carries.
const FIRST_RATE: f64 = 500.0;
/// Trials of a calibration that begins there: three that are carried, one that
/// is not, and one of mild overload.
const CALIBRATION_TRIALS: u32 = 5;
/// What a trial takes beside warm-up and window.
const AROUND: Duration = Duration::from_millis(100);
/// Several times as long as these queues take to forget how they began.
const WARM_UP: Duration = ms(200);
/// A trial of a calibration counts a thousand answers in it.
const CALIBRATION_WINDOW: Duration = ms(400);
/// As tries go on until the time is used, this only ends a run in which
/// nothing else would.
const TRIES: u32 = 100;

/// A p90, for in the few seconds that there are for each service what breaks it
/// is seen ten times as often as what breaks a p99.
const LIMIT: &str = "p90<5ms";
/// The default promise of a sweep is of this kind. At three times the latency at
/// light load, because what the loopback adds counts three times in the limit
/// and once in the latency: it moves a knee at twice by about 1 %.
const KNEE: &str = "p90<3x";
const FEW_REFUSALS: &str = "errors<1%";

/// The numbers that differ between efforts.
struct Times {
    /// In the full test many short trials tell more than a few long ones, for it
    /// is from how far trials lie from their line that the width of an interval
    /// follows. In the quick one there are eight in all, and a line through so few
    /// needs more from each.
    window: Duration,
    /// One whole period of the stall and more; in the full test four.
    stall_window: Duration,
    search: Duration,
    confirm: Duration,
    /// For trials that do not count and are made again, per service.
    again: Duration,
    /// How often a trial of the calibration is made again.
    calibrated_again: u32,
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn times(effort: Effort) -> Times {
    match effort {
        Effort::Quick => Times {
            window: ms(550),
            stall_window: ms(5500),
            search: ms(5100),
            confirm: Duration::ZERO,
            again: ms(850),
            calibrated_again: 0,
        },
        Effort::Full => Times {
            window: ms(400),
            stall_window: ms(20_500),
            search: ms(42_000),
            confirm: ms(2000),
            again: ms(45_000),
            calibrated_again: 3,
        },
    }
}

/// The precision at which a search may stop before its time is used.
const PRECISION: f64 = 0.02;

/// The goals and the levels, in percent of saturation, of what is asked. Two
/// levels take the boundary between them, and the search does the rest; a knee
/// is told from the latency at light load, which needs a level of its own.
fn asked(asks: Asks) -> (&'static [&'static str], &'static [f64]) {
    match asks {
        Asks::Latency => (&[LIMIT], &[75.0, 103.0]),
        Asks::Knee => (&[KNEE], &[LIGHT_PCT, 75.0, 103.0]),
        Asks::Refusals => (&[FEW_REFUSALS], &[80.0, 110.0]),
        Asks::Stall => (&[], &[100.0]),
        Asks::Saturation => (&[], &[]),
    }
}

/// The plan for one service.
pub(super) fn plan(
    service: &KnownService,
    effort: Effort,
    cpus: &CpuPlan,
    seed: u64,
) -> Result<Plan, RunError> {
    let times = times(effort);
    let (goals, levels) = asked(service.asks);
    let goals: Result<Vec<Goal>, _> = goals.iter().map(|goal| goal.parse()).collect();
    let discipline = service.discipline(seed);
    let rated = match service.asks {
        Asks::Saturation => None,
        Asks::Stall => Rate::per_second(STALL_RATE),
        Asks::Latency | Asks::Knee | Asks::Refusals => discipline.saturation(),
    };
    let searches = !matches!(service.asks, Asks::Stall | Asks::Saturation);
    Ok(Plan {
        workload: Workload::Http(asked_at("http://127.0.0.1/".to_owned())),
        goals: goals.map_err(|e| RunError::Stuck(e.to_string()))?,
        arrivals: match service.asks {
            Asks::Latency | Asks::Knee | Asks::Saturation => Arrivals::Poisson,
            // What is refused, and who meets a stall, is then no chance.
            Asks::Refusals | Asks::Stall => Arrivals::Constant,
        },
        levels: levels
            .iter()
            .filter_map(|l| LoadLevel::percent(*l))
            .collect(),
        restart: None,
        smt: None,
        calibration: CalibrationPlan {
            first: Rate::per_second(FIRST_RATE).unwrap_or(Rate::ZERO),
            window: CALIBRATION_WINDOW,
            retries: times.calibrated_again,
            rated,
        },
        search: searches.then(|| SearchPlan {
            precision: share(PRECISION),
            window: times.window,
            budget: times.search,
            confirm: times.confirm,
        }),
        run: RunPlan {
            passes: 1,
            window: window(service.asks, &times),
            warm_up: WarmUp {
                min: WARM_UP,
                max: WARM_UP,
            },
            idle: Duration::ZERO,
            bounds: bounds(service.asks, &discipline),
            cpus: cpus.clone(),
            seed,
            budget: levels_take(service.asks, &times),
        },
    })
}

fn window(asks: Asks, times: &Times) -> Duration {
    match asks {
        Asks::Stall => times.stall_window,
        _ => times.window,
    }
}

/// The levels, each tried once.
fn levels_take(asks: Asks, times: &Times) -> Duration {
    (WARM_UP + window(asks, times) + AROUND) * asked(asks).1.len() as u32
}

/// The plan with the time that trials which do not count have used up, as far
/// as there is time for that: so a service keeps its trials whether the machine
/// was disturbed or not. Levels that have to be tried again may take half of
/// the search's time, for without any there is nothing to search; what they
/// leave is the search's.
pub(super) fn extended(plan: &Plan, trials: &[Trial], effort: Effort) -> Plan {
    let sum = |is: &dyn Fn(&Trial) -> bool| -> Duration {
        trials.iter().filter(|t| is(t)).map(|t| t.took).sum()
    };
    let wasted = sum(&|t| !t.verdict.is_valid());
    let levels = sum(&|t| matches!(t.spec.phase, Phase::Level { .. }));
    let more = wasted.min(times(effort).again);
    let mut extended = plan.clone();
    let searches = plan.search.map_or(AROUND, |search| search.budget / 2);
    extended.run.budget = plan.run.budget + searches + more;
    if let Some(search) = &mut extended.search {
        search.budget = (plan.run.budget + search.budget + more).saturating_sub(levels);
    }
    extended
}

/// About how long a service takes, if all trials count.
pub(super) fn takes(service: &KnownService, effort: Effort) -> Duration {
    let times = times(effort);
    let levels = levels_take(service.asks, &times);
    match service.asks {
        Asks::Stall => levels,
        Asks::Saturation => (WARM_UP + CALIBRATION_WINDOW + AROUND) * CALIBRATION_TRIALS,
        Asks::Latency | Asks::Knee | Asks::Refusals => levels + times.search,
    }
}

/// The longest that it may take.
#[cfg(test)]
pub(super) fn takes_at_most(service: &KnownService, effort: Effort) -> Duration {
    let times = times(effort);
    takes(service, effort)
        + match service.asks {
            Asks::Stall if times.again < times.stall_window => Duration::ZERO,
            Asks::Saturation => {
                (WARM_UP + CALIBRATION_WINDOW + AROUND)
                    * CALIBRATION_TRIALS
                    * times.calibrated_again
            }
            _ => times.again,
        }
}

/// How late the generator may be, in one request of a hundred.
const SLIP: Duration = Duration::from_micros(2500);
/// The part of the CPU time that the hypervisor may take.
const STEAL: f64 = 0.05;

/// What makes a trial invalid. Answers are waited for and not worked for, so
/// that other load hurts only by making somebody late.
///
/// Both bounds follow from the error that is asked for: at either of them, were
/// it reached in every trial, the capacities move by 2 to 5 % (pauses of 2.5 to 10
/// ms on virtual time; `tests/lateness.rs` prints the table, docs/accuracy.md has
/// it).
///
/// The length of a stall is its longest latency, and a slip is part of that: it
/// may be as large as the error that is asked for. A stall is to be seen whatever
/// others do.
fn bounds(asks: Asks, discipline: &Discipline) -> Bounds {
    let (slip, steal, others) = match (asks, discipline) {
        (Asks::Stall, Discipline::Stall { lasting, .. }) => {
            (lasting.mul_f64(TOLERANCE_PCT / 100.0), 1.0, 1.0)
        }
        _ => (SLIP, STEAL, 0.25),
    };
    Bounds {
        slip,
        slip_share: share(0.1),
        steal_share: share(steal),
        other_share: share(others),
        // Others make these services late, which has a bound of its own.
        interrupts: InterruptTime::Unknown,
        retries: TRIES,
    }
}

fn share(x: f64) -> Share {
    Share::new(x).unwrap_or(Share::ZERO)
}
