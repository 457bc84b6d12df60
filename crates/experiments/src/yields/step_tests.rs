//! The planner where the load steps, on trials that no machine ever ran.

use super::tests::{all, arm, next, plan, stepped_request};
use super::*;
use plimsoll_engine::Next;
use plimsoll_model::{Arm, Job, Phase};
use std::time::Duration;

fn stepped() -> YieldPlan {
    stepped_request(plan(Job::Burn, 1), Effort::Full).plan()
}

#[test]
fn every_arm_of_a_pass_gets_the_same_requests_and_each_pass_others() {
    let trials = all(&stepped(), |t| t);
    let visits = || trials.iter().filter(|t| t.spec.phase != Phase::Calibration);
    let seed_of = |pass| visits().find(|t| t.spec.pass == pass).unwrap().spec.seed;
    for trial in visits() {
        assert_eq!(trial.spec.seed, seed_of(trial.spec.pass));
    }
    assert_ne!(seed_of(0), seed_of(1));
}

#[test]
fn a_job_is_held_by_what_was_idle_before_the_step() {
    let plan = stepped();
    let trials = all(&plan, |t| t);
    let reference = &trials[0];
    assert_eq!(arm(reference).0, Arm::ServiceAlone);
    let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-9;
    assert!(near(reference.asked().get(), 200.0));
    let visit = trials.last().unwrap();
    assert!(near(visit.asked().get(), 900.0) || arm(visit).0 == Arm::JobAlone);
    assert_eq!(visit.spec.window, plan.step.unwrap().window());
    assert_eq!(visit.spec.warm_up.min, visit.spec.warm_up.max);
}

#[test]
fn the_time_after_a_step_can_be_asked_for() {
    let mut request = stepped_request(plan(Job::Burn, 1), Effort::Quick);
    request.window = Some(Duration::from_secs(7));
    let plan = request.plan();
    let step = plan.step.unwrap();
    assert_eq!(step.after, Duration::from_secs(7));
    assert_eq!(plan.load.run.window, step.window());
}

#[test]
fn a_plan_with_steps_asks_for_them_in_trials_of_a_level_alone() {
    let plan = stepped();
    let Next::Trial(spec) = next(&plan, &[]) else {
        panic!("no trial");
    };
    assert_eq!(spec.phase, Phase::Calibration);
    assert_eq!(spec.window, plan.load.calibration.window);
}

#[test]
fn of_each_kind_of_arm_there_is_one() {
    let mut all = Effort::ARMS_OF_STEP.to_vec();
    Effort::leave_one_of_a_kind(&mut all);
    assert_eq!(all, [Arm::None, Arm::Weight, Arm::CpuIdle, Arm::Quota10ms]);
    let mut few = vec![Arm::None, Arm::Nice, Arm::SchedIdle, Arm::CpuIdle];
    Effort::leave_one_of_a_kind(&mut few);
    assert_eq!(few, [Arm::None, Arm::Nice, Arm::CpuIdle]);
}
