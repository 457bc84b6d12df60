//! Trials that no machine ever ran.

use crate::seeded::Rng;
use plimsoll_model::{
    Arm, Arrivals, BesideRate, Bytes, Copies, CopiesPlan, CopiesSetting, CopiesTrial,
    CopiesWorkload, CountedJob, CpuTime, CpuUse, HashService, Job, JobHeld, JobWork, LoadLevel,
    Phase, Plan, Rate, Setting, Share, SideloadPlan, Trial, TrialSpec, Workload, YieldPlan,
    YieldSetting, YieldTrial,
};
use statrs::distribution::{ContinuousCDF, Normal};
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(10);

pub(crate) fn plan() -> Plan {
    let mut plan = Plan::blank(Workload::Hash(HashService {
        mean_block: Bytes(1 << 20),
        deviation_share: 0.25,
        request_cpu: CpuTime(Duration::from_millis(1)),
        waiting: None,
        memory: None,
        files: None,
    }));
    plan.arrivals = Arrivals::Poisson;
    plan.run.passes = 2;
    plan.run.window = WINDOW;
    plan.run.cpus.service = [0].into_iter().collect();
    plan.run.seed = 1;
    plan
}

pub(crate) fn copies_plan() -> CopiesPlan {
    CopiesPlan {
        workload: CopiesWorkload::Copies(Copies {
            command: vec!["true".to_owned()],
            timeout: WINDOW,
        }),
        numbers: vec![1, 2],
        run: plan().run,
    }
}

fn rate(n: f64) -> Rate {
    Rate::per_second(n).unwrap()
}

/// A valid trial in which every request took `us` microseconds and one CPU
/// was busy for a share of `cpu`.
pub(crate) fn trial_at(load_pct: f64, rps: u64, cpu: f64, us: f64) -> Trial {
    let level = LoadLevel::percent(load_pct);
    let mut trial = blank(Phase::Level { level }, offer(rps as f64));
    let requests = rps * WINDOW.as_secs();
    trial.work.intended = requests;
    trial.work.sent = requests;
    trial.work.completed = requests;
    for _ in 0..requests.min(1000) {
        trial.work.latency.record(Duration::from_secs_f64(us / 1e6));
    }
    trial.machine.service_cpu = Some(CpuUse {
        user: CpuTime(WINDOW.mul_f64(cpu)),
        idle: CpuTime(WINDOW.mul_f64(1.0 - cpu)),
        ..CpuUse::default()
    });
    trial
}

pub(crate) fn calibration_trial(asked: f64, achieved: u64) -> Trial {
    let mut trial = blank(Phase::Calibration, offer(asked));
    trial.work.intended = (asked * WINDOW.as_secs_f64()) as u64;
    trial.work.completed = achieved * WINDOW.as_secs();
    trial
}

pub(crate) fn copies_trial(copies: u32, seconds: u64) -> CopiesTrial {
    let setting = CopiesSetting::Copies { copies };
    let mut trial: CopiesTrial = blank(Phase::Level { level: None }, setting);
    trial.outcome.copy_times = vec![Duration::from_secs(seconds); copies as usize];
    trial
}

/// A job beside the service at a load in percent, in these arms.
pub(crate) fn yield_plan(arms: &[Arm], load_pct: f64, passes: u32) -> YieldPlan {
    let mut load = plan();
    load.run.passes = passes;
    let sideload = SideloadPlan {
        job: Job::Counted(CountedJob::Burn),
        service: BesideRate::Load(LoadLevel::percent(load_pct).unwrap()),
        arms: arms.to_vec(),
        missing_arms: Vec::new(),
        headroom: Share::new(0.2).unwrap(),
        headrooms: Vec::new(),
        budget: "p99+5%".parse().unwrap(),
        cpus: "0-1".parse().unwrap(),
        timeout: Duration::from_secs(60),
    };
    YieldPlan {
        load,
        sideload,
        step: None,
    }
}

/// A trial of an arm before anything was measured.
pub(crate) fn yield_trial(arm: Arm, pass: u32, rps: f64) -> YieldTrial {
    let setting = YieldSetting::Beside {
        rate: rate(rps),
        arm,
        allowed: None,
        headroom: None,
    };
    let mut trial: YieldTrial = blank(Phase::Level { level: None }, setting);
    trial.spec.pass = pass;
    trial
}

/// Work of a job that did so much in a second.
pub(crate) fn job_work(done: u64) -> JobWork {
    JobWork {
        done,
        over: Duration::from_secs(1),
        cpu: None,
        held: JobHeld::default(),
    }
}

/// A normal number of mean 0 and standard deviation 1.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    Normal::standard().inverse_cdf(rng.unit())
}

/// Normal values, each of which keeps this part of the one before.
pub(crate) fn values(n: usize, kept: f64, seed: u64) -> Vec<f64> {
    let mut rng = Rng::seeded(seed);
    let mut now = normal(&mut rng);
    let next = |_| {
        now = kept * now + (1.0 - kept * kept).sqrt() * normal(&mut rng);
        now
    };
    (0..n).map(next).collect()
}

pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.below(i + 1));
    }
}

fn offer(rps: f64) -> Setting {
    Setting::offer(rate(rps))
}

fn blank<S, O: Default>(phase: Phase, setting: S) -> Trial<S, O> {
    let spec = TrialSpec {
        warm_up: plan().run.warm_up,
        seed: 1,
        ..TrialSpec::blank(phase, setting, WINDOW)
    };
    let mut trial = Trial::begun(spec, 0);
    trial.machine.service_cpus = plan().run.cpus.service;
    trial
}
