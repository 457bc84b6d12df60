//! A process that is killed with a group in its hands, and the next start.
//!
//! The process is this test program again, told by its environment what to be.

use super::{BUSY, Bench, permitted, skip, wait};
use crate::Mechanism::{Freeze, Kill, Quota};
use crate::{AtEnd, Ground, Group, Journals};
use plimsoll_host::{Root, life};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const DIR: &str = "PLIMSOLL_TEST_OWNER_DIR";
const MODE: &str = "PLIMSOLL_TEST_OWNER_MODE";

/// Not a test: what the tests below start and kill.
#[test]
#[ignore = "started by the tests below"]
fn owner() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let mode = std::env::var(MODE).unwrap();
    let root = Root::machine();
    let journal = Journals::at(dir).open(&root).unwrap();
    let mut ground = Ground::find(&root).unwrap();
    if mode.contains("tree") {
        ground = ground.without_cgroups();
    }
    let at_end = match mode.contains("leave") {
        true => AtEnd::Leave,
        false => AtEnd::Kill,
    };
    let needs = BTreeSet::from([Freeze, Kill, Quota]);
    let mut group = Group::make(&ground, &needs, &journal, at_end).unwrap();
    let child = group.start(OsStr::new("sh"), &["-c", BUSY], |command| {
        command.stdout(Stdio::null()).stdin(Stdio::null());
    });
    // Without a cgroup the kernel would end what stands still with its owner.
    if !mode.contains("running") {
        group.freeze().unwrap();
    }
    println!("child {}", child.unwrap().id());
    for folder in group.folders() {
        println!("folder {}", folder.display());
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    // Until it is killed, or whoever started it is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}

struct Owner {
    process: Child,
    child: u32,
    folders: Vec<PathBuf>,
}

impl Owner {
    fn start(bench: &Bench, mode: &str) -> Owner {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::crash::owner", "--ignored", "--nocapture"])
            .env(DIR, bench.dir.path().join("plimsoll"))
            .env(MODE, mode)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut child, mut folders) = (0, Vec::new());
        for line in BufReader::new(process.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some(at) = line.find("child ") {
                child = line[at + 6..].parse().unwrap();
            } else if let Some(folder) = line.strip_prefix("folder ") {
                folders.push(PathBuf::from(folder));
            } else if line == "ready" {
                break;
            }
        }
        assert_ne!(child, 0, "the owner did not get ready");
        Owner {
            process,
            child,
            folders,
        }
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn child_lives(&self, bench: &Bench) -> bool {
        let life = life(&bench.root, self.child).unwrap();
        life.is_some_and(|l| !l.has_ended())
    }
}

#[test]
fn what_a_killed_process_has_left_is_given_back_by_the_next_start() {
    let bench = Bench::new();
    for mode in ["group kill", "group kill running", "tree kill running"] {
        if mode.starts_with("group") && !permitted(&bench.ground(), &[Freeze]) {
            continue;
        }
        let mut owner = Owner::start(&bench, mode);
        owner.kill();
        assert!(owner.child_lives(&bench), "{mode}");
        let repaired = bench.journals.repair(&bench.root).unwrap();
        assert_eq!(repaired.len(), 1, "{mode}");
        assert_eq!(repaired[0].owner, owner.process.id());
        assert_eq!(repaired[0].left, [] as [String; 0]);
        let done = repaired[0].done.join(" ").to_lowercase();
        assert!(done.contains("killed"), "{done}");
        wait("the child to die", || !owner.child_lives(&bench));
        assert!(
            owner.folders.iter().all(|folder| !folder.exists()),
            "{mode}"
        );
        // Only the journal of this process is left.
        assert_eq!(bench.journals_left(), 1);
        assert_eq!(bench.journals.repair(&bench.root).unwrap(), []);
    }
}

#[test]
fn what_stood_still_without_a_cgroup_does_not_outlive_its_owner_for_ever() {
    let bench = Bench::new();
    let mut owner = Owner::start(&bench, "tree kill");
    owner.kill();
    // The kernel ends a stopped process group that nobody is left to wake, but not
    // where the init of a container is in its session. Then this does.
    bench.journals.repair(&bench.root).unwrap();
    wait("the child to die", || !owner.child_lives(&bench));
}

#[test]
fn what_was_not_to_be_killed_goes_on_after_the_repair() {
    let bench = Bench::new();
    for mode in ["group leave", "tree leave running"] {
        if mode.starts_with("group") && !permitted(&bench.ground(), &[Freeze]) {
            continue;
        }
        let mut owner = Owner::start(&bench, mode);
        owner.kill();
        let cpu = || life(&bench.root, owner.child).unwrap().unwrap().cpu;
        let frozen = cpu();
        bench.journals.repair(&bench.root).unwrap();
        assert!(
            owner.folders.iter().all(|folder| !folder.exists()),
            "{mode}"
        );
        wait("the child to go on", || cpu() > frozen);
        let pid = i32::try_from(owner.child).ok();
        let pid = pid.and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

#[test]
fn a_repair_does_not_touch_what_a_live_process_owns() {
    let bench = Bench::new();
    let mut owner = Owner::start(&bench, "group kill");
    let mut other = Owner::start(&bench, "group kill");
    if owner.folders.is_empty() {
        skip("there is no cgroup; the process group is looked at instead");
    }
    owner.kill();
    let repaired = bench.journals.repair(&bench.root).unwrap();
    assert_eq!(repaired.len(), 1);
    assert_eq!(repaired[0].owner, owner.process.id());
    assert!(other.child_lives(&bench));
    assert!(other.folders.iter().all(|folder| folder.exists()));
    other.kill();
    // What one of them enabled and had to leave to the other goes now as well.
    let repaired = bench.journals.repair(&bench.root).unwrap();
    assert!(repaired.iter().all(|r| r.left.is_empty()), "{repaired:?}");
    assert_eq!(bench.journals_left(), 1);
    wait("the child to die", || !other.child_lives(&bench));
}
