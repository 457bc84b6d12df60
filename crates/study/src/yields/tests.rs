//! Runs that no machine ever made, whose truth is known.

mod verdicts;

use super::*;
use crate::seeded::Rng;
use crate::testing::{job_work, yield_plan, yield_trial};
use plimsoll_model::{
    BudgetVerdict, Cause, CpuTime, CpusOf, Invalid, Job, JobHeld, KneeStatus, MissingArm,
    ServiceUse, Share, Verdict,
};
use std::time::Duration;

const RATED: f64 = 2000.0;

const ARMS: [Arm; 6] = [
    Arm::ServiceAlone,
    Arm::ServiceAgain,
    Arm::JobAlone,
    Arm::None,
    Arm::SchedIdle,
    Arm::Quota10ms,
];

/// What an arm does to the service, and what it gains.
#[derive(Clone, Copy)]
struct Truth {
    /// Latency as a multiple of that of the service alone.
    times: f64,
    gains: f64,
    waits_us: f64,
    cpu_us: f64,
}

const FREE: Truth = Truth {
    times: 1.0,
    gains: 0.4,
    waits_us: 50.0,
    cpu_us: 1000.0,
};
const DOUBLES: Truth = Truth {
    times: 2.0,
    gains: 0.5,
    waits_us: 900.0,
    cpu_us: 1010.0,
};

fn truth(arm: Arm) -> Truth {
    match arm {
        Arm::None => DOUBLES,
        Arm::Quota10ms => Truth { gains: 0.2, ..FREE },
        Arm::JobAlone => Truth { gains: 1.0, ..FREE },
        _ => FREE,
    }
}

fn plan(passes: u32) -> YieldPlan {
    let mut plan = yield_plan(&ARMS, 60.0, passes);
    plan.load.calibration.rated = Rate::per_second(RATED);
    plan.load.run.seed = 7;
    plan.sideload.missing_arms = vec![MissingArm {
        arm: Arm::CpuIdle,
        reason: "the kernel is older than 5.15".to_owned(),
    }];
    plan
}

/// A trial of `arm`, with latencies `times` as long as those of the service
/// alone, and `noise` by which all of it is longer.
fn trial(arm: Arm, pass: u32, truth: Truth, noise: f64) -> YieldTrial {
    let rps = if arm.has_service() { 1200.0 } else { 0.0 };
    let mut trial = yield_trial(arm, pass, rps);
    trial.window = Duration::from_secs(5);
    if arm.has_service() {
        trial.work.completed = 6000;
        for nth in 0..6000 {
            // p99 of the service alone is 10 ms.
            let ms = 10.0 * f64::from(nth) / 5940.0 * truth.times * noise;
            trial.work.latency.record(Duration::from_secs_f64(ms / 1e3));
        }
        trial.service = Some(ServiceUse {
            cpu: CpuTime(Duration::from_secs_f64(6000.0 * truth.cpu_us / 1e6)),
            run_delay: Some(Duration::from_secs_f64(6000.0 * truth.waits_us / 1e6)),
            context_switches: None,
        });
    }
    let job = || job_work((truth.gains * 1e9) as u64);
    trial.outcome.job = arm.has_job().then(job);
    trial
}

/// A whole run, each of whose latencies is off by up to `noise` either way.
fn run(plan: &YieldPlan, noise: f64, seed: u64) -> Vec<YieldTrial> {
    let mut rng = Rng::seeded(seed);
    let mut trials = Vec::new();
    for pass in 0..plan.load.run.passes {
        for arm in ARMS {
            let off = (1.0 + noise).powf(2.0 * rng.unit() - 1.0);
            trials.push(trial(arm, pass, truth(arm), off));
        }
    }
    trials
}

fn found(passes: u32, noise: f64, seed: u64) -> YieldFindings {
    let plan = plan(passes);
    findings(&plan, &run(&plan, noise, seed))
}

