//! What is said of cases that the snapshots do not show, as a file has it.

use super::sample::curve::curve;
use super::sample::step::stepped;
use super::sample::{Sample, all_beyond, one_pass, recommended, sample, undecided};
use crate::tests::sentences::Cases;
use plimsoll_model::{
    Arm, ArmFinding, BudgetVerdict, Estimate, JobHeld, KeptUp, Knee, KneeStatus, Share,
    ShortTrials, TriedArm,
};
use std::time::Duration;

/// Takes the interval of p99 from an arm.
fn without_interval(arm: &mut ArmFinding) {
    if let Some(change) = &mut arm.latency_change_pct {
        change.p99 = change.p99.map(|p99| Estimate::alone(p99.value));
    }
}

fn at_one_load(cases: &mut Cases) {
    for (total, is_bound) in [
        (Estimate::within(1.01, 0.99, 1.02), false),
        (Estimate::within(1.01, 1.004, 1.02), false),
        (Estimate::within(1.05, 1.004, 1.06), true),
        (Estimate::within(1.2, 1.15, 1.25), true),
        (Estimate::alone(1.05), false),
        (Estimate::alone(1.59), false),
    ] {
        let (value, ends) = (total.value, total.interval());
        let name = format!("a total of {value} in {ends:?}, capacity a lower bound: {is_bound}");
        cases.add(&name, sample(), |sample| {
            let found = &mut sample.findings;
            found.rated.as_mut().unwrap().limited_by_service = !is_bound;
            let beside = found.arms.iter_mut().filter(|arm| arm.arm.is_beside());
            beside.for_each(|arm| arm.total_work_share = Some(total));
        });
    }
    let few = |sample: &mut Sample| sample.findings.noise_floor_pct = None;
    cases.add("few passes, all with intervals", sample(), few);
    cases.add("few passes, change and price without", sample(), |sample| {
        few(sample);
        for arm in &mut sample.findings.arms {
            without_interval(arm);
            let price = arm.price_us_per_pct;
            arm.price_us_per_pct = price.map(|price| Estimate::alone(price.value));
        }
    });
    cases.add("nice alone has no interval", sample(), |sample| {
        let arms = sample.findings.arms.iter_mut();
        arms.filter(|arm| arm.arm == Arm::Nice)
            .for_each(without_interval);
    });
    cases.add("an arm that leaves headroom", sample(), |sample| {
        sample.findings.recommended.arm = Some(Arm::Quota10ms);
        sample.findings.recommended.headroom_pct = Some(20.0);
    });
    cases.add(
        "our law, in trials that are too short for it",
        sample(),
        |sample| {
            let law = sample.findings.arms.last_mut().unwrap();
            law.arm = Arm::Plimsoll;
            law.held = JobHeld {
                frozen: Some(Share::ZERO),
                ..JobHeld::default()
            };
            sample.findings.recommended.arm = Some(Arm::Plimsoll);
            sample.findings.recommended.headroom_pct = Some(20.0);
            sample.plan.load.run.window = Duration::from_millis(900);
        },
    );
}

fn curves(cases: &mut Cases) {
    let mut knee = |name: &str, status, headroom_pct, rise_pct| {
        cases.add(name, curve(), |sample| {
            sample.findings.curve[0].knee = Knee {
                status,
                headroom_pct,
                rise_pct,
            };
        });
    };
    let within = Estimate::within;
    let perhaps = Some(within(20.0, 2.0, 48.0));
    knee(
        "no knee",
        KneeStatus::None,
        None,
        Some(within(1.2, 0.0, 3.0)),
    );
    knee("perhaps a knee", KneeStatus::Inconclusive, perhaps, None);
    knee(
        "too little for a knee",
        KneeStatus::Inconclusive,
        None,
        None,
    );
    cases.add("no headroom is enough", curve(), |sample| {
        sample.findings.recommended = recommended(Arm::Quota10ms, BudgetVerdict::Beyond, 9.5);
        sample.findings.recommended.headroom_pct = Some(50.0);
        sample.findings.curve[0].recommended_headroom_pct = None;
    });
}

fn steps(cases: &mut Cases) {
    for (name, left) in [
        ("nobody is back at once", &[0, 1, 2, 4][..]),
        ("one is inconclusive", &[0, 1, 4]),
        ("none is back", &[0, 1]),
    ] {
        cases.add(&format!("after a step {name}"), stepped(), |sample| {
            let all = sample.findings.step.clone();
            sample.findings.step = left.iter().map(|i| all[*i].clone()).collect();
        });
    }
    for how in [KeptUp::KeptUp, KeptUp::FellBehind, KeptUp::KeptGrowing] {
        cases.add(
            &format!("the service alone, {how:?}"),
            stepped(),
            |sample| {
                sample.findings.step_alone = Some(how);
            },
        );
    }
    cases.add("a law and a step, in short trials", stepped(), |sample| {
        sample.plan.load.run.window = Duration::from_secs(2);
    });
}

fn recommendations(cases: &mut Cases) {
    cases.add(
        "another gains as much within the budget",
        sample(),
        |sample| {
            sample.findings.recommended.alike = vec![TriedArm {
                arm: Arm::Weight,
                headroom_pct: None,
            }];
        },
    );
    cases.add(
        "equal measurements differ by more than the budget",
        undecided(),
        |sample| {
            sample.findings.recommended.worst_case_pct = Some(3.1);
        },
    );
    cases.add(
        "trials do not show the budget's quantile",
        one_pass(),
        |sample| {
            let short = |quantile: &str, needed| ShortTrials {
                quantile: quantile.parse().unwrap(),
                requests: 200,
                needed,
            };
            let found = &mut sample.findings;
            found.short_trials = vec![short("p99", 299), short("p99.9", 2_995)];
            found.recommended.arm = None;
            for change in found
                .arms
                .iter_mut()
                .filter_map(|arm| arm.latency_change_pct.as_mut())
            {
                change.p99 = None;
            }
        },
    );
    cases.add(
        "all are beyond but one that was not measured",
        all_beyond(),
        |sample| {
            sample.findings.recommended.undecided = vec![Arm::Weight];
        },
    );
}

#[test]
fn sentences_are_as_in_the_file() {
    let mut cases = Cases::default();
    at_one_load(&mut cases);
    recommendations(&mut cases);
    curves(&mut cases);
    steps(&mut cases);
    cases.are_as_in("yields/tests/sentences");
}

#[test]
fn an_overload_of_the_service_alone_is_said_before_the_arm_to_take() {
    let mut sample = stepped();
    sample.findings.step_alone = Some(KeptUp::FellBehind);
    let text = sample.flat();
    let at = text.find("The service alone did not keep up").unwrap();
    assert!(at < text.find("costs the least").unwrap(), "{text}");
}
