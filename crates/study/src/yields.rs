//! Gain of batch work next to a service, and its cost for the service.
//!
//! Every figure that compares is a difference within a pass: an arm against
//! the service alone, or against the job alone, of the same pass. Latencies are
//! compared by the logarithm of their ratio, whose mean over the passes is
//! stated as a change in percent; its interval is Student's t over the passes,
//! from three on. The second trial of the service alone in each pass is compared
//! in the same way, and shows what differs where nothing does.

mod arm;
mod by_cpu;
mod headrooms;
mod knee;
mod recommended;
mod step;
mod verdict;

use crate::bootstrap;
use crate::rated::rated;
use plimsoll_model::{
    Arm, ArmFinding, Estimate, Rate, Share, SideloadPlan, StepCourse, TriedArm, YieldFindings,
    YieldPlan, YieldSetting, YieldTrial,
};
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// What is resampled has no interval with fewer passes than this: of four, even
/// the extremes hold the truth in no more than 7 of 8 cases (1 - 2/2^n), of five
/// in 15 of 16.
const FEWEST_PAIRS: usize = 5;

/// The trials before the first that has to do with a job: those of the
/// calibration.
pub fn before_jobs(trials: &[YieldTrial]) -> &[YieldTrial] {
    let first = trials
        .iter()
        .position(|t| matches!(t.spec.setting, YieldSetting::Beside { .. }));
    &trials[..first.unwrap_or(trials.len())]
}

/// All that can be concluded from the trials of a yield run so far.
pub fn findings(plan: &YieldPlan, trials: &[YieldTrial]) -> YieldFindings {
    let side = &plan.sideload;
    let rated = rated(&plan.load, &crate::measured(before_jobs(trials)));
    let of_arms = Seen::of(trials, None);
    let noise = arm::change(&of_arms, Arm::ServiceAgain);
    let noise_floor_pct = noise
        .and_then(|change| change.under(&side.budget)?.interval())
        .map(|(low, high)| low.abs().max(high.abs()));
    let context = Context {
        side,
        rated_rps: rated.as_ref().map(|r| r.rate_rps),
        noise: noise_floor_pct,
        seed: plan.load.run.seed,
    };
    let mut tried: Vec<Tried<'_>> = side
        .visits()
        .into_iter()
        .map(|(arm, headroom)| context.tried(arm, headroom, trials))
        .collect();
    if plan.step.is_some() {
        let found = tried.iter_mut().map(|t| &mut t.found);
        found.for_each(verdict::leave_out);
    }
    let valid = tried.iter().map(|t| t.seen.valid_passes(t.found.arm));
    let passes = valid.reduce(|all, of_arm| &all & &of_arm);
    let curve = headrooms::curves(&context, &tried);
    let stepped = step::findings(plan, &of_arms);
    let is_point = |t: &Tried<'_>| t.headroom.is_some() && !side.headrooms.is_empty();
    let recommended = recommended::recommended(&side.budget, &tried);
    YieldFindings {
        rate_rps: trials.iter().find_map(asked_rps),
        rated,
        budget: side.budget,
        passes: passes.map_or(0, |passes| passes.len() as u32),
        noise_floor_pct,
        recommended,
        short_trials: arm::short_trials(&of_arms),
        arms: tried
            .iter()
            .filter(|t| t.found.arm != Arm::ServiceAgain && !is_point(t))
            .map(|t| t.found.clone())
            .collect(),
        curve,
        step: stepped.arms,
        step_band_pct: stepped.band_pct,
        step_slot_ms: stepped.slot_ms,
        step_alone: stepped.alone,
        missing_arms: side.missing_arms.clone(),
    }
}

/// Latency after the steps of a run, slot by slot, for pictures: an entry for
/// each arm with a job of which something is known. Empty where the load does
/// not step.
pub fn step_courses(plan: &YieldPlan, trials: &[YieldTrial]) -> Vec<StepCourse> {
    step::courses(plan, &Seen::of(trials, None))
}

