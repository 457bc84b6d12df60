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
    let machine = HypervisorHints::read(root).machine();
    let container = container(root).map(|name| format!("container {name}"));
    let parts: Vec<String> = machine.into_iter().chain(container).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct HypervisorHints {
    vendor: String,
    product: String,
    /// /sys/hypervisor/type.
    hypervisor: Option<String>,
    /// `compatible` of the device tree's hypervisor node.
    device_tree: Option<String>,
    clock_sources: String,
    /// The hypervisor flag of an x86 CPU; `None` on other architectures.
    flag: Option<bool>,
}

impl HypervisorHints {
    fn read(root: &Root) -> HypervisorHints {
        let dmi = |name| {
            root.line(format!("/sys/class/dmi/id/{name}"))
                .unwrap_or_default()
        };
        HypervisorHints {
            vendor: dmi("sys_vendor"),
            product: dmi("product_name"),
            hypervisor: root.line("/sys/hypervisor/type"),
            device_tree: root.line("/sys/firmware/devicetree/base/hypervisor/compatible"),
            clock_sources: root
                .line("/sys/devices/system/clocksource/clocksource0/available_clocksource")
                .unwrap_or_default(),
            flag: hypervisor_flag(root),
        }
    }

    /// The hypervisor and the DMI name of the machine.
    fn machine(&self) -> Option<String> {
        // Clouds use the same vendor name for metal and virtual machines, so
        // the absence of the flag on x86 decides.
        if self.flag == Some(false) && self.hypervisor.is_none() {
            return None;
        }
        let kind = self.kind()?;
        let name = format!("{} {}", self.vendor, self.product);
        match name.trim() {
            "" => Some(kind),
            name => Some(format!("{kind} ({name})")),
        }
    }

    fn kind(&self) -> Option<String> {
        if let Some(kind) = &self.hypervisor {
            return Some(kind.clone());
        }
        if let Some(compatible) = &self.device_tree {
            let kind = if compatible.contains("kvm") {
                "kvm"
            } else {
                "xen"
            };
            return Some(kind.to_owned());
        }
        let by_vendor = self.kind_by_vendor();
        let by_clock = [("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")]
            .iter()
            .find(|(clock, _)| self.clock_sources.contains(clock))
            .map(|(_, kind)| *kind);
        let unnamed = (self.flag == Some(true)).then_some("virtual machine");
        by_vendor.or(by_clock).or(unnamed).map(str::to_owned)
    }

    fn kind_by_vendor(&self) -> Option<&'static str> {
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
        if self.product.contains("metal") {
            return None;
        }
        VENDORS
            .iter()
            .find(|(word, _)| self.vendor.contains(word) || self.product.contains(word))
            .map(|(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_model::tests::NEOVERSE_N1;
    use crate::fake_tree::FakeTree;

    fn dmi(cpuinfo: &str, vendor: &str, product: &str) -> FakeTree {
        FakeTree::new()
            .file("proc/cpuinfo", cpuinfo)
            .file("sys/class/dmi/id/sys_vendor", vendor)
            .file("sys/class/dmi/id/product_name", product)
    }

    fn detected(tree: &FakeTree) -> Option<String> {
        virtualisation(tree.root())
    }

    #[test]
    fn cloud_metal_is_not_reported_as_virtual() {
        let vm = dmi("flags : hypervisor\n", "Amazon EC2\n", "m7i.large\n");
        assert_eq!(detected(&vm).as_deref(), Some("kvm (Amazon EC2 m7i.large)"));
        let metal = dmi("flags : vmx\n", "Amazon EC2\n", "m7i.metal-24xl\n");
        assert_eq!(detected(&metal), None);
        let arm = dmi(NEOVERSE_N1, "Amazon EC2\n", "m6g.large\n");
        assert_eq!(
            detected(&arm).as_deref(),
            Some("kvm (Amazon EC2 m6g.large)")
        );
        let arm_metal = dmi(NEOVERSE_N1, "Amazon EC2\n", "m6g.metal\n");
        assert_eq!(detected(&arm_metal), None);
        let server = dmi("flags : vmx\n", "Dell Inc.\n", "PowerEdge R740\n");
        assert_eq!(detected(&server), None);
    }

    #[test]
    fn unnamed_hypervisor_is_reported() {
        let nameless = FakeTree::new().file("proc/cpuinfo", "flags : hypervisor\n");
        assert_eq!(detected(&nameless).as_deref(), Some("virtual machine"));
        let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        let firecracker = nameless.file(clocks, "tsc kvm-clock \n");
        assert_eq!(detected(&firecracker).as_deref(), Some("kvm"));
    }

    #[test]
    fn xen_and_device_tree_are_detected() {
        let xen = FakeTree::new().file("sys/hypervisor/type", "xen\n");
        assert_eq!(detected(&xen).as_deref(), Some("xen"));
        let file = "sys/firmware/devicetree/base/hypervisor/compatible";
        let kvm = FakeTree::new().file(file, "linux,kvm\0");
        assert_eq!(detected(&kvm).as_deref(), Some("kvm"));
    }

    #[test]
    fn containers_are_reported_with_the_machine() {
        let docker = FakeTree::new().file(".dockerenv", "");
        assert_eq!(detected(&docker).as_deref(), Some("container docker"));
        let pod = "0::/kubepods.slice/pod1/cri-containerd-2.scope\n";
        let both = dmi("flags : hypervisor\n", "QEMU", "").file("proc/self/cgroup", pod);
        let expected = "kvm (QEMU), container kubepods";
        assert_eq!(detected(&both).as_deref(), Some(expected));
        let nspawn = FakeTree::new().file("run/systemd/container", "systemd-nspawn\n");
        assert_eq!(container(nspawn.root()).as_deref(), Some("systemd-nspawn"));
    }

    #[test]
    fn empty_tree_detects_nothing() {
        assert_eq!(detected(&FakeTree::new()), None);
        let own = FakeTree::new().file("proc/self/cgroup", "0::/user.slice\n");
        assert_eq!(detected(&own), None);
    }
}
