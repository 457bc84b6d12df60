//! What flags ask for, and what follows from a trial.

use super::FixedFindings;
use super::judge::judge;
use super::phases::{self, FixedOutcome, PhaseFound};
use super::plan::{AtRate, FixedPlan, FixedPlanner, asked};
use super::study::{ConnectionsFound, PausesFound, due, findings, is_slow};
use crate::experiment::Experiment;
use plimsoll_engine::{Next, Planner};
use plimsoll_model::{
    Answers, Condition, ConnectionUse, CpuTime, CpuUse, Holds, HttpService, Phase, Plan, Rate,
    RatePhase, Second, ServiceUse, ServiceWarmUp, Share, Slot, Trial, TrialSetting, TrialSpec,
    WarmUp, Workload,
};
use std::num::NonZeroU64;
use std::time::Duration;

#[test]
fn a_number_of_requests_is_a_time_at_the_rate() {
    let of = |rps: Option<f64>, requests: Option<u64>| {
        let duration = requests.is_none().then(|| Duration::from_secs(3));
        let rate = rps.and_then(Rate::per_second);
        let asked = asked(rate, duration, requests.and_then(NonZeroU64::new));
        asked.map(|(rate, window)| (rate.get(), window.as_secs_f64()))
    };
    assert_eq!(of(None, None).unwrap(), (1000.0, 3.0));
    assert_eq!(of(Some(50.0), Some(1000)).unwrap(), (50.0, 20.0));
    let refused = |rps, requests| of(Some(rps), Some(requests)).unwrap_err().to_string();
    assert!(refused(5000.0, 10).contains("2ms"));
    assert!(refused(1.0, 100_000).contains("more than a day"));
}

fn plan_at(rps: f64) -> FixedPlan {
    let http = HttpService::get("http://h/", 1, Duration::from_secs(1));
    let rate = Rate::per_second(rps).unwrap();
    let mut load = Plan::blank(Workload::Http(http));
    load.calibration.window = Duration::from_secs(1);
    load.run.passes = 1;
    load.run.window = Duration::from_secs(10);
    FixedPlan {
        rate,
        phases: Vec::new(),
        load,
    }
}

#[test]
fn a_service_is_warmed_up_until_it_has_answered_and_then_measured_once() {
    let mut plan = plan_at(400.0);
    plan.load.service_warm_up = Some(ServiceWarmUp::Requests(500));
    let planner = FixedPlanner::new(&plan);
    let mut trials: Vec<Trial<AtRate, FixedOutcome>> = Vec::new();
    let mut phases = Vec::new();
    while let Next::Trial(spec) = planner.next(&trials) {
        let rate = spec.setting.rate().unwrap();
        phases.push((spec.phase, rate.get()));
        let mut trial = Trial::begun(spec, 0);
        // A queue is left after each: 400 are sent in a second.
        trial.work.completed = 200;
        trial.took = Duration::from_secs(1);
        trials.push(trial);
    }
    let level = Phase::Level { level: None };
    let warm_up = (Phase::WarmUp, 400.0);
    assert_eq!(phases, [warm_up, warm_up, warm_up, (level, 400.0)]);
    assert_eq!(findings(&plan, &trials[..3]), FixedFindings::default());
    assert_eq!(findings(&plan, &trials).completed, 200);
}

type FixedTrial = Trial<AtRate, FixedOutcome>;

/// Ten seconds at 100/s in equal parts. Of each, how long its requests took in milliseconds, and whether that is
/// until the run ended.
fn in_parts(part_of: impl Fn(u64) -> (u64, bool)) -> (FixedPlan, FixedTrial) {
    let plan = plan_at(100.0);
    let level = Phase::Level { level: None };
    let spec = TrialSpec::blank(level, AtRate::of(&plan), plan.load.run.window);
    let mut trial: FixedTrial = Trial::begun(spec, 0);
    for nth in 0..plan.parts().len() as u64 {
        let (mut part, (ms, is_open)) = (Answers::default(), part_of(nth));
        for _ in 0..50 {
            part.latency.record_ns(ms * 1_000_000);
            trial.work.count(Duration::from_millis(ms));
            trial.work.intended += 1;
        }
        part.unfinished = 50 * u64::from(is_open);
        trial.work.unfinished += part.unfinished;
        trial.work.completed -= part.unfinished;
        trial.outcome.phases.push(part);
    }
    (plan, trial)
}

