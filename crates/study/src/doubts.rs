//! Implausible figures: rows of a table that contradict each other or are in
//! another unit, and a CPU use that does not depend on load.
//!
//! This module corrects nothing: findings from implausible figures stand, and the
//! user can check the figures.

use crate::connections;
use crate::levels::Level;
use plimsoll_model::{
    CapacityFinding, Doubt, GivenLatency, Plan, Rate, ThresholdFinding, Trial, Workload,
};
use std::time::Duration;

/// Rows at one load that differ by this factor or more do not differ by chance:
/// repeated percentiles at one load differ by a few tens of percent.
const FAR_APART: f64 = 10.0;

/// Higher load does not make answers faster by more than this factor: batches, warm
/// caches and awake CPUs give a factor of two or three.
const FASTER: f64 = 5.0;

/// Minimum latency over a socket: a wake-up and two passes through the kernel,
/// several microseconds together.
const LEAST_LATENCY: Duration = Duration::from_micros(10);

/// CPU uses this close, in points, are the same to an autoscaler: its
/// metric is averaged over instances and over a minute or more.
const SAME_POINTS: f64 = 5.0;

/// Beyond this ratio CPU use follows the load, however small it is: a service
/// with one thread on a machine with many CPUs.
const FOLLOWS: f64 = 1.25;

pub(crate) fn of(
    plan: &Plan,
    trials: &[Trial],
    rated: Option<Rate>,
    levels: &[Level],
    capacity: &[CapacityFinding],
    thresholds: &[ThresholdFinding],
) -> Vec<Doubt> {
    let rows: &[GivenLatency] = match &plan.workload {
        Workload::Imported(table) => &table.latencies,
        Workload::Hash(_) | Workload::Http(_) => &[],
    };
    let mut out: Vec<Doubt> = short(rows).into_iter().collect();
    out.extend(scattered(rows));
    out.extend(capacity.iter().filter_map(|one| kept_beyond(one, rows)));
    if rows.is_empty() {
        let measured = levels.iter().filter_map(|level| {
            let p99_us = level.row.latency_us.as_ref()?.p99;
            Some((level.row.load_pct, p99_us))
        });
        out.extend(faster_beyond(&measured.collect::<Vec<_>>()));
    }
    out.extend(connections::doubts(plan, trials, rated));
    out.extend(flat(thresholds));
    out
}

/// The level, by load and p99, that is the most times as slow as one with more
/// load, if it is so many times that the load is no reason.
fn faster_beyond(levels: &[(f64, f64)]) -> Option<Doubt> {
    let pairs = levels.iter().flat_map(|slow| {
        let beyond = levels.iter().filter(|fast| fast.0 > slow.0);
        beyond.map(move |fast| (slow, fast))
    });
    let times = |(slow, fast): &(&(f64, f64), &(f64, f64))| slow.1 / fast.1;
    let (slow, fast) = pairs
        .filter(|pair| times(pair) >= FASTER)
        .max_by(|a, b| times(a).total_cmp(&times(b)))?;
    Some(Doubt::FasterBeyond {
        slow_load_pct: slow.0,
        slow_p99_us: slow.1,
        fast_load_pct: fast.0,
        fast_p99_us: fast.1,
    })
}

/// All latencies are so short that they are likely in another unit.
fn short(rows: &[GivenLatency]) -> Option<Doubt> {
    let most = rows.iter().map(|row| row.latency).max()?;
    (most < LEAST_LATENCY).then_some(Doubt::ShortLatencies { most_us: us(most) })
}

/// Loads whose rows are far apart, ascending.
fn scattered(rows: &[GivenLatency]) -> Vec<Doubt> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| a.rate.get().total_cmp(&b.rate.get()));
    let loads = rows.chunk_by(|a, b| a.rate == b.rate);
    let doubt = |rows: &[GivenLatency]| {
        let least_us = us(rows.iter().map(|row| row.latency).min()?);
        let most_us = us(rows.iter().map(|row| row.latency).max()?);
        (most_us >= FAR_APART * least_us).then_some(Doubt::ScatteredRows {
            rate_rps: rows[0].rate.get(),
            least_us,
            most_us,
        })
    };
    loads.filter_map(doubt).collect()
}

