//! Plans, findings and documents of made-up trials.

use super::args;
use super::experiment::Wake;
use super::findings::{Because, Change, PolicyFinding, WakeFindings};
use super::outcome::{Recorded, StateUse, WakeLoad, WakeOutcome, WakeSetting, WakeTrial, Wakes};
use super::plan::{BurnBudget, Placed, WakePlan, WakePlanner};
use super::prepare::waker;
use super::program::{Program, ProgramFigure, ProgramPlan};
use super::study;
use crate::experiment::Experiment;
use plimsoll_engine::{Next, Planner};
use plimsoll_host::Vicinity;
use plimsoll_model::{
    Arrivals, CpuSet, Estimate, IdlePolicy, Invalid, Phase, Placement, RunPlan, Share, Trial,
    TrialSpec, Verdict, Wait, WakeParts,
};
use plimsoll_study::seeded::Rng;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn plan() -> WakePlan {
    let mut run = RunPlan::blank();
    run.passes = 4;
    run.cpus.service = "0-1".parse().unwrap();
    WakePlan {
        policies: IdlePolicy::ALL.to_vec(),
        waits: vec![Wait::Futex, Wait::Timer],
        placements: vec![
            Placed {
                placement: Placement::SameCpu,
                waker_cpu: None,
                wakee_cpu: 1,
            },
            Placed {
                placement: Placement::SameLlc,
                waker_cpu: Some(0),
                wakee_cpu: 1,
            },
        ],
        gaps: vec![MS, 5 * MS],
        arrivals: vec![Arrivals::Constant],
        limit: None,
        budget: None,
        latency: None,
        program: None,
        left_out: Vec::new(),
        run,
    }
}

/// A machine that leaves its idle state in `exit_us`, and what its policies burn.
#[derive(Clone, Copy)]
struct Simulated {
    /// How long a wake-up on an awake CPU takes.
    awake_us: f64,
    exit_us: f64,
    /// The standard deviation of the logarithm of what a pass does.
    noise: f64,
    /// How often a pass is ten times as late.
    slow: f64,
}

const USUAL: Simulated = Simulated {
    awake_us: 11.0,
    exit_us: 23.0,
    noise: 0.03,
    slow: 0.0,
};

impl Simulated {
    fn trial(&self, spec: TrialSpec<WakeSetting>, seed: u64) -> WakeTrial {
        let mut rng = Rng::seeded(seed);
        let slow = if rng.unit() < self.slow { 10.0 } else { 1.0 };
        let mut normal = || (-2.0 * rng.unit().ln()).sqrt() * (6.3 * rng.unit()).cos();
        let policy = spec.setting.policy;
        let mut trial: WakeTrial = Trial::begun(spec, 0);
        let median = match policy.is_as_is() {
            true => self.awake_us + self.exit_us,
            false => self.awake_us,
        };
        let pass = (self.noise * normal()).exp();
        for _ in 0..400 {
            let us = slow * median * pass * (0.1 * normal()).exp();
            trial.work.latency.record_ns((us * 1e3) as u64);
        }
        let cpus = match policy {
            IdlePolicy::AsIs | IdlePolicy::AsIsAgain => 0.0,
            IdlePolicy::AllAwake => 2.0,
            IdlePolicy::Gate | IdlePolicy::Spinner => 1.0,
        };
        let window = trial.window;
        let own = 0.1 * (1.0 + 0.1 * normal());
        trial.outcome = WakeOutcome {
            wakee_cpu: 1,
            waker_cpu: Some(0),
            slept: 400,
            means: (cpus > 0.0).then(|| "a means, on CPU 1".to_owned()),
            own_cpu: window.mul_f64(own),
            polled: Some(window.mul_f64(0.9 * cpus)),
            states: [("POLL", 0, cpus > 0.0), ("C6", 2, cpus == 0.0)]
                .map(|(name, us, is_used)| StateUse {
                    name: name.to_owned(),
                    advertised_exit: Duration::from_micros(us),
                    entered: if is_used { 400 } else { 0 },
                    time: Duration::ZERO,
                })
                .to_vec(),
            not_kept: None,
            program: Vec::new(),
            recorded: Recorded {
                wakeups: vec![WakeParts {
                    idle_exit: (cpus == 0.0).then(|| Duration::from_micros(20)),
                    activation: Duration::from_micros(3),
                    run_queue: Duration::from_micros(2),
                }],
                absent: None,
            },
        };
        trial
    }

