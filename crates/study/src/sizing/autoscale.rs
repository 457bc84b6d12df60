//! The target of an autoscaler, and its fleet over time.

use super::target::{Target, mean_running, running, whole};
use super::{InstanceCpu, MOST_INSTANCES, SizingError, Traffic};
use plimsoll_model::{Autoscaler, FleetOverTime, FleetStep, FloorFrom, Rate};
use std::time::Duration;

/// How many minimum fleet sizes are tried for the lowest cost.
const FLOORS_TRIED: u32 = 200;

/// Identical instances, and the events that they must survive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fleet {
    /// The capacity of one instance within the goal.
    pub(super) carried: Rate,
    /// How many may fail at once.
    pub(super) failures: u32,
    /// Growth of the load until a new instance is ready: 1 + g T.
    pub(super) growth: f64,
    /// Start-up time of an instance: T.
    pub(super) ready_in: Duration,
}

impl Fleet {
    /// Instances for a rate that may grow while some are lost:
    /// `n - k >= rate (1 + g T) / X`.
    pub(super) fn fixed(&self, rate: Rate) -> Result<u32, SizingError> {
        let busy = whole(rate.get() * self.growth / self.carried.get()).max(1.0);
        self.counted(busy + f64::from(self.failures))
    }

    fn counted(&self, instances: f64) -> Result<u32, SizingError> {
        if instances <= MOST_INSTANCES {
            Ok(instances as u32)
        } else {
            Err(SizingError::TooMany {
                planned: self.carried,
            })
        }
    }

    /// The load per instance in fleets of `floor` and more.
    fn target(&self, floor: u32) -> Rate {
        self.carried.times(self.left(floor) / self.growth)
    }

    /// The share of a fleet that remains after the failures.
    fn left(&self, floor: u32) -> f64 {
        1.0 - f64::from(self.failures) / f64::from(floor)
    }

    /// The smallest fleet for a peak whose own target lets it rest there, from
    /// `least` up. The larger a fleet the less of it is a failure, and the
    /// higher its target: so there is one, and halving finds it.
    pub(super) fn resting(&self, least: u32, peak: Rate, cpu: InstanceCpu<'_>) -> u32 {
        let rests = |n: u32| {
            let held = Target::at(self.target(n), cpu).held;
            running(n, held, peak) <= f64::from(n)
        };
        let (mut low, mut high) = (least, MOST_INSTANCES as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            if rests(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// The target, the fleet at the peak, and the resulting rate per instance.
    pub(super) fn autoscaler(
        &self,
        (floor, floor_from): (u32, FloorFrom),
        peak: Rate,
        cpu: InstanceCpu<'_>,
    ) -> Result<(Autoscaler, u32, Rate), SizingError> {
        let rate = self.target(floor);
        let target = Target::at(rate, cpu).at_rest(floor, peak, cpu);
        let at = |rate: Rate| self.counted(running(floor, target.held, rate));
        let autoscaler = Autoscaler {
            floor_instances: floor,
            floor_from,
            ceiling_instances: at(peak.times(self.growth))?,
            left_after_failures_share: self.left(floor),
            left_for_growth_share: 1.0 / self.growth,
            rate_rps: rate.get(),
            cpu_pct: cpu.at(rate),
            target_cpu_pct: target.cpu_pct,
            hpa_target: target.hpa_pct.and_then(|pct| cpu.hpa_target(pct)),
            host_cpu_pct: (cpu.host)(rate),
        };
        Ok((autoscaler, at(peak)?, target.held))
    }

    /// The smallest fleet that makes the whole cheapest: a small one saves at
    /// night, and takes a lower target for it, because `k` are a larger part
    /// of it. Of equally cheap ones the largest, which has the highest target.
    pub(super) fn cheapest_floor(
        &self,
        traffic: &Traffic,
        instances: u32,
        cpu: InstanceCpu<'_>,
    ) -> u32 {
        let first = self.failures + 1;
        let span = instances.saturating_sub(first);
        let stride = (span / FLOORS_TRIED).max(1);
        let candidates = (first..instances).step_by(stride as usize);
        let mut best = (f64::INFINITY, first);
        for floor in candidates.chain([instances]) {
            let hours = instance_hours(traffic, floor, Target::at(self.target(floor), cpu).held);
            if hours <= best.0 {
                best = (hours, floor);
            }
        }
        best.1
    }

    pub(super) fn over_time(
        &self,
        traffic: &Traffic,
        (floor, held): (u32, Rate),
        fixed: u32,
        price_per_hour: Option<f64>,
    ) -> FleetOverTime {
        let steps = traffic.stretches().map(|stretch| FleetStep {
            at_s: stretch.from.as_secs_f64(),
            rate_rps: stretch.high.get(),
            instances: running(floor, held, stretch.high) as u32,
        });
        let instance_hours = instance_hours(traffic, floor, held);
        let fixed_instance_hours = f64::from(fixed) * hours(traffic.span());
        FleetOverTime {
            steps: steps.collect(),
            instance_hours,
            fixed_instance_hours,
            cost: price_per_hour.map(|price| price * instance_hours),
            fixed_cost: price_per_hour.map(|price| price * fixed_instance_hours),
            worst_load_ratio: self.worst(traffic, floor),
        }
    }

    /// The highest load of those that are left, while those called for are not
    /// ready, over what they carry. Those that run are as few as the target
    /// allows, since an autoscaler may hold no more than these. Fractions of instances count: the worst
    /// must not depend on luck in rounding.
    fn worst(&self, traffic: &Traffic, floor: u32) -> f64 {
        let (floor, target) = (f64::from(floor), self.target(floor).get());
        let load = |seconds: f64| {
            let running = (traffic.at(seconds) / target).max(floor);
            let left = running - f64::from(self.failures);
            traffic.at(seconds + self.ready_in.as_secs_f64()) / (left * self.carried.get())
        };
        let turns = traffic.turns(self.ready_in, floor * target);
        turns.into_iter().map(load).fold(0.0, f64::max)
    }
}

fn instance_hours(traffic: &Traffic, floor: u32, held: Rate) -> f64 {
    let stretches = traffic.stretches();
    let each = stretches.map(|stretch| {
        let mean = mean_running(floor, held, stretch.low, stretch.high);
        mean * hours(stretch.length)
    });
    each.sum()
}

fn hours(time: Duration) -> f64 {
    time.as_secs_f64() / 3600.0
}
