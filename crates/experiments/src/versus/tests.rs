//! Plans, findings and conditions of made-up trials.

use super::experiment::VersusTrial;
use super::findings::{ComparedFigure, FigureFound, Place, VersusDoubt, VersusFindings};
use super::plan::{Side, VersusPlan, VersusPlanner, VersusSetting};
use super::{judge, study};
use plimsoll_engine::{Next, Planner};
use plimsoll_model::{
    BodySizes, Condition, ConnectionUse, CpuSet, CpuTime, CpuUse, CpusOf, Holds, HttpService,
    Invalid, Phase, Plan, Rate, ServiceUse, ServiceWarmUp, Share, Trial, Verdict, Workload,
};
use plimsoll_study::seeded::Rng;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn plan() -> VersusPlan {
    let load = |url| {
        let mut load = Plan::blank(Workload::Http(HttpService::get(url, 16, SECOND)));
        load.run.passes = 20;
        load.run.window = SECOND;
        load.run.budget = 100 * SECOND;
        load.run.cpus.service = "0".parse().unwrap();
        load.calibration.window = SECOND;
        load
    };
    VersusPlan {
        rate: Rate::per_second(400.0).unwrap(),
        against: load("http://old/"),
        load: load("http://new/"),
    }
}

/// How the new service answers; the base takes 1 ms of CPU time and 2 ms.
#[derive(Clone, Copy)]
struct New {
    /// Times the CPU time of the base, by pass.
    cpu: fn(u32) -> f64,
    /// Of 400 requests.
    failed: u64,
    answered: u64,
    bytes: u64,
    /// CPU time without load, of that under load.
    unloaded: f64,
}

const EQUAL: New = New {
    cpu: |_| 1.0,
    failed: 0,
    answered: 400,
    bytes: 40,
    unloaded: 0.0,
};

/// All trials of a run. The machine is up to twice as slow, in a random walk that both share.
fn run(plan: &VersusPlan, new: New, seed: u64) -> Vec<VersusTrial> {
    let mut rng = Rng::seeded(seed);
    let planner = VersusPlanner::new(plan);
    let mut trials: Vec<VersusTrial> = Vec::new();
    let mut machine: f64 = 1.0;
    while let Next::Trial(spec) = planner.next(&trials) {
        machine = (machine + 0.2 * (rng.unit() - 0.5)).clamp(1.0, 2.0);
        let VersusSetting { side, .. } = spec.setting;
        let (ratio, failed, answered, bytes) = match side {
            Side::Base => (1.0, 0, 400, 40),
            Side::New => ((new.cpu)(spec.pass), new.failed, new.answered, new.bytes),
        };
        let mut trial: VersusTrial = Trial::begun(spec, 0);
        let noise = 1.0 + 0.02 * (rng.unit() - 0.5);
        let cost = machine * ratio * noise;
        trial.work.intended = 400;
        trial.work.completed = answered - failed;
        trial.work.errors.status = failed;
        for _ in 0..trial.work.completed {
            trial.work.latency.record(2 * SECOND.mul_f64(cost / 1000.0));
        }
        trial.work.bodies = Some(BodySizes::one(bytes));
        let cpu = SECOND.mul_f64(cost * trial.work.completed as f64 / 1000.0);
        trial.service = Some(ServiceUse {
            cpu: CpuTime(cpu),
            run_delay: None,
            context_switches: None,
        });
        let unloaded = match side {
            Side::Base => new.unloaded,
            Side::New => 0.0,
        };
        trial.outcome.other_cpu = Some(CpuTime(SECOND.mul_f64(0.4 * unloaded)));
        trial.took = SECOND;
        trials.push(trial);
    }
    trials
}

fn of(found: &VersusFindings, figure: ComparedFigure) -> &FigureFound {
    found.figures.iter().find(|f| f.figure == figure).unwrap()
}

fn holds(found: &VersusFindings, condition: &str) -> Holds {
    let condition: Condition = condition.parse().unwrap();
    judge::judge(found, &condition).unwrap().holds
}

