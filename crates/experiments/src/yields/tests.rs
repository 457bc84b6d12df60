//! The planner on trials that no machine ever ran.

use super::job::allowance;
use super::*;
use crate::Tolerance;
use plimsoll_engine::validity::Allowance;
use plimsoll_engine::{Next, Planner, Progress};
use plimsoll_model::{
    BesideRate, Bytes, CpuPlan, CpuTime, CpuUse, HashService, InterruptTime, Invalid, Job, JobHeld,
    JobWork, LoadLevel, Phase, Rate, SideloadPlan, TrialSpec, Verdict, YieldTrial,
};
use std::time::Duration;

const ARMS: [Arm; 7] = [
    Arm::ServiceAlone,
    Arm::ServiceAgain,
    Arm::JobAlone,
    Arm::None,
    Arm::Quota10ms,
    Arm::CpuSet,
    Arm::Koordinator,
];

/// A hash service whose requests cost a millisecond.
fn hash() -> Workload {
    Workload::Hash(HashService {
        mean_block: Bytes(1 << 20),
        deviation_share: 0.25,
        request_cpu: CpuTime(Duration::from_millis(1)),
    })
}

pub(super) fn next(plan: &YieldPlan, trials: &[YieldTrial]) -> Next<YieldSetting> {
    YieldPlanner(plan).next(trials)
}

fn progress(plan: &YieldPlan, trials: &[YieldTrial]) -> Progress {
    YieldPlanner(plan).progress(trials)
}

pub(super) fn plan(job: Job, passes: u32) -> YieldPlan {
    let share = |x| Share::new(x).unwrap();
    let cpus: CpuSet = "0-1".parse().unwrap();
    let request = Request {
        workload: hash(),
        side: SideloadPlan {
            job,
            service: BesideRate::Load(LoadLevel::percent(50.0).unwrap()),
            arms: ARMS.to_vec(),
            missing_arms: Vec::new(),
            headroom: share(0.2),
            headrooms: Vec::new(),
            budget: "p99+5%".parse().unwrap(),
            cpus: cpus.clone(),
            timeout: Duration::from_secs(60),
        },
        step: None,
        effort: Effort::Quick,
        arrivals: plimsoll_model::Arrivals::Poisson,
        rated: Rate::per_second(1000.0),
        passes: Some(passes),
        window: None,
        cpus: CpuPlan {
            service: cpus,
            generator: CpuSet::default(),
            cores: Vec::new(),
        },
        tolerance: Tolerance::default(),
        interrupts: InterruptTime::Unknown,
        seed: 3,
    };
    request.plan()
}

/// The same with steps from 20 to 90 % of 1,000 requests a second.
pub(super) fn stepped_request(plan: YieldPlan, effort: Effort) -> Request {
    let level = |pct| LoadLevel::percent(pct).unwrap();
    let high = level(90.0);
    Request {
        workload: plan.load.workload,
        side: SideloadPlan {
            service: BesideRate::Load(high),
            ..plan.sideload
        },
        step: Some(StepLoads {
            low: level(20.0),
            high,
        }),
        effort,
        arrivals: plan.load.arrivals,
        rated: plan.load.calibration.rated,
        passes: Some(2),
        window: None,
        cpus: plan.load.run.cpus,
        tolerance: Tolerance::default(),
        interrupts: InterruptTime::Unknown,
        seed: 3,
    }
}

/// What became of a trial: all that was asked is answered, with 45 % of the
/// CPUs busy.
fn outcome(spec: &TrialSpec<YieldSetting>) -> YieldTrial {
    let mut trial = YieldTrial::begun(spec.clone(), 0);
    let rate = trial.asked().get();
    trial.work.intended = (rate * spec.window.as_secs_f64()) as u64;
    trial.work.completed = trial.work.intended;
    trial.machine.service_cpu = Some(CpuUse {
        user: CpuTime(Duration::from_millis(450)),
        idle: CpuTime(Duration::from_millis(550)),
        ..CpuUse::default()
    });
    trial.outcome.job = Some(JobWork {
        done: 1,
        over: Duration::from_secs(1),
        cpu: None,
        held: JobHeld::default(),
    });
    trial.took = spec.window;
    trial
}

