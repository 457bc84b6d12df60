//! The counters of the PMU `power` (RAPL by perf_event_open).

use crate::error::{HostError, Malformed};
use crate::root::Root;
use crate::tracepoints::refused;
use perf_event::events::Dynamic;
use perf_event::{Builder, Counter};
use plimsoll_model::{CpuId, CpuSet, Energy};
use std::fmt;
use std::io;
use std::path::Path;

const PMU: &str = "/sys/bus/event_source/devices/power";
const EVENT: &str = "energy-pkg";
const NAME: &str = "power/energy-pkg/";

/// A counter for each package, which the kernel extends to 64 bits.
pub(crate) struct PowerPmu {
    packages: Vec<Counter>,
    joules_per_count: f64,
    before: f64,
}

impl PowerPmu {
    /// `None` if the kernel has no such PMU, or the root is a fake tree.
    pub(super) fn open(root: &Root) -> Result<Option<PowerPmu>, HostError> {
        let Some((cpus, joules_per_count)) = described(root)? else {
            return Ok(None);
        };
        if root.path("/") != Path::new("/") {
            return Ok(None);
        }
        let counters = cpus.iter().map(counter).collect::<io::Result<_>>();
        let mut all = PowerPmu {
            packages: counters.map_err(refused(NAME))?,
            joules_per_count,
            before: 0.0,
        };
        all.before = all.sum()?;
        Ok(Some(all))
    }

    fn sum(&mut self) -> Result<f64, HostError> {
        let mut counts = 0;
        for package in &mut self.packages {
            counts += u128::from(package.read().map_err(refused(NAME))?);
        }
        Ok(counts as f64 * self.joules_per_count)
    }

    pub(super) fn read(&mut self) -> Result<Energy, HostError> {
        Ok(Energy(self.sum()? - self.before))
    }
}

/// The CPU of each package that reads its counter, and joules per count.
fn described(root: &Root) -> Result<Option<(CpuSet, f64)>, HostError> {
    let cpus = root.parse_optional(format!("{PMU}/cpumask"), |text| {
        let cpus = text.trim().parse::<CpuSet>();
        cpus.map_err(|_| Malformed::new("a list of CPUs", text))
    })?;
    let scale = root.parse_optional(format!("{PMU}/events/{EVENT}.scale"), |text| {
        let scale = text.trim().parse().ok().filter(|scale: &f64| *scale > 0.0);
        scale.ok_or_else(|| Malformed::new("joules per count", text))
    })?;
    Ok(cpus.filter(|cpus| !cpus.is_empty()).zip(scale))
}

fn counter(cpu: CpuId) -> io::Result<Counter> {
    let mut event = Dynamic::builder("power")?;
    let event = event.event(EVENT)?.build().map_err(io::Error::other)?;
    let mut builder = Builder::new(event);
    let builder = builder.any_pid().one_cpu(cpu as usize);
    // This PMU counts all or nothing.
    let mut counter = builder.include_kernel().include_hv().build()?;
    counter.enable()?;
    Ok(counter)
}

impl fmt::Debug for PowerPmu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packages = self.packages.len();
        f.debug_struct("PowerPmu")
            .field("packages", &packages)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn a_pmu_has_a_cpu_for_each_package_and_a_scale() {
        let pmu = "sys/bus/event_source/devices/power";
        let tree = FakeTree::new();
        assert_eq!(described(tree.root()).unwrap(), None);
        tree.write(&format!("{pmu}/cpumask"), "0,16\n");
        // As of CPUs that count cores alone.
        assert_eq!(described(tree.root()).unwrap(), None);
        let scale = format!("{pmu}/events/energy-pkg.scale");
        tree.write(&scale, "2.3283064365386962890625e-10\n");
        let (cpus, joules) = described(tree.root()).unwrap().unwrap();
        assert_eq!(
            (cpus.to_string(), joules),
            ("0,16".into(), (0.5_f64).powi(32))
        );
        tree.write(&scale, "-1\n");
        assert!(described(tree.root()).is_err());
    }
}
