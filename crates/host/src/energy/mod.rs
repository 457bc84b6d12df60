//! Energy of the CPUs, or of the machine, from the first of these counters that can be read:
//!
//! | source | what it covers | needs |
//! |---|---|---|
//! | powercap, `intel-rapl:N` | CPU packages | root since Linux 5.10 |
//! | the PMU `power`, event `energy-pkg` | CPU packages | CAP_PERFMON, or perf_event_paranoid below 1 |
//! | hwmon, driver amd_energy | CPU sockets | root since Linux 5.10 |
//! | hwmon, driver power_meter (ACPI) | the whole machine | nothing |
//!
//! The last one shows power, which is summed over the time between readings.

mod hwmon;
mod pmu;
mod powercap;

use crate::error::HostError;
use crate::root::Root;
use hwmon::{PowerMeter, SocketEnergy};
use plimsoll_model::Energy;
use pmu::PowerPmu;
use powercap::Powercap;

/// Sums energy since it was opened.
#[derive(Debug)]
pub(crate) enum EnergyMeter {
    Powercap(Powercap),
    PowerPmu(PowerPmu),
    SocketEnergy(SocketEnergy),
    PowerMeter(PowerMeter),
}

impl EnergyMeter {
    /// `None` without a counter.
    ///
    /// # Errors
    /// There is one that cannot be read, and no other.
    pub(crate) fn open(root: &Root) -> Result<Option<EnergyMeter>, HostError> {
        type Opened = Result<Option<EnergyMeter>, HostError>;
        let all: [fn(&Root) -> Opened; 4] = [
            |root| Ok(Powercap::open(root)?.map(EnergyMeter::Powercap)),
            |root| Ok(PowerPmu::open(root)?.map(EnergyMeter::PowerPmu)),
            |root| Ok(SocketEnergy::open(root)?.map(EnergyMeter::SocketEnergy)),
            |root| Ok(PowerMeter::open(root)?.map(EnergyMeter::PowerMeter)),
        ];
        let mut refused = None;
        for open in all {
            match open(root) {
                Ok(None) => {}
                Ok(meter) => return Ok(meter),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        refused.map_or(Ok(None), Err)
    }

    /// Energy since the meter was opened.
    pub(crate) fn read(&mut self, root: &Root) -> Result<Energy, HostError> {
        match self {
            EnergyMeter::Powercap(counters) => counters.read(root),
            EnergyMeter::PowerPmu(counters) => counters.read(),
            EnergyMeter::SocketEnergy(counters) => counters.read(root),
            EnergyMeter::PowerMeter(meter) => meter.read(root),
        }
    }

    /// What is counted, and by what.
    pub(crate) fn source(&self) -> &'static str {
        match self {
            EnergyMeter::Powercap(_) => "of the CPU packages (powercap)",
            EnergyMeter::PowerPmu(_) => "of the CPU packages (perf event power/energy-pkg/)",
            EnergyMeter::SocketEnergy(_) => "of the CPU sockets (hwmon amd_energy)",
            EnergyMeter::PowerMeter(_) => "of the whole machine (hwmon power_meter)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    fn energy_source(root: &Root) -> Option<&'static str> {
        let meter = EnergyMeter::open(root).ok()??;
        Some(meter.source())
    }

    const METER: [(&str, &str); 2] = [
        ("sys/class/hwmon/hwmon2/name", "power_meter\n"),
        ("sys/class/hwmon/hwmon2/power1_average", "250000000\n"),
    ];

    #[test]
    fn the_first_source_that_can_be_read_counts() {
        let tree = FakeTree::new().files(&METER);
        assert_eq!(
            energy_source(tree.root()),
            Some("of the whole machine (hwmon power_meter)")
        );
        // A package whose counter only root may read is no reason to do without the other.
        tree.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
        assert!(energy_source(tree.root()).is_some());
        tree.remove("sys/class/hwmon/hwmon2");
        assert!(EnergyMeter::open(tree.root()).is_err());
        assert_eq!(energy_source(FakeTree::new().root()), None);
    }
}
