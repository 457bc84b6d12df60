//! Detects virtual machines and containers.
//!
//! No single file is sufficient. DMI names the vendor, x86 CPUs have a
//! hypervisor flag, Xen and the device tree have their own entries, and clock
//! sources are named after the hypervisor.

use crate::cpu_model::hypervisor_flag;
use crate::root::Root;

/// The hypervisor and the container, such as `kvm (Amazon EC2 m7g.large),
/// container docker`; `None` on metal or if nothing is detected.
pub(crate) fn virtualisation(root: &Root) -> Option<String> {
    let container = container(root).map(|name| format!("container {name}"));
    let parts: Vec<String> = machine(root).into_iter().chain(container).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Whether a hypervisor runs this kernel; `false` also if none is detected.
pub fn is_virtual_machine(root: &Root) -> bool {
    machine(root).is_some()
}

/// The kind of container; `None` outside of one.
pub(crate) fn container(root: &Root) -> Option<String> {
    // Set by systemd and others that implement its container interface.
    if let Some(name) = root.line("/run/systemd/container") {
        return Some(name);
    }
    if root.has("/run/.containerenv") {
        return Some("podman".to_owned());
    }
    if root.has("/.dockerenv") {
        return Some("docker".to_owned());
    }
    let own = root.text("/proc/self/cgroup").ok()?;
    let names = [
        "kubepods",
        "docker",
        "libpod",
        "containerd",
        "lxc",
        "garden",
    ];
    let found = names.iter().find(|name| own.contains(**name))?;
    Some((*found).to_owned())
}

/// The hypervisor, and the machine's name from DMI.
fn machine(root: &Root) -> Option<String> {
    let dmi = |name| root.line(format!("/sys/class/dmi/id/{name}"));
    let vendor = dmi("sys_vendor").unwrap_or_default();
    let product = dmi("product_name").unwrap_or_default();
    let kind = match root.line("/sys/hypervisor/type") {
        Some(kind) => kind,
        None => hypervisor(root, &vendor, &product)?.to_owned(),
    };
    match format!("{vendor} {product}").trim() {
        "" => Some(kind),
        name => Some(format!("{kind} ({name})")),
    }
}

fn hypervisor(root: &Root, vendor: &str, product: &str) -> Option<&'static str> {
    // Clouds use the same vendor name for metal and virtual machines, so the
    // absence of the flag on x86 decides.
    let flag = hypervisor_flag(root);
    if flag == Some(false) {
        return None;
    }
    if let Some(node) = root.line("/sys/firmware/devicetree/base/hypervisor/compatible") {
        return Some(if node.contains("kvm") { "kvm" } else { "xen" });
    }
    let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let clocks = root.line(clocks).unwrap_or_default();
    let by_clock = [("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")]
        .iter()
        .find(|(clock, _)| clocks.contains(clock))
        .map(|(_, kind)| *kind);
    let unnamed = (flag == Some(true)).then_some("virtual machine");
    hypervisor_by_vendor(vendor, product)
        .or(by_clock)
        .or(unnamed)
}

fn hypervisor_by_vendor(vendor: &str, product: &str) -> Option<&'static str> {
    const VENDORS: [(&str, &str); 12] = [
        ("QEMU", "kvm"),
        ("KVM", "kvm"),
        ("Amazon EC2", "kvm"),
        ("Google", "kvm"),
        ("OpenStack", "kvm"),
        ("Alibaba Cloud", "kvm"),
        ("DigitalOcean", "kvm"),
        ("Hetzner", "kvm"),
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("Xen", "xen"),
        ("Virtual Machine", "hyper-v"),
    ];
    // EC2 names its metal instances like m7g.metal; arm64 has no hypervisor
    // flag.
    if product.contains("metal") {
        return None;
    }
    VENDORS
        .iter()
        .find(|(word, _)| vendor.contains(word) || product.contains(word))
        .map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_model::tests::NEOVERSE_N1;
    use crate::fake_tree::FakeTree;

    const VM: &str = "flags : hypervisor\n";
    const METAL: &str = "flags : vmx\n";

    #[test]
    fn machine_and_container_are_detected() {
        let cpuinfo = "proc/cpuinfo";
        let vendor = "sys/class/dmi/id/sys_vendor";
        let product = "sys/class/dmi/id/product_name";
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        let device_tree = "sys/firmware/devicetree/base/hypervisor/compatible";
        let cgroup = "proc/self/cgroup";
        let pod = "0::/kubepods.slice/pod1/cri-containerd-2.scope\n";
        let ec2 = |cpu, name| vec![(cpuinfo, cpu), (vendor, "Amazon EC2\n"), (product, name)];
        let cases = [
            (ec2(VM, "m7i.large\n"), "kvm (Amazon EC2 m7i.large)"),
            (ec2(METAL, "m7i.metal-24xl\n"), ""),
            (
                ec2(NEOVERSE_N1, "m6g.large\n"),
                "kvm (Amazon EC2 m6g.large)",
            ),
            (ec2(NEOVERSE_N1, "m6g.metal\n"), ""),
            (
                vec![
                    (cpuinfo, METAL),
                    (vendor, "Dell Inc.\n"),
                    (product, "PowerEdge R740\n"),
                ],
                "",
            ),
            (vec![(cpuinfo, VM)], "virtual machine"),
            (vec![(cpuinfo, VM), (clocks, "tsc kvm-clock \n")], "kvm"),
            (vec![("sys/hypervisor/type", "xen\n")], "xen"),
            (
                vec![(cpuinfo, METAL), ("sys/hypervisor/type", "xen\n")],
                "xen",
            ),
            (vec![(device_tree, "linux,kvm\0")], "kvm"),
            (vec![(".dockerenv", "")], "container docker"),
            (vec![("run/.containerenv", "")], "container podman"),
            (
                vec![("run/systemd/container", "systemd-nspawn\n")],
                "container systemd-nspawn",
            ),
            (
                vec![(cpuinfo, VM), (vendor, "QEMU"), (cgroup, pod)],
                "kvm (QEMU), container kubepods",
            ),
            (vec![(cgroup, "0::/user.slice\n")], ""),
            (vec![], ""),
        ];
        for (files, expected) in cases {
            let found = virtualisation(FakeTree::new().files(&files).root());
            assert_eq!(found.unwrap_or_default(), expected, "{files:?}");
        }
    }
}
