//! Narrows down the capacity under each goal: short trials around the boundary
//! until its interval is narrow enough or the time is used, then one longer trial
//! at its lower end.

use plimsoll_model::{Estimate, Phase, Plan, Rate, SearchPlan, Setting, Trial, TrialSpec};
use plimsoll_study::boundary::{Boundary, Interval, locate};
use plimsoll_study::capacity::{Asked, stated_of_all_kept};
use plimsoll_study::evidence::{Bound, Evidence};
use plimsoll_study::rated::rated;
use std::time::Duration;

/// Minimum number of trials near the boundary: resampling fewer underestimates the
/// variance.
const FEWEST: usize = 16;
/// Lead in trials that each side of a gap needs: one trial can be disturbed.
const VOTES: i32 = 2;
/// Far above any budget: ends a search whose trials take no time.
const MOST: usize = 400;
/// How far above the rated rate a goal is followed that is still met there.
const BEYOND: f64 = 1.3;
/// How far below the lowest level a goal is followed that is broken there.
const BENEATH: f64 = 1.0 / 16.0;
/// Step beyond the rates tried so far.
const STEP: f64 = 1.1;
/// Maximum confirmations of one goal. After two failures the machine is not
/// repeatable, and more trials would only wait for a lucky one.
const CONFIRMATIONS: usize = 2;

/// How long a confirmation measures where trials meet a limit at first and miss it at
/// their end: a bucket, a queue or a cache that takes minutes to fill shows in it.
const LATE: Duration = Duration::from_secs(60);

/// The next trial of the search; `None` when it is done.
pub(super) fn step(plan: &Plan, trials: &[Trial], seed: u64) -> Option<TrialSpec> {
    let search = plan.search?;
    let asked = Asked::of(plan, trials);
    // The shortest limit on latency among the goals.
    let limit = asked.bounds().flatten().filter_map(|b| b.limit()).min();
    let ask = |phase, rate, window| {
        let rate = on_grid(rated(plan, trials)?.rate_rps, &search, phase, rate)?;
        Some(TrialSpec {
            warm_up: plan.run.warm_up,
            limit,
            seed,
            ..TrialSpec::blank(phase, Setting::offer(rate), window)
        })
    };
    let mut goals: Vec<OneGoal> = Vec::new();
    for bound in asked.bounds().flatten() {
        goals.extend(OneGoal::of(plan, &search, trials, bound));
    }
    let left = search.budget.saturating_sub(spent(trials));
    let confirm = confirm_window(plan, &search, trials, &goals);
    let confirm_time = match confirm.is_zero() {
        true => Duration::ZERO,
        false => plan.run.warm_up.max + confirm,
    };
    let confirming = confirm_time * goals.len() as u32;
    let one = plan.run.warm_up.max + search.window;
    let may_search = left >= confirming + one && searched(trials).count() < MOST;
    let next = goals
        .iter()
        .filter_map(OneGoal::wants)
        .filter(|_| may_search)
        .max_by(|a, b| a.need.total_cmp(&b.need));
    if let Some(want) = next {
        return ask(Phase::Search, want.rate, search.window);
    }
    if confirm.is_zero() || left < confirm_time {
        return None;
    }
    let low = goals.iter().find_map(|g| g.to_confirm(plan, trials))?;
    ask(Phase::Confirmation, low, confirm)
}

/// The remaining time of the search.
pub(super) fn left(plan: &Plan, trials: &[Trial]) -> Duration {
    plan.search
        .map_or(Duration::ZERO, |s| s.budget.saturating_sub(spent(trials)))
}

/// The nearest rate on a grid, so that trials accumulate at the same loads; for a
/// confirmation, the next lower one.
fn on_grid(rated_rps: f64, search: &SearchPlan, phase: Phase, rate: f64) -> Option<Rate> {
    let grain = rated_rps * search.precision.get() / 4.0;
    let steps = match phase {
        Phase::Confirmation => (rate / grain).floor(),
        _ => (rate / grain).round(),
    };
    Rate::per_second(steps.max(1.0) * grain)
}

fn is_search(trial: &Trial) -> bool {
    matches!(trial.spec.phase, Phase::Search | Phase::Confirmation)
}

fn spent(trials: &[Trial]) -> Duration {
    trials.iter().filter(|t| is_search(t)).map(|t| t.took).sum()
}

fn searched(trials: &[Trial]) -> impl Iterator<Item = &Trial> {
    trials.iter().filter(|t| t.spec.phase == Phase::Search)
}

/// How long a confirmation measures; zero for none.
fn confirm_window(
    plan: &Plan,
    search: &SearchPlan,
    trials: &[Trial],
    goals: &[OneGoal],
) -> Duration {
    let is_late = |goal: &OneGoal| plimsoll_study::may_rise_late(&goal.bound, plan, trials);
    match search.confirm.is_zero() || !goals.iter().any(is_late) {
        true => search.confirm,
        false => search.confirm.max(LATE),
    }
}

/// A rate that a goal requests, and its priority.
#[derive(Debug, Clone, Copy)]
struct Want {
    rate: f64,
    need: f64,
}

/// The state of one goal.
struct OneGoal {
    bound: Bound,
    precision: f64,
    boundary: Boundary,
    /// The same before the last trial of the search.
    before: Option<Boundary>,
    /// Number of valid trials of the search.
    tried: usize,
    near: Vec<Evidence>,
    /// Its upper bound.
    ceiling: f64,
    /// Its lower bound.
    floor: f64,
}