fn arm_of(trial: &YieldTrial) -> Option<Arm> {
    match trial.spec.setting {
        YieldSetting::Beside { arm, .. } => Some(arm),
        _ => None,
    }
}

fn disturbed() -> Verdict {
    Verdict::Invalid(vec![Invalid::Steal {
        stolen: Share::ONE,
        bound: Share::ZERO,
        on: CpusOf::Machine,
    }])
}

fn of(findings: &YieldFindings, arm: Arm) -> &ArmFinding {
    findings.arms.iter().find(|a| a.arm == arm).unwrap()
}

#[test]
fn a_service_that_never_keeps_up_beside_a_job_is_beyond_any_budget() {
    let late = Arm::None;
    let is_late = |trial: &YieldTrial| arm_of(trial) == Some(late);
    let overloaded = |plan: &YieldPlan| {
        // The latencies of an overload, whose interval would hold the budget.
        let mut trials = run(plan, 0.5, 1);
        for trial in &mut trials {
            trial.work.intended = trial.work.completed;
            if is_late(trial) {
                trial.work.completed /= 2;
            }
        }
        trials
    };
    let verdict =
        |plan: &YieldPlan, trials: &[YieldTrial]| of(&findings(plan, trials), late).verdict;
    let (beyond, inconclusive) = (BudgetVerdict::Beyond, BudgetVerdict::Inconclusive);
    for passes in [1, 5] {
        let plan = plan(passes);
        let found = verdict(&plan, &overloaded(&plan));
        assert_eq!(found, Some(beyond), "{passes} passes");
    }

    // Once it kept up, or once it did not alone: chance.
    let plan = plan(5);
    let mut trials = overloaded(&plan);
    let nth = trials.iter().position(is_late).unwrap();
    trials[nth].work.completed *= 2;
    assert_eq!(verdict(&plan, &trials), Some(inconclusive));
    trials[nth].work.completed /= 2;
    trials[0].work.completed /= 2;
    assert_eq!(verdict(&plan, &trials), Some(inconclusive));
}

#[test]
fn the_arm_that_gains_most_within_the_budget_is_recommended() {
    let found = found(8, 0.01, 1);
    let idle = of(&found, Arm::SchedIdle);
    assert_eq!(idle.verdict, Some(BudgetVerdict::Within));
    assert!((idle.work_gained_share.unwrap().value - 0.4).abs() < 1e-6);
    assert!((idle.total_work_share.unwrap().value - 1.0).abs() < 1e-6);
    assert_eq!(idle.cause, None, "there is nothing to explain");
    assert_eq!(found.recommended.arm, Some(Arm::SchedIdle));
    assert_eq!(found.recommended.verdict, BudgetVerdict::Within);
    let worst = found.recommended.worst_case_pct.unwrap();
    let high = idle.latency_change_pct.unwrap().p99.unwrap().high.unwrap();
    assert!((worst - high).abs() < 1e-9, "{worst} {high}");
    assert_eq!(found.recommended.headroom_pct, None);
    assert!(found.noise_floor_pct.unwrap() < 2.5);
    assert_eq!(found.missing_arms, plan(8).sideload.missing_arms);
    let alone = of(&found, Arm::ServiceAlone);
    let none = Estimate::within(0.0, 0.0, 0.0);
    assert_eq!(alone.work_gained_share, Some(none));
    assert!((alone.total_work_share.unwrap().value - 0.6).abs() < 1e-6);
    assert_eq!((alone.verdict, alone.latency_change_pct), (None, None));
    let job = of(&found, Arm::JobAlone);
    assert_eq!((job.latency_us, job.verdict), (None, None));
    assert!(found.arms.iter().all(|a| a.arm != Arm::ServiceAgain));
}

