//! CPU use at a rate: from the curve, or from the trials at that rate. A run that
//! was stopped early may have one load and no curve, but its CPU use at that load
//! is known.

use crate::curve::Curve;
use crate::{at_rates, levels};
use plimsoll_model::{CpuGauge, Estimate, Plan, Rate, Share, Trial};

/// Rates that differ by less than this factor count as equal: the achieved rate is
/// within a few percent of the offered one.
pub(crate) const NEAR: f64 = 1.05;

pub(crate) fn is_near(one: f64, other: f64) -> bool {
    one <= NEAR * other && other <= NEAR * one
}

/// CPU use in percent at a rate that has an interval of its own; `None` if no valid
/// trial covers it.
pub(crate) fn at(
    rate: Estimate,
    curve: Option<&Curve>,
    plan: &Plan,
    trials: &[Trial],
) -> Option<Estimate> {
    let read = curve.and_then(|curve| on_curve(rate, curve));
    read.or_else(|| {
        let beside = with_cpu(plan, trials).filter(|(t, _)| is_near(t.asked().get(), rate.value));
        mean_pct(beside).map(Estimate::alone)
    })
}

/// The interval is that of the curve at the value and at both ends of the rate.
fn on_curve(rate: Estimate, curve: &Curve) -> Option<Estimate> {
    let line = curve.line();
    let least = line.min_rate_rps();
    let at = |rate: f64| {
        // The lowest load that was asked for may be a little below what was
        // achieved at it.
        let held = if is_near(rate, least) {
            rate.max(least)
        } else {
            rate
        };
        curve.cpu_pct_at(held.min(line.max_rate_rps()))
    };
    let value = at(rate.value)?;
    let low = rate.low.and_then(at).and_then(|e| e.low);
    let high = rate.high.and_then(at).and_then(|e| e.high);
    Some(Estimate {
        value: value.value,
        low: low.map(|low| low.min(value.value)),
        high: high.map(|high| high.max(value.value)),
    })
}

/// Valid trials in which CPU use could be read.
pub(crate) fn with_cpu<'a>(
    plan: &'a Plan,
    trials: &'a [Trial],
) -> impl Iterator<Item = (&'a Trial, Share)> {
    with_gauge(plan, trials, CpuGauge::ServiceCpus)
}

/// Valid trials in which CPU use could be read by this gauge.
pub(crate) fn with_gauge<'a>(
    plan: &'a Plan,
    trials: &'a [Trial],
    gauge: CpuGauge,
) -> impl Iterator<Item = (&'a Trial, Share)> {
    at_rates(trials).filter_map(move |t| Some((t, share(plan, t, gauge)?)))
}

/// CPU use within a trial.
pub(crate) fn share(plan: &Plan, trial: &Trial, gauge: CpuGauge) -> Option<Share> {
    match gauge {
        CpuGauge::OwnTime => levels::own_share(plan, trial),
        CpuGauge::ServiceCpus => levels::cpu_share(&plan.run.cpus, trial),
    }
}

/// The mean CPU use in percent, weighted by measuring time.
fn mean_pct<'a>(trials: impl Iterator<Item = (&'a Trial, Share)>) -> Option<f64> {
    let weighted = trials.map(|(t, share)| (t.window.as_secs_f64(), share.pct()));
    let (seconds, sum) = weighted.fold((0.0, 0.0), |(seconds, sum), (s, pct)| {
        (seconds + s, sum + s * pct)
    });
    (seconds > 0.0).then(|| sum / seconds)
}

/// The only rate at which CPU use was read, with what it was in percent;
/// `None` where there are several rates, or none.
pub(crate) fn only(plan: &Plan, trials: &[Trial], gauge: CpuGauge) -> Option<(Rate, f64)> {
    let read = || with_gauge(plan, trials, gauge);
    let (first, _) = read().next()?;
    let rate = first.asked();
    let alone = read().all(|(t, _)| is_near(t.asked().get(), rate.get()));
    let pct = mean_pct(read());
    pct.filter(|_| alone && rate > Rate::ZERO)
        .map(|pct| (rate, pct))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, trial_at};
    use crate::trials_curve;

    fn at_rate(rate: f64, trials: &[Trial]) -> Option<f64> {
        let plan = plan();
        let curve = trials_curve(&plan, trials);
        let rate = Estimate::alone(rate);
        at(rate, curve.as_ref(), &plan, trials).map(|cpu| (cpu.value * 10.0).round() / 10.0)
    }

    #[test]
    fn a_single_load_gives_cpu_use_at_that_load_only() {
        let trials = [trial_at(50.0, 500, 0.4, 1e3), trial_at(50.0, 500, 0.5, 1e3)];
        assert_eq!(at_rate(500.0, &trials), Some(45.0));
        assert_eq!(at_rate(490.0, &trials), Some(45.0));
        assert_eq!(at_rate(300.0, &trials), None);
    }

    #[test]
    fn a_trial_without_cpu_use_leaves_that_of_its_neighbours() {
        let mut blind = trial_at(50.0, 500, 0.9, 1e3);
        blind.machine.service_cpu = None;
        let trials = [
            trial_at(25.0, 250, 0.2, 1e3),
            blind,
            trial_at(75.0, 750, 0.6, 1e3),
        ];
        assert_eq!(at_rate(500.0, &trials), Some(40.0));
        assert_eq!(at_rate(245.0, &trials), Some(20.0), "as good as the lowest");
        assert_eq!(at_rate(100.0, &trials), None);
    }

    #[test]
    fn without_cpu_use_there_is_no_estimate() {
        let mut blind = trial_at(50.0, 500, 0.9, 1e3);
        blind.machine.service_cpu = None;
        assert_eq!(at_rate(500.0, &[blind]), None);
        assert_eq!(at_rate(500.0, &[]), None);
    }
}
