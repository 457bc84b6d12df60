//! CPU use of an instance, in the units of those who act on it.

use plimsoll_model::{CpuGauge, Estimate, HpaTarget, Millicores, Rate};

/// CPU use in percent at a rate: never falls; `None` where it was not measured.
pub type CpuOfRate<'a> = &'a dyn Fn(Rate) -> Option<Estimate>;

/// CPU use of an instance over its rate.
#[derive(Clone, Copy)]
pub struct InstanceCpu<'a> {
    /// What a plan goes by: its own CPU time, where that was measured, else the use
    /// of its CPUs.
    pub line: CpuOfRate<'a>,
    /// What 100 % of the line are, where it is of its own CPU time.
    pub own_of: Option<Millicores>,
    /// The use of its CPUs, by whomever: what an alarm on a host sees.
    pub host: CpuOfRate<'a>,
}

impl InstanceCpu<'_> {
    pub(super) fn at(self, rate: Rate) -> Option<Estimate> {
        (self.line)(rate)
    }

    pub(super) fn gauge(self) -> CpuGauge {
        match self.own_of {
            Some(_) => CpuGauge::OwnTime,
            None => CpuGauge::ServiceCpus,
        }
    }

    /// The highest target that can be given up to a CPU use; `None` where that is
    /// below the first. A target is in whole millicores of own CPU time, else in
    /// whole percent.
    pub(super) fn stepped(self, pct: f64) -> Option<f64> {
        match self.own_of {
            Some(own_of) => own_of.part(pct).map(|part| own_of.pct_of(part)),
            None => Some(pct.floor()).filter(|pct| *pct >= 1.0),
        }
    }

    /// A target of [`InstanceCpu::stepped`].
    pub(super) fn hpa_target(self, pct: f64) -> Option<HpaTarget> {
        match self.own_of {
            Some(own_of) => own_of
                .part(pct)
                .map(|millicores| HpaTarget::AverageValue { millicores }),
            None => Some(HpaTarget::AverageUtilization {
                pct: pct.floor() as u32,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(own_of: Option<u32>) -> InstanceCpu<'static> {
        InstanceCpu {
            line: &|_| None,
            own_of: own_of.map(Millicores),
            host: &|_| None,
        }
    }

    fn target(own_of: Option<u32>, pct: f64) -> Option<HpaTarget> {
        let cpu = cpu(own_of);
        cpu.stepped(pct).and_then(|pct| cpu.hpa_target(pct))
    }

    #[test]
    fn a_target_is_in_millicores_of_own_time_and_else_in_percent() {
        let value = |millicores| {
            let millicores = Millicores(millicores);
            Some(HpaTarget::AverageValue { millicores })
        };
        assert_eq!(target(Some(1000), 40.69), value(406));
        assert_eq!(target(Some(500), 40.69), value(203));
        assert_eq!(
            target(Some(64_000), 0.9),
            value(576),
            "one thread of many CPUs"
        );
        assert_eq!(target(Some(500), 0.1), None);
        let share = |pct| Some(HpaTarget::AverageUtilization { pct });
        assert_eq!(target(None, 40.69), share(40));
        assert_eq!(target(None, 0.9), None);
    }

    #[test]
    fn a_step_stays_where_it_is() {
        for millicores in 1..=3000 {
            let cpu = cpu(Some(3000));
            let pct = cpu.stepped(Millicores(3000).pct_of(Millicores(millicores)));
            assert_eq!(pct.and_then(|pct| cpu.stepped(pct)), pct, "{millicores}");
        }
    }
}