#[test]
fn an_arm_that_doubles_latency_is_beyond_the_budget_and_says_why() {
    let found = found(8, 0.01, 2);
    let none = of(&found, Arm::None);
    assert_eq!(none.verdict, Some(BudgetVerdict::Beyond));
    let p99 = none.latency_change_pct.unwrap().p99.unwrap();
    assert!((p99.value - 100.0).abs() < 5.0, "{p99:?}");
    assert_eq!(none.cause, Some(Cause::Waiting));
    // 10 ms more for half of the work.
    let price = none.price_us_per_pct.unwrap().value;
    assert!((price - 200.0).abs() < 20.0, "{price}");
}

#[test]
fn extra_latency_has_its_cause() {
    let plan = plan(6);
    let cause = |waits_us, cpu_us| {
        let mut trials = run(&plan, 0.01, 3);
        let truth = Truth {
            waits_us,
            cpu_us,
            ..DOUBLES
        };
        for at in trials.iter_mut().filter(|t| arm_of(t) == Some(Arm::None)) {
            *at = trial(Arm::None, at.spec.pass, truth, 1.0);
        }
        of(&findings(&plan, &trials), Arm::None).cause
    };
    assert_eq!(cause(60.0, 1900.0), Some(Cause::Slower));
    assert_eq!(cause(500.0, 1500.0), Some(Cause::Both));
    assert_eq!(cause(50.0, 1000.0), None, "neither has grown");
}

#[test]
fn with_noise_as_large_as_the_budget_arms_are_inconclusive() {
    let found = found(6, 0.3, 4);
    let idle = of(&found, Arm::SchedIdle);
    assert_eq!(idle.verdict, Some(BudgetVerdict::Inconclusive));
    assert!(idle.passes_to_tell.unwrap() > 6);
    let best = &found.recommended;
    assert_eq!(best.verdict, BudgetVerdict::Inconclusive);
    let others = |arm| best.arm == Some(arm) || best.undecided == [arm];
    assert!(others(Arm::SchedIdle) || others(Arm::Quota10ms), "{best:?}");
    assert!(best.worst_case_pct.is_some());
    assert!(found.noise_floor_pct.unwrap() > 5.0);
}

#[test]
fn a_pass_with_an_invalid_trial_of_any_arm_is_not_complete() {
    let plan = plan(8);
    let mut trials = run(&plan, 0.001, 5);
    // Each arm still has seven of them.
    for (arm, pass) in [(Arm::ServiceAlone, 1), (Arm::SchedIdle, 2), (Arm::None, 5)] {
        let is_it = |trial: &&mut YieldTrial| arm_of(trial) == Some(arm) && trial.spec.pass == pass;
        for trial in trials.iter_mut().filter(is_it) {
            trial.verdict = disturbed();
        }
    }
    let found = findings(&plan, &trials);
    assert_eq!((found.passes, of(&found, Arm::None).trials), (5, 7));
}

#[test]
fn with_two_passes_arms_are_inconclusive_and_one_is_named_all_the_same() {
    let found = found(2, 0.001, 5);
    let idle = of(&found, Arm::SchedIdle);
    assert_eq!(
        idle.latency_change_pct.unwrap().p99.unwrap().interval(),
        None
    );
    assert_eq!(idle.verdict, Some(BudgetVerdict::Inconclusive));
    assert_eq!((found.noise_floor_pct, found.passes), (None, 2));
    assert!(found.recommended.arm.is_some());
    assert_eq!(found.recommended.worst_case_pct, None);
}

#[test]
fn where_all_arms_are_beyond_the_budget_the_nearest_is_named_as_such() {
    let mut plan = plan(6);
    let mut trials = run(&plan, 0.01, 6);
    let side = &mut plan.sideload;
    side.arms
        .retain(|arm| !arm.is_beside() || *arm == Arm::None);
    trials.retain(|t| arm_of(t).is_some_and(|arm| side.arms.contains(&arm)));
    let found = findings(&plan, &trials);
    assert_eq!(found.recommended.arm, Some(Arm::None));
    assert_eq!(found.recommended.verdict, BudgetVerdict::Beyond);
    assert!(found.recommended.worst_case_pct.unwrap() > 90.0);
}