    /// All trials of a plan.
    fn run(&self, plan: &WakePlan, seed: u64) -> Vec<WakeTrial> {
        let planner = WakePlanner::new(plan);
        let mut trials = Vec::new();
        while let Next::Trial(spec) = planner.next(&trials) {
            let at = trials.len() as u64;
            trials.push(self.trial(spec, seed.wrapping_mul(10_007).wrapping_add(at)));
        }
        trials
    }

    fn findings(&self, plan: &WakePlan, seed: u64) -> WakeFindings {
        study::findings(plan, &self.run(plan, seed))
    }
}

fn policy(found: &WakeFindings, policy: IdlePolicy) -> &PolicyFinding {
    let mut rows = found.policies.iter();
    rows.find(|row| row.policy == policy).unwrap()
}

#[test]
fn each_pass_visits_every_kind_under_every_policy() {
    let plan = plan();
    let trials = USUAL.run(&plan, 1);
    // A timer has no waker: 2 waits, each in one placement, at 2 gaps, under 5 policies.
    assert_eq!(trials.len(), 4 * 2 * 2 * 5);
    let again = USUAL.run(&plan, 1);
    assert!(trials.iter().zip(&again).all(|(a, b)| a.spec == b.spec));
    // Long enough for p99.
    let is_long = |t: &WakeTrial| t.window >= t.spec.setting.wakes().unwrap().gap * 360;
    assert!(trials.iter().all(is_long));
    let half = &trials[..30];
    let next = WakePlanner::new(&plan).next(half);
    assert_eq!(next, Next::Trial(trials[30].spec.clone()), "resumed");
}

#[test]
fn a_known_exit_latency_and_burn_are_found() {
    let plan = plan();
    let (mut exits, mut saved) = (0, 0);
    for seed in 0..100 {
        let found = USUAL.findings(&plan, seed);
        let state = &found.states[0];
        assert_eq!((state.name.as_str(), state.advertised_exit_us), ("C6", 2.0));
        exits += u32::from(state.measured_exit_us.unwrap().holds(23.0));
        let gate = policy(&found, IdlePolicy::Gate);
        // The 99th percentile of what is simulated.
        let step = (0.1_f64 * 2.326).exp() * 23.0;
        saved += u32::from(gate.p99_saved_us.unwrap().holds(step));
    }
    assert!(exits >= 93, "{exits} of 100");
    assert!(saved >= 93, "{saved} of 100");
    let found = USUAL.findings(&plan, 1);
    assert_eq!(found.policies.len(), 4, "as it is counts once");
    let burn = |p| policy(&found, p).extra_burn_pct.unwrap().value;
    assert!((burn(IdlePolicy::AllAwake) - 90.0).abs() < 1.0);
    assert!((burn(IdlePolicy::Gate) - 45.0).abs() < 1.0);
    let price = policy(&found, IdlePolicy::Gate).p99_us_per_burn_pct;
    assert!(
        (price.unwrap().value - 29.0 / 45.0).abs() < 0.1,
        "{price:?}"
    );
    assert_eq!(policy(&found, IdlePolicy::AsIs).p99_us_per_burn_pct, None);
}

