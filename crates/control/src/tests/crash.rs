//! A process that is killed while it owns a group, and the repair at the next start.
//!
//! The process is this test program again; environment variables select its role.

use super::{BUSY, Bench, permitted, skip, wait};
use crate::Mechanism::{Freeze, Kill, Quota};
use crate::{AtEnd, CgroupLayout, Group, Journals, Repaired, Running};
use plimsoll_host::{ProcessStat, Root};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const DIR: &str = "PLIMSOLL_TEST_OWNER_DIR";
const MODE: &str = "PLIMSOLL_TEST_OWNER_MODE";

/// Not a test: the process that the tests below start and kill.
#[test]
#[ignore = "started by the tests below"]
fn owner() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let mode = std::env::var(MODE).unwrap();
    let root = Root::machine();
    let journal = Journals::at(dir).open(&root).unwrap();
    let mut layout = CgroupLayout::find(&root).unwrap();
    if mode.contains("tree") {
        layout = layout.without_cgroups().keeping_orphans();
    }
    let at_end = match mode {
        _ if mode.contains("leave") => AtEnd::Leave,
        _ if mode.contains("work") => AtEnd::KillByRun,
        _ => AtEnd::Kill,
    };
    let needs = BTreeSet::from([Freeze, Kill, Quota]);
    let mut group = Group::make(&layout, &needs, &journal, at_end).unwrap();
    let is_daemon = mode.contains("daemon");
    let script = if is_daemon { DAEMON } else { BUSY };
    let child = group.start(
        &super::gate(),
        OsStr::new("sh"),
        &["-c", script],
        |command| {
            command.stdout(Stdio::null()).stdin(Stdio::null());
        },
    );
    let leader = child.unwrap().id();
    let child = match is_daemon {
        true => daemon_of(&root, &group, leader),
        false => leader,
    };
    // Without a cgroup the kernel would end a stopped command with its owner.
    if !mode.contains("running") {
        group.freeze().unwrap();
    }
    println!("child {child}");
    for folder in group.folders() {
        println!("folder {}", folder.display());
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    // Until it is killed, or its parent is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Leaves its parent, its session and what it could be found by in its environment.
const DAEMON: &str = "(setsid env -i sh -c 'while :; do :; done' >&- 2>&- &) ; exec sleep 600 2>&-";

fn daemon_of(root: &Root, group: &Group, leader: u32) -> u32 {
    let mut found = 0;
    wait("the daemon to start", || {
        let all = group.processes().unwrap().into_iter();
        let stat = |pid| ProcessStat::read(root, pid).ok().flatten();
        let is_daemon = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ"));
            stat(*pid).is_some_and(|stat| stat.session == *pid && stat.parent != leader)
                && environment.is_ok_and(|it| !it.starts_with(b"PLIMSOLL") && it.len() < 64)
        };
        found = all
            .filter(|pid| *pid != leader)
            .find(is_daemon)
            .unwrap_or(0);
        found != 0
    });
    found
}

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

struct Owner {
    process: Child,
    child: u32,
    folders: Vec<PathBuf>,
}

impl Owner {
    fn start(bench: &Bench, mode: &str) -> Owner {
        Owner::start_by(Command::new(this_program()), bench, mode)
    }

    /// Starts one alone in a cgroup of version 2.
    fn start_in(scope: &Path, bench: &Bench, mode: &str) -> Owner {
        let mut command = Command::new("sh");
        let script = r#"echo $$ > "$0/cgroup.procs" && exec "$@""#;
        command.args(["-c", script]).args([scope, &this_program()]);
        Owner::start_by(command, bench, mode)
    }

    fn start_by(mut command: Command, bench: &Bench, mode: &str) -> Owner {
        let mut process = command
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

    fn has_folders(&self) -> bool {
        self.folders.iter().any(|folder| folder.exists())
    }

    fn child_lives(&self, bench: &Bench) -> bool {
        let stat = ProcessStat::read(&bench.root, self.child).unwrap();
        stat.is_some_and(|stat| !stat.has_ended())
    }
}

/// The modes without those that need a cgroup where there is none.
fn possible<'a>(bench: &Bench, modes: &[&'a str]) -> Vec<&'a str> {
    let has_groups = permitted(&bench.layout(), &[Freeze]);
    let modes = modes.iter().copied();
    modes
        .filter(|mode| has_groups || !mode.starts_with("group"))
        .collect()
}

#[test]
fn changes_of_a_killed_process_are_undone_by_the_next_start() {
    let bench = Bench::new();
    for mode in possible(
        &bench,
        &["group kill", "group kill running", "tree kill running"],
    ) {
        let mut owner = Owner::start(&bench, mode);
        owner.kill();
        assert!(owner.child_lives(&bench), "{mode}");
        let repaired = bench.journals.repair(&bench.root, Running::Leave).unwrap();
        assert_eq!(repaired.len(), 1, "{mode}");
        assert_eq!(repaired[0].owner, owner.process.id());
        assert_eq!(repaired[0].left, [] as [String; 0]);
        let done = repaired[0].done.join(" ").to_lowercase();
        assert!(done.contains("killed"), "{done}");
        wait("the child to die", || !owner.child_lives(&bench));
        assert!(!owner.has_folders(), "{mode}");
        // Only the journal of this process is left.
        assert_eq!(bench.journals_left(), 1);
        assert_eq!(
            bench.journals.repair(&bench.root, Running::Leave).unwrap(),
            []
        );
    }
}

