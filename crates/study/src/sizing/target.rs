//! The CPU use that an autoscaler keeps, and the resulting load of each instance.
//!
//! The target is the lower end of CPU use, which guarantees the headroom. The
//! autoscaler reacts to the actual CPU use, estimated by the middle of the curve,
//! so it ends with more instances than the peak would need at the rate of the
//! target. Counts and prices therefore use the rate that it *holds*.

use super::InstanceCpu;
use plimsoll_model::{HPA_TOLERANCE, Rate};

/// The targets that are tried for one at which the autoscaler rests, as parts of
/// the highest: with whole percent this is each of them.
const PARTS_TRIED: u32 = 100;

/// Number of bisections of the held rate: more precise than any rounded count of
/// instances.
const HALVINGS: usize = 60;

/// The target of an autoscaler, and its effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// Maximum CPU use in percent.
    pub(super) cpu_pct: Option<f64>,
    /// The same for a HorizontalPodAutoscaler, in its steps.
    pub(super) hpa_pct: Option<f64>,
    /// The rate of an instance at that CPU use; without a target, its maximum rate.
    pub(super) held: Rate,
}

impl Target {
    /// For instances with a maximum of `rate`. There is no target if CPU use exceeds it
    /// at any load, and the rate alone is kept.
    pub(super) fn at(rate: Rate, cpu: InstanceCpu<'_>) -> Target {
        // The lower end of CPU use at this rate.
        let limit = cpu.at(rate).map(|cpu| cpu.low.unwrap_or(cpu.value));
        let found = limit.and_then(|limit| {
            let hpa_pct = cpu.stepped(limit / (1.0 + HPA_TOLERANCE));
            let held = held(hpa_pct.unwrap_or(limit), rate, cpu)?;
            Some(Target {
                cpu_pct: Some(limit),
                hpa_pct,
                held,
            })
        });
        found.unwrap_or(Target {
            cpu_pct: None,
            hpa_pct: None,
            held: rate,
        })
    }

    /// The highest target at which the autoscaler rests at this peak: where
    /// CPU use rises steeply it may swing between two fleets, one too small
    /// for the target and one that looks too large. A little lower it rests.
    /// Of targets of a few percent there may be none at which it does: then the
    /// fleet is the larger of the two, which the stabilization window of
    /// scaling down holds.
    pub(super) fn at_rest(self, floor: u32, peak: Rate, cpu: InstanceCpu<'_>) -> Target {
        let Some(highest) = self.hpa_pct else {
            return self;
        };
        let lower = (1..=PARTS_TRIED).rev().filter_map(|part| {
            let part = f64::from(part) / f64::from(PARTS_TRIED);
            let pct = cpu.stepped(part * highest)?;
            let held = held(pct, self.held, cpu)?;
            Some(Target {
                hpa_pct: Some(pct),
                held,
                ..self
            })
        });
        let mut resting = lower.filter(|target| target.rests(floor, peak, cpu));
        resting.next().unwrap_or(self)
    }

    /// Whether `max(floor, ceil(n * U / U_target))` is `n` for the fleet of
    /// the peak (Kubernetes documentation, "Horizontal Pod Autoscaling",
    /// algorithm details; without the tolerance, which only makes it rest
    /// sooner).
    fn rests(&self, floor: u32, peak: Rate, cpu: InstanceCpu<'_>) -> bool {
        let n = running(floor, self.held, peak);
        let used = cpu.at(peak.times(1.0 / n)).map(|cpu| cpu.value);
        used.zip(self.hpa_pct).is_some_and(|(used, target)| {
            let desired = whole(n * used / target).max(f64::from(floor));
            desired == n
        })
    }
}

/// The highest rate up to `most` whose CPU use is no higher than `pct`; `None`
/// where that of no rate is.
fn held(pct: f64, most: Rate, cpu: InstanceCpu<'_>) -> Option<Rate> {
    let within = |share: f64| {
        cpu.at(most.times(share))
            .is_some_and(|cpu| cpu.value <= pct)
    };
    if within(1.0) {
        return Some(most);
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if within(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    // A capacity near zero needs more instances than possible.
    (low > 1e-9).then(|| most.times(low))
}

/// Number of instances at a load, each kept at another one.
pub(super) fn running(floor: u32, held: Rate, rate: Rate) -> f64 {
    whole(rate.get() / held.get()).max(f64::from(floor))
}

/// The mean of [`running`] while the rate goes straight from one to the other.
pub(super) fn mean_running(floor: u32, held: Rate, low: Rate, high: Rate) -> f64 {
    let (from, to) = (low.get() / held.get(), high.get() / held.get());
    // The difference of two areas is no better than this part of them.
    if to - from < 1e-6 * to.max(1.0) {
        return running(floor, held, high);
    }
    (area(floor, to) - area(floor, from)) / (to - from)
}

/// The area below `max(floor, ceil(x))` from 0 to `x`: `floor` wide up to
/// itself, then steps of 1, each one higher than the one before.
fn area(floor: u32, x: f64) -> f64 {
    let floor = f64::from(floor);
    if x <= floor {
        return floor * x;
    }
    let whole = x.floor();
    let steps = (whole * (whole + 1.0) - floor * (floor + 1.0)) / 2.0;
    floor * floor + steps + (x - whole) * (whole + 1.0)
}

/// The next whole number, forgiving what binary fractions add: 0.3 / 0.1 is 3.
pub(super) fn whole(n: f64) -> f64 {
    (n * (1.0 - 1e-12)).ceil()
}
