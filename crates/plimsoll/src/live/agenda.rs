//! What a run is going to do, part by part, in words.

use super::done::Group;
use crate::progress::minutes;
use plimsoll_model::{Plan, SearchPlan};

/// A part of a run that is known to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) group: Group,
    /// What is done in it and how long, in a line.
    pub(crate) words: String,
}

/// The parts that a run of this plan has, in their order.
pub(crate) fn of(plan: &Plan) -> Vec<Step> {
    let offers = plan.copies.is_empty();
    let search = plan.search.as_ref().filter(|_| offers);
    let rated = plan.calibration.rated;
    let idle = (!plan.idle.is_zero()).then(|| {
        let time = minutes(plan.idle);
        (Group::Idle, format!("the machine without load, for {time}"))
    });
    let calibration = (offers && rated.is_none()).then(|| {
        let words = "ever more load until no more is carried: that is 100 %";
        (Group::Calibration, words.to_owned())
    });
    let threads = plan.smt.as_ref().map(|_| {
        let words = "full load on one and on both threads of each core";
        (Group::Threads, words.to_owned())
    });
    let search = search.map(|search| (Group::Search, narrowing(plan, search)));
    let levels = Some((Group::Levels, levels(plan)));
    let parts = [idle, calibration, levels, threads, search];
    let there = parts.into_iter().flatten();
    there.map(|(group, words)| Step { group, words }).collect()
}

fn levels(plan: &Plan) -> String {
    let times = match plan.passes {
        1 => "each once".to_owned(),
        passes => format!("each {passes} times"),
    };
    let what = match (plan.copies.as_slice(), plan.levels.as_slice()) {
        ([one], _) => format!("{one} copies at once"),
        ([first, .., last], _) => format!("{first} to {last} copies at once"),
        ([], []) => "no load".to_owned(),
        ([], [one]) => format!("a load of {one}"),
        ([], [first, .., last]) => format!("{} loads from {first} to {last}", plan.levels.len()),
    };
    let of = plan.calibration.rated.filter(|_| plan.copies.is_empty());
    let of = of.map_or_else(String::new, |rated| format!(" of {rated}"));
    format!("{what}{of}, {times}, in shuffled order")
}

fn narrowing(plan: &Plan, search: &SearchPlan) -> String {
    let most = minutes(search.budget);
    match plan.goals.as_slice() {
        [goal] => format!("the highest load that keeps {goal}, for {most} at most"),
        goals => {
            let goals = goals.len();
            format!("the highest load that keeps each of {goals} goals, for {most} at most")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{CalibrationPlan, Copies, LoadLevel, Rate, Share, Workload};
    use std::time::Duration;

    fn plan() -> Plan {
        let workload = Workload::Copies(Copies {
            command: vec!["true".to_owned()],
            timeout: Duration::from_secs(1),
        });
        let levels = [5.0, 50.0, 100.0];
        Plan {
            levels: levels.map(|pct| LoadLevel::percent(pct).unwrap()).to_vec(),
            passes: 2,
            idle: Duration::from_secs(2),
            goals: vec!["p99<10ms".parse().unwrap()],
            search: Some(SearchPlan {
                precision: Share::ONE,
                window: Duration::from_secs(1),
                budget: Duration::from_secs(25),
                confirm: Duration::ZERO,
            }),
            ..Plan::blank(workload)
        }
    }

    fn told(plan: &Plan) -> Vec<String> {
        let told = |step: &Step| format!("{}: {}", step.group.name(), step.words);
        of(plan).iter().map(told).collect()
    }

    #[test]
    fn a_sweep_is_told_part_by_part_before_it_begins() {
        let expected = [
            "idle: the machine without load, for 2 s",
            "rated rate: ever more load until no more is carried: that is 100 %",
            "levels: 3 loads from 5 % to 100 %, each 2 times, in shuffled order",
            "narrowing: the highest load that keeps p99<10ms, for 25 s at most",
        ];
        assert_eq!(told(&plan()), expected);
    }

    #[test]
    fn what_is_known_or_not_asked_for_is_not_announced() {
        let given = Plan {
            idle: Duration::ZERO,
            search: None,
            passes: 1,
            calibration: CalibrationPlan {
                rated: Rate::per_second(100.0),
                ..plan().calibration
            },
            ..plan()
        };
        let expected = ["levels: 3 loads from 5 % to 100 % of 100/s, each once, in shuffled order"];
        assert_eq!(told(&given), expected);
        let copies = Plan {
            copies: vec![1, 2, 4],
            ..plan()
        };
        let expected = [
            "idle: the machine without load, for 2 s",
            "levels: 1 to 4 copies at once, each 2 times, in shuffled order",
        ];
        assert_eq!(told(&copies), expected);
    }
}