#[test]
fn both_are_visited_in_each_pass_in_alternating_order_with_the_same_arrivals() {
    let plan = plan();
    let trials = run(&plan, EQUAL, 1);
    assert_eq!(trials.len(), 40);
    for (pass, both) in trials.chunks(2).enumerate() {
        assert!(both.iter().all(|t| t.spec.pass == pass as u32));
        assert_ne!(both[0].spec.setting.side, both[1].spec.setting.side);
        assert_eq!(both[0].spec.seed, both[1].spec.seed);
    }
    for four in trials.chunks(4) {
        let sides: Vec<Side> = four.iter().map(|t| t.spec.setting.side).collect();
        assert_eq!(sides[0], sides[3], "A B B A");
        assert_ne!(four[0].spec.seed, four[2].spec.seed);
    }
}

#[test]
fn both_are_warmed_up_for_as_long_as_asked() {
    let mut plan = plan();
    plan.load.service_warm_up = Some(ServiceWarmUp::Time(3 * SECOND));
    let trials = run(&plan, EQUAL, 1);
    let warm_up = |side| {
        let all = trials.iter().filter(move |t| t.spec.phase == Phase::WarmUp);
        all.filter(move |t| t.spec.setting.side == side).count()
    };
    assert_eq!((warm_up(Side::Base), warm_up(Side::New)), (3, 3));
    assert_eq!(study::findings(&plan, &trials).passes, 20);
}

#[test]
fn a_change_is_found_on_a_machine_that_gets_twice_as_slow() {
    let plan = plan();
    for seed in 0..20 {
        let slower = New {
            cpu: |_| 1.1,
            ..EQUAL
        };
        let found = study::findings(&plan, &run(&plan, slower, seed));
        let cpu = of(&found, ComparedFigure::Cpu);
        let (low, high) = cpu.change_pct.interval().unwrap();
        assert!(low > 3.0 && high < 17.0, "{:?}", cpu.change_pct);
        assert_eq!(holds(&found, "change of cpu<3%"), Holds::No);
        assert_eq!(holds(&found, "change<30%"), Holds::Yes);
        let equal = study::findings(&plan, &run(&plan, EQUAL, seed));
        assert_eq!(holds(&equal, "change of cpu<10%"), Holds::Yes);
        assert_ne!(holds(&equal, "change of p99<3%"), Holds::No);
        assert!(equal.doubts.is_empty(), "{:?}", equal.doubts);
    }
}

#[test]
fn what_is_in_doubt_decides_nothing() {
    let plan = plan();
    let slower = New {
        cpu: |_| 1.5,
        ..EQUAL
    };
    let doubted = |new: New| {
        let found = study::findings(&plan, &run(&plan, new, 3));
        assert_eq!(holds(&found, "change of cpu<3%"), Holds::Undecided);
        assert_eq!(found.doubts.len(), 1, "{:?}", found.doubts);
        found.doubts[0].clone()
    };
    assert!(matches!(
        doubted(New {
            failed: 4,
            ..slower
        }),
        VersusDoubt::Failures {
            side: Side::New,
            failed: 80,
            of: 8000,
            ..
        }
    ));
    let not_carried = doubted(New {
        answered: 300,
        ..slower
    });
    let VersusDoubt::NotCarried {
        side: Side::New,
        trials: 20,
        of: 20,
        answered_rps,
    } = not_carried
    else {
        panic!("{not_carried:?}");
    };
    assert!((answered_rps - 300.0).abs() < 1.0, "{answered_rps}");
    let bodies = doubted(New {
        bytes: 50,
        ..slower
    });
    assert!(matches!(bodies, VersusDoubt::Bodies { .. }));
    let unloaded = doubted(New {
        unloaded: 0.1,
        ..slower
    });
    let VersusDoubt::BackgroundWork { side, pct } = unloaded else {
        panic!("{unloaded:?}");
    };
    assert_eq!(side, Side::New);
    assert!(pct > 3.0 && pct < 10.0, "{pct}");
}

#[test]
fn services_on_other_cpus_and_one_that_warms_up_are_doubted() {
    let mut plan = plan();
    let slower = New {
        cpu: |pass| 1.2 + (-f64::from(pass) / 5.0).exp(),
        ..EQUAL
    };
    let found = study::findings(&plan, &run(&plan, slower, 5));
    assert_eq!(holds(&found, "change of cpu<3%"), Holds::Undecided);
    let trends = found.doubts.iter();
    let trends = trends.filter(|doubt| matches!(doubt, VersusDoubt::Trend { .. }));
    assert_eq!(trends.count(), found.doubts.len());
    plan.against.run.cpus.service = "1".parse().unwrap();
    let found = study::findings(&plan, &run(&plan, EQUAL, 5));
    assert!(matches!(found.doubts[..], [VersusDoubt::Cpus { .. }]));
    // Those of a service that is not seen may be any.
    plan.against.run.cpus.service = CpuSet::default();
    assert!(
        study::findings(&plan, &run(&plan, EQUAL, 5))
            .doubts
            .is_empty()
    );
}

