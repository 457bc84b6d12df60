//! The client's connections and the length of trials follow a slow service.

use crate::simulated::{conducted, flags, plan};
use crate::sweep::defaults::adapt;
use crate::sweep::{SweepArgs, SweepPlanner};
use plimsoll_model::{
    ConnectionUse, HttpService, LimitedBy, Phase, Plan, Trial, TrialSetting, TrialSpec, Workload,
};
use plimsoll_study::rated::rated;
use std::time::Duration;

/// A service that answers after a fixed time, up to a rate, to a client whose requests
/// wait for a connection.
struct Slow {
    latency_s: f64,
    service_rps: f64,
}

impl Slow {
    fn plan(&self, line: &str) -> Plan {
        let line = format!("http://a/ --quick --seed 3 {line}");
        let args = flags(&line);
        let mut http = HttpService::get("http://a/", 128, Duration::from_secs(10));
        if line.contains(" -c 64") {
            http.connections = 64;
        }
        let mut plan = Plan {
            workload: Workload::Http(http),
            ..plan("--quick --seed 3")
        };
        plan.calibration.first = plimsoll_model::Rate::per_second(1000.0).unwrap();
        adapt(
            &mut plan,
            &args,
            Duration::from_secs_f64(self.latency_s),
            20_000,
        );
        plan
    }

    fn trial(&self, spec: &TrialSpec, planned: u32) -> Trial {
        let mut trial = Trial::begun(spec.clone(), 0);
        let connections = spec.setting.connections().unwrap_or(planned);
        let carries = f64::from(connections) / self.latency_s;
        let (asked, window) = (trial.asked().get(), spec.window.as_secs_f64());
        let carried = asked.min(carries).min(self.service_rps);
        // The first answer comes after one latency.
        let late = (self.latency_s - spec.warm_up.min.as_secs_f64()).max(0.0);
        trial.work.intended = (asked * window).round() as u64;
        trial.work.completed = (carried * (window - late).max(0.0)).round() as u64;
        let latency = Duration::from_secs_f64(self.latency_s);
        let answers = trial.work.completed;
        trial.work.latency.record_many(latency, answers);
        trial.work.connections = Some(ConnectionUse {
            connections,
            waited: if asked > carried {
                trial.work.intended / 2
            } else {
                0
            },
            ..ConnectionUse::default()
        });
        trial.took = spec.warm_up.min + spec.window;
        trial
    }

    fn sweep(&self, plan: &Plan, trials: &mut Vec<Trial>) {
        let Workload::Http(http) = &plan.workload else {
            panic!("a server");
        };
        let run = |spec: &TrialSpec| self.trial(spec, http.connections);
        conducted(&SweepPlanner(plan), trials, run).unwrap();
    }
}

fn found(slow: &Slow, line: &str) -> (LimitedBy, Option<u32>, f64, Vec<Trial>) {
    let plan = slow.plan(line);
    let mut trials = vec![];
    slow.sweep(&plan, &mut trials);
    let rated = rated(&plan, &trials).unwrap();
    (rated.limited_by, rated.connections, rated.rate_rps, trials)
}

#[test]
fn connections_grow_until_the_service_is_the_limit() {
    let service = |latency_s, service_rps| Slow {
        latency_s,
        service_rps,
    };
    for (slow, line, limited_by, connections, rate_rps) in [
        (service(0.1, 9_000.0), "", LimitedBy::Service, 2048, 9_000.0),
        (
            service(3.0, 2_000.0),
            "",
            LimitedBy::Service,
            10_000,
            2_000.0,
        ),
        // As much as 128 connections carry.
        (service(0.1, 1_280.0), "", LimitedBy::Service, 512, 1_280.0),
        (
            service(0.001, 5_000.0),
            "",
            LimitedBy::Service,
            128,
            5_000.0,
        ),
        (
            service(3.0, 9_000.0),
            "",
            LimitedBy::Connections,
            10_000,
            3_333.0,
        ),
        (
            service(0.1, 9_000.0),
            "-c 64",
            LimitedBy::Connections,
            64,
            640.0,
        ),
        (
            service(0.1, 9_000.0),
            "--max-connections 300",
            LimitedBy::Connections,
            300,
            3_000.0,
        ),
    ] {
        let (by, over, rate, trials) = found(&slow, line);
        assert_eq!((by, over), (limited_by, Some(connections)), "{line}");
        assert!((rate / rate_rps - 1.0).abs() < 0.02, "{line}: {rate}");
        let calibrations = trials.iter().filter(|t| t.spec.phase == Phase::Calibration);
        assert!(calibrations.count() <= 16, "{line}");
        let own: Option<u32> = (line != "-c 64").then_some(connections);
        let after = trials.iter().filter(|t| t.spec.phase.shows_load());
        let mut after = after.map(|t| t.spec.setting.connections());
        assert!(
            after.all(|over| over == own),
            "{line}: fixed after the calibration"
        );
    }
}