#[test]
fn a_stopped_command_without_a_cgroup_ends_with_its_owner() {
    let bench = Bench::new();
    let mut owner = Owner::start(&bench, "tree kill");
    owner.kill();
    // The kernel ends a stopped orphaned process group, but not where the init of a
    // container is in its session. Then the repair does.
    bench.journals.repair(&bench.root, Running::Leave).unwrap();
    wait("the child to die", || !owner.child_lives(&bench));
}

#[test]
fn processes_to_be_left_continue_after_the_repair() {
    let bench = Bench::new();
    for mode in possible(&bench, &["group leave", "tree leave running"]) {
        let mut owner = Owner::start(&bench, mode);
        owner.kill();
        let stat = || ProcessStat::read(&bench.root, owner.child).unwrap();
        let cpu = || stat().unwrap().cpu();
        let frozen = cpu();
        bench.journals.repair(&bench.root, Running::Leave).unwrap();
        assert!(!owner.has_folders(), "{mode}");
        wait("the child to go on", || cpu() > frozen);
        let pid = i32::try_from(owner.child).ok();
        let pid = pid.and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

/// Somebody's work whose run was killed, in each of these modes.
fn works_left(bench: &Bench, test: impl Fn(&str, &Owner)) {
    for mode in possible(
        bench,
        &[
            "group work",
            "group work running",
            "tree work running",
            "tree work daemon",
        ],
    ) {
        let mut owner = Owner::start(bench, mode);
        owner.kill();
        let named = format!("process {}", owner.child);
        let state = match mode {
            "group work" => "frozen",
            // The kernel may continue and end its leader meanwhile.
            "tree work daemon" => "Of the process group",
            _ => "restricted",
        };
        let listed = bench.journals.leftovers(&bench.root).unwrap();
        let listed = listed[0].left.join(" ");
        assert!(
            listed.contains(&named) && listed.contains(state),
            "{mode}: {listed}"
        );
        // As often as a run starts.
        for _ in 0..2 {
            let repaired = bench.journals.repair(&bench.root, Running::Leave).unwrap();
            let still_runs = repaired[0].still_runs.join(" ");
            assert!(still_runs.contains(&named), "{mode}: {repaired:?}");
            assert!(owner.child_lives(bench), "{mode}");
        }
        test(mode, &owner);
        assert!(!owner.has_folders(), "{mode}");
        assert_eq!(bench.journals_left(), 1, "{mode}");
        assert_eq!(bench.journals.leftovers(&bench.root).unwrap(), []);
    }
}

#[test]
fn work_of_a_killed_run_stays_until_it_is_let_go() {
    let bench = Bench::new();
    works_left(&bench, |mode, owner| {
        let cpu = || {
            let stat = ProcessStat::read(&bench.root, owner.child).unwrap();
            stat.unwrap().cpu()
        };
        let before = cpu();
        let repaired = bench.journals.repair(&bench.root, Running::Thaw).unwrap();
        assert!(repaired[0].is_whole(), "{mode}: {repaired:?}");
        wait("the child to go on", || cpu() > before);
        let pid = i32::try_from(owner.child).ok();
        let pid = pid.and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    });
}

#[test]
fn work_of_a_killed_run_is_killed_on_request() {
    let bench = Bench::new();
    works_left(&bench, |mode, owner| {
        let repaired = bench.journals.repair(&bench.root, Running::Kill).unwrap();
        assert!(repaired[0].is_whole(), "{mode}: {repaired:?}");
        wait("the child to die", || !owner.child_lives(&bench));
    });
}

/// The journal of `owner` is removed, as with its folder.
fn lose_journal(bench: &Bench, owner: &Owner) {
    let prefix = format!("{}-", owner.process.id());
    for entry in fs::read_dir(bench.dir.path().join("plimsoll")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

#[test]
fn groups_whose_journal_is_lost_are_found_by_their_names() {
    let bench = Bench::new();
    for (mode, running) in [
        ("group work", Running::Thaw),
        ("group work", Running::Kill),
        ("group work running", Running::Kill),
    ] {
        if !permitted(&bench.layout(), &[Freeze]) {
            return;
        }
        let mut owner = Owner::start(&bench, mode);
        lose_journal(&bench, &owner);
        let pid = owner.process.id();
        let of_owner = |found: Vec<Repaired>| found.into_iter().find(|one| one.owner == pid);
        let listed = || of_owner(bench.journals.unjournalled(&bench.root).unwrap());
        let repair = |running| {
            let found = bench.journals.repair_unjournalled(&bench.root, running);
            of_owner(found.unwrap())
        };
        assert_eq!(listed(), None, "{mode}: the owner lives");
        owner.kill();
        let named = format!("process {}", owner.child);
        assert!(listed().unwrap().left.join(" ").contains(&named), "{mode}");
        let kept = repair(Running::Leave).unwrap();
        assert!(!kept.is_whole() && owner.child_lives(&bench), "{kept:?}");
        let stat = || ProcessStat::read(&bench.root, owner.child).unwrap();
        let before = stat().unwrap().cpu();
        let repaired = repair(running).unwrap();
        assert!(repaired.is_whole(), "{mode}: {repaired:?}");
        assert!(!owner.has_folders(), "{mode}");
        assert_eq!(listed(), None, "{mode}");
        if running == Running::Thaw {
            wait("the child to go on", || stat().unwrap().cpu() > before);
            let pid = i32::try_from(owner.child).ok();
            let pid = pid.and_then(rustix::process::Pid::from_raw).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        wait("the child to die", || !owner.child_lives(&bench));
    }
}

#[test]
fn groups_with_names_of_others_are_left_alone() {
    let bench = Bench::new();
    let layout = bench.layout();
    let levels = layout.found.v2.iter().chain(layout.found.v1.values());
    let Some(level) = levels.into_iter().find(|level| level.ours) else {
        return skip("no cgroup in which this user may make groups");
    };
    let pid = std::process::id();
    let folder = level.folder.join(format!("plimsoll-{pid}-tests"));
    fs::create_dir(&folder).unwrap();
    let repaired = bench
        .journals
        .repair_unjournalled(&bench.root, Running::Leave);
    let is_there = folder.exists();
    fs::remove_dir(&folder).unwrap();
    assert!(is_there, "{repaired:?}");
}

#[test]
fn a_repair_leaves_live_processes_alone() {
    let bench = Bench::new();
    let mut owner = Owner::start(&bench, "group kill");
    let mut other = Owner::start(&bench, "group kill");
    if owner.folders.is_empty() {
        skip("there is no cgroup; the process group is tested instead");
    }
    owner.kill();
    let repaired = bench.journals.repair(&bench.root, Running::Leave).unwrap();
    assert_eq!(repaired.len(), 1);
    assert_eq!(repaired[0].owner, owner.process.id());
    assert!(other.child_lives(&bench));
    assert!(other.folders.iter().all(|folder| folder.exists()));
    other.kill();
    // Controllers that were left to the other run are now disabled as well.
    let repaired = bench.journals.repair(&bench.root, Running::Leave).unwrap();
    assert!(repaired.iter().all(|r| r.left.is_empty()), "{repaired:?}");
    assert_eq!(bench.journals_left(), 1);
    wait("the child to die", || !other.child_lives(&bench));
}

/// A group with the controller `cpu`, as a service manager makes one for a command.
/// Removed when dropped.
struct Scope {
    top: PathBuf,
    folder: PathBuf,
    enabled: bool,
}

impl Scope {
    fn make(bench: &Bench) -> Option<Scope> {
        let layout = bench.layout();
        let top = layout.found.v2.last()?;
        if !(top.uppermost && top.ours && top.controllers.contains("cpu")) {
            return None;
        }
        let scope = Scope {
            top: top.folder.clone(),
            folder: top
                .folder
                .join(format!("test-{}.scope", std::process::id())),
            enabled: !top.enabled.contains("cpu"),
        };
        fs::create_dir(&scope.folder).unwrap();
        if scope.enabled {
            fs::write(scope.top.join("cgroup.subtree_control"), "+cpu").unwrap();
        }
        Some(scope)
    }

    fn passes_on(&self) -> String {
        fs::read_to_string(self.folder.join("cgroup.subtree_control")).unwrap()
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
        if self.enabled {
            let _ = fs::write(self.top.join("cgroup.subtree_control"), "-cpu");
        }
    }
}

#[test]
fn the_leaf_of_a_process_alone_in_its_group_is_removed() {
    let bench = Bench::new();
    let Some(scope) = Scope::make(&bench) else {
        return skip("no cgroup version 2 with 'cpu' in which this user may make groups");
    };
    let mut owner = Owner::start_in(&scope.folder, &bench, "group kill");
    assert!(owner.folders.iter().all(|f| f.starts_with(&scope.folder)));
    assert_eq!(scope.passes_on().trim(), "cpu");
    owner.kill();
    let repaired = bench.journals.repair(&bench.root, Running::Leave).unwrap();
    assert!(repaired.iter().all(|r| r.left.is_empty()), "{repaired:?}");
    assert_eq!(scope.passes_on().trim(), "");
    let inner = fs::read_dir(&scope.folder).unwrap().flatten();
    assert_eq!(inner.filter(|entry| entry.path().is_dir()).count(), 0);
    wait("the child to die", || !owner.child_lives(&bench));
}