/// A run over headrooms: below 15 % the service pays, up to 1.6 times without any
/// and as a straight line in logarithms; the job gains what is not left unused.
fn curve(noise: f64, seed: u64) -> (YieldPlan, Vec<YieldTrial>) {
    let mut plan = plan(8);
    let side = &mut plan.sideload;
    side.arms
        .retain(|arm| !arm.is_beside() || *arm == Arm::Quota10ms);
    let shares = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4].map(|h| Share::new(h).unwrap());
    side.headrooms = shares.to_vec();
    let mut rng = Rng::seeded(seed);
    let mut trials = Vec::new();
    for pass in 0..plan.load.run.passes {
        for (arm, share) in plan.sideload.visits() {
            let truth = share.map_or(truth(arm), |share| Truth {
                times: 1.6_f64.powf((0.15 - share.get()).max(0.0) / 0.15),
                gains: 0.5 - share.get(),
                ..FREE
            });
            let off = (1.0 + noise).powf(2.0 * rng.unit() - 1.0);
            let mut trial = trial(arm, pass, truth, off);
            if let YieldSetting::Beside { headroom, .. } = &mut trial.spec.setting {
                *headroom = share;
            }
            trials.push(trial);
        }
    }
    (plan, trials)
}

#[test]
fn a_curve_has_its_knee_and_the_headroom_of_the_most_work_within_the_budget() {
    let (plan, trials) = curve(0.02, 11);
    let found = findings(&plan, &trials);
    let arms: Vec<Arm> = found.arms.iter().map(|a| a.arm).collect();
    assert_eq!(arms, [Arm::ServiceAlone, Arm::JobAlone]);
    assert_eq!((found.curve.len(), found.passes), (1, 8));
    let curve = &found.curve[0];
    let headrooms: Vec<f64> = curve.points.iter().map(|p| p.headroom_pct).collect();
    assert_eq!(headrooms, [0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0]);
    let verdicts: Vec<_> = curve.points.iter().map(|p| p.found.verdict).collect();
    assert_eq!(verdicts[0], Some(BudgetVerdict::Beyond));
    assert_eq!(verdicts[4], Some(BudgetVerdict::Within));
    assert!(curve.points.iter().all(|p| p.found.trials == 8));
    assert_eq!(curve.knee.status, KneeStatus::Found);
    assert!(
        curve.knee.headroom_pct.unwrap().holds(15.0),
        "{:?}",
        curve.knee
    );
    let rise = curve.knee.rise_pct.unwrap().value;
    assert!((rise - 60.0).abs() < 5.0, "{rise}");
    assert_eq!(curve.recommended_headroom_pct, Some(15.0));
    assert_eq!(found.recommended.arm, Some(Arm::Quota10ms));
    assert_eq!(found.recommended.headroom_pct, Some(15.0));
    let best = found.best().unwrap();
    assert!((best.work_gained_share.unwrap().value - 0.35).abs() < 1e-6);
}

#[test]
fn invalid_trials_are_counted_and_left_out() {
    let plan = plan(6);
    let mut trials = run(&plan, 0.01, 7);
    let mut bad = trial(Arm::SchedIdle, 0, DOUBLES, 5.0);
    bad.verdict = disturbed();
    trials.push(bad);
    let found = findings(&plan, &trials);
    let idle = of(&found, Arm::SchedIdle);
    assert_eq!((idle.trials, idle.invalid_trials), (6, 1));
    assert_eq!(idle.verdict, Some(BudgetVerdict::Within));
}