#[test]
fn recorded_parts_have_a_row_for_each_policy_and_add_up() {
    let plan = plan();
    let found = USUAL.findings(&plan, 1).split;
    assert_eq!(found.rows.len(), plan.wakes().len() * plan.policies.len());
    assert_eq!(found.absent, None);
    for row in &found.rows {
        let us = |part: Option<Estimate>| part.unwrap().value;
        let exit = if row.policy.is_as_is() { 20.0 } else { 0.0 };
        assert!((us(row.idle_exit_us) - exit).abs() < 1e-9, "{row:?}");
        let sum = us(row.idle_exit_us) + us(row.activation_us) + us(row.run_queue_us);
        assert!((us(row.total_us) - sum).abs() < 1e-9, "{row:?}");
        assert!((row.idle_pct - 5.0 * exit).abs() < 1e-9, "{row:?}");
    }
}

#[test]
fn why_no_part_was_recorded_is_said() {
    let plan = plan();
    let mut trials = USUAL.run(&plan, 1);
    for trial in &mut trials {
        let gate = trial.spec.setting.policy == IdlePolicy::Gate;
        trial.outcome.recorded = match gate {
            true => continue,
            false => Recorded {
                wakeups: Vec::new(),
                absent: Some("the kernel refused".to_owned()),
            },
        };
    }
    let found = study::findings(&plan, &trials).split;
    assert!(found.rows.iter().all(|row| row.policy == IdlePolicy::Gate));
    let absent = found.absent.unwrap();
    assert_eq!(
        absent,
        "none for as-is, as-is again, all-awake, spinner: the kernel refused"
    );
}

#[test]
fn the_cheapest_of_those_as_good_as_the_best_is_recommended() {
    let found = USUAL.findings(&plan(), 3).recommended;
    assert_eq!(found.because, Because::Knee);
    let gates = [IdlePolicy::Gate, IdlePolicy::Spinner];
    assert!(gates.contains(&found.policy.unwrap()), "{}", found.why);
}

#[test]
fn a_policy_that_burns_more_has_to_be_seen_to_be_better() {
    let slow = 1.0 / 6.0;
    let unsteady = Simulated { slow, ..USUAL };
    let mut plan = plan();
    plan.policies.retain(|p| *p != IdlePolicy::Spinner);
    let dear = (0..60).filter(|seed| {
        let found = unsteady.findings(&plan, *seed);
        let gate_differs = policy(&found, IdlePolicy::Gate).p99_change == Some(Change::Lower);
        gate_differs && found.recommended.policy == Some(IdlePolicy::AllAwake)
    });
    // They are equal, and the interval of a ratio is wholly above by chance in 2.5 %.
    let dear = dear.count();
    assert!(dear <= 4, "{dear} of 60");
}

#[test]
fn states_that_cost_nothing_are_left_as_they_are() {
    let nothing = Simulated {
        exit_us: 0.0,
        ..USUAL
    };
    let of = |seed| nothing.findings(&plan(), seed).recommended.because;
    let none = (0..60).filter(|seed| of(*seed) == Because::NoneDiffers);
    // Three policies, each of which differs by chance in at most 2.5 %.
    let none = none.count();
    assert!(none >= 52, "{none} of 60");
}

/// On a shared machine one pass in six has a pause in it.
#[test]
fn slow_passes_hide_no_difference_and_make_none() {
    let slow = Simulated {
        slow: 0.15,
        ..USUAL
    };
    let same = Simulated {
        exit_us: 0.0,
        ..slow
    };
    let of = |machine: Simulated, seed| {
        let found = machine.findings(&plan(), seed);
        policy(&found, IdlePolicy::Gate).clone()
    };
    let (mut found, mut held, mut made) = (0, 0, 0);
    for seed in 0..60 {
        let gate = of(slow, seed);
        found += u32::from(gate.p99_change == Some(Change::Lower));
        held += u32::from(gate.p99_ratio.unwrap().holds(11.0 / 34.0));
        made += u32::from(of(same, seed).p99_change == Some(Change::Lower));
    }
    assert!(found >= 40, "{found} of 60");
    assert!(held >= 54, "{held} of 60");
    // 2.5 % of 60, and three standard deviations.
    assert!(made <= 5, "{made} of 60");
}

