//! Light load: what a relative goal's limit is a multiple of.
//!
//! The published rule asks for CPU use below 20 % alone; but a service that
//! sleeps is below 20 % CPU use at any load, and nothing would be light about
//! it, so load is bound too. Where CPU use is not known, load alone counts.
//! Where no such level is valid, as on a machine that is disturbed whenever it
//! has time, calibration trials below the bound stand in, and where there is
//! none, the lowest levels, unless they are too busy for that. Fewer requests than
//! decide a p99 stand for nothing: their p99 is the slowest of them. What stands for light
//! load is said with the answer.

use crate::bootstrap;
use crate::decide::needed;
use crate::levels::{Level, calibration_levels, levels};
use crate::rated::rated;
use plimsoll_model::{
    CONFIDENCE, CapacityNote, Goal, Histogram, LIGHT_PCT, LatencyLimit, LightBasis, LightLoad,
    Phase, Plan, Quantile, RatedRate, STAND_IN_PCT, Trial, Workload,
};
use statrs::distribution::{ContinuousCDF, Normal};
use std::time::Duration;

/// What light load is here, with the histogram that any quantile can be
/// read from.
pub(crate) struct Light {
    finding: LightLoad,
    latency: Histogram,
    /// Each trial's own.
    trials: Vec<Histogram>,
}

