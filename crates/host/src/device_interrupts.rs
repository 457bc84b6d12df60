//! The interrupts of a device.

use crate::error::{HostError, Malformed, number};
use crate::root::Root;

/// The numbers of a device's interrupts, ascending: of a network interface or disk such as eth0
/// or nvme0n1, or those that /proc/interrupts lists under this name, such as virtio3 for
/// virtio3-rx and virtio3-tx. Empty if there are none.
///
/// # Errors
/// A file cannot be read.
pub fn interrupts_of(root: &Root, device: &str) -> Result<Vec<u32>, HostError> {
    let mut found = listed(root, device)?;
    for class in ["net", "block"] {
        if device.is_empty() || device.contains('/') {
            break;
        }
        // The queues of a virtual device belong to the bus device above it.
        for place in ["device", "device/.."] {
            found.extend(root.numbers(format!("/sys/class/{class}/{device}/{place}/msi_irqs"))?);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Lines read ` 41:  8426  0  PCI-MSIX-0000:00:04.0  1-edge  virtio3-rx`; those of several
/// devices end with a list: `eth0, usb1`.
fn listed(root: &Root, device: &str) -> Result<Vec<u32>, HostError> {
    root.parse("/proc/interrupts", |text| {
        let mut found = Vec::new();
        for line in text.lines() {
            let Some((irq, rest)) = line.split_once(':') else {
                continue;
            };
            let names = rest.rsplit(", ").map(|part| part.split_whitespace().last());
            if names.flatten().any(|name| is_of(name, device)) {
                found.push(irq_number(irq)?);
            }
        }
        Ok(found)
    })
}

fn irq_number(text: &str) -> Result<u32, Malformed> {
    let irq = number(text, "an interrupt's number")?;
    u32::try_from(irq).map_err(|_| Malformed::new("an interrupt's number", text))
}

/// `virtio3` has `virtio3` and `virtio3-rx`, but not `virtio30`.
fn is_of(name: &str, device: &str) -> bool {
    let rest = name.strip_prefix(device).filter(|_| !device.is_empty());
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    const INTERRUPTS: &str = "           CPU0       CPU1\n \
         26:   0   16  IO-APIC   4-edge      ttyS0\n \
         30:   0    0  IO-APIC  10-fasteoi   eth1, virtio30-rx\n \
         41: 842    0  PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx\n \
         42:   0  451  PCI-MSIX-0000:00:04.0   2-edge      virtio3-tx\n\
         NMI:   0    0   Non-maskable interrupts\n";

    #[test]
    fn interrupts_are_found_by_device_and_by_name() {
        let tree = FakeTree::new();
        tree.write("proc/interrupts", INTERRUPTS);
        tree.write("sys/class/net/eth0/device/msi_irqs/57", "msix\n");
        tree.write("sys/class/net/eth0/device/msi_irqs/9", "msix\n");
        let of = |device: &str| interrupts_of(tree.root(), device).unwrap();
        assert_eq!(of("virtio3"), [41, 42]);
        assert_eq!(of("virtio3-rx"), [41]);
        assert_eq!(of("virtio30"), [30]);
        assert_eq!(of("eth1"), [30], "of a shared interrupt");
        assert_eq!(of("ttyS0"), [26]);
        assert_eq!(of("eth0"), [9, 57]);
        for none in ["eth", "", "../net/eth0", "interrupts"] {
            assert!(none == "interrupts" || of(none).is_empty(), "{none}");
        }
    }
}