fn p99_holds(plan: &FixedPlan, trial: &FixedTrial) -> (Holds, String) {
    let goal = Condition::Kept {
        goal: "p99<10ms".parse().unwrap(),
        at: None,
    };
    let judged = judge(plan, std::slice::from_ref(trial), &goal).unwrap();
    (judged.holds, judged.why)
}

#[test]
fn a_service_that_gets_faster_within_the_trial_has_not_broken_a_goal() {
    let slow_at_first = |nth| (if nth < 12 { 80 } else { 1 }, false);
    let (mut plan, trial) = in_parts(slow_at_first);
    let (holds, why) = p99_holds(&plan, &trial);
    assert_eq!(holds, Holds::Undecided, "{why}");
    assert!(why.contains("got faster"), "{why}");
    let found = findings(&plan, std::slice::from_ref(&trial));
    let fell = found.latency_changed.unwrap();
    assert!(
        (fell.after_s - 12.0 * 0.495).abs() < 1e-9 && fell.is_fall,
        "{fell:?}"
    );
    assert_eq!((fell.before_us, fell.then_us), (80_000.0, 1000.0));
    let doubts = super::document::doubts(&found).join(" ");
    assert!(doubts.contains("--warm-up"), "{doubts}");

    // It misses less at a higher rate, or at a lower one.
    let phase = |rps| RatePhase {
        length: Duration::from_millis(500),
        rate: Rate::per_second(rps).unwrap(),
    };
    plan.phases = (0..20).map(|nth| phase(90.0 + f64::from(nth))).collect();
    assert_eq!(p99_holds(&plan, &trial).0, Holds::Undecided);
    plan.phases.reverse();
    assert_eq!(p99_holds(&plan, &trial).0, Holds::No);
    assert_eq!(findings(&plan, &[trial]).latency_changed, None);
    let (plan, trial) = in_parts(|_| (80, false));
    assert_eq!(p99_holds(&plan, &trial).0, Holds::No);
    assert_eq!(findings(&plan, &[trial]).latency_changed, None);
}

#[test]
fn cpu_use_is_undecided_while_a_queue_is_worked_off() {
    let goal = Condition::Kept {
        goal: "cpu<50%".parse().unwrap(),
        at: None,
    };
    let of = |part_of: fn(u64) -> (u64, bool)| {
        let (plan, mut trial) = in_parts(part_of);
        trial.machine.service_cpu = Some(CpuUse {
            user: CpuTime(Duration::from_secs(10)),
            ..CpuUse::default()
        });
        let second = |_| Second {
            measured: true,
            cpu: Share::new(0.99),
            ..Second::default()
        };
        trial.seconds = (0..10).map(second).collect();
        judge(&plan, &[trial], &goal).unwrap()
    };
    assert_eq!(of(|_| (80, false)).holds, Holds::No);
    let falls = of(|nth| (8000 - 400 * nth, false));
    assert_eq!(falls.holds, Holds::Undecided, "{falls:?}");
}

#[test]
fn a_request_without_an_answer_may_fail_yet() {
    let goal = Condition::Kept {
        goal: "errors<1%".parse().unwrap(),
        at: None,
    };
    let judged = |(plan, trial): (FixedPlan, FixedTrial)| judge(&plan, &[trial], &goal).unwrap();
    let found = judged(in_parts(|nth| (500, nth >= 18)));
    assert_eq!(found.holds, Holds::Undecided, "{found:?}");
    assert!(
        found.why.contains("100 requests had no answer"),
        "{found:?}"
    );
    assert_eq!(judged(in_parts(|_| (500, false))).holds, Holds::Yes);
    let (plan, mut trial) = in_parts(|nth| (500, nth >= 18));
    trial.work.errors.status = 500;
    trial.work.completed -= 500;
    trial
        .outcome
        .phases
        .iter_mut()
        .for_each(|part| part.failed = 25);
    assert_eq!(judged((plan, trial)).holds, Holds::No);
}

