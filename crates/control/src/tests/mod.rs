//! Groups on this machine, with the cgroups that are mounted here. A test that
//! lacks permission prints why it is skipped, and passes.

mod crash;
mod lifecycle;
mod limits;
mod unprivileged;

use crate::{AtEnd, CgroupLayout, Gate, Group, Journal, Journals, Mechanism};
use plimsoll_host::{ProcessStat, Root};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const BUSY: &str = "while :; do :; done";

/// How long something may take on a loaded machine.
const LONG: Duration = Duration::from_secs(60);

struct Bench {
    root: Root,
    journals: Journals,
    journal: Journal,
    dir: TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// One test at a time: concurrent runs leave changes to each other.
static ALONE: Mutex<()> = Mutex::new(());

impl Bench {
    fn new() -> Bench {
        let root = Root::machine();
        let dir = tempfile::tempdir().unwrap();
        let journals = Journals::at(dir.path().join("plimsoll"));
        let journal = journals.open(&root).unwrap();
        Bench {
            root,
            journals,
            journal,
            dir,
            _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn layout(&self) -> CgroupLayout {
        CgroupLayout::find(&self.root).unwrap()
    }

    fn group(&self, needs: &[Mechanism], at_end: AtEnd) -> Group {
        self.group_on(&self.layout(), needs, at_end)
    }

    fn group_on(&self, layout: &CgroupLayout, needs: &[Mechanism], at_end: AtEnd) -> Group {
        let needs: BTreeSet<Mechanism> = needs.iter().copied().collect();
        Group::make(layout, &needs, &self.journal, at_end).unwrap()
    }

    fn cpu(&self, child: &Child) -> Duration {
        let stat = ProcessStat::read(&self.root, child.id()).unwrap();
        stat.map_or(Duration::ZERO, |stat| stat.cpu().0)
    }

    /// Waits until the child has used more CPU time than `from`.
    fn wait_until_busy(&self, child: &Child, from: Duration) {
        wait("the child to run", || self.cpu(child) > from);
    }

    /// Drops the journal, which must leave no file.
    fn closes_its_journal(self) {
        let Bench { journal, dir, .. } = self;
        drop(journal);
        let left = std::fs::read_dir(dir.path().join("plimsoll")).unwrap();
        assert_eq!(left.count(), 0);
    }

    fn journals_left(&self) -> usize {
        let left = std::fs::read_dir(self.dir.path().join("plimsoll"));
        left.map_or(0, |entries| entries.flatten().count())
    }
}

/// Polls for a condition, with a time-out for a loaded machine.
fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// [`crate::pass_gate`] as a shell script, as this test program has threads.
fn gate() -> Gate {
    const PASS: &str = r#"n=$1; shift
while [ "$n" -gt 0 ]; do echo 0 2>/dev/null >"$1/tasks" || exit 126; shift; n=$((n - 1)); done
kill -STOP $$; exec "$@""#;
    Gate::new("/bin/sh", ["-c", PASS, "sh"].map(OsString::from))
}

fn shell(group: &mut Group, script: &str) -> Child {
    group
        .start(&gate(), OsStr::new("sh"), &["-c", script], |command| {
            command.stdin(Stdio::null());
        })
        .unwrap()
}

/// Whether cgroups provide these mechanisms; prints the reason if not.
fn permitted(layout: &CgroupLayout, needs: &[Mechanism]) -> bool {
    let set: BTreeSet<Mechanism> = needs.iter().copied().collect();
    let capabilities = layout.capabilities(&set);
    let missing = needs.iter().find(|need| !capabilities.by_group(**need));
    if let Some(need) = missing {
        skip(&format!("{need}: {}", capabilities.reason(*need).unwrap()));
    }
    missing.is_none()
}

fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

fn folders(group: &Group) -> Vec<PathBuf> {
    group.folders().map(PathBuf::from).collect()
}

/// A group on each layout: the machine's own, version 1 alone, and no cgroup.
fn groups<const N: usize>(
    bench: &Bench,
    needs: [Mechanism; N],
    at_end: AtEnd,
) -> impl Iterator<Item = (&'static str, Group)> {
    let mut v1 = bench.layout();
    v1.found.v2.clear();
    let layouts = [
        ("own layout", bench.layout()),
        ("version 1 alone", v1),
        ("no cgroup", bench.layout().without_cgroups()),
    ];
    layouts
        .into_iter()
        .map(move |(name, layout)| (name, bench.group_on(&layout, &needs, at_end)))
}
