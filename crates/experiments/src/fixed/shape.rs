//! How the rate of a run changes.

use super::args::FixedArgs;
use super::plan::{LONGEST, USUAL_WINDOW};
use plimsoll_engine::RunError;
use plimsoll_model::{Rate, RatePhase, human_duration};
use std::time::Duration;

/// Steps of a ramp.
const STEPS: u32 = 100;
/// A phase is at least so long, a step of a ramp at least half of it.
const SHORTEST: Duration = Duration::from_millis(100);
/// Each request is looked for among them.
const MOST: usize = 1000;

/// The phases that flags ask for; none for one rate.
pub(super) fn phases(args: &FixedArgs) -> Result<Vec<RatePhase>, RunError> {
    let window = args.duration.unwrap_or(USUAL_WINDOW);
    let phases = match (&args.pattern, &args.step, args.ramp) {
        (Some(pattern), _, _) => pattern.0.clone(),
        (None, Some(rates), _) => steps(rates, window),
        (None, None, Some(ends)) => ramp(ends, window),
        (None, None, None) => return Ok(Vec::new()),
    };
    match fault(&phases) {
        Some(why) => Err(RunError::Usage(why)),
        None => Ok(phases),
    }
}

fn steps(rates: &[Rate], window: Duration) -> Vec<RatePhase> {
    let length = window / (rates.len().max(1) as u32);
    let step = |rate: &Rate| RatePhase {
        length,
        rate: *rate,
    };
    rates.iter().map(step).collect()
}

/// Each step has the rate of its middle.
fn ramp((from, to): (Rate, Rate), window: Duration) -> Vec<RatePhase> {
    let fit = window.as_nanos() / SHORTEST.as_nanos();
    let steps = u32::try_from(fit).map_or(STEPS, |fit| fit.clamp(2, STEPS));
    let step = |nth: u32| {
        let along = (f64::from(nth) + 0.5) / f64::from(steps);
        let rate = from.get() + along * (to.get() - from.get());
        RatePhase {
            length: window / steps,
            rate: Rate::per_second(rate).unwrap_or(Rate::ZERO),
        }
    };
    (0..steps).map(step).collect()
}

fn fault(phases: &[RatePhase]) -> Option<String> {
    let whole: Duration = phases.iter().map(|phase| phase.length).sum();
    let short = phases.iter().find(|phase| phase.length < SHORTEST / 2);
    if phases.len() > MOST {
        let count = phases.len();
        return Some(format!("there are {count} phases; give {MOST} at most"));
    }
    if let Some(phase) = short {
        return Some(format!(
            "a phase at {} lasts {}, and its requests cannot be counted; give at least {}",
            phase.rate,
            human_duration(phase.length),
            human_duration(SHORTEST / 2)
        ));
    }
    if phases.iter().all(RatePhase::is_break) {
        return Some("no phase has a rate above 0; give one, such as 10s@100".to_owned());
    }
    (whole > LONGEST).then(|| {
        let whole = human_duration(whole);
        format!("the phases last {whole} together; give a day at most")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(rps: f64) -> Rate {
        Rate::per_second(rps).unwrap()
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn ramp_has_the_mean_of_its_ends_and_the_length_of_the_window() {
        for window in [100, 250, 10_000, 3_600_000].map(Duration::from_millis) {
            let phases = ramp((rate(100.0), rate(500.0)), window);
            let whole: Duration = phases.iter().map(|phase| phase.length).sum();
            assert!(window - whole < Duration::from_micros(1), "{whole:?}");
            let requests = |p: &RatePhase| p.rate.get() * p.length.as_secs_f64();
            let mean = phases.iter().map(requests).sum::<f64>() / whole.as_secs_f64();
            assert!((mean - 300.0).abs() < 1e-6, "{mean}");
            assert_eq!(fault(&phases), None);
        }
    }

    #[test]
    fn steps_share_the_window() {
        let phases = steps(&[rate(1.0), rate(2.0)], seconds(10));
        let lengths: Vec<Duration> = phases.iter().map(|phase| phase.length).collect();
        assert_eq!(lengths, [seconds(5); 2]);
    }

    #[test]
    fn phases_that_show_nothing_are_refused() {
        let phase = |length, rps| RatePhase {
            length,
            rate: rate(rps),
        };
        for (phases, says) in [
            (vec![phase(seconds(1), 0.0)], "no phase has a rate"),
            (vec![phase(Duration::ZERO, 5.0)], "lasts 0"),
            (vec![phase(seconds(1), 5.0); 1001], "1000 at most"),
            (vec![phase(seconds(3600), 5.0); 25], "a day at most"),
        ] {
            let why = fault(&phases).unwrap();
            assert!(why.contains(says), "{why}");
        }
    }
}
