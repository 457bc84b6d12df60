//! The planner on trials that no machine ever ran.

mod step;

use super::job::allowance;
use super::plan::YieldPlanner;
use super::{YieldArgs, defaults, visits};
use crate::simulated::{self, flags, hash};
use plimsoll_engine::{Next, Planner, Progress};
use plimsoll_model::{
    Arm, BesideRate, CountedJob, CpuPlan, CpuTime, CpuUse, InterruptTime, Job, JobHeld, JobWork,
    LoadLevel, Phase, Rate, Share, SideloadPlan, TrialSpec, YieldOutcome, YieldPlan, YieldSetting,
    YieldTrial,
};
use plimsoll_study::validity::Allowance;
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

fn next(plan: &YieldPlan, trials: &[YieldTrial]) -> Next<YieldSetting> {
    YieldPlanner(plan).next(trials)
}

fn first(plan: &YieldPlan) -> TrialSpec<YieldSetting> {
    match next(plan, &[]) {
        Next::Trial(spec) => spec,
        other => panic!("{other:?}"),
    }
}

fn progress(plan: &YieldPlan, trials: &[YieldTrial]) -> Progress {
    YieldPlanner(plan).progress(trials)
}

/// A job beside a service at half of its load.
fn side(job: Job) -> SideloadPlan {
    SideloadPlan {
        job,
        service: BesideRate::Load(LoadLevel::percent(50.0).unwrap()),
        arms: ARMS.to_vec(),
        missing_arms: Vec::new(),
        headroom: Share::new(0.2).unwrap(),
        headrooms: Vec::new(),
        budget: "p99+5%".parse().unwrap(),
        cpus: "0-1".parse().unwrap(),
        timeout: Duration::from_secs(60),
    }
}

/// The plan that these flags ask for.
fn asked(args: &YieldArgs, side: SideloadPlan) -> YieldPlan {
    let cpus = CpuPlan {
        service: side.cpus.clone(),
        ..CpuPlan::default()
    };
    defaults::plan(args, hash(), side, cpus, InterruptTime::Unknown)
}

/// A plan of these arms beside hashing.
pub(super) fn plan_of(arms: Vec<Arm>) -> YieldPlan {
    let mut plan = plan(Job::Counted(CountedJob::Burn), 1);
    plan.sideload.arms = arms;
    plan
}

fn plan(job: Job, passes: u32) -> YieldPlan {
    let line = format!("--quick --rated 1000 --seed 3 --passes {passes}");
    asked(&flags(&line), side(job))
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
    trial.outcome.job = job_with_cpu(None);
    trial.took = spec.window;
    trial
}

fn disturbed(mut trial: YieldTrial) -> YieldTrial {
    trial.verdict = simulated::disturbed();
    trial
}

/// All trials, each judged by `judge` on its way.
fn all(plan: &YieldPlan, judge: impl Fn(YieldTrial) -> YieldTrial) -> Vec<YieldTrial> {
    let mut trials = Vec::new();
    while let Next::Trial(spec) = next(plan, &trials) {
        trials.push(judge(outcome(&spec)));
        assert!(trials.len() < 500, "it does not end");
    }
    assert_eq!(next(plan, &trials), Next::Done);
    trials
}

fn arm(trial: &YieldTrial) -> (Arm, Option<f64>) {
    match trial.spec.setting {
        YieldSetting::Beside { arm, allowed, .. } => (arm, allowed.map(Share::get)),
        other => panic!("{other:?}"),
    }
}

fn of_pass(trials: &[YieldTrial], pass: u32) -> Vec<Arm> {
    let is_visit = |t: &&YieldTrial| t.spec.phase.is_level() && t.spec.pass == pass;
    trials.iter().filter(is_visit).map(|t| arm(t).0).collect()
}

