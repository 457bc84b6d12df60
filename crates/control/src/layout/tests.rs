//! Choices for layouts on fake trees.

use super::choose::Choice;
use super::*;
use crate::mechanism::{CgroupSupport, Means};
use crate::schedule::Class;
use Mechanism::{CpuSet, Freeze, Idle, Io, Kill, MemoryHigh, MemoryMax, Quota, Weight};
use tempfile::TempDir;

const V2: &str = "24 1 0:21 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const ALL: &str = "cpuset cpu io memory pids\n";
const SOME: &str = "memory pids\n";

struct Machine {
    dir: TempDir,
}

impl Machine {
    fn new(mounts: &str, own: &str) -> Machine {
        let machine = Machine {
            dir: tempfile::tempdir().unwrap(),
        };
        machine
            .file("proc/self/mountinfo", mounts)
            .file("proc/self/cgroup", own)
            .file("proc/sys/kernel/osrelease", "6.12.1-cloud\n")
    }

    fn file(self, path: &str, text: &str) -> Machine {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A group of version 2, not the uppermost.
    fn group(self, at: &str, controllers: &str, enabled: &str, procs: &str) -> Machine {
        let at = format!("sys/fs/cgroup{at}");
        self.file(&format!("{at}/cgroup.type"), "domain\n")
            .file(&format!("{at}/cgroup.procs"), procs)
            .file(&format!("{at}/cgroup.controllers"), controllers)
            .file(&format!("{at}/cgroup.subtree_control"), enabled)
    }

    /// Takes a group from this user: without its file there is nothing to write.
    fn not_ours(self, at: &str) -> Machine {
        let folder = self.dir.path().join(format!("sys/fs/cgroup{at}"));
        fs::remove_file(folder.join("cgroup.procs")).unwrap();
        self
    }

    fn found(&self) -> Found {
        let layout = CgroupLayout::find(&Root::at(self.dir.path())).unwrap();
        Found {
            class: Class::Idle,
            ..layout.found
        }
    }

    fn choose<const N: usize>(&self, needs: [Mechanism; N]) -> Choice {
        self.found().choose(&BTreeSet::from(needs))
    }

    fn path(&self, at: &str) -> PathBuf {
        self.dir.path().join(format!("sys/fs/cgroup{at}"))
    }
}

fn strings<const N: usize>(words: [&str; N]) -> BTreeSet<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

const USER: &str = "/user.slice/user-1000.slice/user@1000.service";

/// A desktop: the user's manager has its subtree delegated.
fn desktop(own: &str) -> Machine {
    let mut machine = Machine::new(V2, &format!("0::{own}\n"));
    for (at, procs) in [
        ("", "1\n"),
        ("/user.slice", ""),
        ("/user.slice/user-1000.slice", ""),
    ] {
        machine = machine.group(at, ALL, ALL, procs).not_ours(at);
    }
    let app = format!("{USER}/app.slice");
    machine
        .group(USER, ALL, SOME, "")
        .group(&app, SOME, SOME, "")
        .group(&format!("{app}/term.scope"), SOME, "", "70\n71\n")
}

#[test]
fn a_delegated_user_gets_a_group_with_all_needs() {
    let machine = desktop(&format!("{USER}/app.slice/term.scope"));
    let choice = machine.choose([Weight, Quota, Freeze]);
    let [place] = &choice.places[..] else {
        panic!("{choice:?}");
    };
    assert_eq!(place.parent, machine.path(USER));
    assert_eq!(place.controllers, strings(["cpu"]));
    assert!(!place.leaf);
    assert_eq!(choice.capabilities.support, CgroupSupport::Group);
    assert_eq!(choice.capabilities.losses(), [] as [String; 0]);
}

#[test]
fn the_nearest_sufficient_ancestor_is_chosen() {
    let machine = desktop(&format!("{USER}/app.slice/term.scope"));
    let choice = machine.choose([MemoryHigh, Freeze, Kill]);
    let app = machine.path(&format!("{USER}/app.slice"));
    assert_eq!(choice.places[0].parent, app);
    assert_eq!(choice.places[0].home, app.join("term.scope"));
}

#[test]
fn an_undelegated_session_has_no_group_and_a_remedy() {
    let session = "/user.slice/user-1000.slice/session-3.scope";
    let machine = desktop(session)
        .group(session, ALL, "", "80\n81\n")
        .not_ours(session);
    let capabilities = machine.choose([Idle, Quota, Freeze]).capabilities;
    assert_eq!(capabilities.support, CgroupSupport::IdleTree);
    assert!(!capabilities.can(Quota));
    assert!(capabilities.can(Freeze) && !capabilities.by_group(Freeze));
    for need in [Idle, Quota, Freeze] {
        let reason = capabilities.reason(need).unwrap();
        assert!(reason.contains("Delegate=yes"), "{reason}");
    }
    let lost = capabilities.losses().join(" ");
    assert!(lost.contains("leave the process group"), "{lost}");
    assert!(lost.contains("A CPU quota is unavailable"), "{lost}");
}

#[test]
fn a_process_alone_in_its_group_moves_into_a_leaf() {
    let own = std::process::id().to_string();
    let scope = "/run.scope";
    let machine = Machine::new(V2, "0::/run.scope\n")
        .group("", ALL, ALL, "1\n")
        .not_ours("")
        .group(scope, ALL, "", &own);
    let choice = machine.choose([Quota]);
    assert_eq!(choice.places[0].parent, machine.path(scope));
    assert!(choice.places[0].leaf);
    // Controllers that are passed on already can stay so.
    let without = machine.choose([Freeze, Kill]);
    assert!(!without.places[0].leaf);
}

#[test]
fn a_group_with_other_processes_cannot_enable_controllers() {
    let machine = Machine::new(V2, "0::/\n").group("", ALL, "", "1\n42\n");
    let choice = machine.choose([Quota, Freeze]);
    assert_eq!(choice.capabilities.support, CgroupSupport::PartOfGroup);
    assert!(choice.capabilities.by_group(Freeze));
    let reason = choice.capabilities.reason(Quota).unwrap();
    assert!(reason.contains("holds other processes"), "{reason}");
}

#[test]
fn the_root_group_may_hold_processes_and_enable_controllers() {
    let machine = Machine::new(V2, "0::/\n").group("", ALL, "cpu\n", "1\n2\n");
    fs::remove_file(machine.path("/cgroup.type")).unwrap();
    let choice = machine.choose([Quota, CpuSet, MemoryMax, Io]);
    assert_eq!(choice.capabilities.support, CgroupSupport::Group);
    assert_eq!(
        choice.places[0].controllers,
        strings(["cpu", "cpuset", "io", "memory"])
    );
}

#[test]
fn a_missing_controller_is_named() {
    let machine = Machine::new(V2, "0::/\n").group("", "memory\n", "", "");
    let capabilities = machine.choose([Quota, Io]).capabilities;
    assert!(capabilities.reason(Quota).unwrap().contains("'cpu'"));
    assert!(capabilities.reason(Io).unwrap().contains("'io'"));
}

#[test]
fn an_old_kernel_has_no_idle_group() {
    for (release, has_idle) in [
        ("5.10.0-9-amd64\n", false),
        ("5.15.0\n", true),
        ("6.1-rc3\n", true),
        ("what\n", false),
    ] {
        let machine = Machine::new(V2, "0::/\n").group("", ALL, ALL, "");
        let machine = machine.file("proc/sys/kernel/osrelease", release);
        let capabilities = machine.choose([Idle, Weight]).capabilities;
        assert_eq!(capabilities.by_group(Idle), has_idle, "{release}");
        assert!(capabilities.by_group(Weight), "{release}");
    }
}

const HYBRID: &str = "\
    32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
    33 31 0:30 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n\
    34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
    37 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";
const UNIFIED: &str = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

fn hybrid(mounts: &str) -> Machine {
    let own = "3:cpu,cpuacct:/\n4:freezer:/\n5:cpuset:/\n1:name=systemd:/\n0::/\n";
    let files = [
        ("cpu,cpuacct/cgroup.procs", "1\n"),
        ("cpu,cpuacct/cpu.idle", "0\n"),
        ("freezer/cgroup.procs", "1\n"),
        ("cpuset/cgroup.procs", "1\n"),
        ("unified/cgroup.procs", "1\n"),
        ("unified/cgroup.controllers", "\n"),
    ];
    files
        .iter()
        .fold(Machine::new(mounts, own), |machine, (path, text)| {
            machine.file(&format!("sys/fs/cgroup/{path}"), text)
        })
}

#[test]
fn on_a_hybrid_system_version_2_only_freezes_and_kills() {
    let machine = hybrid(&format!("{HYBRID}{UNIFIED}"));
    let choice = machine.choose([Weight, Idle, Quota, CpuSet, Freeze, Kill]);
    assert_eq!(choice.capabilities.support, CgroupSupport::Group);
    let parents: Vec<PathBuf> = choice.places.iter().map(|p| p.parent.clone()).collect();
    assert_eq!(parents.len(), 3);
    assert_eq!(parents.last(), Some(&machine.path("/unified")));
    let last = choice.places.last().unwrap();
    assert_eq!(last.serves, BTreeSet::from([Freeze, Kill]));
    assert!(last.controllers.is_empty());
}

#[test]
fn version_1_has_one_folder_per_mount_and_the_freezer_last() {
    let machine = hybrid(HYBRID);
    let choice = machine.choose([Quota, Weight, CpuSet, Freeze, Kill, Io]);
    let parents: Vec<PathBuf> = choice.places.iter().map(|p| p.parent.clone()).collect();
    assert_eq!(parents.len(), 3);
    assert_eq!(parents[2], machine.path("/freezer"));
    let mut places = choice.places.iter();
    let cpu = places.find(|p| p.controllers.contains("cpu")).unwrap();
    assert_eq!(cpu.controllers, strings(["cpu", "cpuacct"]));
    assert!(choice.capabilities.by_group(Kill));
    assert_eq!(choice.capabilities.support, CgroupSupport::PartOfGroup);
    let reason = choice.capabilities.reason(Io).unwrap();
    assert!(reason.contains("version 1"), "{reason}");
}

#[test]
fn version_1_has_a_hard_memory_limit_only() {
    let memory = "\
        35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let own = "5:memory:/\n0::/\n";
    for mounts in [memory.to_owned(), format!("{memory}{UNIFIED}")] {
        let machine = Machine::new(&mounts, own)
            .file("sys/fs/cgroup/memory/cgroup.procs", "1\n")
            .file("sys/fs/cgroup/unified/cgroup.procs", "1\n");
        let capabilities = machine.choose([MemoryHigh, MemoryMax]).capabilities;
        assert!(capabilities.by_group(MemoryMax));
        let reason = capabilities.reason(MemoryHigh).unwrap();
        assert!(reason.contains("version 1"), "{reason}");
        assert!(!capabilities.can(MemoryHigh));
    }
}

#[test]
fn unneeded_controllers_are_not_used() {
    let machine = hybrid(&format!("{HYBRID}{UNIFIED}"));
    let choice = machine.choose([Freeze]);
    assert_eq!(choice.places.len(), 1);
    assert!(machine.choose([]).places.is_empty());
}

#[test]
fn without_cgroups_the_rung_follows_the_scheduling_class() {
    let all = BTreeSet::from(Mechanism::ALL);
    let support = |class| {
        let found = Found {
            class,
            by_session: true,
            ..Machine::new("", "").found()
        };
        found.choose(&all).capabilities
    };
    let idle = support(Class::Idle);
    assert_eq!(idle.support, CgroupSupport::IdleTree);
    assert_eq!(support(Class::Batch).support, CgroupSupport::NiceTree);
    assert_eq!(support(Class::Other).support, CgroupSupport::NiceTree);
    for need in [Weight, Idle, CpuSet, Freeze, Kill] {
        assert!(matches!(idle.means[&need], Means::Instead { .. }), "{need}");
    }
    for need in [Quota, MemoryHigh, MemoryMax, Io] {
        assert!(!idle.can(need), "{need}");
    }
    let lost = idle.losses().join(" ");
    assert!(lost.contains("sched_autogroup_enabled"), "{lost}");
}