/// A policy that makes wake-ups slower is said to.
#[test]
fn what_is_slower_is_not_called_the_same() {
    // The gate's exit takes as long as the others do, and theirs nothing.
    let slower = Simulated {
        exit_us: -20.0,
        ..USUAL
    };
    let found = slower.findings(&plan(), 1);
    let gate = policy(&found, IdlePolicy::Gate);
    assert_eq!(gate.p99_change, Some(Change::Higher), "{gate:?}");
    assert_ne!(found.recommended.policy, Some(IdlePolicy::Gate));
}

#[test]
fn limits_choose_the_policy() {
    let chosen = |latency: Option<Duration>, budget: Option<BurnBudget>| {
        let limited = WakePlan {
            latency,
            budget,
            ..plan()
        };
        let found = USUAL.findings(&limited, 5).recommended;
        (found.policy, found.because)
    };
    let us = |us| Some(Duration::from_micros(us));
    let pct = |pct| Some(BurnBudget::CpuPct(pct));
    let (policy, because) = chosen(us(20), None);
    assert_eq!(because, Because::WithinLimits);
    assert_ne!(policy, Some(IdlePolicy::AllAwake));
    // What it is anyway costs nothing.
    assert_eq!(chosen(us(100), None).0, Some(IdlePolicy::AsIs));
    assert_eq!(chosen(None, pct(5.0)).0, Some(IdlePolicy::AsIs));
    assert_ne!(chosen(None, pct(60.0)).0, Some(IdlePolicy::AsIs));
    let none = (None, Because::NoneWithinLimits);
    assert_eq!(chosen(us(1), None), none);
    assert_eq!(chosen(us(20), pct(5.0)), none);
    // Without an energy counter no power is known.
    let watts = Some(BurnBudget::Watts(10.0));
    assert_eq!(chosen(us(20), watts), none);
}

#[test]
fn trials_that_show_nothing_are_left_out() {
    let plan = plan();
    let mut trials = USUAL.run(&plan, 7);
    let all = study::findings(&plan, &trials);
    let futex_1ms = Wakes {
        wait: Wait::Futex,
        placement: Placement::SameLlc,
        gap: MS,
        poisson: false,
    };
    for trial in &mut trials {
        let setting = &trial.spec.setting;
        let is_gate = setting.policy == IdlePolicy::Gate;
        if is_gate && setting.load == WakeLoad::Wakes(futex_1ms) {
            trial.outcome.not_kept = Some("another program wrote 0".to_owned());
        } else if is_gate && trial.spec.pass == 0 {
            let (used, bound) = (Share::ONE, Share::ZERO);
            let on = plimsoll_model::CpusOf::Machine;
            trial.verdict = Verdict::Invalid(vec![Invalid::OtherLoad { used, bound, on }]);
        }
    }
    let found = study::findings(&plan, &trials);
    let mut rows = found.wakeups.iter();
    let row = rows.find(|r| r.policy == IdlePolicy::Gate && r.gap_us == 1000.0);
    let row = row.unwrap();
    assert_eq!((row.trials, row.latency_us.p50), (0, None));
    assert_eq!(row.too_few.as_deref(), Some("no valid trial"));
    let trials_of = |found: &WakeFindings, p| policy(found, p).trials;
    assert_eq!(trials_of(&all, IdlePolicy::Gate), 16);
    assert_eq!(trials_of(&found, IdlePolicy::Gate), 9);
    let others = trials_of(&found, IdlePolicy::AllAwake);
    assert_eq!(others, 12, "the same kinds of all policies are compared");
    let p999 = all.wakeups[0].latency_us.p999;
    assert_eq!(p999, None);
    assert!(all.wakeups[0].too_few.as_ref().unwrap().contains("p99.9"));
}

