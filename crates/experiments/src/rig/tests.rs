//! The rig on simulated schedulers: time is arithmetic.

use super::findings::{BreakStatus, RigFindings};
use super::graphs::{grain_jobs, lateness};
use super::outcome::{
    AccountFigures, Calibrated, DeadlineFigures, Direction, Part, ProofFigures, RigOutcome,
    RigSetting, RigTrial, RunFigures, TimedFigures,
};
use super::plan::{GraphPlan, RigPlan, peak_sizes};
use super::planner::RigPlanner;
use super::study::findings;
use crate::simulated::{conducted, disturbed};
use plimsoll_engine::{Next, Outcome, Planner};
use plimsoll_graph::Release;
use plimsoll_model::{Bounds, CpuPlan, InterruptTime, Phase, RunPlan, Trial, TrialSpec};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::time::Duration;

mod deviating;

const MS: Duration = Duration::from_millis(1);
const US: Duration = Duration::from_micros(1);

pub(super) fn plan(parts: &[Part], schedulers: &[&str], seed: u64) -> RigPlan {
    let graph = |name: &str| GraphPlan {
        name: name.to_owned(),
        dot: None,
    };
    RigPlan {
        parts: parts.to_vec(),
        schedulers: schedulers.iter().map(|name| (*name).to_owned()).collect(),
        library_sha1: BTreeMap::default(),
        kernel: "compute".to_owned(),
        peak_grains: vec![20 * US, 200 * US],
        grains: vec![Duration::ZERO, US, 10 * US, 100 * US],
        dependencies: vec![0, 3],
        graph_grain: 500 * US,
        graph: graph("load-bursts"),
        steady_graph: graph("tries"),
        search_budget: Duration::from_secs(1000),
        wait: None,
        run: RunPlan {
            passes: 4,
            window: 250 * MS,
            bounds: Bounds::usual(InterruptTime::Unknown),
            cpus: CpuPlan {
                service: [0, 1].into_iter().collect(),
                ..CpuPlan::default()
            },
            seed,
            budget: Duration::from_secs(1000),
            ..RunPlan::blank()
        },
    }
}

/// A scheduler by construction.
struct Simulated {
    /// Half of all runs miss a deadline at this stress.
    breaks_at: f64,
    /// From the call of the scheduler to the first job.
    startup_ns: f64,
    /// What a job costs besides its work.
    cost_ns: f64,
}

const USUAL: Simulated = Simulated {
    breaks_at: 0.9,
    startup_ns: 50_000.0,
    cost_ns: 400.0,
};

fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

impl Simulated {
    fn trial(&self, plan: &RigPlan, spec: &TrialSpec<RigSetting>) -> RigTrial {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(spec.seed ^ 0x5EED);
        let mut trial: RigTrial = Trial::begun(spec.clone(), 0);
        trial.took = 400 * MS;
        let out = &mut trial.outcome;
        let grain_ns = 500_000;
        let calibrated = Calibrated {
            grain_ns,
            alone_ns: 0.8 * grain_ns as f64,
            all_busy_ns: grain_ns as f64,
            all_busy_mean_ns: None,
        };
        out.calibrations = vec![calibrated; 2];
        match &spec.setting {
            RigSetting::Peak { grain, .. } => {
                let sizes = peak_sizes(*grain, plan.workers());
                let runs = sizes
                    .iter()
                    .map(|jobs| self.run(*jobs, *grain, true, &mut rng));
                out.runs = runs.collect();
            }
            RigSetting::Grain { .. } => {
                let runs = plan
                    .grains
                    .iter()
                    .map(|g| self.run(10_000, *g, false, &mut rng));
                out.runs = runs.collect();
            }
            RigSetting::Break { stress_ppm, .. } => {
                let stress = f64::from(*stress_ppm) / 1e6;
                out.runs = (0..20).map(|_| self.scheduled(stress, &mut rng)).collect();
            }
            RigSetting::Steady { .. } | RigSetting::Idle { .. } | RigSetting::Wait { .. } => {}
        }
        out.proof.nodes_checked = out.runs.iter().map(|run| u64::from(run.jobs)).sum();
        trial
    }

