//! Whether the service or its machine changed while it was measured.
//!
//! Intervals take trials for exchangeable. Where trials that follow each other are more
//! alike than others, or latency at one load rises from pass to pass, the interval holds
//! for the minutes of the run and not for other hours. All tests but that for a shift use
//! ranks or signs, so one disturbed trial does not decide. The rows of a table are in no
//! order of time, so nothing follows from theirs.

use crate::boundary;
use crate::capacity::Asked;
use crate::cpu_time::{self, SLOW, SLOW_AT_LEAST};
use crate::evidence::Bound;
use crate::serial::{BY_CHANCE, is_clustered};
use crate::theil_sen;
use plimsoll_model::{
    CapacityFinding, CapacityStatus, Doubt, Phase, Plan, Rate, Trial, TrialSetting, Workload,
};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// The same where only a minute is lost.
const WORTH_A_MINUTE: f64 = 0.05;
/// The same for the trend over levels, which has one pair of trials for each: of eight pairs
/// all have to agree.
const TREND_BY_CHANCE: f64 = 0.02;
/// The fewest loads whose trials show how far apart trials usually are.
const LEAST_LEVELS: usize = 5;
/// Standard errors of a shift that [`BY_CHANCE`] allows, two-sided.
const SHIFTED: f64 = 2.58;

/// The doubts about `capacity` that follow from the order of the trials.
pub(crate) fn doubts(
    plan: &Plan,
    trials: &[Trial],
    asked: &Asked,
    capacity: &[CapacityFinding],
) -> Vec<Doubt> {
    if matches!(plan.workload, Workload::Imported(_)) {
        return Vec::new();
    }
    let least_pct = plan.search.map_or(0.0, |s| 100.0 * s.precision.get());
    let found = capacity.iter().zip(asked.bounds());
    let found = found.filter(|(one, _)| one.status != CapacityStatus::Undecided);
    let mut out = Vec::new();
    for (one, bound) in found {
        let Some(bound) = bound else { continue };
        let goal = one.goal;
        let misses = crate::capacity::evidence(&bound, plan, trials);
        if let Some(order) = boundary::time_order(&misses, bound.share()) {
            // Of any size: a small shift within the run shows that there are others beyond it.
            match order.shift.filter(|(_, errors)| errors.abs() > SHIFTED) {
                Some((by, _)) => {
                    let change_pct = 100.0 * by.exp_m1();
                    out.push(Doubt::Shifted { goal, change_pct });
                }
                None if is_clustered(&order.residuals) => out.push(Doubt::Clustered { goal }),
                None => {}
            }
        }
        if rises_late(&bound, plan, trials, BY_CHANCE) {
            out.push(Doubt::RisesLate { goal });
        }
    }
    if !capacity.is_empty() {
        let levels = means_by_level(trials);
        // One that is smaller than the precision asked for does not matter.
        let trend = trend(&levels).filter(|by_pct| by_pct.abs() >= least_pct);
        out.extend(trend.map(|change_pct| Doubt::Trend { change_pct }));
        // Beyond what is carried a queue makes trials differ by itself.
        let rates = capacity.iter().filter_map(|one| Some(one.rate_rps?.value));
        let carried = rates.reduce(f64::min);
        out.extend(carried.and_then(|rate| unlike_trials(trials, rate)));
        let cpu_time = carried.map_or_else(Vec::new, |rate| {
            cpu_time::doubts(plan, trials, rate, least_pct)
        });
        // What says the same with less is left out.
        let is_costly = |doubt: &Doubt| matches!(doubt, Doubt::CostlyTrials { .. });
        if !cpu_time.iter().any(is_costly) {
            out.extend(carried.and_then(|rate| slow_trials(&levels, rate)));
        }
        out.extend(cpu_time);
    }
    out
}

/// A trial at a level. Beyond saturation its latency is that of the queue that grew in it,
/// which is longer where the service has become slower.
struct LevelTrial {
    rate: f64,
    /// Time from the beginning of the run, without pauses between trials.
    ended_s: f64,
    /// The logarithm of its mean latency in seconds.
    latency: f64,
}

/// By load and time.
fn means_by_level(trials: &[Trial]) -> Vec<Vec<LevelTrial>> {
    let is_level = |t: &Trial| matches!(t.spec.phase, Phase::Level { .. });
    let usable = |t: &Trial| is_level(t) && t.verdict.is_valid();
    let mut ended_s = 0.0;
    let mut levels: Vec<Vec<LevelTrial>> = Vec::new();
    for trial in trials {
        ended_s += trial.took.as_secs_f64();
        let mean = trial.work.latency.mean().filter(|_| usable(trial));
        let Some(mean) = mean else { continue };
        let one = LevelTrial {
            rate: trial.asked().get(),
            ended_s,
            latency: mean.as_secs_f64().max(1e-9).ln(),
        };
        match levels.iter_mut().find(|level| level[0].rate == one.rate) {
            Some(level) => level.push(one),
            None => levels.push(vec![one]),
        }
    }
    levels
}

