//! The plan for each service, and its duration.

use super::KnownService;
use super::load::asked_at;
use super::services::{Asks, TOLERANCE_PCT};
use crate::defaults::ms;
use crate::sweep::Effort;
use plimsoll_engine::RunError;
use plimsoll_load::known::Discipline;
use plimsoll_model::{
    Arrivals, Bounds, CalibrationPlan, CpuPlan, Goal, InterruptTime, LIGHT_PCT, LoadLevel, Plan,
    Rate, RunPlan, SearchPlan, Share, Trial, WarmUp, Workload,
};
use std::time::Duration;

/// The rate for a service with stalls.
const STALL_RATE: f64 = 500.0;
/// The first rate of a calibration: far below the capacity.
const FIRST_RATE: f64 = 500.0;
/// Trials of such a calibration: three that meet their rate, one that does not, and
/// one of mild overload.
const CALIBRATION_TRIALS: u32 = 5;
/// Time of a trial besides warm-up and window.
const AROUND: Duration = Duration::from_millis(100);
/// Several times the relaxation time of these queues.
const WARM_UP: Duration = ms(200);
/// Answers in a trial of a calibration: a thousand.
const CALIBRATION_WINDOW: Duration = ms(400);
/// Tries continue until the time is used; this only ends a run that nothing else
/// ends.
const TRIES: u32 = 100;

/// A p90, because within the few seconds per service ten times as many requests
/// exceed it as exceed a p99.
const LIMIT: &str = "p90<5ms";
/// The default goal of a sweep is of this kind. At three times the light-load
/// latency, because the loopback's own latency counts three times in the limit and
/// once in the measurement: a knee at twice moves by about 1 %.
const KNEE: &str = "p90<3x";
const FEW_REFUSALS: &str = "errors<1%";

/// The numbers that depend on the effort.
pub(super) struct Times {
    /// The full test uses many short trials instead of few long ones, because the width
    /// of an interval follows from the scatter of trials around their line. The quick
    /// test has eight in all, and needs more requests from each.
    window: Duration,
    /// A bit more than one period of the stall; four in the full test.
    pub(super) stall_window: Duration,
    search: Duration,
    confirm: Duration,
    /// Time per service to repeat invalid trials.
    pub(super) again: Duration,
    /// Maximum repeats of a calibration trial.
    pub(super) calibrated_again: u32,
}

pub(super) fn times(effort: Effort) -> Times {
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

/// The precision at which a search may stop early.
const PRECISION: f64 = 0.02;

/// Goals and levels (percent of saturation) for each question. Two levels bracket
/// the boundary for the search; a knee needs a level of its own for the light-load
/// latency.
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
    let discipline = (service.discipline)(seed);
    let rated = match service.asks {
        Asks::Saturation => None,
        Asks::Stall => Rate::per_second(STALL_RATE),
        Asks::Latency | Asks::Knee | Asks::Refusals => discipline.saturation(),
    };
    let searches = !matches!(service.asks, Asks::Stall | Asks::Saturation);
    let workload = Workload::Http(asked_at("http://127.0.0.1/".to_owned()));
    Ok(Plan {
        goals: goals.map_err(|e| RunError::Stuck(e.to_string()))?,
        arrivals: match service.asks {
            Asks::Latency | Asks::Knee | Asks::Saturation => Arrivals::Poisson,
            // Removes randomness from refusals and stalls.
            Asks::Refusals | Asks::Stall => Arrivals::Constant,
        },
        levels: levels
            .iter()
            .filter_map(|l| LoadLevel::percent(*l))
            .collect(),
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
            warm_up: WarmUp::fixed(WARM_UP),
            bounds: bounds(service.asks, &discipline),
            cpus: cpus.clone(),
            seed,
            budget: levels_take(service.asks, &times),
            ..RunPlan::blank()
        },
        ..Plan::blank(workload)
    })
}

fn window(asks: Asks, times: &Times) -> Duration {
    match asks {
        Asks::Stall => times.stall_window,
        _ => times.window,
    }
}

fn levels_take(asks: Asks, times: &Times) -> Duration {
    (WARM_UP + window(asks, times) + AROUND) * asked(asks).1.len() as u32
}

/// The plan with extra time for the invalid trials, as far as time is left, so that
/// a service gets its trials on a disturbed machine, too. Repeats of levels may
/// take half of the search's time, because a search needs levels; the rest goes to
/// the search.
pub(super) fn extended(plan: &Plan, trials: &[Trial], effort: Effort) -> Plan {
    let sum = |is: &dyn Fn(&Trial) -> bool| -> Duration {
        trials.iter().filter(|t| is(t)).map(|t| t.took).sum()
    };
    let wasted = sum(&|t| !t.verdict.is_valid());
    let levels = sum(&|t| t.spec.phase.is_level());
    let more = wasted.min(times(effort).again);
    let mut extended = plan.clone();
    let searches = plan.search.map_or(AROUND, |search| search.budget / 2);
    extended.run.budget = plan.run.budget + searches + more;
    if let Some(search) = &mut extended.search {
        search.budget = (plan.run.budget + search.budget + more).saturating_sub(levels);
    }
    extended
}

/// The estimated duration for a service if all trials are valid.
pub(super) fn takes(service: &KnownService, effort: Effort) -> Duration {
    let times = times(effort);
    let levels = levels_take(service.asks, &times);
    match service.asks {
        Asks::Stall => levels,
        Asks::Saturation => (WARM_UP + CALIBRATION_WINDOW + AROUND) * CALIBRATION_TRIALS,
        Asks::Latency | Asks::Knee | Asks::Refusals => levels + times.search,
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