    /// A run that takes up to 1 % longer than it should.
    fn run(
        &self,
        jobs: u32,
        grain: Duration,
        timed: bool,
        rng: &mut Xoshiro256PlusPlus,
    ) -> RunFigures {
        let grain_ns = grain.as_nanos() as f64;
        let worked = f64::from(jobs) * (grain_ns + self.cost_ns) / 2.0;
        let covered = worked * (1.0 + 0.01 * unit(rng));
        let timed = timed.then_some(TimedFigures {
            first_start_ns: self.startup_ns as u64,
            all_started_ns: Some(self.startup_ns as u64),
            overlapping: 0,
            covered_ns: covered as u64,
            busy_ns: (f64::from(jobs) * grain_ns) as u64,
            all_busy_ns: worked as u64,
            impeded_ns: 0,
        });
        RunFigures {
            jobs,
            weight: jobs.into(),
            grain_ns: grain.as_nanos() as u64,
            elapsed_ns: (self.startup_ns + covered) as u64,
            timed,
            deadlines: None,
        }
    }

    /// A run that misses a deadline with a probability that is a logistic curve in the
    /// logarithm of the stress.
    fn scheduled(&self, stress: f64, rng: &mut Xoshiro256PlusPlus) -> RunFigures {
        let misses = 1.0 / (1.0 + (-(stress / self.breaks_at).ln() / 0.02).exp());
        let missed = u32::from(unit(rng) < misses);
        RunFigures {
            jobs: 64,
            weight: 66,
            grain_ns: 500_000,
            elapsed_ns: 20_000_000,
            timed: None,
            deadlines: Some(DeadlineFigures {
                schedule_ns: 20_000_000,
                missed,
                worst_ns: 0,
            }),
        }
    }
}

/// Continues from `trials` to the end of the plan.
fn run(plan: &RigPlan, scheduler: &Simulated, mut trials: Vec<RigTrial>) -> Vec<RigTrial> {
    let trial = |spec: &TrialSpec<RigSetting>| scheduler.trial(plan, spec);
    let ended = conducted(&RigPlanner::new(plan), &mut trials, trial);
    assert_eq!(ended.unwrap(), Outcome::Complete);
    trials
}

#[test]
fn schedulers_are_visited_side_by_side_and_then_searched_in_turns() {
    let plan = plan(&[Part::Peak, Part::Grain, Part::Break], &["a", "b"], 3);
    let trials = run(&plan, &USUAL, Vec::new());
    let visits = trials.iter().take_while(|t| t.spec.phase != Phase::Search);
    // 2 schedulers, 2 grains of peaks and 2 numbers of dependencies, 4 passes.
    assert_eq!(visits.count(), 2 * (2 + 2) * 4);
    let searched = &trials[32..];
    assert!(searched.iter().all(|t| t.spec.phase == Phase::Search));
    let first: Vec<(&str, bool)> = searched[..4]
        .iter()
        .map(|t| {
            let below = matches!(
                t.spec.setting,
                RigSetting::Break {
                    direction: Direction::Below,
                    ..
                }
            );
            (t.spec.setting.scheduler(), below)
        })
        .collect();
    assert_eq!(
        first,
        [("a", true), ("a", false), ("b", true), ("b", false)]
    );
}

#[test]
fn a_resumed_run_makes_the_trials_that_are_missing() {
    let plan = plan(&[Part::Peak, Part::Break], &["a", "b"], 5);
    let whole = run(&plan, &USUAL, Vec::new());
    for done in (0..whole.len()).step_by(7) {
        let trials = run(&plan, &USUAL, whole[..done].to_vec());
        assert_eq!(trials, whole, "resumed after {done} trials");
    }
}

#[test]
fn a_scheduler_that_fails_is_left_out_and_the_others_go_on() {
    let plan = plan(&[Part::Peak, Part::Break], &["a", "b"], 7);
    let mut trials = Vec::new();
    let trial = |spec: &TrialSpec<RigSetting>| {
        let mut trial = USUAL.trial(&plan, spec);
        if spec.setting.scheduler() == "a" && spec.phase == Phase::Search {
            trial.outcome = RigOutcome {
                failure: Some("it broke its contract: job 5 ran twice".to_owned()),
                proof: ProofFigures {
                    nodes_checked: 64,
                    violated: 1,
                },
                ..RigOutcome::default()
            };
        }
        trial
    };
    conducted(&RigPlanner::new(&plan), &mut trials, trial).unwrap();
    let of_a = trials.iter().filter(|t| t.outcome.failure.is_some());
    assert_eq!(of_a.count(), 1);
    let found = findings(&plan, &trials);
    assert_eq!(found.proof.violations, 1);
    assert_eq!(
        (&*found.failed[0].scheduler, found.failed[0].part),
        ("a", Part::Break)
    );
    let status = |name: &str| {
        let rows = found.breaking.iter().filter(|row| row.scheduler == name);
        rows.map(|row| row.status).collect::<Vec<_>>()
    };
    assert_eq!(status("a"), [BreakStatus::Inconclusive; 2]);
    assert_eq!(status("b"), [BreakStatus::Found; 2]);
}