#[test]
fn a_service_that_is_started_anew_is_doubted() {
    let plan = plan();
    let mut trials = run(&plan, EQUAL, 7);
    for trial in &mut trials {
        let anew = trial.spec.setting.side == Side::Base && trial.spec.pass >= 4;
        trial.outcome.started_ticks = Some(if anew { 900 } else { 100 });
    }
    let found = study::findings(&plan, &trials);
    let side = Side::Base;
    assert_eq!(found.doubts, [VersusDoubt::Restarted { side, pass: 5 }]);
    assert_eq!(holds(&found, "change of cpu<30%"), Holds::Undecided);
}

/// Both take 30 ms for their connections in each trial, and what their requests take in half of its warm-up.
#[test]
fn work_between_the_windows_is_doubted() {
    let plan = plan();
    let found = |ratio: fn(u32) -> f64, between: Duration| {
        let new = New {
            cpu: ratio,
            ..EQUAL
        };
        let mut trials = run(&plan, new, 11);
        for trial in &mut trials {
            trial.warm_up = SECOND / 5;
            trial.machine.window = SECOND;
            let more = match trial.spec.setting.side {
                Side::Base => Duration::ZERO,
                Side::New => between,
            };
            // Its connections are open after half of it.
            let used = trial.service.unwrap().cpu.0.mul_f64(1.1);
            trial.outcome.own_cpu = Some(CpuTime(used + SECOND * 3 / 100 + more));
        }
        study::findings(&plan, &trials)
    };
    for ratio in [(|_| 1.0) as fn(u32) -> f64, |_| 0.1, |_| 1.2, |_| 10.0] {
        let alike = found(ratio, Duration::ZERO);
        assert!(alike.doubts.is_empty(), "{:?}", alike.doubts);
    }
    let put_off = found(|_| 0.8, SECOND / 10);
    let [
        VersusDoubt::WorkMoved {
            to: Place::BetweenWindows,
            us,
        },
    ] = put_off.doubts[..]
    else {
        panic!("{:?}", put_off.doubts);
    };
    assert!((us.value - 250.0).abs() < 25.0, "{us:?}");
    assert_eq!(holds(&put_off, "change of cpu<3%"), Holds::Undecided);
    assert_eq!(holds(&put_off, "change of p50<3%"), Holds::Yes);
}

#[test]
fn a_pass_counts_where_both_have_a_valid_trial() {
    let plan = plan();
    let mut trials = run(&plan, EQUAL, 7);
    for trial in &mut trials {
        let is_bad = trial.spec.pass == 4 && trial.spec.setting.side == Side::Base;
        if is_bad || trial.spec.pass > 6 {
            trial.verdict = Verdict::Invalid(vec![Invalid::Slip {
                p99: SECOND,
                bound: Duration::ZERO,
            }]);
        }
    }
    let found = study::findings(&plan, &trials);
    assert_eq!(found.passes, 6);
    assert_eq!(found.doubts, [VersusDoubt::FewPasses { passes: 6, of: 20 }]);
    assert!(found.requests.iter().all(|r| r.intended == 6 * 400));
    assert!(study::findings(&plan, &[]).figures.is_empty());
    let none = judge::judge(
        &study::findings(&plan, &[]),
        &"change of cpu<3%".parse().unwrap(),
    );
    assert_eq!(none.unwrap().holds, Holds::Undecided);
    assert!(judge::judge(&found, &"p99<10ms".parse().unwrap()).is_none());
}

#[test]
fn requests_that_wait_for_a_connection_are_doubted() {
    let plan = plan();
    let mut trials = run(&plan, EQUAL, 7);
    for trial in &mut trials {
        trial.work.connections = Some(ConnectionUse {
            waited: match trial.spec.setting.side {
                Side::Base => 0,
                Side::New => 8,
            },
            ..ConnectionUse::default()
        });
    }
    let found = study::findings(&plan, &trials);
    assert!(matches!(
        found.doubts[..],
        [VersusDoubt::Connections {
            side: Side::New,
            ..
        }]
    ));
}

