//! What a yield run may have found, made by hand: for the tests of all that
//! shows it, in this crate and in a browser.

pub(crate) mod curve;
pub(crate) mod step;

use crate::tests::sample::picture::{STOLEN, trial};
use crate::tests::sample::rated;
use crate::tests::shown::tally;
use crate::yields::YieldPicture;
use plimsoll_model::{
    Arm, ArmFinding, BesideRate, BudgetVerdict, Bytes, Cause, CountedJob, CpuTime, Estimate,
    HashService, Job, JobHeld, LatencyChange, LatencyUs, LoadLevel, MissingArm, PictureSetting,
    Plan, Provenance, Rate, Recommended, RunEnd, Share, ShortTrials, SideloadPlan, TrialPicture,
    TriedArm, Workload, YieldFindings, YieldPlan,
};
use std::time::Duration;

/// An arm that changes p99 by `change` percent, within `reach` either way.
pub(super) fn arm(
    arm: Arm,
    gained: f64,
    change: f64,
    reach: f64,
    verdict: BudgetVerdict,
) -> ArmFinding {
    let around = |value: f64, by: f64| Estimate::within(value, value - by, value + by);
    let times = 1.0 + change / 100.0;
    ArmFinding {
        arm,
        work_gained_share: Some(around(gained, 0.02)),
        work_by_cpu_share: None,
        total_work_share: Some(around(gained + 0.6, 0.02)),
        latency_us: Some(LatencyUs {
            p50: Some(1_100.0 * times),
            p95: Some(3_000.0 * times),
            p99: Some(5_000.0 * times),
            p999: Some(9_000.0 * times),
        }),
        latency_change_pct: Some(LatencyChange {
            p50: Some(around(change / 2.0, reach)),
            p95: Some(around(change, reach)),
            p99: Some(around(change, reach)),
            p999: Some(around(change, reach * 3.0)),
        }),
        price_us_per_pct: Some(around(change * 50.0 / (gained * 100.0), 3.0)),
        run_delay_us_per_request: Some(40.0 * times),
        cpu_us_per_request: Some(1_010.0),
        held: JobHeld::default(),
        cause: None,
        verdict: Some(verdict),
        passes_to_tell: None,
        trials: 8,
        invalid_trials: 0,
    }
}

pub(crate) type Sample = crate::tests::sample::Sample<YieldPlan>;

/// One arm within the budget, one beyond it, one of which that is inconclusive,
/// and one that the host lacks.
pub(crate) fn sample() -> Sample {
    let missing = MissingArm {
        arm: Arm::CpuIdle,
        reason: "/sys/fs/cgroup/cpu has no cpu.idle (Linux 5.15)".to_owned(),
    };
    let mut sample = Sample {
        plan: plan(&missing),
        findings: YieldFindings {
            rated: Some(rated(2_000.0)),
            rate_rps: Some(1_200.0),
            budget: "p99+5%".parse().unwrap(),
            passes: 7,
            noise_floor_pct: Some(3.4),
            arms: arms(),
            curve: Vec::new(),
            missing_arms: vec![missing],
            recommended: Recommended {
                undecided: vec![Arm::Nice],
                ..recommended(Arm::SchedIdle, BudgetVerdict::Within, 3.5)
            },
            short_trials: Vec::new(),
            step: Vec::new(),
            step_band_pct: None,
            step_slot_ms: None,
            step_alone: None,
        },
        provenance: Provenance::default(),
        requirements: Vec::new(),
        trials: tally(56, 2),
        ended: Some(RunEnd::Complete),
        command_line: Vec::new(),
        drawn: YieldPicture::default(),
    };
    sample.drawn.trials = line(&sample.findings);
    sample
}

pub(super) fn recommended(arm: Arm, verdict: BudgetVerdict, worst_case_pct: f64) -> Recommended {
    Recommended {
        arm: Some(arm),
        worst_case_pct: Some(worst_case_pct),
        verdict,
        ..nobody()
    }
}

/// Nothing was compared.
pub(super) fn nobody() -> Recommended {
    Recommended {
        arm: None,
        headroom_pct: None,
        verdict: BudgetVerdict::Inconclusive,
        worst_case_pct: None,
        alike: Vec::new(),
        undecided: Vec::new(),
    }
}