#[test]
fn a_run_whose_schedulers_have_all_failed_fails() {
    let plan = plan(&[Part::Peak], &["a"], 7);
    let mut trials = Vec::new();
    let trial = |spec: &TrialSpec<RigSetting>| {
        let mut trial = USUAL.trial(&plan, spec);
        trial.outcome.failure = Some("job 5 ran twice".to_owned());
        trial
    };
    let error = conducted(&RigPlanner::new(&plan), &mut trials, trial).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("a failed") && error.contains("job 5 ran twice"),
        "{error}"
    );
    assert_eq!(trials.len(), 1);
}

#[test]
fn disturbed_trials_of_a_search_are_made_again_and_do_not_count() {
    let plan = plan(&[Part::Break], &["a"], 9);
    let mut trials = Vec::new();
    let trial = |spec: &TrialSpec<RigSetting>| {
        let mut trial = USUAL.trial(&plan, spec);
        if spec.pass % 3 == 1 {
            trial.verdict = disturbed();
        }
        trial
    };
    conducted(&RigPlanner::new(&plan), &mut trials, trial).unwrap();
    let found = findings(&plan, &trials);
    let valid = trials.iter().filter(|t| t.verdict.is_valid()).count();
    assert_eq!(
        found.breaking.iter().map(|row| row.trials).sum::<usize>(),
        valid
    );
    assert!(valid < trials.len());
}

#[test]
fn a_search_ends_when_its_budget_is_spent() {
    let mut plan = plan(&[Part::Break], &["a"], 9);
    plan.search_budget = 1200 * MS;
    let trials = run(&plan, &USUAL, Vec::new());
    assert_eq!(trials.len(), 2 * 3);
    assert_eq!(RigPlanner::new(&plan).next(&trials), Next::Done);
    let left = |done: usize| RigPlanner::new(&plan).progress(&trials[..done]).left;
    assert_eq!((left(0), left(6)), (2400 * MS, Duration::ZERO));
}

fn conclude(parts: &[Part], seed: u64) -> RigFindings {
    let plan = plan(parts, &["a"], seed);
    findings(&plan, &run(&plan, &USUAL, Vec::new()))
}

#[test]
fn the_breaking_point_lies_in_its_interval_in_93_of_100_seeds() {
    let mut held = [0, 0];
    for seed in 0..100 {
        let found = conclude(&[Part::Break], seed);
        for (row, held) in found.breaking.iter().zip(&mut held) {
            let stress = row.stress.unwrap();
            *held += u32::from(stress.holds(USUAL.breaks_at));
        }
        assert!(!found.gaps.is_empty());
    }
    assert!(held.iter().all(|held| *held >= 93), "{held:?} of 100");
}

#[test]
fn peaks_say_what_the_scheduler_was_made_with() {
    let found = conclude(&[Part::Peak], 1);
    for row in &found.peak {
        let grain_ns = 1e3 * row.grain_us;
        let least = grain_ns / (grain_ns + USUAL.cost_ns);
        let concurrency = row.average_concurrency.unwrap();
        assert!(
            (0.985 * 2.0 * least..=2.0 * least).contains(&concurrency.value),
            "{row:?}"
        );
        assert!(concurrency.interval().is_some());
        let gradient = row.gradient_ratio.unwrap().value;
        assert!((1.0 / least..1.02 / least).contains(&gradient), "{row:?}");
        let startup = row.startup_us.unwrap();
        assert!(
            startup.low.unwrap() < 65.0 && startup.high.unwrap() > 35.0,
            "{row:?}"
        );
        assert_eq!(row.job_inflation_ratio.unwrap().value, 1.0);
        assert_eq!(row.trials, 4);
    }
    let ratio = found.kernel.all_busy_ratio.unwrap();
    assert_eq!((ratio.value, found.kernel.drift_ratio), (1.25, Some(1.0)));
}