#[test]
fn trials_are_longer_where_answers_are_slow() {
    for (latency_s, warm_up_s, window_s) in [(3.0, 6.0, 12.0), (0.5, 1.0, 2.0), (0.1, 0.5, 1.5)] {
        let slow = Slow {
            latency_s,
            service_rps: 100.0,
        };
        let (by, _, rate, trials) = found(&slow, "");
        assert_eq!(by, LimitedBy::Service);
        assert!((rate - 100.0).abs() < 5.0, "{latency_s}: {rate}");
        let levels = trials.iter().filter(|t| t.spec.phase.is_level());
        for level in levels {
            let seconds = |time: Duration| time.as_secs_f64();
            let spec = &level.spec;
            let lengths = (seconds(spec.warm_up.min), seconds(spec.window));
            let is_as_long = |(a, b): (f64, f64)| (a / b - 1.0).abs() < 0.01;
            assert!(
                is_as_long((lengths.0, warm_up_s)),
                "{latency_s}: {lengths:?}"
            );
            assert!(
                is_as_long((lengths.1, window_s)),
                "{latency_s}: {lengths:?}"
            );
        }
    }
}

#[test]
fn a_resumed_run_makes_the_same_trials_over_the_same_connections() {
    let slow = Slow {
        latency_s: 0.1,
        service_rps: 9_000.0,
    };
    let plan = slow.plan("");
    let mut whole = vec![];
    slow.sweep(&plan, &mut whole);
    for killed_after in 0..whole.len() {
        let mut trials = whole[..killed_after].to_vec();
        slow.sweep(&plan, &mut trials);
        assert_eq!(trials, whole, "killed after {killed_after} trials");
    }
}

#[test]
fn findings_exclude_the_trials_that_warm_a_service_up() {
    let slow = Slow {
        latency_s: 0.01,
        service_rps: 5000.0,
    };
    let swept = |line: &str| {
        let mut plan = slow.plan("");
        let args: SweepArgs = flags(&format!("http://a/ {line}"));
        plan.service_warm_up = args.warm_up.warm_up;
        let mut trials: Vec<Trial> = vec![];
        slow.sweep(&plan, &mut trials);
        (plan, trials)
    };
    let (plan, trials) = swept("--warm-up 5s");
    let warms_up = |t: &Trial| t.spec.phase == Phase::WarmUp;
    let spent: Duration = trials.iter().filter(|t| warms_up(t)).map(|t| t.took).sum();
    assert!(spent >= Duration::from_secs(5), "{spent:?}");
    // After the idle machine, and before all else.
    let first: Vec<Phase> = trials.iter().map(|t| t.spec.phase).take(3).collect();
    assert_eq!(first[0], Phase::Idle);
    assert_eq!(first[1..], [Phase::WarmUp; 2]);
    let without: Vec<Trial> = trials.iter().filter(|t| !warms_up(t)).cloned().collect();
    let found = |trials: &[Trial]| plimsoll_study::findings(&plan, trials);
    assert_eq!(found(&trials), found(&without));
    let (_, cold) = swept("");
    assert!(!cold.iter().any(warms_up));
}