/// Later requests have waited for less when the run ends.
#[test]
fn an_overloaded_or_hung_service_has_broken_a_goal() {
    let overload = |nth: u64| match nth {
        0..6 => (900 * nth + 400, false),
        _ => (11_000 - 500 * nth, true),
    };
    let hung = |nth: u64| (11_000 - 500 * nth, true);
    let stops = |nth: u64| if nth < 5 { (1, false) } else { hung(nth) };
    for (nth, trial) in [in_parts(overload), in_parts(hung), in_parts(stops)]
        .iter()
        .enumerate()
    {
        let (plan, trial) = trial;
        let (holds, why) = p99_holds(plan, trial);
        assert_eq!(holds, Holds::No, "{nth}: {why}");
        let found = findings(plan, std::slice::from_ref(trial));
        let rose = found.latency_changed.is_some_and(|change| !change.is_fall);
        assert_eq!(rose, nth != 1, "{nth}: {:?}", found.latency_changed);
    }
}

#[test]
fn what_waited_for_a_connection_breaks_no_goal_by_that() {
    let (plan, mut trial) = in_parts(|_| (80, false));
    trial.work.connections = Some(ConnectionUse {
        connections: 128,
        waited: 1000,
        ..ConnectionUse::default()
    });
    let holds = |in_connection_ms: u64| {
        let mut trial = trial.clone();
        for _ in 0..1000 {
            let waited = &mut trial.outcome.waited;
            waited.latency.record_ns(80_000_000);
            waited.in_connection.record_ns(in_connection_ms * 1_000_000);
        }
        p99_holds(&plan, &trial)
    };
    let (of_the_client, why) = holds(5);
    assert_eq!(of_the_client, Holds::Undecided, "{why}");
    assert!(why.contains("(-c 1024)"), "{why}");
    assert_eq!(holds(40).0, Holds::No, "they take too long by themselves");
    assert_eq!(p99_holds(&plan, &trial).0, Holds::No);
}

#[test]
fn a_step_with_few_requests_that_misses_leaves_the_goal_undecided() {
    let (mut plan, mut trial) = in_parts(|_| (1, false));
    let phase = |rps| RatePhase {
        length: Duration::from_secs(5),
        rate: Rate::per_second(rps).unwrap(),
    };
    plan.phases = vec![phase(20.0), phase(5000.0)];
    let part = |requests, ms: u64| {
        let mut part = Answers::default();
        (0..requests).for_each(|_| part.latency.record_ns(ms * 1_000_000));
        part
    };
    trial.work.intended = 25_100;
    trial.outcome.phases = vec![part(100, 1), part(25_000, 1)];
    assert_eq!(p99_holds(&plan, &trial).0, Holds::Yes);
    trial.outcome.phases[0] = part(100, 50);
    trial
        .work
        .latency
        .record_many(Duration::from_millis(50), 100);
    let (holds, why) = p99_holds(&plan, &trial);
    assert_eq!(holds, Holds::Undecided, "{why}");
    assert!(why.contains("100 of 100 do at 20"), "{why}");
}

/// Two seconds at 1,000/s, of which so many are answered, each after a millisecond.
fn found(answered: u64) -> FixedFindings {
    let http = HttpService::get("http://h/", 1, Duration::from_secs(1));
    let rate = Rate::per_second(1000.0).unwrap();
    let plan = FixedPlan {
        rate,
        phases: Vec::new(),
        load: Plan::blank(Workload::Http(http)),
    };
    let window = Duration::from_secs(2);
    let spec = TrialSpec::blank(Phase::Level { level: None }, AtRate::of(&plan), window);
    let mut trial: Trial<AtRate, FixedOutcome> = Trial::begun(spec, 0);
    trial.work.intended = 2000;
    for _ in 0..answered {
        trial.work.count(Duration::from_millis(1));
    }
    trial.work.errors.timeout = 2000 - answered;
    trial.service = Some(ServiceUse {
        cpu: CpuTime(Duration::from_millis(answered / 10)),
        run_delay: None,
        context_switches: None,
    });
    findings(&plan, &[trial])
}

