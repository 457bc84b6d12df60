//! What is odd about the figures themselves: rows of a table that contradict
//! each other or are in another unit, and a CPU use that tells nothing of load.
//!
//! Nothing is corrected here. An answer made of odd figures is still the answer
//! to these figures; whoever gave them can look at them again.

use plimsoll_model::{CapacityFinding, Doubt, GivenLatency, Plan, ThresholdFinding, Workload};
use std::time::Duration;

/// Rows at one load that differ by this factor and more do so by no chance:
/// repeated percentiles at one load differ by a few tens of percent.
const FAR_APART: f64 = 10.0;

/// No answer over a socket takes less: it costs at least a wake-up and two
/// passes through the kernel, several microseconds together.
const LEAST_LATENCY: Duration = Duration::from_micros(10);

/// CPU use this close, in points, is the same but for binary fractions.
const SAME_POINTS: f64 = 1e-6;

/// What is odd, in the order in which it should be looked at.
pub(crate) fn of(
    plan: &Plan,
    capacity: &[CapacityFinding],
    thresholds: &[ThresholdFinding],
) -> Vec<Doubt> {
    let rows: &[GivenLatency] = match &plan.workload {
        Workload::Imported(table) => &table.latencies,
        Workload::Hash(_) | Workload::Http(_) | Workload::Copies(_) => &[],
    };
    let mut out: Vec<Doubt> = short(rows).into_iter().collect();
    out.extend(scattered(rows));
    out.extend(capacity.iter().filter_map(|one| kept_beyond(one, rows)));
    out.extend(flat(thresholds));
    out
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

/// CPU use is the same whatever part of the capacity is in use.
fn flat(thresholds: &[ThresholdFinding]) -> Option<Doubt> {
    let cpu = thresholds.iter().filter_map(|row| Some(row.cpu_pct?.value));
    let cpu: Vec<f64> = cpu.collect();
    let least = cpu.iter().copied().reduce(f64::min)?;
    let most = cpu.iter().copied().reduce(f64::max)?;
    let is_flat = cpu.len() > 1 && most - least < SAME_POINTS;
    is_flat.then_some(Doubt::FlatCpu { cpu_pct: most })
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