fn arms() -> Vec<ArmFinding> {
    let beyond = ArmFinding {
        cause: Some(Cause::Waiting),
        ..arm(Arm::None, 0.47, 310.0, 40.0, BudgetVerdict::Beyond)
    };
    let open = ArmFinding {
        passes_to_tell: Some(21),
        trials: 7,
        invalid_trials: 2,
        ..arm(Arm::Nice, 0.41, 4.0, 9.0, BudgetVerdict::Inconclusive)
    };
    let alone = ArmFinding {
        work_gained_share: Some(Estimate::within(0.0, 0.0, 0.0)),
        work_by_cpu_share: None,
        total_work_share: Some(Estimate::within(0.6, 0.59, 0.61)),
        latency_change_pct: None,
        price_us_per_pct: None,
        verdict: None,
        ..arm(Arm::ServiceAlone, 1.0, 0.0, 0.0, BudgetVerdict::Within)
    };
    let job = ArmFinding {
        work_gained_share: Some(Estimate::within(1.0, 1.0, 1.0)),
        work_by_cpu_share: None,
        total_work_share: Some(Estimate::within(1.0, 1.0, 1.0)),
        latency_us: None,
        run_delay_us_per_request: None,
        cpu_us_per_request: None,
        arm: Arm::JobAlone,
        ..alone.clone()
    };
    vec![
        alone,
        job,
        beyond,
        open,
        arm(Arm::SchedIdle, 0.385, 2.1, 1.4, BudgetVerdict::Within),
        arm(Arm::Quota10ms, 0.19, 0.8, 1.5, BudgetVerdict::Within),
        ArmFinding {
            held: JobHeld {
                allowed: Share::new(0.21),
                frozen: Share::new(0.03),
                throttled: Share::new(0.625),
            },
            ..arm(Arm::Koordinator, 0.2, 0.6, 1.8, BudgetVerdict::Within)
        },
    ]
}

/// Eight passes of the arms that were tried, the last two trials of nice
/// disturbed.
fn line(findings: &YieldFindings) -> Vec<TrialPicture> {
    let arms = &findings.arms;
    let visit = |i: usize| {
        let of = &arms[i % arms.len()];
        let bad = of.arm == Arm::Nice && i / arms.len() >= 6;
        let rate = if of.arm.has_service() { 1_200.0 } else { 0.0 };
        let setting = PictureSetting::Beside {
            rate: Rate::per_second(rate).unwrap(),
            arm: of.arm,
            headroom: None,
        };
        let began = Duration::from_secs(7 * i as u64);
        TrialPicture {
            took: Duration::from_secs(7),
            warm_up: Duration::from_secs(1),
            achieved_rps: rate,
            load_pct: Some(60.0),
            cpu_pct: Some(97.0),
            p99_us: of.latency_us.and_then(|l| l.p99),
            invalid: bad.then_some(STOLEN).into_iter().collect(),
            ..trial(setting, began, Duration::from_secs(5))
        }
    };
    (0..8 * arms.len()).map(visit).collect()
}

fn plan(missing: &MissingArm) -> YieldPlan {
    let mut load = Plan::blank(Workload::Hash(HashService {
        mean_block: Bytes(1 << 20),
        deviation_share: 0.25,
        request_cpu: CpuTime(Duration::from_millis(1)),
        waiting: None,
        memory: None,
        files: None,
    }));
    load.run.window = Duration::from_secs(5);
    load.run.passes = 8;
    let sideload = SideloadPlan {
        job: Job::Counted(CountedJob::Burn),
        service: BesideRate::Load(LoadLevel::percent(60.0).unwrap()),
        arms: vec![
            Arm::ServiceAlone,
            Arm::ServiceAgain,
            Arm::JobAlone,
            Arm::None,
            Arm::Nice,
            Arm::SchedIdle,
            Arm::Quota10ms,
            Arm::CpuSet,
            Arm::Koordinator,
        ],
        missing_arms: vec![missing.clone()],
        headroom: Share::new(0.2).unwrap(),
        headrooms: Vec::new(),
        budget: "p99+5%".parse().unwrap(),
        cpus: "0-1".parse().unwrap(),
        timeout: Duration::from_secs(600),
    };
    YieldPlan {
        load,
        sideload,
        step: None,
    }
}

pub(crate) fn nothing() -> Sample {
    let mut sample = sample();
    (sample.trials, sample.drawn) = (tally(0, 0), YieldPicture::default());
    let found = &mut sample.findings;
    found.rated = None;
    found.rate_rps = None;
    found.noise_floor_pct = None;
    found.passes = 0;
    found.recommended = nobody();
    for arm in &mut found.arms {
        *arm = ArmFinding {
            arm: arm.arm,
            work_gained_share: None,
            work_by_cpu_share: None,
            total_work_share: None,
            latency_us: None,
            latency_change_pct: None,
            price_us_per_pct: None,
            run_delay_us_per_request: None,
            cpu_us_per_request: None,
            held: JobHeld::default(),
            cause: None,
            verdict: arm.verdict.map(|_| BudgetVerdict::Inconclusive),
            passes_to_tell: None,
            trials: 0,
            invalid_trials: 0,
        };
    }
    sample.plan.sideload.job = Job::Command("make -j2".to_owned());
    sample
}