/// A goal that is kept at a load above one at which it is broken.
fn kept_beyond(capacity: &CapacityFinding, rows: &[GivenLatency]) -> Option<Doubt> {
    let limit_us = capacity.latency_limit_us()?;
    let broken = |row: &&GivenLatency| us(row.latency) >= limit_us;
    let rates = |of: &mut dyn Iterator<Item = &GivenLatency>| {
        let rates: Vec<f64> = of.map(|row| row.rate.get()).collect();
        rates
    };
    let bad = rates(&mut rows.iter().filter(broken));
    let broken_rps = bad.iter().copied().reduce(f64::min)?;
    // A load with a broken row is no load that keeps it.
    let good = rates(&mut rows.iter().filter(|row| !bad.contains(&row.rate.get())));
    let kept_rps = good.into_iter().reduce(f64::max)?;
    (kept_rps > broken_rps).then_some(Doubt::KeptBeyond {
        goal: capacity.goal,
        broken_rps,
        kept_rps,
    })
}

/// CPU use is the same whatever part of the capacity is in use, as of a service that
/// polls.
fn flat(thresholds: &[ThresholdFinding]) -> Option<Doubt> {
    let cpu = thresholds.iter().filter_map(|row| Some(row.cpu_pct?.value));
    let cpu: Vec<f64> = cpu.collect();
    let least = cpu.iter().copied().reduce(f64::min)?;
    let most = cpu.iter().copied().reduce(f64::max)?;
    let is_flat = cpu.len() > 1 && most - least < SAME_POINTS && most < FOLLOWS * least;
    is_flat.then_some(Doubt::FlatCpu { cpu_pct: most })
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Estimate;

    #[test]
    fn a_level_that_is_many_times_as_fast_as_one_with_less_load_is_doubted() {
        let found = faster_beyond(&[
            (50.0, 900.0),
            (70.0, 102_000.0),
            (80.0, 9e3),
            (90.0, 3_600.0),
        ]);
        let expected = Doubt::FasterBeyond {
            slow_load_pct: 70.0,
            slow_p99_us: 102_000.0,
            fast_load_pct: 90.0,
            fast_p99_us: 3_600.0,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn cpu_use_of_a_poller_is_flat_and_that_of_one_thread_on_many_cpus_is_not() {
        let of = |cpu: [f64; 3]| {
            let row = |(headroom_pct, cpu): (f64, f64)| ThresholdFinding {
                headroom_pct,
                rate_rps: 0.0,
                cpu_pct: Some(Estimate::alone(cpu)),
                linear_cpu_pct: 100.0 - headroom_pct,
                linear_headroom_pct: None,
                linear_error_points: None,
            };
            let rows: Vec<_> = [10.0, 30.0, 50.0].into_iter().zip(cpu).map(row).collect();
            flat(&rows)
        };
        assert_eq!(
            of([99.9, 99.4, 98.0]),
            Some(Doubt::FlatCpu { cpu_pct: 99.9 })
        );
        for rises in [[90.0, 70.0, 50.0], [99.0, 97.0, 93.0], [1.4, 1.1, 0.8]] {
            assert_eq!(of(rises), None, "{rises:?}");
        }
    }

    #[test]
    fn a_little_faster_or_slower_is_as_usual() {
        for levels in [
            &[][..],
            &[(5.0, 300.0), (50.0, 100.0), (100.0, 90_000.0)],
            // A ratio to 0 is no factor.
            &[(5.0, 0.0), (50.0, 0.0)],
        ] {
            assert_eq!(faster_beyond(levels), None, "{levels:?}");
        }
    }
}
