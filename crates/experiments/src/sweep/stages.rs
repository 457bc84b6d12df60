//! The parts of a sweep, for the live view.

use crate::experiment::Stage;
use plimsoll_model::{Phase, Plan, SearchPlan, human_minutes};

/// The parts that a run of this plan has, in order.
pub(super) fn of(plan: &Plan) -> Vec<Stage> {
    let calibration = plan.calibration.rated.is_none().then(|| {
        let words = "load doubles until no more is carried: the rated rate";
        Stage::new(Phase::Calibration, words)
    });
    let threads = plan.smt.as_ref().map(|_| {
        let words = "full load on one and on both threads of each core";
        Stage::new(Phase::OneThreadPerCore, words)
    });
    let search = plan.search.as_ref();
    let search = search.map(|search| Stage::new(Phase::Search, capacity(plan, search)));
    let levels = Some(Stage::visits(levels(plan)));
    let idle = Stage::idle(&plan.run);
    let parts = [
        idle,
        Stage::warm_up(plan),
        calibration,
        levels,
        threads,
        search,
    ];
    parts.into_iter().flatten().collect()
}

fn levels(plan: &Plan) -> String {
    let what = match plan.levels.as_slice() {
        [] => "no load".to_owned(),
        [one] => format!("a load of {one}"),
        [first, .., last] => format!("{} loads from {first} to {last}", plan.levels.len()),
    };
    let of = plan.calibration.rated;
    let of = of.map_or_else(String::new, |rated| format!(" of {rated}"));
    format!("{what}{of}, {}, in shuffled order", times(plan.run.passes))
}

fn times(passes: u32) -> String {
    match passes {
        1 => "each once".to_owned(),
        passes => format!("each {passes} times"),
    }
}

fn capacity(plan: &Plan, search: &SearchPlan) -> String {
    let most = human_minutes(search.budget);
    match plan.goals.as_slice() {
        [goal] => format!("the capacity under {goal}, for at most {most}"),
        goals => format!(
            "the capacity under each of {} goals, for at most {most}",
            goals.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::hash;
    use plimsoll_model::{CalibrationPlan, LoadLevel, Rate, RunPlan, Share};
    use std::time::Duration;

    fn plan() -> Plan {
        let levels = [5.0, 50.0, 100.0];
        Plan {
            levels: levels.map(|pct| LoadLevel::percent(pct).unwrap()).to_vec(),
            goals: vec!["p99<10ms".parse().unwrap()],
            search: Some(SearchPlan {
                precision: Share::ONE,
                window: Duration::from_secs(1),
                budget: Duration::from_secs(25),
                confirm: Duration::ZERO,
            }),
            run: RunPlan {
                passes: 2,
                idle: Duration::from_secs(2),
                ..RunPlan::blank()
            },
            ..Plan::blank(hash())
        }
    }

    fn words(plan: &Plan) -> Vec<String> {
        of(plan).into_iter().map(|stage| stage.words).collect()
    }

    #[test]
    fn a_sweep_is_announced_part_by_part() {
        let expected = [
            "the machine without load, for 2 s",
            "load doubles until no more is carried: the rated rate",
            "3 loads from 5 % to 100 %, each 2 times, in shuffled order",
            "the capacity under p99<10ms, for at most 25 s",
        ];
        assert_eq!(words(&plan()), expected);
    }

    #[test]
    fn parts_that_are_not_planned_are_not_announced() {
        let mut given = Plan {
            search: None,
            calibration: CalibrationPlan {
                rated: Rate::per_second(100.0),
                ..plan().calibration
            },
            ..plan()
        };
        given.run.idle = Duration::ZERO;
        given.run.passes = 1;
        let expected = ["3 loads from 5 % to 100 % of 100/s, each once, in shuffled order"];
        assert_eq!(words(&given), expected);
    }
}