#[test]
fn nothing_is_concluded_from_nothing() {
    let plan = plan();
    let found = study::findings(&plan, &[]);
    assert_eq!(found.recommended.because, Because::Inconclusive);
    assert!(found.states.is_empty());
    let few = &USUAL.run(&plan, 1)[..15];
    let found = study::findings(&plan, few);
    assert_eq!(found.recommended.because, Because::Inconclusive);
}

#[test]
fn wakers_are_found_by_the_topology() {
    let set = |text: &str| -> CpuSet { text.parse().unwrap() };
    // Two sockets of two caches of two cores of two threads.
    let around = Vicinity {
        core: Some(set("7,15")),
        cache: Some(set("6-7,14-15")),
        socket: Some(set("4-7,12-15")),
    };
    let all = set("0-15");
    let of = |placement| waker(placement, &around, &all, 15);
    assert_eq!(of(Placement::SameCore), Ok(7));
    assert_eq!(of(Placement::SameLlc), Ok(6));
    assert_eq!(of(Placement::SameSocket), Ok(4));
    assert_eq!(of(Placement::OtherSocket), Ok(0));
    assert!(waker(Placement::SameCore, &around, &set("8-15"), 15).is_err());
    assert!(waker(Placement::OtherSocket, &around, &set("4-7"), 7).is_err());
    let unknown = Vicinity::default();
    for placement in Placement::ALL {
        assert!(waker(placement, &unknown, &all, 15).is_err(), "{placement}");
    }
}

#[test]
fn bad_flags_are_refused_with_a_way_out() {
    let refused = |flags: &[&str]| args::of(flags).unwrap_err().to_string();
    for bad in ["0", "-1", "abc", "0us", "2s", ""] {
        let error = refused(&["--limit", bad]);
        assert!(error.contains("such as 5us"), "{bad}: {error}");
    }
    for bad in ["0", "-1us", "abc", "5"] {
        let error = refused(&["--latency", bad]);
        assert!(error.contains("such as"), "{bad}: {error}");
    }
    for bad in ["0%", "-5%", "5", "101%", "0W", "-1W", "W", "NaN%", "abc"] {
        let error = refused(&["--budget", bad]);
        assert!(error.contains("such as 5%"), "{bad}: {error}");
    }
    for bad in ["0", "500ns", "2s", "-1ms", "fast"] {
        let error = refused(&["--gaps", bad]);
        assert!(error.contains("between 1us and 1s"), "{bad}: {error}");
    }
    assert!(refused(&["--policies", "as-is again"]).contains("choose from"));
    assert!(refused(&["--waits", "poll"]).contains("choose from"));
    assert!(refused(&["--placements", "same-cpu"]).contains("choose from"));
    assert!(refused(&["--arrivals", "bursts"]).contains("choose from"));
    assert!(args::of(&["--limit", "n/a", "--budget", "10W"]).is_ok());
    assert!(args::of(&["--limit", "1ns"]).is_ok(), "below every state");
    assert!(args::of(&["--limit", "1s"]).is_ok(), "above every state");
}

#[test]
fn a_setting_is_read_back_as_it_was_written() {
    for setting in plan().settings() {
        let json = serde_json::to_string(&setting).unwrap();
        assert!(json.contains("gap_ns"), "{json}");
        assert_eq!(serde_json::from_str::<WakeSetting>(&json).unwrap(), setting);
    }
    let spec = TrialSpec::blank(Phase::Idle, plan().settings()[0].clone(), MS);
    let outcome = USUAL.trial(spec, 1).outcome;
    let json = serde_json::to_string(&outcome).unwrap();
    assert_eq!(serde_json::from_str::<WakeOutcome>(&json).unwrap(), outcome);
    let plan = plan();
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<WakePlan>(&json).unwrap(), plan);
    assert_eq!(
        Wake::workload(&plan),
        "wake-ups of a thread on CPU 1, woken from CPU 0"
    );
}

