//! The whole sweep against simulated machines whose capacity is known: how
//! far off it is, and how often its interval holds the truth.
//!
//! Virtual time: nothing sleeps, and the same seeds give the same figures on
//! every machine. `cargo test -p plimsoll-experiments --test known_answers --
//! --nocapture` prints them.

#![cfg(test)]

mod simulated;

use plimsoll_model::{Arrivals, CapacityFinding, CapacityStatus, Phase, Plan, Quantile, Trial};
use plimsoll_simulate::{Machine, Service, truth};
use std::time::Duration;

const SEEDS: u64 = 100;

fn ms(n: f64) -> Duration {
    Duration::from_secs_f64(n / 1e3)
}

fn plan(goal: &str, precision: f64, seed: u64) -> Plan {
    let precision = 100.0 * precision;
    simulated::plan(&format!(
        "--goal {goal} --precision {precision}% --seed {seed}"
    ))
}

/// What a sweep finds, and how long it would have taken.
fn sweep(machine: &Machine, plan: &Plan) -> (CapacityFinding, Duration, Vec<Trial>) {
    let trials = simulated::sweep(machine, plan, Vec::new()).unwrap();
    let findings = plimsoll_study::findings(plan, &trials);
    let took = trials.iter().map(|t| t.took).sum();
    (findings.capacity[0].clone(), took, trials)
}

/// Over many seeds: how far off, how often covered, how long.
#[derive(Debug, Default)]
struct Score {
    errors: Vec<f64>,
    covered: usize,
    confirmed: usize,
    longest: Duration,
    widths: Vec<f64>,
}

impl Score {
    fn within(&self, part: f64) -> usize {
        self.errors.iter().filter(|e| e.abs() <= part).count()
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.iter().map(|e| e.abs()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Of sweeps to 2 %.
fn score(name: &str, service: Service, limit: Duration) -> Score {
    let truth = truth(&service, Arrivals::Poisson, Quantile::P99, limit).unwrap();
    let goal = format!("p99<{}us", limit.as_micros());
    let mut score = Score::default();
    for seed in 0..SEEDS {
        let machine = Machine::new(service.clone(), 5000 + seed);
        let plan = plan(&goal, 0.02, 7000 + seed);
        let (found, took, _) = sweep(&machine, &plan);
        let Some(rate) = found.rate_rps else {
            panic!("{name}, seed {seed}: {found:?}");
        };
        score.errors.push(rate.value / truth.get() - 1.0);
        let (low, high) = (rate.low.unwrap_or(0.0), rate.high.unwrap_or(f64::INFINITY));
        score.covered += usize::from((low..=high).contains(&truth.get()));
        score.confirmed += usize::from(found.confirmed == Some(true));
        score.longest = score.longest.max(took);
        score.widths.extend(rate.relative_half_width());
    }
    let signed = score.errors.iter().sum::<f64>() / SEEDS as f64;
    println!(
        "{name:34} truth {:7.1}/s  median error {:.2} %  bias {:+.2} %  within 2 %: {}  covered {}  half width {:.2} %  confirmed {}  longest {:.0} s",
        truth.get(),
        100.0 * median(&score.errors),
        100.0 * signed,
        score.within(0.02),
        score.covered,
        100.0 * median(&score.widths),
        score.confirmed,
        score.longest.as_secs_f64(),
    );
    score
}

fn exponential(servers: u32) -> Service {
    Service::Exponential {
        mean: ms(1.0),
        servers,
    }
}

fn deterministic(servers: u32) -> Service {
    Service::Deterministic {
        service: ms(1.0),
        servers,
    }
}

#[test]
fn capacities_are_found_and_their_intervals_hold_the_truth() {
    for (name, service, limit) in [
        ("M/M/1, p99 < 20 ms", exponential(1), ms(20.0)),
        ("M/M/4, p99 < 10 ms", exponential(4), ms(10.0)),
        ("M/D/1, p99 < 10 ms", deterministic(1), ms(10.0)),
        ("M/D/4, p99 < 4 ms", deterministic(4), ms(4.0)),
    ] {
        let score = score(name, service, limit);
        assert!(score.covered >= 90, "{name}: {score:?}");
        assert!(median(&score.errors) <= 0.01, "{name}: {score:?}");
        // A thousand requests a second leave so much to chance in 10 minutes.
        assert!(score.within(0.02) >= 85, "{name}: {score:?}");
        assert!(score.longest < Duration::from_secs(600), "{name}");
    }
}

#[test]
fn every_valid_precision_is_reached_and_a_coarse_one_within_six_minutes() {
    for precision in [0.5, 0.3, 0.2, 0.05, 0.005] {
        let plan = plan("p99<10ms", precision, 7000);
        let (found, took, _) = sweep(&Machine::new(exponential(4), 5000), &plan);
        assert_eq!(found.status, CapacityStatus::Found, "{precision}");
        let coarse = precision >= 0.05;
        assert!(!coarse || took < Duration::from_secs(360), "{took:?}");
    }
}

#[test]
fn a_cliff_is_an_interval_as_narrow_as_was_asked_for() {
    let service = Service::Cliff {
        below: ms(2.0),
        at: plimsoll_model::Rate::per_second(1234.0).unwrap(),
    };
    let mut plan = plan("p99<10ms", 0.02, 7000);
    // Random arrivals of a few seconds differ by more than that from their rate.
    for (arrivals, status, width) in [
        (Arrivals::Constant, CapacityStatus::Cliff, 1.05),
        (Arrivals::Poisson, CapacityStatus::Found, 1.15),
    ] {
        plan.arrivals = arrivals;
        let (found, _, _) = sweep(&Machine::new(service.clone(), 5000), &plan);
        assert_eq!(found.status, status, "{found:?}");
        let (low, high) = found.rate_rps.unwrap().interval().unwrap();
        assert!(
            low <= 1234.0 && 1234.0 <= high && high / low < width,
            "{found:?}"
        );
    }
}

#[test]
fn a_goal_that_outlives_the_generator_is_not_reached() {
    let mut machine = Machine::new(exponential(4), 5000);
    machine.generator_limit = plimsoll_model::Rate::per_second(2000.0);
    let plan = plan("p99<10ms", 0.05, 7000);
    let (found, _, _) = sweep(&machine, &plan);
    assert_eq!(found.status, CapacityStatus::NotReached, "{found:?}");
}

#[test]
fn a_search_trial_is_judged_by_the_limit_that_the_findings_state() {
    let machine = Machine::new(exponential(4), 1);
    for goal in ["p99<2x", "p99<10ms"] {
        let (found, _, trials) = sweep(&machine, &plan(goal, 0.05, 1));
        let stated = found.limit_us.unwrap();
        let (deciding, others): (Vec<_>, Vec<_>) = trials
            .iter()
            .partition(|t| matches!(t.spec.phase, Phase::Search | Phase::Confirmation));
        assert!(deciding.len() > 5, "{goal}: {}", deciding.len());
        for trial in deciding {
            let held_to = trial.spec.limit.unwrap().as_secs_f64() * 1e6;
            assert!((held_to / stated - 1.0).abs() < 1e-6, "{goal}: {held_to}");
        }
        assert!(others.iter().all(|t| t.spec.limit.is_none()));
    }
}
