//! The plan that flags ask for, with all defaults of a sweep.

use super::SweepArgs;
use crate::args::Effort;
use crate::defaults::{first_rate, ms, warm_up};
use plimsoll_engine::pace::pace;
use plimsoll_model::{
    Arrivals, CalibrationPlan, CpuPlan, Goal, InterruptTime, LoadFormat, LoadLevel, Plan, Rate,
    RunPlan, SearchPlan, Share, SmtPlan, WarmUp, Workload,
};
use std::time::Duration;

/// 5 % and 10 % to 100 % of the rated rate, in steps of 10.
fn default_levels() -> Vec<LoadLevel> {
    std::iter::once(5.0)
        .chain((1..=10).map(|tens| f64::from(tens) * 10.0))
        .filter_map(LoadLevel::percent)
        .collect()
}

/// The numbers that depend on the effort: under 90 seconds in all, or under 6
/// minutes, or 10 for an interval narrower than 5 %.
struct Times {
    trials: u32,
    window: Duration,
    warm_up: WarmUp,
    calibration: Duration,
    idle: Duration,
    budget: Duration,
    search: Duration,
    confirm: Duration,
    smt: SmtPlan,
}

/// The precision that a full sweep reaches within 6 minutes.
const PRECISION: f64 = 0.05;
/// Additional time for a finer precision.
const FINER: Duration = Duration::from_secs(240);

fn times(effort: Effort) -> Times {
    match effort {
        Effort::Quick => Times {
            trials: 2,
            window: ms(1500),
            warm_up: warm_up(500, 800),
            calibration: ms(1000),
            idle: ms(2000),
            budget: ms(62_000),
            search: ms(18_000),
            confirm: ms(0),
            // Three of each kind are the minimum for an interval.
            smt: SmtPlan {
                trials: 3,
                warm_up: ms(300),
                window: ms(600),
                budget: ms(10_000),
            },
        },
        Effort::Full => Times {
            trials: 2,
            window: ms(5000),
            warm_up: warm_up(1000, 2000),
            calibration: ms(2000),
            idle: ms(5000),
            budget: ms(205_000),
            search: ms(135_000),
            confirm: ms(12_000),
            smt: SmtPlan {
                trials: 4,
                warm_up: ms(1000),
                window: ms(3000),
                budget: ms(40_000),
            },
        },
    }
}
/// The plan of a sweep of `workload` on `cpus`, where the kernel counts the time of
/// interrupts like this.
pub fn plan(
    args: &SweepArgs,
    workload: Workload,
    cpus: CpuPlan,
    interrupts: InterruptTime,
) -> Plan {
    let mut times = times(args.effort());
    let smt = smt_plan(&times, &workload, &cpus);
    // Their time is taken from the search.
    times.search -= smt.map_or(Duration::ZERO, |smt| smt.budget);
    let goals = match args.goals() {
        asked if !asked.is_empty() => asked,
        _ => vec![Goal::default()],
    };
    let mut levels = args.levels.clone().unwrap_or_else(default_levels);
    levels.sort_unstable();
    levels.dedup();
    // Two starts cannot show the variance between starts.
    let default_trials = match args.restart {
        Some(_) => 3,
        None => times.trials,
    };
    let arrivals = arrivals(args, &workload);
    Plan {
        calibration: CalibrationPlan {
            first: first_rate(&workload, &cpus),
            window: times.calibration,
            // Once: on a disturbed machine the calibration would take the whole
            // run.
            retries: 1,
            rated: args.rated,
        },
        workload,
        restart: args.restart.clone(),
        search: Some(search_plan(&times, args, goals.len() as u32)),
        smt,
        goals,
        arrivals,
        levels,
        service_warm_up: args.warm_up.warm_up,
        pace: None,
        first_answer_bytes: None,
        run: RunPlan {
            passes: args.trials.unwrap_or(default_trials),
            window: args.duration.unwrap_or(times.window),
            warm_up: times.warm_up,
            idle: times.idle,
            budget: times.budget,
            ..args.load.blank_run(cpus, interrupts)
        },
    }
}

/// Those of the flag, or of an external generator: pgbench alone sends like independent users.
fn arrivals(args: &SweepArgs, workload: &Workload) -> Arrivals {
    match workload {
        Workload::Command(load) if load.format != LoadFormat::Pgbench => Arrivals::Constant,
        Workload::Command(_) => Arrivals::Poisson,
        _ => args.load.arrivals.into(),
    }
}

/// The most connections that a calibration tries by default: those of 3,300/s at 3 s each.
const MAX_CONNECTIONS: u32 = 10_000;

/// What follows for the plan from a server that took so long for the first request, where
/// this process may open so many connections.
pub(super) fn adapt(plan: &mut Plan, args: &SweepArgs, first_answer: Duration, possible: u32) {
    plan.pace = Some(pace(first_answer));
    let Workload::Http(http) = &mut plan.workload else {
        return;
    };
    if args.load.server.connections.is_none() && args.rated.is_none() {
        let default = MAX_CONNECTIONS.min(possible).max(http.connections);
        http.max_connections = Some(args.max_connections.unwrap_or(default));
    }
    // Half of what the connections carry at that latency: a first trial that is not
    // carried says little about a slow service.
    let half = 0.5 * f64::from(http.connections) / first_answer.as_secs_f64().max(1e-9);
    let first = plan.calibration.first.get().min(half);
    plan.calibration.first = Rate::per_second(first).unwrap_or(plan.calibration.first);
}

/// Trials on one thread of each core and on both: for the hash service only,
/// because Plimsoll does not place the threads of other services, and copies show
/// it in their own table.
fn smt_plan(times: &Times, workload: &Workload, cpus: &CpuPlan) -> Option<SmtPlan> {
    let ours = matches!(workload, Workload::Hash(_));
    (ours && cpus.two_thread_cores().is_ok()).then_some(times.smt)
}

/// The search that fits the remaining time.
fn search_plan(times: &Times, args: &SweepArgs, goals: u32) -> SearchPlan {
    let coarse = Share::new(PRECISION).unwrap_or(Share::ONE);
    let precision = args.precision.unwrap_or(coarse);
    let finer = match precision < coarse && !times.confirm.is_zero() {
        true => FINER,
        false => Duration::ZERO,
    };
    let confirm = args.confirm.unwrap_or(times.confirm);
    SearchPlan {
        precision,
        window: args.duration.unwrap_or(times.window),
        budget: times.search + finer + confirm.saturating_sub(times.confirm) * goals,
        confirm,
    }
}
