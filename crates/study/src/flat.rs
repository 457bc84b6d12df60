//! CPU use that does not depend on load, as far as was measured: no threshold follows
//! from it.

use plimsoll_model::{Doubt, Estimate, FlatBecause};

/// CPU uses this close, in points, are the same to an autoscaler: its
/// metric is averaged over instances and over a minute or more.
const SAME_POINTS: f64 = 5.0;

/// Beyond this ratio CPU use follows the load, however small it is: a service
/// with one thread on a machine with many CPUs.
const FOLLOWS: f64 = 1.25;

/// The parts of the capacity that are compared: the first that was measured with the
/// last. An autoscaler removes instances at the lower loads, and adds them at the higher.
const LOWER: [f64; 4] = [0.1, 0.15, 0.2, 0.25];
const HALF: f64 = 0.5;
const HIGHER: [f64; 4] = [HALF, 0.6, 0.7, 0.8];
const NEAR_THE_END: f64 = 0.9;

/// CPU use in percent at a rate; `None` where it was not measured.
pub(crate) type CpuAt<'a> = &'a dyn Fn(f64) -> Option<Estimate>;

/// Loads that were not measured say nothing. Where the CPU use of the CPUs is flat, the
/// service's own, if it is known, tells whether the service or other processes fill them.
pub(crate) fn doubt(
    cpu_pct_at: CpuAt<'_>,
    own_pct_at: Option<CpuAt<'_>>,
    capacity_rps: f64,
) -> Option<Doubt> {
    let doubt = of_cpu(cpu_pct_at, capacity_rps)?;
    let Doubt::FlatCpu { cpu_pct, .. } = doubt else {
        return Some(doubt);
    };
    let because = match own_pct_at {
        None => FlatBecause::Unknown,
        Some(own) if most(own, capacity_rps) < SAME_POINTS => FlatBecause::LittleUse,
        Some(own) => match of_cpu(own, capacity_rps) {
            Some(Doubt::FlatCpu { .. }) => FlatBecause::Service,
            _ if most_rise(own, capacity_rps) < SAME_POINTS => FlatBecause::LittleUse,
            _ => FlatBecause::OtherLoad,
        },
    };
    Some(Doubt::FlatCpu { cpu_pct, because })
}

/// The highest CPU use that is compared, infinite where none is.
fn most(cpu_pct_at: CpuAt<'_>, capacity_rps: f64) -> f64 {
    let pairs = pairs(cpu_pct_at, capacity_rps).into_iter().flatten();
    let values = pairs.map(|(low, high)| low.value.max(high.value));
    values.reduce(f64::max).unwrap_or(f64::INFINITY)
}

/// By how many points CPU use rises from the lower to the higher loads.
fn most_rise(cpu_pct_at: CpuAt<'_>, capacity_rps: f64) -> f64 {
    let pairs = pairs(cpu_pct_at, capacity_rps).into_iter().flatten();
    pairs.map(|(low, high)| high.value - low.value).sum()
}

/// CPU use at lower and at higher loads, below and above half of the capacity.
fn pairs(cpu_pct_at: CpuAt<'_>, capacity_rps: f64) -> [Option<(Estimate, Estimate)>; 2] {
    let at = |part: f64| cpu_pct_at(part * capacity_rps);
    let pair = |low: [f64; 4], high: f64| low.into_iter().find_map(at).zip(at(high));
    [pair(LOWER, HALF), pair(HIGHER, NEAR_THE_END)]
}

fn of_cpu(cpu_pct_at: CpuAt<'_>, capacity_rps: f64) -> Option<Doubt> {
    let [lower, higher] = pairs(cpu_pct_at, capacity_rps);
    let pairs = [lower, higher].into_iter().flatten();
    let flat = pairs.filter(|(low, high)| is_same(low.value, high.value));
    let flat = flat.map(|(_, high)| high.value).reduce(f64::max);
    let because = FlatBecause::Unknown;
    let flat = flat.map(|cpu_pct| Doubt::FlatCpu { cpu_pct, because });
    flat.or_else(|| {
        let (low, high) = lower?;
        overlaps(low, high).then_some(Doubt::UnclearCpu {
            at_low_pct: low,
            at_half_pct: high,
        })
    })
}