#[test]
fn requests_that_waited_for_a_connection_are_named() {
    let doubts = |waited_pct| {
        let found = FixedFindings {
            slow_seconds: 2,
            connections: Some(ConnectionsFound {
                connections: 2,
                streams: 4,
                waited_pct,
            }),
            ..found(1000)
        };
        super::document::doubts(&found).join(" ")
    };
    let many = doubts(99.0);
    assert!(
        many.contains("client's 2 connections with 4 streams each were in use"),
        "{many}"
    );
    assert!(many.contains("(-c 16)"), "{many}");
    let some = doubts(9.0);
    assert!(some.contains("the service does not carry this rate"));
    assert!(some.contains("9 % of the requests waited"), "{some}");
    assert!(!doubts(0.9).contains("waited because"));
}

#[test]
fn figures_that_pauses_of_the_generator_raised_are_doubted() {
    let doubts = |mean_us, p99_us| {
        let mut found = found(2000);
        found.slip_us.max = Some(21_900.0);
        (found.latency_us.mean, found.latency_us.p99) = (Some(1000.0), Some(17_000.0));
        found.pauses = Some(PausesFound {
            requests_pct: 0.7,
            mean_us,
            p99_us,
            p999_us: found.latency_us.p999,
        });
        super::document::doubts(&found).join(" ")
    };
    assert!(!doubts(900.0, Some(14_000.0)).contains("Pauses"));
    let both = doubts(500.0, Some(2700.0));
    let says = [
        "of up to 21.9ms",
        "at most so: mean from 500us to 1ms, p99 from 2.7ms to 17ms.",
    ];
    assert!(says.iter().all(|words| both.contains(words)), "{both}");
    assert!(doubts(500.0, None).contains("mean from 500us to 1ms."));
}

#[test]
fn rates_errors_and_cpu_time_are_of_the_window() {
    let found = found(1900);
    assert_eq!(
        (found.served_rps, found.failed, found.errors.timeout),
        (950.0, 100, 100)
    );
    assert_eq!(found.cpu_us_per_request, Some(100.0));
    let p99 = found.latency_us.p99.unwrap();
    assert!((p99 / 1000.0 - 1.0).abs() < 0.002, "{p99}");
}

#[test]
fn a_quantile_that_too_few_answers_show_is_unknown() {
    let found = found(200);
    assert!(found.latency_us.p50.is_some() && found.latency_us.max.is_some());
    assert_eq!((found.latency_us.p99, found.latency_us.p999), (None, None));
}

#[test]
fn a_slow_second_is_no_fluctuation_of_the_arrivals() {
    let slow = |rps, completed| {
        let second = Second {
            length: Duration::from_secs(1),
            measured: true,
            completed,
            ..Second::default()
        };
        is_slow(&second, rps)
    };
    assert!(slow(10_000.0, 8_999) && !slow(10_000.0, 9_001));
    // Five deviations at 1,000/s are 158.
    assert!(slow(1000.0, 841) && !slow(1000.0, 899));
    assert!(!slow(10.0, 0), "in one second of 22,000 none arrives");
}

#[test]
fn a_failed_request_is_no_success() {
    assert!(super::FixedRate::unanswered(&found(0)).is_some());
    let one = super::FixedRate::unanswered(&found(1999)).unwrap();
    assert_eq!(one, "1 of 2000 requests failed");
    let mut hangs = found(2000);
    assert_eq!(super::FixedRate::unanswered(&hangs), None);
    hangs.unfinished = 3;
    let words = super::FixedRate::unanswered(&hangs).unwrap();
    assert_eq!(words, "3 of 2000 requests had no answer");
}

