use super::*;
use crate::testing::{plan, trial_at};
use plimsoll_model::{ImportedTable, SearchPlan, Second, Share, TableRows, Verdict};
use std::time::Duration;

/// Two trials at each of eleven loads, with these latencies in the first and second pass.
fn passes(latency: impl Fn(usize, f64) -> f64) -> Vec<Trial> {
    let of = |pass: usize| {
        let latency = &latency;
        (1..=11u32).map(move |load| {
            let load_pct = 9.0 * f64::from(load);
            let mut trial = trial_at(
                load_pct,
                u64::from(load) * 100,
                0.5,
                latency(pass, load_pct),
            );
            trial.took = Duration::from_secs(10);
            trial
        })
    };
    of(0).chain(of(1)).collect()
}

#[test]
fn latency_that_rises_from_pass_to_pass_is_a_trend() {
    let change = |trials: &[Trial]| trend(&means_by_level(trials));
    let rises = passes(|pass, load| 1000.0 * (1.0 + 0.1 * pass as f64) + load);
    // 10 % between passes that are 110 s apart, over 210 s.
    let found = change(&rises).unwrap();
    assert!((found - 19.0).abs() < 3.0, "{found}");
    let mixed = passes(|pass, load| {
        let is_up = (load / 9.0) as usize % 2 == pass;
        1000.0 + if is_up { 50.0 } else { 0.0 }
    });
    assert_eq!(change(&mixed), None);
    assert_eq!(change(&passes(|_, _| 1000.0)), None, "no change is no rise");
    // Beyond saturation, too; and eight loads are enough where all agree.
    let mut eight: Vec<Trial> = rises[3..11].iter().chain(&rises[14..]).cloned().collect();
    for trial in &mut eight {
        trial.work.completed /= 2;
    }
    assert!(change(&eight).is_some());
    let seven: Vec<Trial> = rises[4..11].iter().chain(&rises[15..]).cloned().collect();
    assert_eq!(change(&seven), None);
    let invalid: Vec<Trial> = rises
        .iter()
        .map(|trial| Trial {
            verdict: Verdict::Invalid(Vec::new()),
            ..trial.clone()
        })
        .collect();
    assert_eq!(change(&invalid), None);
}

#[test]
fn a_change_is_doubted_where_it_matters_and_trials_have_an_order() {
    let rises = |by: f64| passes(move |pass, load| 1000.0 * (1.0 + by * pass as f64) + load);
    let doubts = |by: f64, change: fn(&mut Plan)| {
        let mut plan = plan();
        plan.goals = vec!["p99<10ms".parse().unwrap()];
        plan.search = Some(SearchPlan {
            precision: Share::new(0.05).unwrap(),
            window: Duration::from_secs(3),
            budget: Duration::from_secs(60),
            confirm: Duration::ZERO,
        });
        change(&mut plan);
        crate::findings(&plan, &rises(by)).doubts
    };
    let is_trend = |doubts: &[Doubt]| doubts.iter().any(|d| matches!(d, Doubt::Trend { .. }));
    assert!(is_trend(&doubts(0.1, |_| ())));
    assert!(!is_trend(&doubts(0.01, |_| ())), "less than the precision");
    let of_table: fn(&mut Plan) = |plan| {
        plan.workload = Workload::Imported(ImportedTable {
            name: "table".to_owned(),
            rows: TableRows::Rates,
            cpus: None,
            threads_per_core: None,
            note: None,
            latencies: Vec::new(),
        });
    };
    assert!(
        !is_trend(&doubts(0.1, of_table)),
        "rows are in no order of time"
    );
}

#[test]
fn one_slow_trial_below_calm_ones_is_a_slower_state() {
    let slow_at = |loads: &[f64]| {
        let trials = passes(|pass, load| {
            let is_slow = pass == 1 && loads.contains(&load);
            (1000.0 + load + pass as f64) * if is_slow { 1.3 } else { 1.0 }
        });
        slow_trials(&means_by_level(&trials), 1000.0)
    };
    match slow_at(&[36.0]) {
        Some(Doubt::SlowTrials { rate_rps, ratio }) => {
            assert_eq!(rate_rps, 400.0);
            assert!((ratio - 1.3).abs() < 0.01, "{ratio}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(slow_at(&[]), None);
    assert_eq!(
        slow_at(&[99.0]),
        None,
        "a queue near saturation differs by itself"
    );
}

#[test]
fn trials_that_miss_a_limit_only_at_their_end_are_too_short() {
    let bound = Bound::of(&"p99<10ms".parse().unwrap(), 0.010);
    let trials = |p99_ms: [u64; 3], times: usize| {
        let second = |ms: u64| Second {
            measured: true,
            p99: Some(Duration::from_millis(ms)),
            ..Second::default()
        };
        let mut trial = trial_at(50.0, 100, 0.5, 1000.0);
        trial.work.latency.record_many(Duration::from_secs(1), 100);
        trial.seconds = p99_ms.map(second).to_vec();
        vec![trial; times]
    };
    let late = |trials: &[Trial]| rises_late(&bound, &plan(), trials, BY_CHANCE);
    assert!(late(&trials([5, 8, 20], 8)));
    assert!(!late(&trials([5, 8, 20], 5)), "by chance in 3 %");
    assert!(!late(&trials([20, 20, 20], 8)));
    assert!(!late(&trials([20, 8, 5], 8)));
    let both = [trials([5, 8, 20], 8), trials([20, 8, 5], 6)].concat();
    assert!(!late(&both), "as in a steady queue");
}

#[test]
fn trials_of_one_load_with_very_different_throughputs_are_doubted() {
    let trial = |load_pct, completed| {
        let mut trial = trial_at(load_pct, 100, 0.5, 1000.0);
        trial.work.completed = completed;
        trial
    };
    let found = |completed: [u64; 2], load_pct, carried_pct: f64| {
        let trials = completed.map(|n| trial(load_pct, n));
        let rate = trials[0].spec.setting.rate().unwrap().get();
        let window = trials[0].window.as_secs_f64();
        let carried = rate * carried_pct / load_pct;
        let unlike = unlike_trials(&trials, carried);
        unlike.map(|doubt| match doubt {
            Doubt::UnlikeTrials { rate_rps, rps } => {
                assert_eq!(rate_rps, rate);
                rps.map(|rps| rps * window)
            }
            other => panic!("{other:?}"),
        })
    };
    let [least, most] = found([20_000, 40_000], 100.0, 100.0).unwrap();
    // Less five standard deviations each.
    assert!((20_700.0..20_710.0).contains(&least), "{least}");
    assert!((38_990.0..39_010.0).contains(&most), "{most}");
    assert_eq!(found([20_000, 22_000], 100.0, 100.0), None);
    assert_eq!(found([20, 30], 100.0, 100.0), None, "by chance");
    assert_eq!(found([20_000, 40_000], 100.0, 70.0), None, "far above it");
}