fn disturbed(mut trial: YieldTrial) -> YieldTrial {
    trial.verdict = Verdict::Invalid(vec![Invalid::Steal {
        stolen: Share::ONE,
        bound: Share::ZERO,
    }]);
    trial
}

/// All trials, each judged by `judge` on its way.
pub(super) fn all(plan: &YieldPlan, judge: impl Fn(YieldTrial) -> YieldTrial) -> Vec<YieldTrial> {
    let mut trials = Vec::new();
    while let Next::Trial(spec) = next(plan, &trials) {
        trials.push(judge(outcome(&spec)));
        assert!(trials.len() < 500, "it does not end");
    }
    assert_eq!(next(plan, &trials), Next::Done);
    trials
}

pub(super) fn arm(trial: &YieldTrial) -> (Arm, Option<f64>) {
    match trial.spec.setting {
        YieldSetting::Beside { arm, allowed, .. } => (arm, allowed.map(Share::get)),
        other => panic!("{other:?}"),
    }
}

fn of_pass(trials: &[YieldTrial], pass: u32) -> Vec<Arm> {
    let is_visit =
        |t: &&YieldTrial| matches!(t.spec.phase, Phase::Level { .. }) && t.spec.pass == pass;
    trials.iter().filter(is_visit).map(|t| arm(t).0).collect()
}

#[test]
fn each_pass_visits_every_arm_once_and_the_next_one_mirrors_it() {
    let trials = all(&plan(Job::Burn, 4), |t| t);
    assert_eq!(trials.len(), 1 + 4 * ARMS.len());
    for pass in 0..4 {
        let mut arms = of_pass(&trials, pass);
        arms.sort();
        assert_eq!(arms, ARMS);
    }
    let mut back = of_pass(&trials, 1);
    back.reverse();
    assert_eq!(of_pass(&trials, 0), back);
    assert_ne!(of_pass(&trials, 0), of_pass(&trials, 2), "shuffled anew");
}

#[test]
fn the_service_alone_tells_first_what_a_job_may_have() {
    let trials = all(&plan(Job::Burn, 1), |t| t);
    assert_eq!(arm(&trials[0]), (Arm::ServiceAlone, None));
    assert_eq!(trials[0].spec.phase, Phase::Calibration);
    for trial in &trials[1..] {
        let (arm, allowed) = arm(trial);
        // 55 % are idle, and 20 % are to stay so.
        let wanted = arm.keeps_headroom().then_some(0.35);
        let near = allowed.map(|a| (a * 1e6).round() / 1e6);
        assert_eq!(near, wanted, "{arm}");
        let rate = if arm == Arm::JobAlone { 0.0 } else { 500.0 };
        assert_eq!(trial.asked().get(), rate, "{arm}");
    }
}

#[test]
fn a_curve_visits_an_arm_with_each_headroom_once_in_every_pass() {
    let mut plan = plan(Job::Burn, 2);
    let side = &mut plan.sideload;
    side.arms = vec![
        Arm::ServiceAlone,
        Arm::ServiceAgain,
        Arm::JobAlone,
        Arm::Quota10ms,
    ];
    side.headrooms = [0.0, 0.2, 0.6].map(|h| Share::new(h).unwrap()).to_vec();
    let trials = all(&plan, |t| t);
    assert_eq!(trials.len(), 1 + 2 * 6);
    let visits = |pass: u32| -> Vec<(f64, f64)> {
        let of = trials.iter().filter(|t| t.spec.pass == pass);
        of.filter_map(|t| match t.spec.setting {
            YieldSetting::Beside {
                headroom: Some(headroom),
                allowed: Some(allowed),
                ..
            } => Some((headroom.get(), (allowed.get() * 1e6).round() / 1e6)),
            _ => None,
        })
        .collect()
    };
    let mut first = visits(0);
    assert_eq!(
        visits(1),
        first.iter().rev().copied().collect::<Vec<_>>(),
        "mirrored"
    );
    first.sort_by(|a, b| a.0.total_cmp(&b.0));
    // 55 % are idle; what is asked for beyond that leaves the least there is.
    assert_eq!(first, [(0.0, 0.55), (0.2, 0.35), (0.6, 0.05)]);
    assert_eq!(progress(&plan, &trials).done, 2 * 6);
    assert_eq!(progress(&plan, &trials[..1]).visits, 2 * 6);
}