fn is_same(low: f64, high: f64) -> bool {
    high - low < SAME_POINTS && high < FOLLOWS * low
}

fn overlaps(low: Estimate, high: Estimate) -> bool {
    low.high
        .zip(high.low)
        .is_some_and(|(low, high)| low >= high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU use at a tenth, half and nine tenths of 1,000/s.
    fn of(cpu: [Option<Estimate>; 3]) -> Option<Doubt> {
        let at = |rate: f64| match rate {
            ..=250.0 => cpu[0],
            ..=800.0 => cpu[1],
            _ => cpu[2],
        };
        doubt(&at, None, 1000.0)
    }

    fn alone(cpu: [f64; 3]) -> Option<Doubt> {
        of(cpu.map(|pct| Some(Estimate::alone(pct))))
    }

    #[test]
    fn cpu_use_of_a_poller_is_flat_and_that_of_one_thread_on_many_cpus_is_not() {
        let because = FlatBecause::Unknown;
        let flat = |cpu_pct| Some(Doubt::FlatCpu { cpu_pct, because });
        assert_eq!(alone([98.0, 99.4, 99.9]), flat(99.9));
        assert_eq!(
            alone([20.0, 98.0, 99.9]),
            flat(99.9),
            "it polls from half load on"
        );
        assert_eq!(
            alone([97.0, 99.0, 140.0]),
            flat(99.0),
            "it polls up to half load"
        );
        for rises in [[10.0, 50.0, 90.0], [80.0, 93.0, 99.0], [0.2, 0.8, 1.4]] {
            assert_eq!(alone(rises), None, "{rises:?}");
        }
    }

    #[test]
    fn the_services_own_time_tells_who_fills_the_cpu() {
        let full = |_: f64| Some(Estimate::alone(99.8));
        let follows = |rate: f64| Some(Estimate::alone(rate / 20.0));
        let because = |own: Option<CpuAt<'_>>| match doubt(&full, own, 1000.0) {
            Some(Doubt::FlatCpu { because, .. }) => because,
            other => panic!("{other:?}"),
        };
        assert_eq!(because(Some(&follows)), FlatBecause::OtherLoad);
        let little = |rate: f64| Some(Estimate::alone(rate / 500.0));
        assert_eq!(because(Some(&little)), FlatBecause::LittleUse);
        let next_to_nothing = |_: f64| Some(Estimate::alone(0.9));
        assert_eq!(because(Some(&next_to_nothing)), FlatBecause::LittleUse);
        assert_eq!(because(Some(&full)), FlatBecause::Service);
        assert_eq!(because(None), FlatBecause::Unknown);
    }

    #[test]
    fn what_was_not_measured_is_not_called_flat() {
        let at = |pct| Some(Estimate::alone(pct));
        assert_eq!(of([None, None, at(99.0)]), None);
        assert_eq!(of([None, at(50.0), at(90.0)]), None);
        let because = FlatBecause::Unknown;
        let cpu_pct = 99.0;
        let flat = Some(Doubt::FlatCpu { cpu_pct, because });
        assert_eq!(of([None, at(99.0), at(99.0)]), flat);
    }

    #[test]
    fn a_rise_within_the_intervals_is_in_doubt() {
        let at = |value, low, high| Some(Estimate::within(value, low, high));
        let (tenth, half) = (at(10.0, 2.0, 31.0), at(40.0, 30.0, 50.0));
        let unclear = of([tenth, half, at(90.0, 80.0, 100.0)]);
        let expected = Doubt::UnclearCpu {
            at_low_pct: tenth.unwrap(),
            at_half_pct: half.unwrap(),
        };
        assert_eq!(unclear, Some(expected));
        let apart = of([at(10.0, 2.0, 29.0), half, None]);
        assert_eq!(apart, None);
    }
}