/// What the findings of all arms have in common.
struct Context<'p> {
    side: &'p SideloadPlan,
    rated_rps: Option<f64>,
    noise: Option<f64>,
    seed: u64,
}

impl Context<'_> {
    /// What is known of an arm with a headroom.
    fn tried<'t>(&self, arm: Arm, headroom: Option<Share>, trials: &'t [YieldTrial]) -> Tried<'t> {
        let seen = Seen::of(trials, headroom);
        Tried {
            headroom,
            found: arm::finding(&seen, arm, self.side, self.rated_rps, self.noise, self.seed),
            seen,
        }
    }
}

/// An arm with a headroom, and its trials beside those without any.
struct Tried<'t> {
    headroom: Option<Share>,
    found: ArmFinding,
    seen: Seen<'t>,
}

impl Tried<'_> {
    fn is_at(&self) -> TriedArm {
        TriedArm {
            arm: self.found.arm,
            headroom_pct: self.headroom.map(Share::pct),
        }
    }
}

fn asked_rps(trial: &YieldTrial) -> Option<f64> {
    match trial.spec.setting {
        YieldSetting::Beside { rate, .. } if rate > Rate::ZERO => Some(rate.get()),
        _ => None,
    }
}

/// The trials of each arm, and the last valid one of each pass: those
/// with one headroom, and those without any.
struct Seen<'t> {
    trials: BTreeMap<Arm, Vec<&'t YieldTrial>>,
    valid: BTreeMap<(Arm, u32), &'t YieldTrial>,
}

impl<'t> Seen<'t> {
    fn of(trials: &'t [YieldTrial], wanted: Option<Share>) -> Seen<'t> {
        let mut seen = Seen {
            trials: BTreeMap::new(),
            valid: BTreeMap::new(),
        };
        for trial in trials {
            let YieldSetting::Beside { arm, headroom, .. } = trial.spec.setting else {
                continue;
            };
            // What a file says in decimals may be off by its last digit.
            let is_near = |(a, b): (Share, Share)| (a.get() - b.get()).abs() < 1e-9;
            let is_wanted = headroom.zip(wanted).is_none_or(is_near);
            if !is_wanted || !trial.spec.phase.is_level() {
                continue;
            }
            seen.trials.entry(arm).or_default().push(trial);
            if trial.verdict.is_valid() {
                seen.valid.insert((arm, trial.spec.pass), trial);
            }
        }
        seen
    }

    fn all(&self, arm: Arm) -> &[&'t YieldTrial] {
        self.trials.get(&arm).map_or(&[], Vec::as_slice)
    }

    /// The valid ones of an arm, one for each pass.
    fn valid(&self, arm: Arm) -> impl Iterator<Item = &'t YieldTrial> {
        let of = (arm, 0)..=(arm, u32::MAX);
        self.valid.range(of).map(|(_, trial)| *trial)
    }

    /// The passes with a valid trial of an arm.
    fn valid_passes(&self, arm: Arm) -> BTreeSet<u32> {
        self.valid(arm).map(|trial| trial.spec.pass).collect()
    }

    /// Valid trials of two arms, of the same passes.
    fn pairs(&self, arm: Arm, other: Arm) -> Vec<(&'t YieldTrial, &'t YieldTrial)> {
        let with = |trial: &'t YieldTrial| {
            let other = self.valid.get(&(other, trial.spec.pass))?;
            Some((trial, *other))
        };
        self.valid(arm).filter_map(with).collect()
    }
}

/// What `figure` gives for all of `n` passes, with what it gives for passes
/// drawn with replacement.
fn resampled(n: usize, seed: u64, figure: impl Fn(&[usize]) -> Option<f64>) -> Option<Estimate> {
    let found = bootstrap::figure(n, seed, figure)?;
    Some(match n < FEWEST_PAIRS {
        true => Estimate::alone(found.value),
        false => found,
    })
}