/// By how much, in percent, the mean latency at equal loads changed from the first to
/// the last trial, where that is no chance: the test of Mann and Kendall within each load
/// and the median of the slopes (Hirsch, Slack and Smith, Water Resources Research 18,
/// 1982, with loads for seasons).
fn trend(levels: &[Vec<LevelTrial>]) -> Option<f64> {
    let ends = || levels.iter().flatten().map(|trial| trial.ended_s);
    let span_s = ends().reduce(f64::max)? - ends().reduce(f64::min)?;
    let (mut sum, mut variance, mut slopes) = (0.0, 0.0, Vec::new());
    for level in levels {
        let n = level.len() as f64;
        variance += n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
        for (i, first) in level.iter().enumerate() {
            for last in &level[i + 1..] {
                sum += f64::from(last.latency.total_cmp(&first.latency) as i8);
                slopes.push((last.latency - first.latency) / (last.ended_s - first.ended_s));
            }
        }
    }
    // With the correction for continuity.
    let z = (f64::abs(sum) - 1.0).max(0.0) / f64::sqrt(variance.max(1.0));
    let is_chance = 2.0 * Normal::standard().sf(z) >= TREND_BY_CHANCE;
    let slope = theil_sen::median(&mut slopes)?;
    (!is_chance).then(|| 100.0 * (slope * span_s).exp_m1())
}

/// Trials at loads up to `up_to` whose mean latency is far above that of others at the
/// same load, against how far trials at one load are usually apart: a state of the service,
/// or of its machine, that most trials do not show.
fn slow_trials(levels: &[Vec<LevelTrial>], up_to: f64) -> Option<Doubt> {
    let above = |level: &Vec<LevelTrial>| {
        let fastest = level.iter().map(|t| t.latency).reduce(f64::min)?;
        let slowest = level.iter().map(|t| t.latency).reduce(f64::max)?;
        (level.len() > 1).then_some((level.first()?.rate, slowest - fastest))
    };
    let below = levels.iter().filter(|level| level[0].rate <= up_to);
    let apart: Vec<(f64, f64)> = below.filter_map(above).collect();
    let mut sorted: Vec<f64> = apart.iter().map(|(_, by)| *by).collect();
    let usual = theil_sen::median(&mut sorted).filter(|_| apart.len() >= LEAST_LEVELS)?;
    let is_slow = |(_, by): &&(f64, f64)| *by > (SLOW * usual).max(SLOW_AT_LEAST.ln());
    let lowest = apart
        .iter()
        .filter(is_slow)
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    let is_calm = apart
        .iter()
        .filter(|one| one.0 > lowest.0)
        .any(|one| !is_slow(&one));
    is_calm.then(|| Doubt::SlowTrials {
        rate_rps: lowest.0,
        ratio: lowest.1.exp(),
    })
}

/// Valid trials at one load so far above what is carried count.
const NEAR: f64 = 1.3;
/// Throughputs of one load that differ by this factor, and by [`SIGMAS`] of Poisson processes, do
/// not differ by chance.
const UNLIKE: f64 = 1.25;
const SIGMAS: f64 = 5.0;

/// The load whose valid trials have the most different throughputs, if they are too different.
fn unlike_trials(trials: &[Trial], carried: f64) -> Option<Doubt> {
    let mut ends: Vec<(f64, f64, f64)> = Vec::new();
    for trial in trials.iter().filter(|t| t.verdict.is_valid()) {
        let Some(rate) = trial.spec.setting.rate().map(Rate::get) else {
            continue;
        };
        let (count, seconds) = (trial.work.completed as f64, trial.window.as_secs_f64());
        // By chance a short trial has fewer answers.
        let slack = SIGMAS * count.sqrt() / seconds;
        let (low, high) = (count / seconds + slack, count / seconds - slack);
        match ends.iter_mut().find(|(at, ..)| *at == rate) {
            Some((_, least, most)) => (*least, *most) = (least.min(low), most.max(high)),
            None => ends.push((rate, low, high)),
        }
    }
    let near = ends
        .into_iter()
        .filter(|(rate, ..)| *rate <= NEAR * carried);
    let unlike = near.filter(|(_, least, most)| *most > UNLIKE * least);
    let (rate_rps, least, most) = unlike.max_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1)))?;
    let rps = [least, most];
    Some(Doubt::UnlikeTrials { rate_rps, rps })
}

/// Whether a longer confirmation is worth its time, because latency may rise late in trials.
/// A mistake costs a minute and not a doubt.
pub fn may_rise_late(bound: &Bound, plan: &Plan, trials: &[Trial]) -> bool {
    rises_late(bound, plan, trials, WORTH_A_MINUTE)
}

/// Whether trials that miss a latency limit meet it at first and miss it at their end,
/// more often than the other way round: a queue, a bucket or a cache that longer trials
/// would fill or empty at a lower load. McNemar's exact test, wrong in `by_chance` of the
/// runs of a service of which that is not so.
fn rises_late(bound: &Bound, plan: &Plan, trials: &[Trial], by_chance: f64) -> bool {
    let Some(limit) = bound.limit() else {
        return false;
    };
    let is_missed = |t: &&Trial| bound.is_kept(plan, t) == Some(false);
    let (mut late, mut early) = (0u64, 0u64);
    let at_loads = trials.iter().filter(|t| t.spec.phase.shows_load());
    for trial in at_loads.filter(is_missed) {
        let mut seconds = trial.seconds.iter().filter(|s| s.measured);
        let first = seconds.next().and_then(|s| s.p99);
        let last = seconds.next_back().and_then(|s| s.p99);
        if let (Some(first), Some(last)) = (first, last) {
            late += u64::from(first <= limit && last > limit);
            early += u64::from(first > limit && last <= limit);
        }
    }
    let n = late + early;
    let Ok(coin) = Binomial::new(0.5, n) else {
        return false;
    };
    late > early && coin.sf(late - 1) < by_chance
}

#[cfg(test)]
mod tests;
