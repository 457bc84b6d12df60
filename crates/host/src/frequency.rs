//! Clock frequency, governor and boost, from cpufreq
//! (Documentation/admin-guide/pm/cpufreq.rst).

use crate::error::{HostError, number};
use crate::root::Root;
use plimsoll_model::{CpuId, CpuSet};

/// Mean clock frequency in Hz of those CPUs of a set that report one; `None` if
/// none does, as in most virtual machines.
///
/// # Errors
/// If a file cannot be read or holds no number.
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

    fn cpus() -> CpuSet {
        "0-2".parse().unwrap()
    }

    #[test]
    fn mean_frequency_is_over_cpus_that_report_one() {
        let tree = FakeTree::new().files(&[
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
                "2000000\n",
            ),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_cur_freq",
                "9000000\n",
            ),
            (
                "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq",
                "<unknown>\n",
            ),
            (
                "sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_cur_freq",
                "3000000\n",
            ),
        ]);
        let mean = frequency_hz(tree.root(), &cpus()).unwrap();
        assert_eq!(mean, Some(2.5e9));
        assert_eq!(
            frequency_hz(tree.root(), &"2".parse().unwrap()).unwrap(),
            None
        );
    }

    #[test]
    fn different_governors_give_none() {
        let file = |n| format!("sys/devices/system/cpu/cpu{n}/cpufreq/scaling_governor");
        let tree = FakeTree::new()
            .file(&file(0), "performance\n")
            .file(&file(1), "performance\n");
        let two = "0-1".parse().unwrap();
        assert_eq!(governor(tree.root(), &two).as_deref(), Some("performance"));
        assert_eq!(governor(tree.root(), &cpus()), None);
        let tree = tree.file(&file(1), "powersave\n");
        assert_eq!(governor(tree.root(), &two), None);
    }

    #[test]
    fn boost_is_read_from_either_driver() {
        let count = |file: &str, text: &str| {
            let file = format!("sys/devices/system/cpu/{file}");
            boost(FakeTree::new().file(&file, text).root())
        };
        assert_eq!(count("cpufreq/boost", "1\n"), Some(true));
        assert_eq!(count("cpufreq/boost", "0\n"), Some(false));
        assert_eq!(count("intel_pstate/no_turbo", "0\n"), Some(true));
        assert_eq!(count("intel_pstate/no_turbo", "1\n"), Some(false));
        assert_eq!(count("cpufreq/other", "1\n"), None);
    }
}
