//! The guest itself, and what `plimsoll doctor` finds there: a machine with
//! cgroup v2 and PSI, which those that test Plimsoll often are not.

#![allow(
    clippy::unwrap_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A cgroup below the root, made by this test and gone in the end.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Group {
        let path = PathBuf::from(format!("/sys/fs/cgroup/{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Group(path)
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap();
    }

    /// What `plimsoll doctor` says in this group, one sentence a line.
    fn doctor(&self) -> Vec<String> {
        let ended = Command::new("sh")
            .args(["-c", "echo $$ >\"$0\"/cgroup.procs && exec \"$1\" doctor"])
            .arg(&self.0)
            .arg(env!("CARGO_BIN_EXE_plimsoll"))
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
        let text = String::from_utf8(ended.stdout).unwrap();
        // Continued lines are set in.
        let text = text.replace("\n        ", " ");
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group that cannot be removed is gone with the guest.
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn the_guest_has_cgroup_v2_with_its_controllers() {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mount = "cgroup2 /sys/fs/cgroup cgroup2 rw";
    assert!(mounts.lines().any(|l| l.starts_with(mount)), "{mounts}");
    for list in ["cgroup.controllers", "cgroup.subtree_control"] {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/{list}")).unwrap();
        let controllers: Vec<&str> = text.split_whitespace().collect();
        for controller in ["cpu", "cpuset", "io", "memory", "pids"] {
            assert!(controllers.contains(&controller), "{list}: {text}");
        }
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn doctor_finds_psi_and_schedstat() {
    let said = Group::new("doctor").doctor();
    for line in [
        "ok      pressure stall information: /proc/pressure",
        "ok      scheduler statistics per thread: /proc/PID/schedstat, nanosecond resolution",
        "ok      all CPUs for Plimsoll: 2 CPUs",
        "ok      CPU time without a limit: no visible limit",
    ] {
        assert!(said.iter().any(|l| l == line), "{line}: {said:#?}");
    }
    assert!(said[0].starts_with("guest, QEMU "), "{said:#?}");
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn doctor_finds_the_limit_of_its_cgroup() {
    let group = Group::new("limited");
    group.set("cpu.max", "150000 100000");
    let said = group.doctor();
    let limit = "missing CPU time without a limit: with a limit of 1.50 of 2 CPUs,";
    assert!(said.iter().any(|l| l.starts_with(limit)), "{said:#?}");
}
