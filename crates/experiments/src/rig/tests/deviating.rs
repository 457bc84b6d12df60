//! Whether intervals hold the truth of schedulers that differ from trial to trial, and what
//! is said of schedulers that no line describes.

use super::*;
use crate::rig::findings::PeakFinding;
use crate::rig::outcome::Calibrated;
use plimsoll_model::Estimate;

/// By how much the cost of a job differs from trial to trial: the standard deviation.
const DEVIATION: f64 = 0.1;

/// The usual scheduler, but for the cost of a job in this trial.
fn deviating(plan: &RigPlan, spec: &TrialSpec<RigSetting>) -> RigTrial {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(spec.seed ^ 0xDE7);
    let turn = std::f64::consts::TAU * unit(&mut rng);
    let normal = (-2.0 * (1.0 - unit(&mut rng)).ln()).sqrt() * turn.cos();
    let own = Simulated {
        cost_ns: USUAL.cost_ns * (1.0 + DEVIATION * normal),
        ..USUAL
    };
    own.trial(plan, spec)
}

fn conclude_deviating(passes: u32, seed: u64) -> RigFindings {
    let mut plan = plan(&[Part::Peak, Part::Grain], &["a"], seed);
    plan.grains = [0, 100, 1000, 10_000].map(Duration::from_nanos).to_vec();
    plan.peak_grains = vec![20 * US];
    plan.dependencies = vec![0];
    plan.run.passes = passes;
    let mut trials = Vec::new();
    conducted(&RigPlanner::new(&plan), &mut trials, |spec| {
        deviating(&plan, spec)
    })
    .unwrap();
    findings(&plan, &trials)
}

#[test]
fn intervals_hold_the_truth_in_93_of_100_seeds() {
    // A run takes half a percent longer on average, and the start-up is in it.
    let floor_ns = 1.005 * USUAL.cost_ns + 2.0 * USUAL.startup_ns / 10_000.0;
    let metg_us = floor_ns / (2.0 - 1.005) / 1e3;
    let gradient = 1.005 * (20_000.0 + USUAL.cost_ns) / 20_000.0;
    for passes in [3, 4] {
        let mut held = [0; 3];
        for seed in 0..200 {
            let found = conclude_deviating(passes, seed);
            let (grain, peak) = (&found.grain[0], &found.peak[0]);
            let holds = |of: Option<Estimate>, truth| u32::from(of.unwrap().holds(truth));
            held[0] += holds(grain.metg50_us, metg_us);
            held[1] += holds(grain.floor_ns_per_job, floor_ns);
            held[2] += holds(peak.gradient_ratio, gradient);
        }
        println!("METG, floor, gradient of {passes} trials: {held:?} of 200");
        assert!(held.iter().all(|held| *held >= 186), "{held:?} of 200");
    }
}

fn peak_of(change: impl Fn(&mut RigTrial)) -> PeakFinding {
    let plan = plan(&[Part::Peak], &["a"], 1);
    let mut trials = run(&plan, &USUAL, Vec::new());
    trials.iter_mut().for_each(change);
    findings(&plan, &trials).peak.remove(0)
}

#[test]
fn the_reference_has_the_interruptions_of_plain_threads() {
    let plain = peak_of(|_| {});
    // Everything takes 5 % longer, in plain threads and in the scheduler.
    let interrupted = peak_of(|trial| {
        for calibrated in &mut trial.outcome.calibrations {
            *calibrated = Calibrated {
                all_busy_mean_ns: Some(1.05 * calibrated.all_busy_ns),
                ..*calibrated
            };
        }
        for run in &mut trial.outcome.runs {
            run.elapsed_ns = (run.elapsed_ns as f64 * 1.05) as u64;
            if let Some(timed) = &mut run.timed {
                timed.busy_ns = (timed.busy_ns as f64 * 1.05) as u64;
            }
        }
    });
    let near = |a: Option<Estimate>, b: Option<Estimate>| {
        let (a, b) = (a.unwrap().value, b.unwrap().value);
        assert!((a / b - 1.0).abs() < 1e-3, "{a} {b}");
    };
    near(interrupted.efficiency_ratio, plain.efficiency_ratio);
    near(interrupted.gradient_ratio, plain.gradient_ratio);
    near(interrupted.job_inflation_ratio, plain.job_inflation_ratio);
}

#[test]
fn what_no_line_describes_is_told() {
    let plain = peak_of(|_| {});
    assert_eq!((plain.kink_at_jobs, plain.two_wake_ups), (None, None));
    assert_eq!(plain.overlapping_share, Some(0.0));
    let bent = peak_of(|trial| {
        for run in trial.outcome.runs.iter_mut().filter(|run| run.jobs > 150) {
            run.elapsed_ns += u64::from(run.jobs - 150) * 20_000;
        }
    });
    let at = bent.kink_at_jobs.unwrap();
    assert!((100..=300).contains(&at), "{at}");
    let overlapping = peak_of(|trial| {
        let timed = trial
            .outcome
            .runs
            .iter_mut()
            .filter_map(|run| run.timed.as_mut());
        timed.for_each(|timed| timed.overlapping = 50);
    });
    assert!(overlapping.overlapping_share.unwrap() > 0.1);
}

#[test]
fn workers_that_nap_are_told() {
    let waking_up = |nap_ns: u64| {
        peak_of(|trial| {
            let runs = trial.outcome.runs.clone();
            // Enough peaks for a test within the trial.
            trial.outcome.runs.extend((0..3).flat_map(|_| runs.clone()));
            for (nth, run) in trial.outcome.runs.iter_mut().enumerate() {
                let nap_ns = if nth.is_multiple_of(2) { nap_ns } else { 0 };
                if let Some(timed) = &mut run.timed {
                    timed.all_started_ns = Some(60_000 + 500 * nth as u64 + nap_ns);
                }
            }
        })
    };
    assert_eq!(waking_up(5_000_000).two_wake_ups, Some(true));
    assert_eq!(waking_up(0).two_wake_ups, Some(false));
}

#[test]
fn a_failed_trial_is_in_no_chart() {
    let plan = plan(&[Part::Peak], &["a"], 1);
    let mut trials = run(&plan, &USUAL, Vec::new());
    trials
        .iter_mut()
        .for_each(|t| t.outcome.failure = Some("job 1 ran twice".to_owned()));
    let drawn = crate::rig::runs::Series::of(&plan, &trials);
    assert!(drawn.peaks.iter().all(Vec::is_empty) && drawn.concurrency.is_empty());
}
