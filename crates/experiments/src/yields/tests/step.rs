//! The planner where the load steps, on trials that no machine ever ran.

use super::*;

/// Steps from 20 to 90 % of 1,000 requests a second.
fn stepped(line: &str) -> YieldPlan {
    let line = format!("--step=20%,90% --rated 1000 --passes 2 --seed 3 {line}");
    let high = LoadLevel::percent(90.0).unwrap();
    let side = SideloadPlan {
        service: BesideRate::Load(high),
        ..side(Job::Counted(CountedJob::Burn))
    };
    asked(&flags(&line), side)
}

#[test]
fn every_arm_of_a_pass_gets_the_same_requests_and_each_pass_others() {
    let trials = all(&stepped(""), |t| t);
    let visits = || trials.iter().filter(|t| t.spec.phase != Phase::Calibration);
    let seed_of = |pass| visits().find(|t| t.spec.pass == pass).unwrap().spec.seed;
    for trial in visits() {
        assert_eq!(trial.spec.seed, seed_of(trial.spec.pass));
    }
    assert_ne!(seed_of(0), seed_of(1));
}

#[test]
fn a_job_is_held_by_what_was_idle_before_the_step() {
    let plan = stepped("");
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
    let plan = stepped("--quick -z 7s");
    let step = plan.step.unwrap();
    assert_eq!(step.after, Duration::from_secs(7));
    assert_eq!(plan.load.run.window, step.window());
}

#[test]
fn a_plan_with_steps_asks_for_them_in_trials_of_a_level_alone() {
    let plan = stepped("");
    let spec = first(&plan);
    assert_eq!(spec.phase, Phase::Calibration);
    assert_eq!(spec.window, plan.load.calibration.window);
}

#[test]
fn one_arm_of_each_kind_is_visited() {
    let args: YieldArgs = flags("--step");
    let mut all = visits::wanted(&args, &Job::Counted(CountedJob::Burn)).unwrap();
    visits::leave_alike(&args, &mut all);
    all.retain(|arm| arm.is_beside());
    assert_eq!(all, [Arm::None, Arm::Weight, Arm::CpuIdle, Arm::Quota10ms]);
    let mut few = vec![Arm::None, Arm::Nice, Arm::SchedIdle, Arm::CpuIdle];
    visits::leave_alike(&args, &mut few);
    assert_eq!(few, [Arm::None, Arm::Nice, Arm::CpuIdle]);
}
