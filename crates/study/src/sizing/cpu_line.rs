//! CPU use of an instance at a rate, down to no load at all.

use crate::cpu_use::{self, NEAR};
use crate::curve::Curve;
use plimsoll_model::{CpuGauge, Doubt, Estimate, Plan, Rate, Trial};

/// CPU use over rate: the measured curve, extended below its lowest level by a
/// straight line from the idle CPU use. For a run with one load, that line alone.
#[derive(Debug, Clone)]
pub struct CpuLine {
    curve: Option<Curve>,
    /// That of the service's own CPU time.
    own: Option<Curve>,
    lowest_rps: f64,
    lowest_pct: Estimate,
    idle_pct: f64,
}

impl CpuLine {
    /// The line of a run's trials by a gauge; `None` if it was not read at any load.
    pub fn of(plan: &Plan, trials: &[Trial], gauge: CpuGauge) -> Option<CpuLine> {
        let curve = crate::gauge_curve(plan, trials, gauge);
        let points = curve.as_ref().map_or_else(Vec::new, Curve::points);
        let (lowest_rps, lowest_pct) = match points.first() {
            Some(lowest) => (lowest.rate_rps, lowest.cpu_pct),
            None => {
                let (rate, pct) = cpu_use::only(plan, trials, gauge)?;
                (rate.get(), Estimate::alone(pct))
            }
        };
        // Without an idle trial the idle CPU use counts as zero, which gives the lowest
        // possible line.
        let idle_pct = crate::idle::before_pct(plan, trials, gauge).unwrap_or(0.0);
        Some(CpuLine {
            lowest_rps,
            lowest_pct,
            idle_pct,
            curve,
            own: crate::gauge_curve(plan, trials, CpuGauge::OwnTime),
        })
    }

    /// Why no threshold follows from it for an instance that carries so much, if none does.
    pub fn flat(&self, carried: Rate) -> Option<Doubt> {
        let curve = self.curve.as_ref()?;
        crate::flat_doubt(curve, self.own.as_ref(), carried.get())
    }

    /// The lowest rate with measured CPU use. Below it, CPU use is an assumption.
    pub fn lowest(&self) -> Option<Rate> {
        Rate::per_second(self.lowest_rps)
    }

    /// The highest rate with measured CPU use. Beyond it, CPU use is unknown.
    pub fn highest(&self) -> Option<Rate> {
        Rate::per_second(self.most_rps())
    }

    fn most_rps(&self) -> f64 {
        let curve = self.curve.as_ref();
        curve.map_or(self.lowest_rps, |curve| curve.line().max_rate_rps())
    }

    /// CPU use in percent at a rate; `None` beyond the measured range.
    pub fn at(&self, rate: Rate) -> Option<Estimate> {
        let (rate, most) = (rate.get(), self.most_rps());
        if rate >= self.lowest_rps {
            let measured = match &self.curve {
                Some(curve) => curve.cpu_pct_at(rate.min(most)),
                None => Some(self.lowest_pct),
            };
            return measured.filter(|_| rate <= NEAR * most);
        }
        let part = rate / self.lowest_rps;
        let idle = self.idle_pct.min(self.lowest_pct.value);
        let at = |pct: f64| idle.min(pct) + part * (pct - idle.min(pct));
        Some(self.lowest_pct.map_rising(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::CurveTrial;
    use plimsoll_model::Share;
    use std::time::Duration;

    fn line() -> CpuLine {
        let trial = |level: u32, rate: f64, cpu: f64| CurveTrial {
            level,
            intended: Rate::per_second(rate).unwrap(),
            achieved: Rate::per_second(rate).unwrap(),
            cpu: Share::new(cpu).unwrap(),
            measured: Duration::from_secs(5),
        };
        let curve = Curve::of(&[trial(0, 100.0, 0.2), trial(1, 200.0, 0.6)], 1).unwrap();
        CpuLine {
            curve: Some(curve),
            own: None,
            lowest_rps: 100.0,
            lowest_pct: Estimate::alone(20.0),
            idle_pct: 4.0,
        }
    }

    #[test]
    fn below_the_lowest_level_cpu_use_falls_to_that_of_the_idle_machine() {
        let line = line();
        for (rate, pct) in [
            (0.0, Some(4.0)),
            (50.0, Some(12.0)),
            (100.0, Some(20.0)),
            (150.0, Some(40.0)),
            (200.0, Some(60.0)),
            (204.0, Some(60.0)),
            (250.0, None),
        ] {
            let at = line.at(Rate::per_second(rate).unwrap());
            assert_eq!(at.map(|e| (e.value * 1e6).round() / 1e6), pct, "{rate}");
        }
    }

    #[test]
    fn one_load_alone_makes_a_line_down_to_the_idle_machine_and_none_upwards() {
        let plan = crate::testing::plan();
        let trials = [crate::testing::trial_at(50.0, 500, 0.4, 1e3)];
        let gauge = CpuGauge::ServiceCpus;
        let line = CpuLine::of(&plan, &trials, gauge).unwrap();
        assert_eq!(line.lowest(), line.highest());
        for (rate, pct) in [(250.0, Some(20.0)), (500.0, Some(40.0)), (600.0, None)] {
            let at = line.at(Rate::per_second(rate).unwrap());
            assert_eq!(at.map(|e| (e.value * 1e6).round() / 1e6), pct, "{rate}");
        }
        assert!(CpuLine::of(&plan, &[], gauge).is_none());
        assert!(CpuLine::of(&plan, &trials, CpuGauge::OwnTime).is_none());
    }
}
