//! CPU model name, from /proc/cpuinfo.
//!
//! x86 has a name. arm64 has the numbers of the MIDR register (Arm Architecture
//! Reference Manual, MIDR_EL1; part numbers from each core's Technical
//! Reference Manual and arch/arm64/include/asm/cputype.h).

use crate::root::Root;
use std::collections::BTreeSet;

/// The CPU name; several names joined by `+` if the machine has different
/// cores. `None` if /proc/cpuinfo has no known field.
pub(crate) fn cpu_model(root: &Root) -> Option<String> {
    name(&root.text("/proc/cpuinfo").ok()?)
}

/// Whether an x86 CPU reports a hypervisor; `None` on other architectures.
pub(crate) fn hypervisor_flag(root: &Root) -> Option<bool> {
    let text = root.text("/proc/cpuinfo").ok()?;
    let flags = text.lines().find_map(|line| value(line, "flags"))?;
    Some(
        flags
            .split_ascii_whitespace()
            .any(|flag| flag == "hypervisor"),
    )
}

fn name(cpuinfo: &str) -> Option<String> {
    // 'cpu' on POWER; 'uarch' and 'isa' on RISC-V.
    for key in ["model name", "cpu", "uarch", "isa"] {
        let names: BTreeSet<&str> = cpuinfo.lines().filter_map(|l| value(l, key)).collect();
        if !names.is_empty() {
            return Some(join(names.into_iter().map(str::to_owned)));
        }
    }
    let cores = arm_cores(cpuinfo);
    (!cores.is_empty()).then(|| join(cores.into_iter().map(arm_name)))
}

fn join(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(" + ")
}

/// The value of a line `key   : value`.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (found, value) = line.split_once(':')?;
    let value = value.trim();
    (found.trim() == key && !value.is_empty()).then_some(value)
}

/// Implementer and part number of each kind of core.
fn arm_cores(cpuinfo: &str) -> BTreeSet<(u32, u32)> {
    let mut implementer = None;
    let mut cores = BTreeSet::new();
    for line in cpuinfo.lines() {
        if let Some(text) = value(line, "CPU implementer") {
            implementer = hex(text);
        } else if let Some(text) = value(line, "CPU part") {
            cores.extend(implementer.zip(hex(text)));
        }
    }
    cores
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn arm_name((implementer, part): (u32, u32)) -> String {
    let name = match (implementer, part) {
        (0x41, 0xd03) => "Arm Cortex-A53",
        (0x41, 0xd07) => "Arm Cortex-A57",
        (0x41, 0xd08) => "Arm Cortex-A72",
        (0x41, 0xd0b) => "Arm Cortex-A76",
        (0x41, 0xd0c) => "Arm Neoverse N1",
        (0x41, 0xd40) => "Arm Neoverse V1",
        (0x41, 0xd49) => "Arm Neoverse N2",
        (0x41, 0xd4a) => "Arm Neoverse E1",
        (0x41, 0xd4f) => "Arm Neoverse V2",
        (0x41, 0xd83) => "Arm Neoverse V3AE",
        (0x41, 0xd84) => "Arm Neoverse V3",
        (0x41, 0xd8e) => "Arm Neoverse N3",
        (0x46, 0x001) => "Fujitsu A64FX",
        (0x48, 0xd01) => "HiSilicon Kunpeng 920",
        (0xc0, 0xac3) => "Ampere-1",
        (0xc0, 0xac4) => "Ampere-1a",
        _ => return format!("arm64 implementer {implementer:#x} part {part:#x}"),
    };
    name.to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    pub(crate) const NEOVERSE_N1: &str = "\
        processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd evtstrm\n\
        CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\n\
        CPU part\t: 0xd0c\nCPU revision\t: 1\n\n";

    #[test]
    fn x86_model_name_and_hypervisor_flag() {
        let text =
            "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n";
        let tree = FakeTree::new().file("proc/cpuinfo", text);
        assert_eq!(cpu_model(tree.root()).as_deref(), Some("AMD EPYC"));
        assert_eq!(hypervisor_flag(tree.root()), Some(true));
        let metal = FakeTree::new().file("proc/cpuinfo", "flags\t\t: fpu vmx\n");
        assert_eq!(hypervisor_flag(metal.root()), Some(false));
    }

    #[test]
    fn arm_part_numbers_map_to_names_or_are_printed() {
        assert_eq!(name(NEOVERSE_N1).as_deref(), Some("Arm Neoverse N1"));
        let other = NEOVERSE_N1.replace("0xd0c", "0xfff");
        let shown = name(&other);
        assert_eq!(shown.as_deref(), Some("arm64 implementer 0x41 part 0xfff"));
        let big_little = format!("{NEOVERSE_N1}{}", NEOVERSE_N1.replace("0xd0c", "0xd03"));
        let both = name(&big_little);
        assert_eq!(both.as_deref(), Some("Arm Cortex-A53 + Arm Neoverse N1"));
        let tree = FakeTree::new().file("proc/cpuinfo", NEOVERSE_N1);
        assert_eq!(hypervisor_flag(tree.root()), None);
    }

    #[test]
    fn cpuinfo_without_known_fields_has_no_name() {
        for text in [
            "",
            "processor : 0\n",
            "CPU part : 0xd0c\n",
            "model name :\n",
        ] {
            assert_eq!(name(text), None, "{text:?}");
        }
    }
}
