//! Driver, governor and idle states of cpuidle.

use crate::error::{HostError, Malformed, number};
use crate::root::Root;
use plimsoll_model::CpuId;
use std::time::Duration;

const CPUIDLE: &str = "/sys/devices/system/cpu/cpuidle";

/// Who chooses idle states, and what they are called. `None` where cpuidle is absent or
/// has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdleSetup {
    /// Such as `intel_idle`, `acpi_idle` or `haltpoll`.
    pub driver: Option<String>,
    /// Such as `menu`, `teo` or `haltpoll`.
    pub governor: Option<String>,
}

/// Reads driver and governor.
///
/// # Errors
/// If a file cannot be read.
pub fn idle_setup(root: &Root) -> Result<IdleSetup, HostError> {
    let named = |file: &str| -> Result<Option<String>, HostError> {
        let name = root.optional(format!("{CPUIDLE}/{file}"))?;
        let name = name.map(|name| name.trim().to_owned());
        Ok(name.filter(|name| !matches!(name.as_str(), "" | "none")))
    };
    // The second is the name where the governor cannot be changed, before Linux 5.10.
    let governor = match named("current_governor")? {
        None => named("current_governor_ro")?,
        some => some,
    };
    Ok(IdleSetup {
        driver: named("current_driver")?,
        governor,
    })
}

/// An idle state of one CPU: what the driver says about it, and counters since it was
/// registered (at the boot, or when the CPU came online).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    pub index: u32,
    /// Such as `POLL`, `C1E` or `haltpoll idle`.
    pub name: String,
    /// How long it takes to leave, as the driver says: `latency`.
    pub latency: Duration,
    /// How long a sleep must last to pay for it: `residency`.
    pub residency: Duration,
    /// How often the kernel asked for it.
    pub usage: u64,
    /// Time asked for. The hardware may have chosen a shallower state.
    pub time: Duration,
    /// How often the sleep was too short for it; `None` before Linux 5.2.
    pub above: Option<u64>,
    /// How often a deeper state would have been better; `None` before Linux 5.2.
    pub below: Option<u64>,
    /// How often the driver refused it; `None` before Linux 5.9.
    pub rejected: Option<u64>,
    /// Switched off by hand, or by the driver.
    pub disabled: bool,
}

/// The idle states of a CPU in the kernel's order, usually from shallow to deep; empty
/// without a driver, or if the CPU is offline.
///
/// # Errors
/// If a file cannot be read, or holds something else.
pub fn idle_states(root: &Root, cpu: CpuId) -> Result<Vec<IdleState>, HostError> {
    let names = root.names(folder(cpu))?;
    let indices = names.iter().filter_map(|name| name.strip_prefix("state"));
    let mut indices: Vec<u32> = indices.filter_map(|index| index.parse().ok()).collect();
    indices.sort_unstable();
    // A state without a name: the CPU went offline while it was read.
    let states = indices.into_iter().map(|index| state(root, cpu, index));
    states.filter_map(Result::transpose).collect()
}

fn state(root: &Root, cpu: CpuId, index: u32) -> Result<Option<IdleState>, HostError> {
    let file = |name: &str| format!("{}/state{index}/{name}", folder(cpu));
    let count = |name: &str| root.parse_optional(file(name), |text| number(text, "a number"));
    let us = |name: &str| -> Result<Option<Duration>, HostError> {
        Ok(count(name)?.map(Duration::from_micros))
    };
    let Some(name) = root.optional(file("name"))? else {
        return Ok(None);
    };
    let (Some(latency), Some(usage), Some(time)) = (us("latency")?, count("usage")?, us("time")?)
    else {
        return Ok(None);
    };
    Ok(Some(IdleState {
        index,
        name: name.trim().to_owned(),
        latency,
        // Before Linux 3.19 there is none.
        residency: us("residency")?.unwrap_or_default(),
        usage,
        time,
        above: count("above")?,
        below: count("below")?,
        rejected: count("rejected")?,
        disabled: root
            .parse_optional(file("disable"), is_set)?
            .unwrap_or(false),
    }))
}

/// A flag, or since Linux 5.6 bits of who has disabled the state.
fn is_set(text: &str) -> Result<bool, Malformed> {
    Ok(number(text, "0 or 1")? != 0)
}

fn folder(cpu: CpuId) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle")
}

/// The file that switches off a state of one CPU.
pub fn disable_file(cpu: CpuId, state: u32) -> String {
    format!("{}/state{state}/disable", folder(cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    fn with_state(tree: FakeTree, index: u32, name: &str, latency: &str) -> FakeTree {
        let dir = format!("{}/state{index}", folder(0));
        let with =
            |tree: FakeTree, file: &str, text: &str| tree.file(&format!("{dir}/{file}"), text);
        let tree = with(tree, "name", name);
        let tree = with(tree, "latency", latency);
        let tree = with(tree, "usage", "7\n");
        with(tree, "time", "1500000\n")
    }

    #[test]
    fn states_are_in_order_and_missing_counters_are_none() {
        let tree = with_state(FakeTree::new(), 10, "C10\n", "890\n");
        let tree = with_state(tree, 2, "C1E\n", "2\n");
        let dir = format!("{}/state2", folder(0));
        let tree = tree
            .file(&format!("{dir}/above"), "5\n")
            .file(&format!("{dir}/below"), "6\n")
            .file(&format!("{dir}/rejected"), "8\n")
            .file(&format!("{dir}/residency"), "4\n")
            .file(&format!("{dir}/disable"), "1\n")
            .file(&format!("{}/state3/power", folder(0)), "1\n");
        let found = idle_states(tree.root(), 0).unwrap();
        let c1e = IdleState {
            index: 2,
            name: "C1E".to_owned(),
            latency: Duration::from_micros(2),
            residency: Duration::from_micros(4),
            usage: 7,
            time: Duration::from_millis(1500),
            above: Some(5),
            below: Some(6),
            rejected: Some(8),
            disabled: true,
        };
        assert_eq!(found.first(), Some(&c1e));
        let c10 = found.get(1).unwrap();
        assert_eq!((c10.index, c10.above, c10.disabled), (10, None, false));
        assert_eq!(found.len(), 2, "a state whose files went away");
        assert_eq!(idle_states(tree.root(), 1).unwrap(), []);
    }

    #[test]
    fn no_driver_is_none() {
        let none = FakeTree::new()
            .file("sys/devices/system/cpu/cpuidle/current_driver", "none\n")
            .file(
                "sys/devices/system/cpu/cpuidle/current_governor_ro",
                "menu\n",
            );
        let found = idle_setup(none.root()).unwrap();
        assert_eq!(found.driver, None);
        assert_eq!(found.governor.as_deref(), Some("menu"));
        let absent = idle_setup(FakeTree::new().root()).unwrap();
        assert_eq!(absent, IdleSetup::default());
    }

    #[test]
    fn odd_numbers_are_errors_that_name_the_file() {
        let tree = with_state(FakeTree::new(), 0, "POLL\n", "soon\n");
        let error = idle_states(tree.root(), 0).unwrap_err().to_string();
        assert!(
            error.contains("state0/latency") && error.contains("soon"),
            "{error}"
        );
    }
}