/// A run of pgbench that prints this average, by policy and pass.
fn program_findings(passes: u32, average: impl Fn(IdlePolicy, u32) -> f64) -> WakeFindings {
    let mut plan = plan();
    plan.run.passes = passes;
    plan.program = Some(ProgramPlan {
        program: Program::Pgbench,
        cpus: "1".parse().unwrap(),
        database: None,
    });
    let mut trials = USUAL.run(&plan, 1);
    for trial in &mut trials {
        trial.outcome.program = vec![ProgramFigure {
            name: "average".to_owned(),
            unit: "ms".to_owned(),
            value: average(trial.spec.setting.policy, trial.spec.pass),
        }];
    }
    study::findings(&plan, &trials)
}

#[test]
fn figures_of_a_program_are_compared_by_policy() {
    let found = program_findings(4, |policy, pass| {
        let ms = if policy.is_as_is() { 1.3 } else { 0.3 };
        ms + 0.01 * f64::from(pass)
    });
    assert_eq!(found.recommended.because, Because::ProgramMeasured);
    assert_eq!((found.programs.len(), found.wakeups.len()), (5, 0));
    let gate = &found.programs[3];
    let average = gate.figures[0].value.unwrap();
    assert_eq!((gate.policy, gate.trials), (IdlePolicy::Gate, 4));
    assert!(average.holds(0.315) && !average.holds(1.3), "{average:?}");
    let ratio = gate.figures[0].ratio.unwrap();
    assert!(ratio.holds(0.315 / 1.315) && !ratio.holds(1.0), "{ratio:?}");
    assert_eq!(gate.figures[0].change, Some(Change::Lower));
    let [first, again] = [0, 1].map(|row| &found.programs[row].figures[0]);
    let shown = (first.ratio, first.change, again.change);
    assert_eq!(shown, (None, None, None));
    assert_eq!(again.ratio.unwrap().value, 1.0);
}

#[test]
fn a_program_is_not_faster_by_less_than_two_equal_policies_differ() {
    let found = program_findings(4, |policy, pass| {
        let ms = match policy {
            IdlePolicy::AsIs => 90.0,
            IdlePolicy::AsIsAgain => 30.0,
            _ => 45.0,
        };
        ms + f64::from(pass)
    });
    let gate = &found.programs[3].figures[0];
    assert!(gate.ratio.unwrap().high.unwrap() < 1.0, "{gate:?}");
    assert_eq!(gate.change, Some(Change::NotSignificant));
}

/// Five passes, as usual; each pass shifts all policies by one factor, and each trial has its own.
#[test]
fn known_ratios_of_a_program_are_recovered() {
    let (mut held, mut lower, mut made) = (0, 0, 0);
    for seed in 0..100 {
        let of = |true_ratio: f64| {
            let found = program_findings(5, |policy, pass| {
                let ratio = if policy.is_as_is() { 1.0 } else { true_ratio };
                let normal = |index: u64| {
                    let mut rng = Rng::seeded(1000 * seed + 10 * u64::from(pass) + index);
                    (-2.0 * rng.unit().ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
                };
                let (shared, own) = (normal(9), normal(policy as u64));
                ratio * (0.3 * shared + 0.15 * own).exp()
            });
            found.programs[3].figures[0].clone()
        };
        let (faster, equal) = (of(0.6), of(1.0));
        held += u32::from(faster.ratio.unwrap().holds(0.6));
        lower += u32::from(faster.change == Some(Change::Lower));
        made += u32::from(equal.change != Some(Change::NotSignificant));
    }
    // 95 and 5 are expected.
    assert!(held >= 90, "{held} of 100");
    assert!(lower >= 90, "{lower} of 100");
    assert!(made <= 10, "{made} of 100");
}