#[test]
fn a_command_is_run_alone_before_the_passes() {
    let trials = all(&plan(Job::Command("make".to_owned()), 1), |t| t);
    assert_eq!(arm(&trials[1]).0, Arm::JobAlone);
    assert_eq!(trials[1].spec.phase, Phase::Calibration);
    assert_eq!(trials.len(), 2 + ARMS.len());
}

#[test]
fn what_a_command_took_alone_tells_how_long_the_rest_takes() {
    let long = Duration::from_secs(600);
    let mut plan = plan(Job::Command("make".to_owned()), 1);
    plan.sideload.timeout = long * 100;
    let trials = all(&plan, |mut trial| {
        if arm(&trial).0 == Arm::JobAlone {
            trial.took = long;
        }
        trial
    });
    let left = |n: usize| progress(&plan, &trials[..n]).left;
    assert!(left(1) < long, "nobody knows yet");
    let beside = ARMS.iter().filter(|arm| arm.is_beside()).count() as f64;
    // 55 % are idle, and a headroom leaves less.
    assert!(left(2) > long + long.mul_f64(beside / 0.55));
    assert_eq!(left(trials.len()), Duration::ZERO);
}

#[test]
fn what_was_disturbed_is_tried_again_a_few_times_and_never_for_ever() {
    let plan = plan(Job::Burn, 1);
    let none = |t: &YieldTrial| arm(t).0 == Arm::None;
    let trials = all(&plan, |t| if none(&t) { disturbed(t) } else { t });
    let tries = trials.iter().filter(|t| none(t)).count() as u32;
    assert_eq!(tries, 1 + plan.load.run.bounds.retries);
    let trials = all(&plan, disturbed);
    let most = (1 + plan.load.run.bounds.retries as usize) * ARMS.len() + 2;
    assert!(trials.len() <= most, "{}", trials.len());
}

#[test]
fn a_run_that_was_killed_anywhere_goes_on_as_it_would_have() {
    let plan = plan(Job::Burn, 2);
    let whole = all(&plan, |t| t);
    for killed_after in 0..whole.len() {
        let Next::Trial(spec) = next(&plan, &whole[..killed_after]) else {
            panic!("it ended after {killed_after}");
        };
        assert_eq!(spec, whole[killed_after].spec);
    }
    let left = |n: usize| progress(&plan, &whole[..n]).left;
    assert!(left(1) > left(8));
    assert_eq!(progress(&plan, &whole).left, Duration::ZERO);
    assert_eq!(progress(&plan, &whole).done, 2 * ARMS.len());
}

#[test]
fn without_a_rated_rate_it_is_looked_for_first() {
    let mut plan = plan(Job::Burn, 1);
    plan.load.calibration.rated = None;
    let Next::Trial(spec) = next(&plan, &[]) else {
        panic!("no trial");
    };
    assert_eq!(spec.phase, Phase::Calibration);
    assert!(matches!(spec.setting, YieldSetting::Offer { .. }));
}

/// A request for the defaults of an effort.
fn usual(side: SideloadPlan, effort: Effort) -> Request {
    Request {
        workload: hash(),
        side,
        step: None,
        effort,
        arrivals: plimsoll_model::Arrivals::Poisson,
        rated: None,
        passes: None,
        window: None,
        cpus: CpuPlan {
            service: "0-1".parse().unwrap(),
            generator: CpuSet::default(),
            cores: Vec::new(),
        },
        tolerance: Tolerance::default(),
        interrupts: InterruptTime::Unknown,
        seed: 1,
    }
}