#[test]
fn the_grain_where_half_is_overhead_is_the_cost_of_a_job() {
    let found = conclude(&[Part::Grain], 1);
    let row = &found.grain[0];
    // At 400 ns half of the time is the cost of a job; 1 us is the shortest that was tried.
    let at_1us = row.efficiency[0].efficiency_ratio.value;
    assert!((0.68..=0.72).contains(&at_1us), "{row:?}");
    assert_eq!((row.metg50_us, found.grain.len()), (None, 2));
    let floor = row.floor_ns_per_job.unwrap();
    assert!((380.0..430.0).contains(&floor.value), "{floor:?}");
}

#[test]
fn accounts_add_up_over_trials() {
    let plan = plan(&[Part::Grain], &["a"], 1);
    let mut trials = run(&plan, &USUAL, Vec::new());
    for trial in &mut trials {
        trial.outcome.account = Some(AccountFigures {
            wall_ns: 1000,
            work_ns: 700,
            dispatch_ns: 100,
            steal_ns: 20,
            spin_ns: 30,
            parked_ns: 120,
        });
    }
    trials[0].verdict = disturbed();
    let found = findings(&plan, &trials).accounting;
    let shares = |row: &super::findings::AccountFinding| {
        [
            row.work_share,
            row.spin_share,
            row.parked_share,
            row.unexplained_share,
        ]
    };
    assert_eq!(
        found.iter().map(shares).collect::<Vec<_>>(),
        [[0.7, 0.03, 0.12, 0.03]]
    );
}

#[test]
fn without_a_trial_nothing_is_concluded() {
    let parts = [Part::Peak, Part::Grain, Part::Break, Part::Steady];
    let plan = plan(&parts, &["a"], 1);
    let found = findings(&plan, &[]);
    assert!(
        found
            .peak
            .iter()
            .all(|row| row.average_concurrency.is_none() && row.trials == 0)
    );
    assert!(
        found
            .breaking
            .iter()
            .all(|row| row.status == BreakStatus::Inconclusive)
    );
    assert!(found.steady[0].drift_ratio.is_none() && found.idle[0].cpu_ratio.is_none());
    assert_eq!(found.graphs[0].nodes, 64);
}

#[test]
fn peaks_and_graphs_take_a_bounded_time() {
    assert_eq!(peak_sizes(8 * MS, 2).last(), Some(&100));
    assert_eq!(peak_sizes(20 * US, 2).last(), Some(&1000));
    assert_eq!(grain_jobs("a", Duration::ZERO, 2), 20_000);
    assert_eq!(grain_jobs("threads", Duration::ZERO, 2), 2_000);
    assert_eq!(grain_jobs("a", 100 * US, 2), 500);
    assert_eq!(grain_jobs("a", 10 * US, 2), 2_000);
}

#[test]
fn a_job_is_late_after_its_own_deadline() {
    let deadlines = [Some(100), None, Some(300)].map(|deadline_ns| Release {
        start_ns: 0,
        deadline_ns,
    });
    let ends = |ends: [u64; 3]| lateness(&deadlines, (0..3).zip(ends));
    assert_eq!(ends([100, 9999, 250]), (0, 0));
    assert_eq!(ends([90, 9999, 250]), (0, -10));
    assert_eq!(ends([150, 9999, 301]), (2, 50));
}

#[test]
fn flags_without_effect_are_refused() {
    use crate::rig::args::{of, without_effect};
    let told = |flags: &[&str]| {
        let args = of(flags).unwrap();
        without_effect(&args, &args.parts)
    };
    for (flags, flag) in [
        (&["wait", "--scheduler", "rayon"][..], "--scheduler"),
        (&["wait", "--graph", "tries"], "--graph"),
        (&["wait", "--grain", "5us"], "--grain"),
        (&["wait", "--kernel", "compute"], "--kernel"),
        (&["peak", "--policies", "spin"], "--policies"),
        (&["peak", "--idle", "10s"], "--idle"),
        (&["peak", "--burn", "5%"], "--burn"),
    ] {
        let why = told(flags).unwrap_or_default();
        assert!(why.starts_with(flag), "{flags:?}: {why}");
    }
    for flags in [
        &["wait", "--policies", "spin", "--idle", "10s"][..],
        &["wait", "peak", "--scheduler", "rayon"],
        &["wait", "--save-graph", "a.dot", "--graph", "tries"],
        &["wait", "--trace", "a.json", "--scheduler", "rayon"],
        &["peak", "--scheduler", "rayon"],
    ] {
        assert_eq!(told(flags), None, "{flags:?}");
    }
}
