//! Any trial of each experiment, for properties.

use crate::cell::LONGEST;
use plimsoll_model::{
    Answers, Arm, BodySizes, ConnectionUse, CopiesOutcome, CopiesSetting, CopiesTrial, CpuSet,
    CpuTime, CpuUse, CpusOf, Energy, Errors, Histogram, Invalid, JobHeld, JobWork, LoadLevel,
    MachineUse, Millicores, Phase, Pressure, Rate, Second, ServiceUse, Setting, Share, Slot, Trial,
    TrialSetting, TrialSpec, Verdict, Waited, WarmUp, Work, YieldOutcome, YieldSetting, YieldTrial,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::fmt::Debug;
use std::time::Duration;

/// As long as a reader accepts.
fn time() -> impl Strategy<Value = Duration> {
    (0..=LONGEST.as_nanos() as u64).prop_map(Duration::from_nanos)
}

fn window() -> impl Strategy<Value = Duration> {
    (1..=LONGEST.as_nanos() as u64).prop_map(Duration::from_nanos)
}

fn count() -> impl Strategy<Value = u64> {
    0..=1u64 << 50
}

fn cpu_time() -> impl Strategy<Value = CpuTime> {
    (0..=i64::MAX as u64).prop_map(|ns| CpuTime(Duration::from_nanos(ns)))
}

fn share() -> impl Strategy<Value = Share> {
    (0.0..=1.0f64).prop_map(|x| Share::new(x).unwrap())
}

fn cpus() -> impl Strategy<Value = CpuSet> {
    vec(0u32..100, 0..5).prop_map(CpuSet::from_iter)
}

fn phase() -> impl Strategy<Value = Phase> {
    let level = option::of((1u32..=2000).prop_map(|t| f64::from(t) / 10.0));
    prop_oneof![
        Just(Phase::Idle),
        Just(Phase::Calibration),
        Just(Phase::Search),
        Just(Phase::Confirmation),
        Just(Phase::OneThreadPerCore),
        Just(Phase::TwoThreadsPerCore),
        level.prop_map(|p| Phase::Level {
            level: p.and_then(LoadLevel::percent)
        }),
    ]
}

fn rate() -> impl Strategy<Value = Rate> {
    (0.0..1e12f64).prop_map(|r| Rate::per_second(r).unwrap())
}

fn setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        Just(Setting::Idle),
        (rate(), option::of(any::<u32>()))
            .prop_map(|(rate, connections)| Setting::Offer { rate, connections }),
    ]
}

fn yield_setting() -> impl Strategy<Value = YieldSetting> {
    let share = || option::of(share());
    let beside = (rate(), 0..Arm::ALL.len(), share(), share());
    prop_oneof![
        rate().prop_map(|rate| YieldSetting::Offer { rate }),
        beside.prop_map(|(rate, arm, allowed, headroom)| YieldSetting::Beside {
            rate,
            arm: Arm::ALL[arm],
            allowed,
            headroom,
        }),
    ]
}

fn copies_setting() -> impl Strategy<Value = CopiesSetting> {
    prop_oneof![
        Just(CopiesSetting::Idle),
        any::<u32>().prop_map(|copies| CopiesSetting::Copies { copies }),
    ]
}

prop_compose! {
    fn job()(
        done in count(), over in time(), cpu in option::of(cpu_time()),
        held in vec(option::of(share()), 3),
    ) -> JobWork {
        let held = JobHeld { allowed: held[0], frozen: held[1], throttled: held[2] };
        JobWork { done, over, cpu, held }
    }
}

fn spec<S: TrialSetting>(
    settings: impl Strategy<Value = S>,
) -> impl Strategy<Value = TrialSpec<S>> {
    let visit = (0..=1_000_000u32, 0..=1_000_000u32, any::<u64>());
    let times = (time(), time(), window(), option::of(time()));
    (phase(), settings, visit, times).prop_map(
        |(phase, setting, (pass, attempt, seed), (min, max, window, limit))| TrialSpec {
            phase,
            setting,
            pass,
            attempt,
            warm_up: WarmUp { min, max },
            window,
            limit,
            seed,
        },
    )
}

prop_compose! {
    fn errors()(n in vec(count(), 6)) -> Errors {
        Errors {
            connect: n[0], tls: n[1], timeout: n[2], status: n[3], protocol: n[4], reset: n[5],
        }
    }
}

fn histogram() -> impl Strategy<Value = Histogram> {
    // From the lowest value on; below it, equality is stricter than the bins.
    vec(64u64.., 0..30).prop_map(|values| {
        let mut h = Histogram::new();
        values.iter().for_each(|ns| h.record_ns(*ns));
        h
    })
}

fn steps() -> impl Strategy<Value = Vec<Vec<Slot>>> {
    let slot = vec(0u64..1 << 40, 0..5).prop_map(|values| {
        let mut slot = Slot::default();
        values.iter().for_each(|ns| slot.record_ns(*ns));
        slot
    });
    vec(vec(slot, 1..4), 0..3)
}