#[test]
fn work_that_has_moved_to_other_processes_is_doubted() {
    let plan = plan();
    let cheaper = New {
        cpu: |_| 0.5,
        ..EQUAL
    };
    let with_machine = |new: New, outside_us: [f64; 2]| {
        let mut trials = run(&plan, new, 11);
        for trial in &mut trials {
            let us = match trial.spec.setting.side {
                Side::Base => outside_us[0],
                Side::New => outside_us[1],
            };
            let busy = trial.service.unwrap().cpu.0 + SECOND.mul_f64(us * 400.0 / 1e6);
            trial.machine.cpu = Some(CpuUse {
                user: CpuTime(busy + SECOND / 100),
                ..CpuUse::default()
            });
            trial.generator_cpu = Some(CpuTime(SECOND / 100));
        }
        study::findings(&plan, &trials)
    };
    let moved = with_machine(cheaper, [10.0, 510.0]);
    let [
        VersusDoubt::WorkMoved {
            to: Place::OtherProcesses,
            us,
        },
    ] = moved.doubts[..]
    else {
        panic!("{:?}", moved.doubts);
    };
    assert!((us.value - 500.0).abs() < 1.0, "{us:?}");
    assert_eq!(holds(&moved, "change of cpu<3%"), Holds::Undecided);
    assert!(with_machine(cheaper, [10.0, 20.0]).doubts.is_empty());
    // What is broken is so in any case.
    let dearer = New {
        cpu: |_| 1.5,
        ..EQUAL
    };
    let worse = with_machine(dearer, [10.0, 510.0]);
    assert_eq!(worse.doubts.len(), 1);
    assert_eq!(holds(&worse, "change of cpu<3%"), Holds::No);
}

#[test]
fn few_requests_of_a_connection_are_doubted_unless_they_are_asked_for() {
    let mut plan = plan();
    let Workload::Http(http) = &mut plan.load.workload else {
        panic!("no server");
    };
    http.connections = 128;
    let found = study::findings(&plan, &run(&plan, EQUAL, 7));
    assert_eq!(
        found.doubts,
        [VersusDoubt::NewConnections { requests: 3.125 }]
    );
    let Workload::Http(http) = &mut plan.load.workload else {
        panic!("no server");
    };
    http.requests_per_connection = std::num::NonZeroU32::new(2);
    let found = study::findings(&plan, &run(&plan, EQUAL, 7));
    assert!(found.doubts.is_empty(), "{:?}", found.doubts);
}

/// Every second trial of one service has others at work, and is made again.
#[test]
fn invalid_trials_of_one_service_are_doubted() {
    let plan = plan();
    let found = |ratio: fn(u32) -> f64, disturbed: Side| {
        let new = New {
            cpu: ratio,
            ..EQUAL
        };
        let mut trials = run(&plan, new, 7);
        let others = trials.iter().filter(|t| t.spec.setting.side == disturbed);
        let mut others: Vec<VersusTrial> = others.step_by(2).cloned().collect();
        for trial in &mut others {
            trial.verdict = Verdict::Invalid(vec![Invalid::OtherLoad {
                used: Share::ONE,
                bound: Share::ZERO,
                on: CpusOf::Machine,
            }]);
        }
        trials.extend(others);
        study::findings(&plan, &trials)
    };
    let cheaper = found(|_| 0.7, Side::New);
    assert_eq!(
        cheaper.doubts,
        [VersusDoubt::InvalidTrials {
            side: Side::New,
            base: (0, 20),
            new: (10, 30),
        }]
    );
    assert_eq!(holds(&cheaper, "change of cpu<3%"), Holds::Undecided);
    let dearer = found(|_| 1.5, Side::New);
    assert_eq!(holds(&dearer, "change of cpu<3%"), Holds::No);
    let dearer = found(|_| 1.5, Side::Base);
    assert_eq!(holds(&dearer, "change of cpu<3%"), Holds::Undecided);
}

/// Two passes of twenty have ten times the work.
#[test]
fn work_of_few_trials_is_doubted() {
    let plan = plan();
    let collecting = New {
        cpu: |pass| if pass % 10 == 9 { 8.0 } else { 0.6 },
        ..EQUAL
    };
    let found = study::findings(&plan, &run(&plan, collecting, 7));
    let [VersusDoubt::Uneven { all_pct }] = found.doubts[..] else {
        panic!("{:?}", found.doubts);
    };
    assert!(all_pct > 20.0, "{all_pct}");
    assert_eq!(holds(&found, "change of cpu<3%"), Holds::Undecided);
}