/// All that was tried is beyond the budget.
pub(crate) fn all_beyond() -> Sample {
    let mut sample = sample();
    sample.findings.arms.truncate(3);
    sample.findings.recommended = recommended(Arm::None, BudgetVerdict::Beyond, 350.0);
    sample
}

/// A quick run in a quiet hour: three ways are out, and of those that are left none is decided.
pub(crate) fn undecided() -> Sample {
    let mut sample = sample();
    let open = |which, gained, change, reach| ArmFinding {
        passes_to_tell: Some(160),
        trials: 6,
        ..arm(which, gained, change, reach, BudgetVerdict::Inconclusive)
    };
    let found = &mut sample.findings;
    found.passes = 6;
    found.noise_floor_pct = Some(24.0);
    found.arms.truncate(3);
    found.arms.extend([
        open(Arm::Nice, 0.36, 16.0, 25.0),
        open(Arm::SchedIdle, 0.36, 19.0, 24.0),
        open(Arm::Weight, 0.36, 8.0, 25.0),
        open(Arm::CpuIdle, 0.36, 6.0, 21.0),
        arm(Arm::Quota10ms, 0.2, 155.0, 40.0, BudgetVerdict::Beyond),
        arm(Arm::CpuSet, 0.2, 369.0, 60.0, BudgetVerdict::Beyond),
    ]);
    found.missing_arms.clear();
    found.short_trials = vec![ShortTrials {
        quantile: "p99.9".parse().unwrap(),
        requests: 1_042,
        needed: 2_995,
    }];
    let others = [Arm::Nice, Arm::SchedIdle, Arm::Weight];
    found.recommended = Recommended {
        alike: others
            .map(|arm| TriedArm {
                arm,
                headroom_pct: None,
            })
            .to_vec(),
        undecided: others.to_vec(),
        ..recommended(Arm::CpuIdle, BudgetVerdict::Inconclusive, 32.4)
    };
    sample.trials = tally(66, 0);
    sample.drawn.trials = line(&sample.findings);
    sample
}

/// The same after one pass, in trials of which none shows p99.9.
pub(crate) fn one_pass() -> Sample {
    let mut sample = undecided();
    let found = &mut sample.findings;
    found.passes = 1;
    found.noise_floor_pct = None;
    found.recommended.worst_case_pct = None;
    found.recommended.alike.clear();
    let alone = |e: Option<Estimate>| e.map(|e| Estimate::alone(e.value));
    for arm in &mut found.arms {
        arm.trials = 1;
        arm.passes_to_tell = None;
        arm.verdict = arm.verdict.map(|_| BudgetVerdict::Inconclusive);
        if arm.arm.has_job() {
            arm.work_gained_share = alone(arm.work_gained_share);
        }
        arm.total_work_share = alone(arm.total_work_share);
        arm.price_us_per_pct = alone(arm.price_us_per_pct);
        arm.latency_us = arm.latency_us.map(|l| LatencyUs { p999: None, ..l });
        arm.latency_change_pct = arm.latency_change_pct.map(|c| LatencyChange {
            p50: alone(c.p50),
            p95: alone(c.p95),
            p99: alone(c.p99),
            p999: None,
        });
    }
    sample
}

/// All arms that there are, some of which nearly coincide, and one that makes
/// the service fifty times as slow.
pub(crate) fn crowded() -> Sample {
    let mut sample = sample();
    let all = Arm::ALL.into_iter().filter(|arm| arm.is_beside());
    let beside = all.enumerate().map(|(i, which)| {
        let place = i as f64;
        let (gained, change, verdict) = match which {
            Arm::None => (0.47, 5_000.0, BudgetVerdict::Beyond),
            Arm::CpuSet => (0.2, -3.0, BudgetVerdict::Within),
            _ => (
                0.385 + place * 0.001,
                2.1 + place * 0.2,
                BudgetVerdict::Within,
            ),
        };
        arm(which, gained, change, change.abs() * 0.3 + 1.0, verdict)
    });
    sample.findings.arms.truncate(2);
    sample.findings.arms.extend(beside);
    sample.findings.missing_arms.clear();
    sample.findings.recommended.undecided.clear();
    sample.drawn.trials = line(&sample.findings);
    sample
}
