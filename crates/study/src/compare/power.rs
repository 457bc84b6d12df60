//! The power of a machine at a rate.

use crate::at_rates;
use plimsoll_model::{Trial, sort_by_number};

/// The power in watts at a rate, in requests per second: mean power of the valid
/// trials at each rate, interpolated linearly. `None` if a trial has no energy, or
/// outside the measured rates.
pub fn watts_at(trials: &[Trial], rate_rps: f64) -> Option<f64> {
    let mut seen: Vec<Point> = at_rates(trials).map(Point::of).collect::<Option<_>>()?;
    sort_by_number(&mut seen, |one| one.rate);
    seen.dedup_by(|later, kept| {
        let same = later.rate == kept.rate;
        if same {
            kept.joules += later.joules;
            kept.seconds += later.seconds;
        }
        same
    });
    let above = seen.iter().position(|p| p.rate >= rate_rps)?;
    let to = &seen[above];
    if to.rate == rate_rps {
        return to.watts();
    }
    let from = &seen[above.checked_sub(1)?];
    let part = (rate_rps - from.rate) / (to.rate - from.rate);
    let (low, high) = (from.watts()?, to.watts()?);
    Some(low + part * (high - low))
}

/// All trials at a rate.
struct Point {
    rate: f64,
    joules: f64,
    seconds: f64,
}

impl Point {
    fn of(trial: &Trial) -> Option<Point> {
        Some(Point {
            rate: trial.asked().get(),
            joules: trial.machine.energy?.0,
            seconds: trial.machine.window.as_secs_f64(),
        })
    }

    fn watts(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.joules / self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Energy, Phase, Rate, Setting, TrialSpec};
    use std::time::Duration;

    /// Ten seconds at a rate.
    fn trial(rate: f64, joules: Option<f64>) -> Trial {
        let window = Duration::from_secs(10);
        let rate = Rate::per_second(rate).unwrap();
        let spec = TrialSpec::blank(Phase::Search, Setting::offer(rate), window);
        let mut trial = Trial::begun(spec, 0);
        trial.machine.energy = joules.map(Energy);
        trial
    }

    #[test]
    fn power_is_read_between_the_rates_that_were_tried_and_nowhere_else() {
        let trials = [
            trial(200.0, Some(900.0)),
            trial(100.0, Some(400.0)),
            trial(100.0, Some(600.0)),
        ];
        for (rate, watts) in [
            (50.0, None),
            (100.0, Some(50.0)),
            (150.0, Some(70.0)),
            (200.0, Some(90.0)),
            (201.0, None),
        ] {
            assert_eq!(watts_at(&trials, rate), watts, "{rate}");
        }
    }

    #[test]
    fn a_trial_without_energy_leaves_power_unknown() {
        let trials = [trial(100.0, Some(400.0)), trial(200.0, None)];
        assert_eq!(watts_at(&trials, 100.0), None);
        assert_eq!(watts_at(&[], 100.0), None);
    }
}
