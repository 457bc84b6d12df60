//! The RAPL counters of powercap (Documentation/power/powercap/powercap.rst).
//!
//! A package counter is in microjoules and wraps round at
//! `max_energy_range_uj`, within minutes on a large machine, so it is read once
//! a second and summed here.

use crate::error::{HostError, number};
use crate::root::Root;
use plimsoll_model::Energy;

/// Sums the energy of all packages since it was opened.
#[derive(Debug)]
pub(crate) struct Powercap {
    packages: Vec<Package>,
    used_uj: u128,
}

#[derive(Debug)]
struct Package {
    file: String,
    range_uj: u64,
    last_uj: u64,
}

const POWERCAP: &str = "/sys/class/powercap";

impl Powercap {
    /// `None` if no package has a counter.
    ///
    /// # Errors
    /// If a counter cannot be read: since Linux 5.10 only root may.
    pub(super) fn open(root: &Root) -> Result<Option<Powercap>, HostError> {
        let mut packages = Vec::new();
        for name in root.names(POWERCAP)? {
            let zone = format!("{POWERCAP}/{name}");
            // intel-rapl:0 is a package, intel-rapl:0:1 a part of it, and
            // intel-rapl-mmio:0 the same package again; AMD uses the same
            // names. A zone 'psys' is the whole board including the packages.
            let top_level = name
                .strip_prefix("intel-rapl:")
                .is_some_and(|n| n.parse::<u32>().is_ok());
            let kind = root.line(format!("{zone}/name")).unwrap_or_default();
            if top_level && kind.starts_with("package") {
                let file = format!("{zone}/energy_uj");
                packages.push(Package {
                    range_uj: counter(root, &format!("{zone}/max_energy_range_uj"))?,
                    last_uj: counter(root, &file)?,
                    file,
                });
            }
        }
        Ok((!packages.is_empty()).then_some(Powercap {
            packages,
            used_uj: 0,
        }))
    }

    /// Energy of all packages since it was opened.
    pub(super) fn read(&mut self, root: &Root) -> Result<Energy, HostError> {
        for package in &mut self.packages {
            let now = counter(root, &package.file)?;
            self.used_uj += u128::from(increment(package.last_uj, now, package.range_uj));
            package.last_uj = now;
        }
        Ok(Energy(self.used_uj as f64 / 1e6))
    }
}

pub(super) fn counter(root: &Root, file: &str) -> Result<u64, HostError> {
    root.parse(file, |text| number(text, "a number of microjoules"))
}

/// Increment of a counter that wraps round at `range`.
fn increment(last: u64, now: u64, range: u64) -> u64 {
    if now >= last {
        now - last
    } else {
        range.saturating_sub(last).saturating_add(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    fn zone(tree: FakeTree, zone: &str, name: &str, uj: &str) -> FakeTree {
        let dir = format!("sys/class/powercap/{zone}");
        tree.file(&format!("{dir}/name"), name)
            .file(&format!("{dir}/max_energy_range_uj"), "1000000\n")
            .file(&format!("{dir}/energy_uj"), uj)
    }

    #[test]
    fn packages_are_summed_without_subzones() {
        let tree = FakeTree::new();
        let tree = zone(tree, "intel-rapl:0", "package-0\n", "1000\n");
        let tree = zone(tree, "intel-rapl:1", "package-1\n", "999000\n");
        let tree = zone(tree, "intel-rapl:0:0", "core\n", "0\n");
        let tree = zone(tree, "intel-rapl:2", "psys\n", "0\n");
        let tree = zone(tree, "intel-rapl-mmio:0", "package-0\n", "0\n");
        let tree = tree.file("sys/class/powercap/intel-rapl/enabled", "1\n");
        let mut meter = Powercap::open(tree.root()).unwrap().unwrap();
        assert_eq!(meter.read(tree.root()).unwrap(), Energy(0.0));
        for zone in ["0", "0:0", "2"] {
            let path = format!("sys/class/powercap/intel-rapl:{zone}/energy_uj");
            tree.write(&path, "501000\n");
        }
        // Wraps at its range of one joule: 1 mJ before and 2 mJ after.
        tree.write("sys/class/powercap/intel-rapl:1/energy_uj", "2000\n");
        assert_eq!(meter.read(tree.root()).unwrap(), Energy(0.503));
        assert_eq!(meter.read(tree.root()).unwrap(), Energy(0.503));
    }

    #[test]
    fn missing_zone_is_none_and_missing_counter_is_an_error() {
        assert!(Powercap::open(FakeTree::new().root()).unwrap().is_none());
        let tree = zone(FakeTree::new(), "intel-rapl:0", "package-0\n", "1\n");
        tree.remove("sys/class/powercap/intel-rapl:0/energy_uj");
        assert!(Powercap::open(tree.root()).is_err());
    }

    #[test]
    fn invalid_range_does_not_overflow() {
        assert_eq!(increment(10, 5, 0), 5);
        assert_eq!(increment(u64::MAX, u64::MAX - 1, u64::MAX), u64::MAX - 1);
    }
}
