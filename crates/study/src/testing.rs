//! Trials that no machine ever ran.

use plimsoll_model::{
    Arrivals, Bytes, Copies, CopiesPlan, CopiesSetting, CopiesTrial, CopiesWorkload, CpuTime,
    CpuUse, HashService, LoadLevel, Phase, Plan, Rate, Setting, Trial, TrialSpec, Workload,
};
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(10);

pub(crate) fn plan() -> Plan {
    let mut plan = Plan::blank(Workload::Hash(HashService {
        mean_block: Bytes(1 << 20),
        deviation_share: 0.25,
        request_cpu: CpuTime(Duration::from_millis(1)),
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

fn offer(rps: f64) -> Setting {
    Setting::Offer { rate: rate(rps) }
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
