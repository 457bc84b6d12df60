//! How this kernel accounts interrupt time.

use crate::root::Root;
use flate2::read::GzDecoder;
use plimsoll_model::InterruptTime;
use std::fs::File;
use std::io::Read;

/// With one of these options the kernel subtracts interrupt time from the
/// interrupted task (`irq_delta` of `update_rq_clock_task` in
/// kernel/sched/core.c; vtime in kernel/sched/cputime.c). Without, the
/// network's softirq is charged to the task whose system call runs it, and
/// /proc/stat shows the same time as `softirq`.
const SEPARATING_OPTIONS: [&str; 2] = ["IRQ_TIME_ACCOUNTING", "VIRT_CPU_ACCOUNTING_NATIVE"];

/// Reads the kernel configuration from /proc/config.gz or /boot. A kernel with
/// the option that was booted without it (`tsc=noirqtime`, an unstable TSC) is
/// reported as separating the two.
pub fn interrupt_time(root: &Root) -> InterruptTime {
    match configuration(root) {
        None => InterruptTime::Unknown,
        Some(text) => from_config(&text),
    }
}

fn from_config(configuration: &str) -> InterruptTime {
    let is_on = |line: &str| {
        let option = line
            .strip_prefix("CONFIG_")
            .and_then(|l| l.strip_suffix("=y"));
        option.is_some_and(|option| SEPARATING_OPTIONS.contains(&option))
    };
    match configuration.lines().any(is_on) {
        true => InterruptTime::Apart,
        false => InterruptTime::InTasks,
    }
}

fn configuration(root: &Root) -> Option<String> {
    // Some kernels lack /proc/config.gz; others have no file in /boot.
    compressed(root).or_else(|| {
        let release = root.line("/proc/sys/kernel/osrelease")?;
        root.text(format!("/boot/config-{release}")).ok()
    })
}

fn compressed(root: &Root) -> Option<String> {
    let file = File::open(root.path("/proc/config.gz")).ok()?;
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn configuration_is_read_from_proc_or_else_from_boot() {
        const WITH: &str = "CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_IRQ_TIME_ACCOUNTING=y\n";
        const NATIVE: &str = "CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n";
        const WITHOUT: &str =
            "CONFIG_TICK_CPU_ACCOUNTING=y\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n";
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(WITHOUT.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        for (proc, boot, expected) in [
            (None, Some(WITH), InterruptTime::Apart),
            (None, Some(WITHOUT), InterruptTime::InTasks),
            (None, Some(NATIVE), InterruptTime::Apart),
            (Some(&packed[..]), Some(WITH), InterruptTime::InTasks),
            (Some(b"no gzip"), None, InterruptTime::Unknown),
        ] {
            let tree = FakeTree::new().file("proc/sys/kernel/osrelease", "6.1.0-9\n");
            if let Some(packed) = proc {
                tree.write_bytes("proc/config.gz", packed);
            }
            if let Some(text) = boot {
                tree.write("boot/config-6.1.0-9", text);
            }
            assert_eq!(interrupt_time(tree.root()), expected, "{proc:?} {boot:?}");
        }
    }
}