#[test]
fn phases_have_their_own_rates_and_long_lists_are_joined() {
    let phase = |rps| RatePhase {
        length: Duration::from_millis(500),
        rate: Rate::per_second(rps).unwrap(),
    };
    let http = HttpService::get("http://h/", 1, Duration::from_secs(1));
    let mut plan = FixedPlan {
        rate: Rate::per_second(100.0).unwrap(),
        phases: vec![phase(100.0), phase(300.0)],
        load: Plan::blank(Workload::Http(http)),
    };
    let answers = |requests: u64| {
        let mut latency = Slot::default();
        (0..requests).for_each(|_| latency.record_ns(1_000_000));
        Answers {
            slip: latency.clone(),
            latency,
            failed: 1,
            ..Answers::default()
        }
    };
    let outcome = FixedOutcome {
        phases: vec![answers(49), answers(400)],
        ..FixedOutcome::default()
    };
    let found = phases::found(&plan, &outcome);
    let rates = |f: &PhaseFound| (f.from_s, f.asked_rps, f.answered_rps, f.failed);
    let rates: Vec<_> = found.iter().map(rates).collect();
    assert_eq!(rates, [(0.0, 100.0, 98.0, 1), (0.5, 300.0, 800.0, 1)]);
    assert_eq!(found[0].p99_us, None, "49 do not show it");
    assert!(found[1].p99_us.is_some());
    assert_eq!(found[1].slip_p99_us, found[1].p99_us);
    assert_eq!(AtRate::of(&plan).to_string(), "100/s to 300/s");

    // The first phase begins 1.1 s after the load, at the rate of the warm-up.
    plan.load.run.warm_up = WarmUp::fixed(Duration::from_secs(1));
    let second = |at_ms| Second {
        at: Duration::from_millis(at_ms),
        length: Duration::from_secs(1),
        ..Second::default()
    };
    assert_eq!(due(&plan, &second(1000)), 100.0);
    assert!((due(&plan, &second(2100)) - 200.0).abs() < 1e-9);

    plan.phases = (0..41).map(|n| phase(f64::from(n) + 1.0)).collect();
    let outcome = FixedOutcome {
        phases: vec![answers(1); 41],
        ..FixedOutcome::default()
    };
    let found = phases::found(&plan, &outcome);
    assert_eq!(found.len(), 14, "of three each");
    assert_eq!(found[13].length_s, 1.0);
    assert_eq!(found.iter().map(|f| f.failed).sum::<u64>(), 41);
}

#[test]
fn requests_without_an_answer_are_no_answers_of_their_phase() {
    let http = HttpService::get("http://h/", 1, Duration::from_secs(1));
    let plan = FixedPlan {
        rate: Rate::per_second(100.0).unwrap(),
        phases: vec![RatePhase {
            length: Duration::from_secs(10),
            rate: Rate::per_second(100.0).unwrap(),
        }],
        load: Plan::blank(Workload::Http(http)),
    };
    let mut latency = Slot::default();
    (0..900).for_each(|_| latency.record_ns(1_000_000));
    let spec = TrialSpec::blank(
        Phase::Level { level: None },
        AtRate::of(&plan),
        Duration::from_secs(10),
    );
    let mut trial: Trial<AtRate, FixedOutcome> = Trial::begun(spec, 0);
    trial.outcome.phases = vec![Answers {
        latency,
        failed: 100,
        timed_out: 300,
        unfinished: 200,
        ..Answers::default()
    }];
    let found = findings(&plan, &[trial.clone()]);
    assert_eq!((found.intended, found.completed), (1000, 400));
    assert_eq!((found.failed, found.unfinished), (400, 200));
    assert_eq!(
        (found.served_rps, found.phases[0].answered_rps),
        (40.0, 40.0)
    );
    assert_eq!(
        (found.phases[0].failed, found.phases[0].unfinished),
        (400, 200)
    );
    // A file may hold any numbers.
    trial.outcome.phases[0].failed = u64::MAX;
    trial.outcome.phases[0].timed_out = u64::MAX;
    assert_eq!(findings(&plan, &[trial]).failed, u64::MAX);
}
