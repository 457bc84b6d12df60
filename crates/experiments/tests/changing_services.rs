//! Sweeps of services that change while they are measured: in how many of them the
//! answer is right, hedged, or confident and wrong.
//!
//! Virtual time. `SEEDS=100 cargo test -p plimsoll-experiments --test changing_services
//! -- --nocapture` prints the table of docs/accuracy.md; by default there are fewer seeds.

#![cfg(test)]

mod scenarios;
mod simulated;

use plimsoll_experiments::sweep::SweepPlanner;
use plimsoll_model::{CapacityFinding, Estimate, Findings, Phase, Plan, Trial};
use scenarios::{Scenario, in_parallel, scenarios};
use std::time::Duration;

/// What a finding says, against the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Right,
    /// Confident, and the truth is elsewhere.
    Wrong,
    /// A rate with a doubt beside it.
    Doubted,
    /// No rate.
    Undecided,
}

/// A sweep of `scenario` with these flags.
fn sweep(scenario: &Scenario, seed: u64, flags: &str) -> (Plan, Vec<Trial>) {
    let goal = format!("p99<{}us", scenario.limit.as_micros());
    let seed_of_plan = 300 + seed;
    let plan = simulated::plan(&format!("--goal {goal} --seed {seed_of_plan} {flags}"));
    let mut state = scenario.begin(900 + seed);
    let mut trials: Vec<Trial> = Vec::new();
    let run = |spec: &_| state.measure(spec, &plan);
    simulated::conducted(&SweepPlanner(&plan), &mut trials, run).unwrap();
    (plan, trials)
}

/// The findings of a sweep, and the mean length of its trials in seconds.
fn findings(scenario: &Scenario, seed: u64) -> (Findings, f64) {
    let (plan, trials) = sweep(scenario, seed, "--precision 2%");
    let took: Duration = trials.iter().map(|trial| trial.took).sum();
    let trial_s = took.as_secs_f64() / trials.len() as f64;
    (plimsoll_study::findings(&plan, &trials), trial_s)
}

/// The rate by its interval of the run, against the truth over time.
fn judge(scenario: &Scenario, findings: &Findings) -> Answer {
    let found: &CapacityFinding = &findings.capacity[0];
    let Some(rate) = found.rate_rps else {
        return Answer::Undecided;
    };
    let failed = found.confirmed == Some(false);
    if failed || found.note.is_some() || !findings.doubts.is_empty() {
        return Answer::Doubted;
    }
    match scenario.truth.is_some_and(|truth| holds(rate, truth)) {
        true => Answer::Right,
        false => Answer::Wrong,
    }
}

/// The same with all that the answer says: its interval for other times holds the truth, or
/// the capacity without an event that it says may be unseen, because it is so rare.
fn judge_all_that_it_says(scenario: &Scenario, findings: &Findings, trial_s: f64) -> Answer {
    let found: &CapacityFinding = &findings.capacity[0];
    let (Answer::Wrong, Some(rate)) = (judge(scenario, findings), found.other_times_rps) else {
        return judge(scenario, findings);
    };
    let seen_every_s = found.all_requests.map(|all| all.visible_every_s());
    let unseen = scenario
        .rare(trial_s)
        .filter(|(every_s, _)| seen_every_s.is_some_and(|seen_every_s| *every_s > seen_every_s));
    let truths = scenario
        .truth
        .into_iter()
        .chain(unseen.map(|(_, without)| without));
    match { truths }.any(|truth| holds(rate, truth)) {
        true => Answer::Right,
        false => Answer::Wrong,
    }
}

fn holds(rate: Estimate, truth: f64) -> bool {
    (rate.low.unwrap_or(0.0)..=rate.high.unwrap_or(f64::INFINITY)).contains(&truth)
}

#[test]
fn confident_answers_are_right() {
    // A part of a name, to run these alone.
    let only = std::env::var("ONLY").unwrap_or_default();
    let seeds = std::env::var("SEEDS").map_or(8, |seeds| seeds.parse().unwrap());
    println!(
        "{:44} truth  right wrong (in all it says) doubted undecided, of {seeds}",
        ""
    );
    let mut broken: Vec<String> = Vec::new();
    for scenario in scenarios().iter().filter(|s| s.name.contains(&only)) {
        let found = in_parallel(seeds, |seed| findings(scenario, seed));
        let answers: Vec<Answer> = found.iter().map(|(f, _)| judge(scenario, f)).collect();
        let wrong_in_all = found.iter().filter(|(found, trial_s)| {
            judge_all_that_it_says(scenario, found, *trial_s) == Answer::Wrong
        });
        let wrong_in_all = wrong_in_all.count() as u64;
        let count = |which| answers.iter().filter(|answer| **answer == which).count() as u64;
        let rates = found
            .iter()
            .filter_map(|(found, _)| found.capacity[0].rate_rps);
        let widths = rates.clone().filter_map(|rate| rate.relative_half_width());
        let truth = scenario.truth.map(|rate| format!("{rate:.0}/s"));
        println!(
            "{:44} {:>7} {:4} {:5} ({wrong_in_all:3}) {:7} {:9}  median {:5.0}/s, half width {:.1} %",
            scenario.name,
            truth.unwrap_or("never".to_owned()),
            count(Answer::Right),
            count(Answer::Wrong),
            count(Answer::Doubted),
            count(Answer::Undecided),
            median(rates.map(|rate| rate.value)),
            100.0 * median(widths),
        );
        let (right, wrong) = (count(Answer::Right), count(Answer::Wrong));
        let is_found = !scenario.is_plain() || 10 * right >= 8 * seeds;
        let expected = (scenario.most_wrong * seeds) as f64 / 100.0;
        // Three standard deviations of a Poisson count, because there are thirty services.
        let is_kept = is_found && wrong as f64 <= expected + 3.0 * expected.sqrt();
        if !is_kept {
            broken.push(format!(
                "{}: {wrong} of {seeds} wrong, {right} right",
                scenario.name
            ));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_confirmation_is_as_long_as_asked_and_a_minute_where_latency_rises_late() {
    let all = scenarios();
    let confirmed = |name: &str, flags: &str| {
        let scenario = all.iter().find(|s| s.name == name).unwrap();
        let (_, trials) = sweep(scenario, 1, flags);
        let confirms = trials
            .iter()
            .filter(|t| t.spec.phase == Phase::Confirmation);
        confirms.map(|t| t.window).max()
    };
    let seconds = |s| Some(Duration::from_secs(s));
    assert_eq!(confirmed("M/M/4", ""), seconds(12));
    assert_eq!(confirmed("M/M/4", "--quick"), None);
    assert_eq!(confirmed("M/M/4", "--confirm 90s"), seconds(90));
    // What carries all loads is no less to be confirmed.
    let far_below = "--rated 100 --confirm 90s";
    assert_eq!(confirmed("M/M/4", far_below), seconds(90));
    assert_eq!(confirmed("token bucket of 1 s", ""), seconds(60));
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
