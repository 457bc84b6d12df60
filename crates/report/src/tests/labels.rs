//! Names in drawings: none stands on another, and none that a reader needs is
//! left out, however many goals there are and wherever they lie.

use super::pages::{chart, count, page_of};
use super::sample::picture::{STOLEN, picture};
use super::sample::{Experiment, Sample, copies, found, imported, sweep};
use crate::html::overlapping;
use plimsoll_model::{CapacityFinding, Estimate, Invalid, Picture, TrialPicture};
use proptest::prelude::*;
use std::time::Duration;

fn page<P: Experiment>(sample: &Sample<P>, picture: &P::Picture) -> String {
    page_of(sample, picture, &["plimsoll"])
}

/// A sweep with these goals: what each asks for, and up to which rate it is
/// kept.
fn with_goals(goals: &[(String, f64)]) -> Sample {
    let mut sample = sweep();
    let finding = |(goal, rate): &(String, f64)| CapacityFinding {
        rate_rps: Some(Estimate::within(*rate, rate * 0.9, rate * 1.1)),
        cpu_pct: Some(Estimate::alone(rate / 110.0)),
        ..found(goal, *rate, None)
    };
    sample.findings.capacity = goals.iter().map(finding).collect();
    sample
}

/// A time line of trials as long as these, of which every second does not
/// count.
fn time_line(picture: &mut Picture, seconds: &[u64]) {
    let one = picture.trials[0].clone();
    let mut began = Duration::ZERO;
    let mut trial = |(i, seconds): (usize, &u64)| {
        let took = Duration::from_secs(*seconds);
        let reason = match i % 4 {
            0 => vec![STOLEN],
            2 => vec![Invalid::Slip {
                p99: took,
                bound: Duration::ZERO,
            }],
            _ => Vec::new(),
        };
        let trial = TrialPicture {
            began,
            took,
            invalid: reason,
            ..one.clone()
        };
        began += took;
        trial
    };
    picture.trials = seconds.iter().enumerate().map(&mut trial).collect();
}

#[test]
fn no_name_stands_on_another_in_the_samples() {
    fn check<P: Experiment>(sample: &Sample<P>) {
        let page = page(sample, &P::picture(sample));
        assert_eq!(overlapping(&page), Vec::<String>::new());
    }
    check(&sweep());
    check(&imported());
    check(&copies());
}

#[test]
fn names_that_stand_on_each_other_are_seen() {
    let svg = |y| {
        format!(
            "<svg class=\"wide\" data-chart=\"a\" viewBox=\"0 0 90 90\">\
             <text class=\"tick\" x=\"1\" y=\"40\">99 %</text>\
             <text class=\"tick\" x=\"20\" y=\"{y}\">90 %</text></svg>"
        )
    };
    assert_eq!(overlapping(&svg(40)), ["a wide: 90 % on 99 %"]);
    assert_eq!(overlapping(&svg(60)), Vec::<String>::new());
}

#[test]
fn goals_that_nearly_meet_are_named_apart() {
    let goals = [
        ("p50<317us", 300.0),
        ("p99<52505us", 300.0),
        ("p99.9<67903us", 300.0),
    ];
    let goals = goals.map(|(goal, rate)| (goal.to_owned(), rate));
    let sample = with_goals(&goals);
    let page = page(&sample, &picture(&sample));
    assert_eq!(overlapping(&page), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_goal_is_named_once_and_on_nothing(
        limits in prop::array::uniform3(100u32..100_000),
        rates in prop::array::uniform5(300.0..10_000.0f64),
        seconds in prop::collection::vec(1..30u64, 1..60),
    ) {
        let [p50, p99, p999] = limits.map(|us| format!("{us}us"));
        let goals = [
            format!("p50<{p50}"),
            format!("p99<{p99}"),
            format!("p99.9<{p999}"),
            "errors<0.1%".to_owned(),
            "cpu<60%".to_owned(),
        ];
        let goals: Vec<(String, f64)> = goals.into_iter().zip(rates).collect();
        let sample = with_goals(&goals);
        let mut picture = picture(&sample);
        time_line(&mut picture, &seconds);
        let page = page(&sample, &picture);
        prop_assert_eq!(overlapping(&page), Vec::<String>::new());
        for size in ["wide", "narrow"] {
            for id in ["latency", "cpu"] {
                let chart = chart(&page, id, size);
                prop_assert_eq!(count(chart, "class=\"load-name"), 5, "{} {}", id, size);
            }
            for id in ["latency", "spectrum"] {
                let chart = chart(&page, id, size);
                prop_assert_eq!(count(chart, "class=\"goal-name"), 3, "{} {}", id, size);
            }
            let latency = chart(&page, "latency", size);
            prop_assert_eq!(count(latency, "class=\"mark-name"), 3, "{}", size);
        }
    }
}