/// The longest that a plan may take, if no trial is made twice.
fn longest(plan: &YieldPlan) -> Duration {
    let visits = plan.sideload.visits().len() as u32;
    // Groups are made and taken away, answers are waited for: a quarter of
    // a second where it goes well.
    let around = Duration::from_millis(250);
    let one = plan.load.run.warm_up.max + plan.load.run.window + around;
    let calibration = (plan.load.run.warm_up.max + plan.load.calibration.window + around) * 8;
    one * visits * plan.load.run.passes + calibration
}

/// Of all arms, over headrooms, and with steps: what is run if nothing more is
/// asked for.
fn all_usual(effort: Effort) -> [Request; 3] {
    let side = |beside: &dyn Fn(Arm) -> bool| SideloadPlan {
        arms: Arm::ALL
            .into_iter()
            .filter(|arm| !arm.is_beside() || beside(*arm))
            .collect(),
        ..plan(Job::Burn, 1).sideload
    };
    let curve = SideloadPlan {
        headrooms: effort.headrooms(),
        ..side(&|arm| Effort::ARMS_OF_CURVE.contains(&arm))
    };
    let mut step = side(&|arm| Effort::ARMS_OF_STEP.contains(&arm));
    step.arms.retain(|arm| arm.has_service());
    Effort::leave_one_of_a_kind(&mut step.arms);
    let stepped = stepped_request(plan(Job::Burn, 1), effort).step;
    [
        usual(side(&|arm| effort.tries(arm)), effort),
        usual(curve, effort),
        Request {
            step: stepped,
            ..usual(step, effort)
        },
    ]
}

#[test]
fn the_promised_time_holds_every_trial_and_the_second_tries() {
    for (effort, minutes) in [(Effort::Quick, 2), (Effort::Full, 12)] {
        let promised = Duration::from_secs(60 * minutes);
        for request in all_usual(effort) {
            let plan = request.plan();
            let longest = longest(&plan);
            assert!(longest < promised, "{longest:?} of {promised:?}");
            assert!(plan.load.run.budget < promised);
            let steps = plan
                .step
                .map_or(plan.load.run.passes, |s| s.steps * plan.load.run.passes);
            assert!(steps >= 6, "no interval");
        }
    }
}

/// What a service in this process (or not) is allowed in a trial of `arm`.
fn allowed(serves_here: bool, arm: Arm, job: Option<JobWork>) -> Allowance {
    let setting = YieldSetting::Beside {
        rate: Rate::per_second(100.0).unwrap(),
        arm,
        allowed: None,
        headroom: None,
    };
    allowance(serves_here, &setting, &YieldOutcome { job })
}

fn job_with_cpu(cpu: Option<CpuTime>) -> Option<JobWork> {
    Some(JobWork {
        done: 1,
        over: Duration::from_secs(10),
        cpu,
        held: JobHeld::default(),
    })
}

#[test]
fn a_service_in_this_process_is_judged_alike_with_a_job_and_alone() {
    for arm in [Arm::Nice, Arm::None, Arm::ServiceAlone, Arm::ServiceAgain] {
        assert!(allowed(true, arm, None).slip_is_measured, "{arm}");
        assert!(!allowed(false, arm, None).slip_is_measured, "{arm}");
    }
}

#[test]
fn calibration_is_judged_as_in_a_sweep() {
    let rate = Rate::per_second(100.0).unwrap();
    let found = allowance(
        true,
        &YieldSetting::Offer { rate },
        &YieldOutcome::default(),
    );
    assert_eq!(found, Allowance::default());
}

#[test]
fn the_cpu_time_of_a_job_is_allowed_for_where_it_is_known() {
    let used = CpuTime(Duration::from_secs(8));
    let job_cpu = |arm, job| allowed(true, arm, job).job_cpu;
    assert_eq!(job_cpu(Arm::Nice, job_with_cpu(Some(used))), Some(used));
    assert_eq!(job_cpu(Arm::JobAlone, job_with_cpu(Some(used))), Some(used));
    assert_eq!(job_cpu(Arm::Nice, job_with_cpu(None)), None);
    assert_eq!(job_cpu(Arm::Nice, None), None);
    let none = Some(CpuTime::default());
    assert_eq!(job_cpu(Arm::ServiceAlone, None), none);
}