impl OneGoal {
    fn of(plan: &Plan, search: &SearchPlan, trials: &[Trial], bound: Bound) -> Option<OneGoal> {
        let evidence: Vec<Evidence> = trials
            .iter()
            .filter(|t| is_search(t) || matches!(t.spec.phase, Phase::Level { .. }))
            .filter_map(|t| bound.evidence(plan, t))
            .collect();
        let locate =
            |evidence: &[Evidence]| locate(evidence, bound.share(), Interval::Rough(plan.run.seed));
        let boundary = locate(&evidence)?;
        let before = evidence.split_last().and_then(|(_, before)| locate(before));
        let rated = rated(plan, trials)?;
        let lowest = plan.levels.first()?.pct() / 100.0;
        Some(OneGoal {
            bound,
            precision: search.precision.get(),
            boundary,
            before,
            tried: searched(trials).filter(|t| t.verdict.is_valid()).count(),
            near: evidence,
            // A rate above the generator's limit cannot be tried. If disturbed trials
            // set that limit, the true one is unknown.
            ceiling: match (rated.limited_by_service, rated.disturbed) {
                (true, _) => rated.rate_rps * BEYOND,
                (false, true) => f64::INFINITY,
                (false, false) => 0.0,
            },
            floor: rated.rate_rps * lowest * BENEATH,
        })
    }

    /// The next rate, unless this goal's boundary is known well enough.
    fn wants(&self) -> Option<Want> {
        match self.boundary {
            Boundary::Above(highest) => {
                let rate = highest * STEP;
                (rate <= self.ceiling).then_some(Want { rate, need: 2.0 })
            }
            Boundary::Below(lowest) => {
                let rate = lowest / 2.0;
                (rate >= self.floor).then_some(Want { rate, need: 2.0 })
            }
            Boundary::Gap { low, high } => self.within(low.rate, high.rate),
            Boundary::Line { rate, slope } => {
                let width = self.width(rate);
                let done = width <= self.precision && self.beside(rate.value) >= FEWEST;
                // One e-fold of odds to either side: close enough for the line, far
                // enough to estimate its slope.
                let reach = (1.0 / slope).max(self.precision / 2.0).min(0.1);
                let offset = [0.0, -reach, reach][self.tried % 3];
                (!done).then_some(Want {
                    rate: rate.value * (1.0 + offset),
                    need: width / self.precision,
                })
            }
        }
    }

    /// Half the width of the interval, now or one trial ago, whichever is wider: a stop
    /// at the first narrow interval would be biased.
    fn width(&self, rate: Estimate) -> f64 {
        let of = |rate: Estimate| rate.relative_half_width().unwrap_or(1.0);
        match self.before {
            Some(Boundary::Line { rate: before, .. }) => of(rate).max(of(before)),
            _ => 1.0,
        }
    }

    /// Halves the gap; once it is narrow, repeats each side.
    fn within(&self, low: f64, high: f64) -> Option<Want> {
        let width = (high - low) / (high + low);
        if width > self.precision {
            return Some(Want {
                rate: (low * high).sqrt(),
                need: width / self.precision,
            });
        }
        let kept = |rate: f64| self.votes(rate, |share| share <= self.bound.share());
        let broken = |rate: f64| self.votes(rate, |share| share > self.bound.share());
        let (rate, votes) = match (kept(low), broken(high)) {
            (l, h) if l <= h => (low, l),
            (_, h) => (high, h),
        };
        (votes < VOTES).then_some(Want { rate, need: 1.0 })
    }

    /// Trials at a rate that agree, minus those that disagree.
    fn votes(&self, rate: f64, says: impl Fn(f64) -> bool) -> i32 {
        let at = self.near.iter().filter(|e| e.rate == rate);
        at.map(|e| if says(e.share()) { 1 } else { -1 }).sum()
    }

    /// Trials within 10 % of `rate`.
    fn beside(&self, rate: f64) -> usize {
        let near = |e: &&Evidence| (e.rate / rate - 1.0).abs() <= 0.1;
        self.near.iter().filter(near).count()
    }

    /// The rate to confirm, unless it is confirmed or the attempts are used up.
    fn to_confirm(&self, plan: &Plan, trials: &[Trial]) -> Option<f64> {
        let low = match self.boundary {
            Boundary::Line { rate, .. } => rate.low.unwrap_or(rate.value),
            Boundary::Gap { low, .. } => low.rate,
            // What runs out within minutes, such as burst credits, shows in a longer trial only.
            Boundary::Above(highest) if !matches!(self.bound, Bound::Cpu(_)) => {
                stated_of_all_kept(highest, &self.bound, &self.near, plan, trials)
            }
            Boundary::Above(_) | Boundary::Below(_) => return None,
        };
        let tries = trials
            .iter()
            .filter(|t| t.spec.phase == Phase::Confirmation)
            .filter(|t| self.is_about(t, low))
            .count();
        let holds = plimsoll_study::capacity::confirmed(&self.bound, plan, trials, low);
        (holds != Some(true) && tries < CONFIRMATIONS).then_some(low)
    }

    /// Whether a confirmation was made for this goal's lower end.
    fn is_about(&self, trial: &Trial, low: f64) -> bool {
        (trial.asked().get() / low - 1.0).abs() <= 2.0 * self.precision
    }
}