prop_compose! {
    fn work()(
        n in vec(count(), 4), errors in errors(), latency in histogram(), slip in histogram(),
        steps in steps(), used in option::of((vec(any::<u32>(), 3), count())),
        sizes in option::of(vec(0..1u64 << 32, 4)), kinds in vec(answers(), 0..3),
    ) -> Work {
        Work {
            intended: n[0], sent: n[1], completed: n[2], errors, unfinished: n[3], latency, slip,
            steps,
            phases: Vec::new(),
            connections: used.map(|(n, waited)| ConnectionUse {
                connections: n[0], used: n[1], unserved: n[2], waited,
            }),
            bodies: sizes.map(|n| BodySizes {
                answers: n[0], least: n[1], most: n[2], sum: n[3], sum_of_squares: n[0] as f64,
            }),
            kinds,
            waited: Waited::default(),
        }
    }
}

prop_compose! {
    fn answers()(n in vec(count(), 3), ns in vec(any::<u32>(), 0..5)) -> Answers {
        let mut latency = Slot::default();
        ns.iter().for_each(|ns| latency.record_ns(u64::from(*ns)));
        let slip = latency.clone();
        Answers { latency, slip, failed: n[0], timed_out: n[1], unfinished: n[2] }
    }
}

prop_compose! {
    fn second()(
        at in time(), length in time(), measured: bool, n in vec(count(), 4),
        p50 in option::of(time()), p99 in option::of(time()),
        cpu in option::of(share()), steal in option::of(share()),
    ) -> Second {
        Second {
            at, length, measured, sent: n[0], completed: n[1], errors: n[2], in_flight: n[3],
            p50, p99, cpu, steal,
        }
    }
}

prop_compose! {
    fn cpu_use()(t in vec(cpu_time(), 9), tasks in option::of(cpu_time())) -> CpuUse {
        CpuUse {
            user: t[0], system: t[1], irq: t[2], softirq: t[3],
            iowait: t[4], idle: t[5], steal: t[6], guest: t[7], unsampled: t[8], tasks,
        }
    }
}

prop_compose! {
    fn machine()(
        window in time(), cpu in option::of(cpu_use()), service_cpus in cpus(),
        quota in option::of(any::<u32>()),
        service_cpu in option::of(cpu_use()), generator in (cpus(), option::of(cpu_use())),
        context_switches in option::of(any::<u64>()),
        pressure in option::of(vec(option::of(time()), 3)),
        frequency_hz in option::of(0.0..1e10f64), clock_ratio in option::of(0.0..4.0f64),
        energy in option::of(0.0..1e9f64),
        observer_cpu in option::of(cpu_time()), view_cpu in option::of(cpu_time()),
        doubt in option::of(".{0,20}"),
    ) -> MachineUse {
        let pressure = pressure.map(|p| Pressure {
            cpu_some: p[0], memory_some: p[1], io_some: p[2],
        });
        MachineUse {
            window, cpu, service_cpus, service_cpu, service_quota: quota.map(Millicores),
            generator_cpus: generator.0, generator_cpu: generator.1,
            context_switches, pressure, frequency_hz,
            clock_ratio,
            energy: energy.map(Energy), observer_cpu, view_cpu, doubt,
        }
    }
}

prop_compose! {
    fn service()(
        cpu in cpu_time(), run_delay in option::of(time()),
        context_switches in option::of(any::<u64>()),
    ) -> ServiceUse {
        ServiceUse { cpu, run_delay, context_switches }
    }
}

fn on() -> impl Strategy<Value = CpusOf> {
    prop_oneof![
        Just(CpusOf::Machine),
        Just(CpusOf::Service),
        Just(CpusOf::Generator)
    ]
}

fn invalid() -> impl Strategy<Value = Invalid> {
    prop_oneof![
        (time(), time()).prop_map(|(p99, bound)| Invalid::Slip { p99, bound }),
        (share(), share(), on()).prop_map(|(stolen, bound, on)| Invalid::Steal {
            stolen,
            bound,
            on
        }),
        (share(), share(), on()).prop_map(|(used, bound, on)| Invalid::OtherLoad {
            used,
            bound,
            on
        }),
    ]
}

fn any_of<S: TrialSetting, O: Debug>(
    settings: impl Strategy<Value = S>,
    outcomes: impl Strategy<Value = O>,
) -> impl Strategy<Value = Trial<S, O>> {
    let times = (count(), time(), time(), any::<bool>(), window());
    let used = (
        option::of(cpu_time()),
        machine(),
        option::of(service()),
        vec(second(), 0..4),
        vec(invalid(), 0..4),
    );
    (spec(settings), outcomes, work(), times, used).prop_map(
        |(spec, outcome, work, (started_unix_ms, took, warm_up, steady, window), used)| {
            let (generator_cpu, machine, service, seconds, reasons) = used;
            Trial {
                spec,
                started_unix_ms,
                took,
                warm_up,
                steady,
                window,
                work,
                outcome,
                generator_cpu,
                machine,
                service,
                seconds,
                verdict: Verdict::from_reasons(reasons),
            }
        },
    )
}

pub(super) fn any_trial() -> impl Strategy<Value = Trial> {
    any_of(setting(), Just(()))
}

pub(super) fn any_yield_trial() -> impl Strategy<Value = YieldTrial> {
    let outcome = option::of(job()).prop_map(|job| YieldOutcome { job });
    any_of(yield_setting(), outcome)
}

pub(super) fn any_copies_trial() -> impl Strategy<Value = CopiesTrial> {
    let outcome = vec(time(), 0..4).prop_map(|copy_times| CopiesOutcome { copy_times });
    any_of(copies_setting(), outcome)
}