/// Light load after all trials, of which `levels` is the table.
///
/// # Errors
///
/// No valid level is light, or could stand for it, for this reason.
pub(crate) fn light_load(
    plan: &Plan,
    levels: &[Level<'_>],
    trials: &[Trial],
    rated: Option<&RatedRate>,
) -> Result<Light, CapacityNote> {
    let measured: Vec<&Level<'_>> = levels.iter().filter(|l| l.latency.count() > 0).collect();
    let cpu_known = measured.iter().all(|l| l.row.cpu_pct.is_some());
    let light: Vec<&Level<'_>> = measured.iter().copied().filter(|l| is_light(l)).collect();
    // A table's row is one number, however many requests it came from.
    let sampled = !matches!(plan.workload, Workload::Imported(_));
    let shows = |levels: &[&Level<'_>]| match sampled {
        true => has_p99(levels),
        false => !levels.is_empty(),
    };
    if shows(&light) {
        let basis = match cpu_known {
            true => LightBasis::Levels,
            false => LightBasis::LevelsByLoadAlone,
        };
        return Light::of(&light, basis);
    }
    let calibration = calibration_levels(plan, trials, rated);
    let calibration: Vec<&Level<'_>> = calibration.iter().filter(|l| is_light(l)).collect();
    if shows(&calibration) {
        return Light::of(&calibration, LightBasis::Calibration);
    }
    let bearable = |l: &&Level<'_>| l.row.load_pct <= STAND_IN_PCT;
    let lowest: Vec<&Level<'_>> = measured.iter().copied().filter(bearable).collect();
    // As few of them as show a p99.
    let enough = (1..lowest.len()).find(|n| shows(&lowest[..*n]));
    let lowest = &lowest[..enough.unwrap_or(lowest.len())];
    match (lowest, light.len()) {
        ([], _) => Err(nothing_light(
            plan,
            measured.first().map(|l| l.row.load_pct),
        )),
        (_, light) if light == lowest.len() => Light::of(lowest, LightBasis::Levels),
        _ => Light::of(lowest, LightBasis::LowestLevel),
    }
}

/// Whether there are as many requests as decide a p99: of fewer, it is but
/// the slowest one.
fn has_p99(levels: &[&Level<'_>]) -> bool {
    let requests: u64 = levels.iter().map(|l| l.latency.count()).sum();
    requests as f64 >= needed(1.0 - Quantile::P99.fraction())
}

/// Why no relative goal has a limit, when the lowest valid level is at
/// `lowest_pct`.
pub(crate) fn nothing_light(plan: &Plan, lowest_pct: Option<f64>) -> CapacityNote {
    CapacityNote::NoLightLoad {
        lowest_pct,
        planned: plan.levels.iter().any(|level| level.pct() <= LIGHT_PCT),
    }
}

/// Light load in the middle of a run: the same, without merging the
/// histograms of all levels for it, which is slow.
///
/// # Errors
///
/// As for [`light_load`].
pub(crate) fn before_levels(plan: &Plan, trials: &[Trial]) -> Result<Light, CapacityNote> {
    let rated = rated(plan, trials);
    // No more than these can be light, unless none of them is valid.
    let lowest = plan.levels.first().map_or(0.0, |l| l.pct());
    let may_be_light = |t: &&Trial| match t.spec.phase {
        Phase::Level { level: Some(level) } => level.pct() <= LIGHT_PCT.max(lowest),
        _ => false,
    };
    let mut low: Vec<Trial> = trials.iter().filter(may_be_light).cloned().collect();
    if !low.iter().any(|t| t.verdict.is_valid()) {
        low = trials.to_vec();
    }
    let levels = levels(plan, &low, rated.as_ref());
    light_load(plan, &levels, trials, rated.as_ref())
}

fn is_light(level: &Level<'_>) -> bool {
    let cpu = level.row.cpu_pct;
    level.row.load_pct <= LIGHT_PCT && cpu.is_none_or(|cpu| cpu < LIGHT_PCT)
}

impl Light {
    /// An error when no request was answered at any level.
    fn of(levels: &[&Level<'_>], basis: LightBasis) -> Result<Light, CapacityNote> {
        let mut latency = Histogram::new();
        levels.iter().for_each(|l| latency.merge(&l.latency));
        let loads = levels.iter().map(|l| l.row.load_pct);
        let trials = levels.iter().flat_map(|l| &l.valid);
        let p99 = latency.quantile(0.99);
        let p99 = p99.ok_or(CapacityNote::NoAnswerAtLightLoad)?;
        Ok(Light {
            finding: LightLoad {
                up_to_load_pct: loads.fold(0.0, f64::max),
                p99_us: p99.as_secs_f64() * 1e6,
                basis,
            },
            trials: trials.map(|t| t.work.latency.clone()).collect(),
            latency,
        })
    }

    /// As shown.
    pub(crate) fn finding(&self) -> &LightLoad {
        &self.finding
    }

    /// What a reader should know about it, if it is not what it should be.
    pub(crate) fn note(&self) -> Option<CapacityNote> {
        let LightLoad {
            basis,
            up_to_load_pct,
            ..
        } = self.finding;
        (basis != LightBasis::Levels).then_some(CapacityNote::Light {
            basis,
            up_to_load_pct,
        })
    }

    pub(crate) fn quantile(&self, quantile: Quantile) -> Option<Duration> {
        self.latency.quantile(quantile.fraction())
    }

    /// Whether it has as many requests as show a quantile.
    pub(crate) fn shows(&self, quantile: Quantile) -> Result<(), CapacityNote> {
        let (seen, needed) = (self.latency.count(), needed(1.0 - quantile.fraction()));
        match seen as f64 >= needed {
            true => Ok(()),
            false => Err(CapacityNote::TooFewAtLightLoad { needed, seen }),
        }
    }

    /// The interval of the limit that a relative goal comes to, in seconds: by
    /// resampling the trials at light load, or by the ranks of its requests,
    /// whichever is wider.
    pub(crate) fn limits(&self, goal: &Goal, seed: u64) -> Option<(f64, f64)> {
        let Goal::Latency {
            quantile,
            limit: LatencyLimit::TimesLight(times),
        } = *goal
        else {
            return None;
        };
        // Of quantiles, not of merged histograms: it only serves for how much
        // they vary from trial to trial.
        let of_trial = |h: &Histogram| Some(h.quantile(quantile.fraction())?.as_secs_f64().ln());
        let logarithms: Vec<f64> = self.trials.iter().filter_map(of_trial).collect();
        let limit = self.quantile(quantile)?.as_secs_f64() * times;
        let by_trials = bootstrap::mean(&logarithms, seed).and_then(|mean| {
            let at = |end: f64| limit * (end - mean.value).exp();
            mean.interval().map(|(low, high)| (at(low), at(high)))
        });
        let by_ranks = self
            .by_ranks(quantile)
            .map(|(low, high)| (low * times, high * times));
        match (by_trials, by_ranks) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (one, other) => one.or(other),
        }
    }

    /// The interval of a quantile, in seconds, from the requests themselves: it
    /// lies between those whose ranks are the ends of a binomial interval of its
    /// share (Conover, Practical Nonparametric Statistics, 3.2; the normal
    /// approximation). `None` where they do not show it.
    fn by_ranks(&self, quantile: Quantile) -> Option<(f64, f64)> {
        self.shows(quantile).ok()?;
        let share = quantile.fraction();
        let error = (share * (1.0 - share) / self.latency.count() as f64).sqrt();
        let reach = Normal::standard().inverse_cdf((1.0 + CONFIDENCE) / 2.0) * error;
        let at = |share: f64| Some(self.latency.quantile(share)?.as_secs_f64());
        Some((at((share - reach).max(0.0))?, at((share + reach).min(1.0))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{calibration_trial, plan, trial_at};
    use plimsoll_model::{LoadLevel, Verdict};

    fn of(trials: &[Trial]) -> Light {
        let rated = rated(&plan(), trials);
        let levels = levels(&plan(), trials, rated.as_ref());
        light_load(&plan(), &levels, trials, rated.as_ref()).unwrap()
    }

    fn invalid(mut trial: Trial) -> Trial {
        trial.verdict = Verdict::Invalid(vec![]);
        trial
    }

    /// At `rate`, in which every request took `us` microseconds.
    fn calibration(rate: f64, requests: u64, us: u64) -> Trial {
        let mut trial = calibration_trial(rate, rate as u64);
        let latency = Duration::from_micros(us);
        trial.work.latency.record_many(latency, requests);
        trial
    }

    #[test]
    fn without_cpu_use_load_alone_decides() {
        let mut trials = [
            trial_at(10.0, 100, 0.1, 1000.0),
            trial_at(50.0, 500, 0.5, 1000.0),
        ];
        for trial in &mut trials {
            trial.machine.cpu = None;
            trial.machine.service_cpu = None;
        }
        let light = of(&trials);
        assert_eq!(light.finding().basis, LightBasis::LevelsByLoadAlone);
        assert!((light.finding().up_to_load_pct - 10.0).abs() < 1e-9);
        let note = light.note().unwrap().to_string();
        assert!(note.contains("CPU use is not known"), "{note}");
    }

    #[test]
    fn without_a_valid_light_level_calibration_stands_in() {
        let trials = |requests| {
            [
                calibration(100.0, requests, 900),
                calibration(1000.0, 1000, 50_000),
                invalid(trial_at(10.0, 100, 0.1, 1000.0)),
                trial_at(50.0, 500, 0.5, 1500.0),
            ]
        };
        let light = of(&trials(1000));
        assert_eq!(light.finding().basis, LightBasis::Calibration);
        assert!((light.finding().p99_us / 900.0 - 1.0).abs() < 2e-3);
        let light = of(&trials(20));
        assert_eq!(light.finding().basis, LightBasis::LowestLevel);
        assert!((light.finding().p99_us / 1500.0 - 1.0).abs() < 2e-3);
    }

    #[test]
    fn a_busy_level_does_not_stand_for_light_load() {
        let after = |load_pct: f64, asked: &[f64]| {
            let mut plan = plan();
            plan.levels = asked
                .iter()
                .map(|l| LoadLevel::percent(*l).unwrap())
                .collect();
            let trials = [
                calibration(1000.0, 1000, 50_000),
                trial_at(load_pct, (load_pct * 10.0) as u64, load_pct / 100.0, 1500.0),
            ];
            before_levels(&plan, &trials).map(|light| light.finding().basis)
        };
        assert_eq!(after(50.0, &[10.0, 50.0]), Ok(LightBasis::LowestLevel));
        let message = |result: Result<_, CapacityNote>| result.unwrap_err().to_string();
        let disturbed = message(after(90.0, &[10.0, 90.0]));
        assert!(
            disturbed.contains("90 % load") && disturbed.contains("no valid trial"),
            "{disturbed}"
        );
        let left_out = message(after(90.0, &[90.0]));
        assert!(left_out.contains("no level is below"), "{left_out}");
    }

    #[test]
    fn a_valid_level_comes_before_calibration() {
        let trials = [
            calibration(100.0, 1000, 900),
            calibration(1000.0, 1000, 50_000),
            trial_at(10.0, 100, 0.1, 1000.0),
        ];
        let light = of(&trials);
        assert_eq!(light.finding().basis, LightBasis::Levels);
        assert_eq!(light.note(), None);
    }
}
