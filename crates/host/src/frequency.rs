//! Clock frequency, governor and boost, from cpufreq
//! (Documentation/admin-guide/pm/cpufreq.rst).

use crate::error::{HostError, number};
use crate::root::Root;
use plimsoll_model::{CpuId, CpuSet};

/// Mean clock frequency in Hz of those CPUs of a set that report one; `None` if
/// none does, as in most virtual machines.
pub(crate) fn frequency_hz(root: &Root, cpus: &CpuSet) -> Result<Option<f64>, HostError> {
    let mut sum = 0.0;
    let mut count = 0u32;
    for cpu in cpus.iter() {
        if let Some(khz) = frequency_khz(root, cpu)? {
            sum += khz as f64 * 1e3;
            count += 1;
        }
    }
    Ok((count > 0).then(|| sum / f64::from(count)))
}

fn frequency_khz(root: &Root, cpu: CpuId) -> Result<Option<u64>, HostError> {
    for name in ["scaling_cur_freq", "cpuinfo_cur_freq"] {
        let frequency = root.parse_optional(of_cpu(cpu, name), |text| match text.trim() {
            // The hardware does not report a frequency.
            "<unknown>" => Ok(None),
            khz => number(khz, "a frequency in kHz").map(Some),
        })?;
        if let Some(Some(khz)) = frequency {
            return Ok(Some(khz));
        }
    }
    Ok(None)
}

/// The governor, if all these CPUs have the same one.
pub(crate) fn governor(root: &Root, cpus: &CpuSet) -> Option<String> {
    let mut governors = cpus
        .iter()
        .map(|cpu| root.line(of_cpu(cpu, "scaling_governor")));
    let first = governors.next()??;
    governors
        .all(|other| other.as_ref() == Some(&first))
        .then_some(first)
}

/// Whether the clock may rise above its nominal frequency.
pub(crate) fn boost(root: &Root) -> Option<bool> {
    let is_set = |file: &str| match root.line(file)?.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    };
    is_set(NO_TURBO)
        .map(|off| !off)
        .or_else(|| is_set(BOOST_FILE))
}

const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST_FILE: &str = "/sys/devices/system/cpu/cpufreq/boost";

pub(crate) fn boost_off(root: &Root) -> String {
    if root.has(NO_TURBO) {
        format!("echo 1 > {NO_TURBO}")
    } else {
        format!("echo 0 > {BOOST_FILE}")
    }
}

fn of_cpu(cpu: CpuId, name: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn mean_frequency_is_over_cpus_that_report_one() {
        let tree = FakeTree::new()
            .file(&of_cpu(0, "scaling_cur_freq"), "2000000\n")
            .file(&of_cpu(0, "cpuinfo_cur_freq"), "9000000\n")
            .file(&of_cpu(1, "scaling_cur_freq"), "<unknown>\n")
            .file(&of_cpu(1, "cpuinfo_cur_freq"), "3000000\n");
        let mean = |cpus: &str| frequency_hz(tree.root(), &cpus.parse().unwrap()).unwrap();
        assert_eq!(mean("0-2"), Some(2.5e9));
        assert_eq!(mean("2"), None);
    }

    #[test]
    fn different_governors_give_none() {
        let of = |governors: &[&str]| {
            let tree = FakeTree::new();
            for (cpu, name) in (0..).zip(governors) {
                tree.write(&of_cpu(cpu, "scaling_governor"), name);
            }
            governor(tree.root(), &"0-1".parse().unwrap())
        };
        let same = of(&["performance\n", "performance\n"]);
        assert_eq!(same.as_deref(), Some("performance"));
        assert_eq!(of(&["performance\n", "powersave\n"]), None);
        assert_eq!(of(&["performance\n"]), None);
    }

    #[test]
    fn boost_is_read_from_either_driver() {
        for (file, text, expected) in [
            ("cpufreq/boost", "1\n", Some(true)),
            ("cpufreq/boost", "0\n", Some(false)),
            ("intel_pstate/no_turbo", "0\n", Some(true)),
            ("intel_pstate/no_turbo", "1\n", Some(false)),
            ("cpufreq/other", "1\n", None),
        ] {
            let tree = FakeTree::new().file(&format!("sys/devices/system/cpu/{file}"), text);
            assert_eq!(boost(tree.root()), expected, "{file} {text}");
        }
    }
}