#[test]
fn each_pass_visits_every_arm_once_and_the_next_one_mirrors_it() {
    let trials = all(&plan(Job::Counted(CountedJob::Burn), 4), |t| t);
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
fn the_service_alone_decides_first_what_a_job_may_use() {
    let trials = all(&plan(Job::Counted(CountedJob::Burn), 1), |t| t);
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
    let mut plan = plan(Job::Counted(CountedJob::Burn), 2);
    let side = &mut plan.sideload;
    side.arms
        .retain(|arm| !arm.is_beside() || *arm == Arm::Quota10ms);
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
    assert!(visits(1).iter().rev().eq(&first), "mirrored");
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
fn the_time_of_a_command_alone_predicts_the_rest() {
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
    assert!(left(1) < long, "unknown yet");
    let beside = ARMS.iter().filter(|arm| arm.is_beside()).count() as f64;
    // 55 % are idle, and a headroom leaves less.
    assert!(left(2) > long + long.mul_f64(beside / 0.55));
    assert_eq!(left(trials.len()), Duration::ZERO);
}

#[test]
fn disturbed_trials_are_repeated_a_limited_number_of_times() {
    let plan = plan(Job::Counted(CountedJob::Burn), 1);
    let none = |t: &YieldTrial| arm(t).0 == Arm::None;
    let trials = all(&plan, |t| if none(&t) { disturbed(t) } else { t });
    let tries = trials.iter().filter(|t| none(t)).count() as u32;
    assert_eq!(tries, 1 + plan.load.run.bounds.retries);
    let trials = all(&plan, disturbed);
    let most = (1 + plan.load.run.bounds.retries as usize) * ARMS.len() + 2;
    assert!(trials.len() <= most, "{}", trials.len());
}

#[test]
fn a_run_killed_anywhere_is_resumed_with_the_same_trials() {
    let plan = plan(Job::Counted(CountedJob::Burn), 2);
    let whole = all(&plan, |t| t);
    for (killed_after, made) in whole.iter().enumerate() {
        let again = next(&plan, &whole[..killed_after]);
        assert_eq!(again, Next::Trial(made.spec.clone()), "{killed_after}");
    }
    let left = |n: usize| progress(&plan, &whole[..n]).left;
    assert!(left(1) > left(8));
    assert_eq!(progress(&plan, &whole).left, Duration::ZERO);
    assert_eq!(progress(&plan, &whole).done, 2 * ARMS.len());
}

#[test]
fn an_unknown_rated_rate_is_calibrated_first() {
    let mut plan = plan(Job::Counted(CountedJob::Burn), 1);
    plan.load.calibration.rated = None;
    let spec = first(&plan);
    assert_eq!(spec.phase, Phase::Calibration);
    assert!(matches!(spec.setting, YieldSetting::Offer { .. }));
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

#[test]
fn all_trials_and_repeats_fit_the_promised_time() {
    for (effort, minutes) in [("--quick", 2), ("", 12)] {
        let promised = Duration::from_secs(60 * minutes);
        for kind in ["", "--curve", "--step"] {
            let args: YieldArgs = flags(&format!("{effort} {kind}"));
            let mut arms = visits::wanted(&args, &Job::Counted(CountedJob::Burn)).unwrap();
            visits::leave_alike(&args, &mut arms);
            let side = SideloadPlan {
                arms,
                headrooms: visits::headrooms(&args).unwrap(),
                ..side(Job::Counted(CountedJob::Burn))
            };
            let plan = asked(&args, side);
            let longest = longest(&plan);
            assert!(longest < promised, "{kind}: {longest:?} of {promised:?}");
            assert!(plan.load.run.budget < promised);
            let passes = plan.load.run.passes;
            let steps = plan.step.map_or(passes, |s| s.steps * passes);
            assert!(steps >= 6, "{kind}: no interval");
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
        over: Duration::from_secs(1),
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
    let setting = YieldSetting::Offer { rate };
    let found = allowance(true, &setting, &YieldOutcome::default());
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
