//! Disks: /sys/block and the root of cgroup version 2.

use crate::root::Root;

/// Whether a disk shares its time by the weights of cgroups: under the scheduler bfq
/// (Documentation/block/bfq-iosched.rst), or by the cost model that io.cost.qos enables
/// (Documentation/admin-guide/cgroup-v2.rst).
pub fn disks_take_weights(root: &Root) -> bool {
    let disks = root.names("/sys/block").unwrap_or_default();
    let is_bfq = |disk: &String| {
        let schedulers = root.text(format!("/sys/block/{disk}/queue/scheduler"));
        schedulers.is_ok_and(|text| text.contains("[bfq]"))
    };
    let costs = root.text("/sys/fs/cgroup/io.cost.qos").unwrap_or_default();
    disks.iter().any(is_bfq) || costs.contains("enable=1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn weights_take_bfq_or_a_cost_model() {
        let none =
            FakeTree::new().file("sys/block/vda/queue/scheduler", "[none] mq-deadline bfq\n");
        assert!(!disks_take_weights(none.root()));
        let costs = none.file("sys/fs/cgroup/io.cost.qos", "254:0 enable=1 ctrl=auto\n");
        assert!(disks_take_weights(costs.root()));
        let bfq = FakeTree::new().file("sys/block/vda/queue/scheduler", "none [bfq]\n");
        assert!(disks_take_weights(bfq.root()));
    }
}
