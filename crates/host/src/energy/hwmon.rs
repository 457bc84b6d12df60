//! Sensors of hwmon (Documentation/hwmon/sysfs-interface.rst): energy in microjoules, power in
//! microwatts.

use super::powercap::counter;
use crate::error::HostError;
use crate::root::Root;
use plimsoll_model::Energy;
use std::time::{Duration, Instant};

const HWMON: &str = "/sys/class/hwmon";

/// Folders of the devices of a driver.
fn devices(root: &Root, driver: &str) -> Result<Vec<String>, HostError> {
    let names = root.names(HWMON)?.into_iter();
    let folders = names.map(|name| format!("{HWMON}/{name}"));
    let is_its = |folder: &String| root.line(format!("{folder}/name")).as_deref() == Some(driver);
    Ok(folders.filter(is_its).collect())
}

/// The counters of sockets of the driver amd_energy, which extends them to 64 bits.
#[derive(Debug)]
pub(crate) struct SocketEnergy {
    files: Vec<String>,
    before_uj: u128,
}

impl SocketEnergy {
    pub(super) fn open(root: &Root) -> Result<Option<SocketEnergy>, HostError> {
        let mut files = Vec::new();
        for device in devices(root, "amd_energy")? {
            for name in root.names(&device)? {
                let label = name
                    .strip_suffix("_label")
                    .filter(|start| start.starts_with("energy"));
                let Some(start) = label else { continue };
                let of = root.line(format!("{device}/{name}")).unwrap_or_default();
                if of.starts_with("Esocket") {
                    files.push(format!("{device}/{start}_input"));
                }
            }
        }
        if files.is_empty() {
            return Ok(None);
        }
        let mut all = SocketEnergy {
            files,
            before_uj: 0,
        };
        all.before_uj = all.sum(root)?;
        Ok(Some(all))
    }

    fn sum(&self, root: &Root) -> Result<u128, HostError> {
        let each = self.files.iter();
        each.map(|file| counter(root, file).map(u128::from)).sum()
    }

    pub(super) fn read(&mut self, root: &Root) -> Result<Energy, HostError> {
        let used = self.sum(root)?.saturating_sub(self.before_uj);
        Ok(Energy(used as f64 / 1e6))
    }
}

/// The power of the machine by ACPI, an average over an interval of the firmware (often 1 s).
#[derive(Debug)]
pub(crate) struct PowerMeter {
    files: Vec<String>,
    last: Instant,
    last_uw: u64,
    joules: f64,
}

impl PowerMeter {
    pub(super) fn open(root: &Root) -> Result<Option<PowerMeter>, HostError> {
        let mut files = Vec::new();
        for device in devices(root, "power_meter")? {
            for name in ["power1_average", "power1_input"] {
                let file = format!("{device}/{name}");
                if root.path(&file).exists() {
                    files.push(file);
                    break;
                }
            }
        }
        if files.is_empty() {
            return Ok(None);
        }
        let mut meter = PowerMeter {
            files,
            last: Instant::now(),
            last_uw: 0,
            joules: 0.0,
        };
        meter.last_uw = meter.power(root)?;
        Ok(Some(meter))
    }

    fn power(&self, root: &Root) -> Result<u64, HostError> {
        let mut all = 0_u64;
        for file in &self.files {
            all = all.saturating_add(counter(root, file)?);
        }
        Ok(all)
    }

    pub(super) fn read(&mut self, root: &Root) -> Result<Energy, HostError> {
        let now = Instant::now();
        self.add(now - self.last, self.power(root)?);
        self.last = now;
        Ok(Energy(self.joules))
    }

    /// By the trapezoidal rule.
    fn add(&mut self, elapsed: Duration, now_uw: u64) {
        let mean = (self.last_uw as f64 + now_uw as f64) / 2e6;
        self.joules += mean * elapsed.as_secs_f64();
        self.last_uw = now_uw;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn sockets_are_summed_without_cores() {
        let folder = "sys/class/hwmon/hwmon3";
        let file = |name: &str| format!("{folder}/{name}");
        let tree = FakeTree::new();
        assert!(SocketEnergy::open(tree.root()).unwrap().is_none());
        tree.write("sys/class/hwmon/hwmon0/name", "coretemp\n");
        tree.write(&file("name"), "amd_energy\n");
        for (n, label) in [(1, "Ecore000"), (2, "Esocket0"), (3, "Esocket1")] {
            tree.write(&file(&format!("energy{n}_label")), label);
            tree.write(&file(&format!("energy{n}_input")), "1000000\n");
        }
        let mut energy = SocketEnergy::open(tree.root()).unwrap().unwrap();
        for n in [1, 2] {
            tree.write(&file(&format!("energy{n}_input")), "4000000\n");
        }
        assert_eq!(energy.read(tree.root()).unwrap(), Energy(3.0));
        tree.remove(&file("energy2_input"));
        assert!(energy.read(tree.root()).is_err());
    }

    #[test]
    fn power_is_summed_over_time() {
        let tree = FakeTree::new().files(&[
            ("sys/class/hwmon/hwmon1/name", "power_meter\n"),
            ("sys/class/hwmon/hwmon1/power1_average", "200000000\n"),
        ]);
        let mut meter = PowerMeter::open(tree.root()).unwrap().unwrap();
        meter.add(Duration::from_secs(2), 300_000_000);
        meter.add(Duration::from_secs(1), 300_000_000);
        assert_eq!(meter.joules, 800.0);
    }
}
