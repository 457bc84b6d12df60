//! The CPU use that an autoscaler holds its instances at, and what each of
//! them then carries.
//!
//! A target is read off the lower end of CPU use, so that the headroom is
//! surely there. What an autoscaler then does follows from the CPU use that it
//! sees, for which the best guess is the middle of the curve: it ends with more
//! instances than the peak would take at the rate of the target. Whatever is
//! counted and priced is therefore counted at the rate that it *holds*.

use plimsoll_model::{Estimate, HPA_TOLERANCE, Rate};

/// CPU use in percent of an instance at a rate.
pub(super) type CpuAt<'a> = &'a dyn Fn(Rate) -> Option<Estimate>;

/// So often the range of the held rate is halved: to less than any rounding of
/// a count of instances shows.
const HALVINGS: usize = 60;

/// What an autoscaler is told, and what comes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// CPU use in percent that must not be exceeded.
    pub(super) cpu_pct: Option<f64>,
    /// The same for a HorizontalPodAutoscaler, in whole percent.
    pub(super) hpa_pct: Option<u32>,
    /// What an instance carries while CPU use is held there; without a target,
    /// what it may be asked for.
    pub(super) held: Rate,
}

impl Target {
    /// By rate alone.
    fn without_cpu(rate: Rate) -> Target {
        Target {
            cpu_pct: None,
            hpa_pct: None,
            held: rate,
        }
    }

    /// For instances that may be asked for `rate`. Where CPU use is above the
    /// target however little an instance carries, there is none.
    pub(super) fn at(rate: Rate, cpu: CpuAt<'_>) -> Target {
        // The CPU use that is seen at this rate may be as low as that.
        let limit = cpu(rate).map(|cpu| cpu.low.unwrap_or(cpu.value));
        let found = limit.and_then(|limit| {
            let hpa = (limit / (1.0 + HPA_TOLERANCE)).floor() as u32;
            let hpa_pct = Some(hpa).filter(|pct| *pct > 0);
            let held = held(hpa_pct.map_or(limit, f64::from), rate, cpu)?;
            Some(Target {
                cpu_pct: Some(limit),
                hpa_pct,
                held,
            })
        });
        found.unwrap_or_else(|| Target::without_cpu(rate))
    }

    /// The highest target at which the autoscaler rests at this peak: where
    /// CPU use rises steeply it may swing between two fleets, one too small
    /// for the target and one that looks too large. A little lower it rests.
    pub(super) fn at_rest(self, floor: u32, peak: Rate, cpu: CpuAt<'_>) -> Target {
        let Some(highest) = self.hpa_pct else {
            return self;
        };
        let lower = (1..=highest).rev().filter_map(|pct| {
            let held = held(f64::from(pct), self.held, cpu)?;
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
    fn rests(&self, floor: u32, peak: Rate, cpu: CpuAt<'_>) -> bool {
        let n = running(floor, self.held, peak);
        let used = cpu(peak.times(1.0 / n)).map(|cpu| cpu.value);
        let target = self.hpa_pct.map(f64::from);
        used.zip(target).is_some_and(|(used, target)| {
            let desired = whole(n * used / target).max(f64::from(floor));
            desired == n
        })
    }
}

/// The highest rate up to `most` whose CPU use is no higher than `pct`; `None`
/// where that of no rate is.
fn held(pct: f64, most: Rate, cpu: CpuAt<'_>) -> Option<Rate> {
    let within = |share: f64| cpu(most.times(share)).is_some_and(|cpu| cpu.value <= pct);
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
    // What is next to nothing takes more instances than there can be.
    (low > 1e-9).then(|| most.times(low))
}

/// Instances that carry a rate while each is held at another.
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
