//! The result of the linear rule, which takes CPU use for work.

use super::InstanceCpu;
use super::MOST_INSTANCES;
use super::autoscale::Fleet;
use plimsoll_model::{Autoscaler, LinearRule, Rate};

/// A rule that needs more rounds than this oscillates.
const MOST_ROUNDS: usize = 100;

/// The fleet that the linear rule reaches on this machine at `peak`, which needs
/// `needed` instances. As for the plan, no fleet is smaller than `floor`.
///
/// The rule sets the wanted share of an instance's capacity as the target of its
/// CPU use, as in [`crate::thresholds`]. The autoscaler then follows `desired =
/// ceil(current * U / U_target)` (Kubernetes documentation, "Horizontal Pod
/// Autoscaling", algorithm details), here without its tolerance, so that the result
/// is the error of the rule alone.
pub(super) fn rule(
    fleet: &Fleet,
    autoscaler: &Autoscaler,
    (needed, floor): (u32, Option<u32>),
    peak: Rate,
    cpu: InstanceCpu<'_>,
) -> Option<LinearRule> {
    let cpu_at_planned_pct = cpu.at(fleet.carried)?.value;
    let used = autoscaler.left_after_failures_share * autoscaler.left_for_growth_share;
    let target_cpu_pct = 100.0 * used;
    let smallest = floor.unwrap_or(0).max(fleet.failures + 1);
    let (rounds_instances, settled) = rounds(smallest, target_cpu_pct, peak, cpu);
    let instances = resting(&rounds_instances, settled).unwrap_or(smallest);
    // Never none: no round is smaller than the smallest that survives.
    let left = f64::from(instances) - f64::from(fleet.failures);
    Some(LinearRule {
        target_cpu_pct,
        cpu_at_planned_pct,
        rounds_instances,
        instances,
        settled,
        runs_away: f64::from(instances) >= MOST_INSTANCES,
        load_ratio: peak.get() * fleet.growth / (left * fleet.carried.get()),
        missing_instances: i64::from(needed.max(smallest)) - i64::from(instances),
    })
}

/// The fleet at rest; of a circle, which ends with the fleet that it came back
/// to, the smallest, where the goal is missed most.
fn resting(rounds: &[u32], settled: bool) -> Option<u32> {
    let last = rounds.last()?;
    if settled {
        return Some(*last);
    }
    let start = rounds.iter().position(|n| n == last)?;
    rounds[start..].iter().copied().min()
}

/// The rule's fleets, until it rests or comes back to one that it had.
fn rounds(
    smallest: u32,
    target_cpu_pct: f64,
    peak: Rate,
    cpu: InstanceCpu<'_>,
) -> (Vec<u32>, bool) {
    let mut fleets = vec![smallest];
    let mut now = smallest;
    while fleets.len() < MOST_ROUNDS {
        // More than was ever measured is more than an instance can do.
        let used_pct = cpu
            .at(peak.times(1.0 / f64::from(now)))
            .map_or(100.0, |cpu| cpu.value);
        let desired = f64::from(now) * used_pct / target_cpu_pct;
        let next = (desired * (1.0 - 1e-12)).ceil();
        let next = next.clamp(f64::from(smallest), MOST_INSTANCES) as u32;
        if next == now {
            return (fleets, true);
        }
        let seen = fleets.contains(&next);
        fleets.push(next);
        now = next;
        if seen {
            break;
        }
    }
    (fleets, false)
}