#[test]
fn restriction_of_a_job_is_the_mean_over_trials_that_have_it() {
    let plan = plan(6);
    let mut trials = run(&plan, 0.01, 8);
    let mut is_first = true;
    for at in &mut trials {
        let is_quota = arm_of(at) == Some(Arm::Quota10ms);
        if let Some(job) = at.outcome.job.as_mut().filter(|_| is_quota) {
            job.held = JobHeld {
                allowed: Share::new(if is_first { 0.4 } else { 0.1 }),
                frozen: Share::new(0.5).filter(|_| is_first),
                throttled: None,
            };
            is_first = false;
        }
    }
    let found = findings(&plan, &trials);
    let held = of(&found, Arm::Quota10ms).held;
    // One of 40 and five of 10 %.
    assert!((held.allowed.unwrap().get() - 0.15).abs() < 1e-9);
    assert_eq!((held.frozen, held.throttled), (Share::new(0.5), None));
    assert_eq!(of(&found, Arm::SchedIdle).held, JobHeld::default());
}

#[test]
fn runs_that_end_by_time_do_not_count_the_work_of_a_job() {
    // As many runs as alone, with so much of the CPU time.
    let job_of = |cpu: f64, is_command: bool| {
        let mut plan = plan(6);
        if is_command {
            plan.sideload.job = Job::Command("job".to_owned());
        }
        let mut trials = run(&plan, 0.01, 3);
        for trial in &mut trials {
            let arm = arm_of(trial);
            let Some(job) = trial.outcome.job.as_mut() else {
                continue;
            };
            let share = if arm == Some(Arm::JobAlone) { 1.0 } else { cpu };
            job.cpu = Some(CpuTime(Duration::from_secs_f64(5.0 * share)));
        }
        of(&findings(&plan, &trials), Arm::SchedIdle).clone()
    };
    let by_time = job_of(0.1, true);
    let by_cpu = by_time.work_by_cpu_share.unwrap();
    assert!((by_cpu.value - 0.1).abs() < 1e-9);
    let gained = by_time.work_gained_share.unwrap();
    assert!((gained.value - 0.4).abs() < 1e-6 && gained.low <= by_cpu.low);
    assert_eq!(
        (by_time.total_work_share, by_time.price_us_per_pct),
        (None, None)
    );
    // In three passes noise may make an interval of anything.
    let mut plan = plan(3);
    plan.sideload.job = Job::Command("job".to_owned());
    let mut trials = run(&plan, 0.01, 3);
    for trial in &mut trials {
        let (arm, pass) = (arm_of(trial), trial.spec.pass as usize);
        if let Some(job) = trial.outcome.job.as_mut() {
            let share = match arm {
                Some(Arm::JobAlone) => 1.0,
                _ => [0.2, 0.3, 0.38][pass],
            };
            job.cpu = Some(CpuTime(Duration::from_secs_f64(5.0 * share)));
            // And a law may let no run end.
            job.done = if arm == Some(Arm::Quota10ms) && pass == 0 {
                0
            } else {
                job.done
            };
        }
    }
    let noisy = findings(&plan, &trials);
    assert!(of(&noisy, Arm::SchedIdle).work_by_cpu_share.is_some());
    assert_eq!(of(&noisy, Arm::Quota10ms).work_by_cpu_share, None);
    // 40 % of the runs took 38 % of the CPU time; and bytes are work.
    for sound in [job_of(0.38, true), job_of(0.1, false)] {
        assert_eq!(sound.work_by_cpu_share, None);
        assert!(sound.total_work_share.is_some());
    }
}

#[test]
fn no_trials_give_no_findings() {
    let found = findings(&plan(6), &[]);
    assert_eq!(found.recommended.verdict, BudgetVerdict::Inconclusive);
    assert_eq!(found.recommended.arm, None);
    assert!(found.arms.iter().all(|a| a.latency_us.is_none()));
}

#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    for passes in [3, 6, 8] {
        let holds = |seed: &u64| {
            let found = found(passes, 0.2, 1000 + seed);
            let change = of(&found, Arm::SchedIdle).latency_change_pct.unwrap();
            change.p99.unwrap().holds(0.0)
        };
        let hits = (0..100).filter(holds).count();
        assert!(hits >= 90, "{hits} of 100 with {passes} passes");
    }
}
