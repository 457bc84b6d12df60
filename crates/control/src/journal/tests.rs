//! Journals of killed processes, torn, foreign, or unsafe.

use super::place::{Here, in_use};
use super::repair::outstanding;
use super::*;
use crate::tasks::show_own;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// A root in which process 77 is gone, and one group without a kernel behind it.
struct Left {
    dir: TempDir,
    root: Root,
}

const BOOT: &str = "0-boot";

impl Left {
    fn new() -> Left {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        show_own(&root);
        let left = Left { dir, root };
        left.file("proc/sys/kernel/random/boot_id", BOOT);
        fs::create_dir(left.journals().dir).unwrap();
        fs::set_permissions(left.journals().dir, fs::Permissions::from_mode(0o700)).unwrap();
        left
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn journals(&self) -> Journals {
        Journals::at(self.dir.path().join("journals"))
    }

    fn journal(&self, boot: &str, lines: &str) -> PathBuf {
        let path = self.journals().dir.join("77-5-abc.jsonl");
        let header = format!(
            r#"{{"journal":1,"owner":{{"pid":77,"started":5}},"boot_id":"{boot}","pid_namespace":null}}"#
        );
        fs::write(&path, format!("{header}\n{lines}")).unwrap();
        path
    }

    fn repair(&self) -> Vec<Repaired> {
        self.journals().repair(&self.root, Running::Leave).unwrap()
    }

    fn folder_made(&self) -> (PathBuf, Change) {
        let folder = self.dir.path().join("plimsoll-copies");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let made = folder.clone();
        (folder, Change::FolderMade { folder: made })
    }

    fn group(&self, name: &str) -> PathBuf {
        self.file(&format!("groups/{name}/cgroup.procs"), "");
        self.dir.path().join("groups").join(name)
    }
}

fn made(folder: &Path) -> String {
    let change = group_made(folder, AtEnd::Leave);
    serde_json::to_string(&Line::Change { nth: 1, change }).unwrap()
}

fn group_made(folder: &Path, at_end: AtEnd) -> Change {
    Change::GroupMade {
        folder: folder.to_owned(),
        home: PathBuf::from("/nowhere"),
        at_end,
    }
}

#[test]
fn the_folder_is_where_no_other_user_can_make_it_first() {
    let dir = |state: Option<&str>, home: Option<&str>, uid, run| {
        in_use(&Here {
            uid,
            state_home: state.map(OsString::from),
            home: home.map(OsString::from),
            run,
        })
    };
    let (state, home) = (Some("/state"), Some("/home/me"));
    for (case, expected) in [
        (dir(state, home, 1000, true), "/state/plimsoll/journals"),
        (dir(state, home, 0, true), "/state/plimsoll/journals"),
        (
            dir(None, home, 1000, true),
            "/home/me/.local/state/plimsoll/journals",
        ),
        (
            dir(Some("x"), home, 1000, true),
            "/home/me/.local/state/plimsoll/journals",
        ),
        (dir(None, home, 0, true), "/run/plimsoll"),
        (dir(None, home, 0, false), "/var/lib/plimsoll"),
        (
            dir(None, None, 1000, true),
            "/nonexistent/.local/state/plimsoll/journals",
        ),
    ] {
        assert_eq!(case, Path::new(expected));
    }
}

#[test]
fn a_change_is_in_the_journal_until_it_is_undone() {
    let dir = tempfile::tempdir().unwrap();
    let journals = Journals::at(dir.path().join("plimsoll"));
    let journal = journals.open(&Root::machine()).unwrap();
    let change = group_made(Path::new("/x/plimsoll-1"), AtEnd::Kill);
    let first = journal.enter(&change).unwrap();
    let second = journal.enter(&change).unwrap();
    journal.mark_undone(first).unwrap();
    let path = journal.open.lock().unwrap().path.clone();
    let (header, left) = outstanding(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(header.owner.pid, std::process::id());
    assert_eq!(left, BTreeMap::from([(2, change)]));
    journal.mark_undone(second).unwrap();
    drop(journal);
    assert!(!path.exists());
}

#[test]
fn a_journal_of_many_changes_stays_short() {
    let dir = tempfile::tempdir().unwrap();
    let journals = Journals::at(dir.path().join("journals"));
    let journal = journals.open(&Root::machine()).unwrap();
    let kept = group_made(Path::new("/kept"), AtEnd::Leave);
    let kept = journal.enter(&kept).unwrap();
    let other = group_made(Path::new(&format!("/{}", "x".repeat(1000))), AtEnd::Leave);
    for _ in 0..3000 {
        let entry = journal.enter(&other).unwrap();
        journal.mark_undone(entry).unwrap();
    }
    let files = || fs::read_dir(journals.dir()).unwrap().flatten();
    assert_eq!(files().count(), 1);
    let path = files().next().unwrap().path();
    let text = fs::read_to_string(&path).unwrap();
    assert!((text.len() as u64) < 2 * super::compact::LARGE);
    let (_, left) = outstanding(&text).unwrap();
    assert_eq!(left.keys().copied().collect::<Vec<_>>(), [kept.0]);
    // The new file is locked as the first one was.
    let other = File::open(&path).unwrap();
    assert!(flock(&other, FlockOperation::NonBlockingLockExclusive).is_err());
    journal.mark_undone(kept).unwrap();
    drop(journal);
    assert_eq!(files().count(), 0);
}

/// While much is outstanding, undoing it one by one must not write all of it each time.
#[test]
fn a_journal_of_much_that_is_outstanding_is_not_written_anew_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let journals = Journals::at(dir.path().join("journals"));
    let journal = journals.open(&Root::machine()).unwrap();
    let change = group_made(Path::new(&format!("/{}", "x".repeat(1000))), AtEnd::Leave);
    let enter = || journal.enter(&change).unwrap();
    let mut entries: Vec<Entry> = (0..2000).map(|_| enter()).collect();
    let mut files = BTreeSet::new();
    for entry in entries.drain(..500) {
        journal.mark_undone(entry).unwrap();
        files.extend(
            fs::read_dir(journals.dir())
                .unwrap()
                .map(|e| e.unwrap().path()),
        );
    }
    assert!(files.len() <= 2, "{files:?}");
}

#[test]
fn a_change_that_is_amended_is_undone_as_it_was_last() {
    let dir = tempfile::tempdir().unwrap();
    let journals = Journals::at(dir.path().join("journals"));
    let journal = journals.open(&Root::machine()).unwrap();
    let [first, last] = ["/first", "/last"].map(|path| group_made(Path::new(path), AtEnd::Leave));
    let entry = journal.enter(&first).unwrap();
    journal.amend(entry, &last).unwrap();
    let path = fs::read_dir(journals.dir()).unwrap().next().unwrap();
    let text = fs::read_to_string(path.unwrap().path()).unwrap();
    let (_, left) = outstanding(&text).unwrap();
    assert_eq!(left.into_values().collect::<Vec<_>>(), [last]);
    journal.mark_undone(entry).unwrap();
    drop(journal);
    assert_eq!(fs::read_dir(journals.dir()).unwrap().count(), 0);
}

#[test]
fn journals_of_live_processes_are_skipped_but_not_of_reused_pids() {
    let dir = tempfile::tempdir().unwrap();
    let journals = Journals::at(dir.path().join("plimsoll"));
    let root = Root::machine();
    let journal = journals.open(&root).unwrap();
    let change = group_made(Path::new("/x/plimsoll-1"), AtEnd::Kill);
    journal.enter(&change).unwrap();
    let path = journal.open.lock().unwrap().path.clone();
    assert_eq!(journals.repair(&root, Running::Leave).unwrap(), []);
    assert!(path.exists());
    drop(journal);
    // The same number with another start is another process.
    let own = std::process::id();
    let reused = journals.dir.join(format!("{own}-1-abc.jsonl"));
    fs::rename(&path, &reused).unwrap();
    journals.repair(&root, Running::Leave).unwrap();
    assert!(!reused.exists());
}

#[test]
fn what_is_not_to_be_undone_is_left_alone() {
    for (case, name, boot, torn) in [
        ("a torn line", "plimsoll-1", BOOT, 3),
        ("another boot", "plimsoll-1", "another", 0),
        ("a group that is not ours", "system.slice", BOOT, 0),
    ] {
        let left = Left::new();
        let folder = left.group(name);
        let whole = made(&folder);
        let path = left.journal(boot, &whole[..whole.len() - torn]);
        assert_eq!(left.repair(), [], "{case}");
        assert!(folder.exists() && !path.exists(), "{case}");
    }
}

#[test]
fn a_failed_undo_is_reported_and_retried() {
    let left = Left::new();
    // The group that the remaining process would go to does not exist.
    let folder = left.group("plimsoll-1");
    left.file("groups/plimsoll-1/cgroup.procs", "999999\n");
    let path = left.journal(BOOT, &made(&folder));
    let [repaired] = &left.repair()[..] else {
        panic!("one journal");
    };
    assert_eq!(repaired.owner, 77);
    assert!(repaired.left[0].contains("/nowhere"), "{repaired:?}");
    assert!(path.exists());
    assert_eq!(left.repair().len(), 1);
}

#[test]
fn a_folder_that_others_can_open_is_not_trusted() {
    for mode in [0o777, 0o720, 0o755, 0o750] {
        let left = Left::new();
        fs::set_permissions(left.journals().dir, fs::Permissions::from_mode(mode)).unwrap();
        let refused = [
            left.journals().repair(&left.root, Running::Leave).err(),
            left.journals().open(&Root::machine()).err(),
            left.journals().leftovers(&left.root).err(),
        ];
        for error in refused {
            let error = error.unwrap().to_string();
            assert!(error.contains("mode 700"), "{mode:o}: {error}");
            assert!(error.contains("XDG_STATE_HOME"), "{mode:o}: {error}");
        }
    }
}

#[test]
fn a_link_is_no_folder_of_this_user() {
    let left = Left::new();
    let link = left.dir.path().join("link");
    std::os::unix::fs::symlink(left.journals().dir, &link).unwrap();
    let error = Journals::at(&link).open(&Root::machine()).unwrap_err();
    assert!(
        matches!(error, ControlError::UnsafeJournal { .. }),
        "{error}"
    );
}

#[test]
fn a_journal_of_another_machine_is_left_alone() {
    let left = Left::new();
    left.file("proc/sys/kernel/hostname", "here\n");
    let folder = left.group("plimsoll-1");
    let path = left.journal("another", &made(&folder));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("\"boot_id", "\"host\":\"there\",\"boot_id"),
    )
    .unwrap();
    assert_eq!(left.repair(), []);
    assert!(folder.exists() && path.exists());
    // The same boot is the same machine, whatever it is called by now.
    left.file("proc/sys/kernel/random/boot_id", "another\n");
    assert_eq!(left.repair().len(), 1);
}

#[test]
fn a_journal_of_a_namespace_that_is_not_seen_is_left_and_named() {
    let left = Left::new();
    let own = left.root.path(format!("/proc/{}/ns", std::process::id()));
    fs::create_dir_all(&own).unwrap();
    std::os::unix::fs::symlink("pid:[5]", own.join("pid")).unwrap();
    let folder = left.group("plimsoll-1");
    let path = left.journal(BOOT, &made(&folder));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(":null", ":\"pid:[7]\"")).unwrap();
    assert_eq!(left.repair(), []);
    assert!(folder.exists() && path.exists());
    let unseen = left.journals().out_of_sight(&left.root).unwrap();
    assert_eq!(unseen, [path]);
}

#[test]
fn nothing_is_undone_where_start_times_of_processes_are_shifted() {
    let left = Left::new();
    let folder = left.group("plimsoll-1");
    let path = left.journal(BOOT, &made(&folder));
    let own = format!("proc/{}/timens_offsets", std::process::id());
    left.file(
        &own,
        "monotonic           0         0\nboottime       100000         0\n",
    );
    let refused = left.journals().repair(&left.root, Running::Leave);
    assert!(
        matches!(refused, Err(ControlError::OtherClock)),
        "{refused:?}"
    );
    assert!(folder.exists() && path.exists());
    left.file(
        &own,
        "monotonic           0         0\nboottime            0         0\n",
    );
    assert_eq!(left.repair().len(), 1);
}

#[test]
fn a_cgroup_that_another_user_has_locked_is_given_back() {
    let left = Left::new();
    let parent = left.group("parent");
    left.file("groups/parent/cgroup.subtree_control", "memory\n");
    let theirs = File::open(&parent).unwrap();
    flock(&theirs, FlockOperation::LockExclusive).unwrap();
    let change = Change::ControllersEnabled {
        folder: parent.clone(),
        former: Vec::new(),
        added: vec!["memory".to_owned()],
    };
    let line = serde_json::to_string(&Line::Change { nth: 1, change }).unwrap();
    left.journal(BOOT, &line);
    let repaired = left.repair();
    assert!(repaired[0].is_whole(), "{repaired:?}");
    assert_eq!(repaired[0].done.len(), 1, "{repaired:?}");
}

#[test]
fn a_lock_that_is_kept_is_given_up_with_a_sentence() {
    let left = Left::new();
    let dir = left.journals().dir;
    let _held = place::lock(&dir).unwrap();
    let error = place::lock(&dir).unwrap_err().to_string();
    assert!(error.contains("another run"), "{error}");
}

#[test]
fn a_journal_of_another_version_is_kept_and_named() {
    let left = Left::new();
    let newer = r#"{"change":{"nth":1,"change":{"moved_to_the_moon":{}}}}"#;
    let torn = r#"{"change":{"nth":1,"cha"#;
    let path = left.journal(BOOT, newer);
    let repaired = left.repair();
    assert!(path.exists());
    assert!(
        repaired[0].left[0].contains("another version"),
        "{repaired:?}"
    );
    fs::remove_file(&path).unwrap();
    let path = left.journal(BOOT, torn);
    assert_eq!(left.repair(), []);
    assert!(!path.exists(), "a line that was torn has changed nothing");
}

#[test]
fn what_is_no_own_file_or_too_large_is_not_read() {
    let left = Left::new();
    let path = left.journal(BOOT, "");
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let refused = || {
        left.journals()
            .repair(&left.root, Running::Leave)
            .unwrap_err()
            .to_string()
    };
    assert!(refused().contains("at most 64 MiB"), "{}", refused());
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    assert!(refused().contains("no regular file"), "{}", refused());
    fs::remove_file(&path).unwrap();
    left.journal(BOOT, "");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
    assert!(refused().contains("this user alone"), "{}", refused());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&path, left.root.path("second-name")).unwrap();
    assert!(refused().contains("this user alone"), "{}", refused());
}

/// A name, and what makes /proc say nothing of other processes.
type Unmount = (&'static str, fn(&Left));

fn unmounts() -> [Unmount; 3] {
    [
        ("not mounted", |left| {
            fs::remove_dir_all(left.root.path("/proc")).unwrap();
        }),
        ("this process is hidden", |left| {
            let own = std::process::id();
            fs::remove_dir_all(left.root.path(format!("/proc/{own}"))).unwrap();
        }),
        ("of another PID namespace", |left| {
            let own = left.root.path("/proc/self");
            fs::remove_file(&own).unwrap();
            std::os::unix::fs::symlink("1", own).unwrap();
        }),
    ]
}

fn tree_started() -> Change {
    let (pid, started) = (78, 6);
    Change::TreeStarted {
        leader: ProcessKey { pid, started },
        at_end: AtEnd::Kill,
        mark: None,
        unmarked: Vec::new(),
    }
}

#[test]
fn without_proc_journals_are_kept_whole() {
    for (case, unmount) in unmounts() {
        let left = Left::new();
        let (folder, made) = left.folder_made();
        let lines: Vec<String> = [(1, made), (2, tree_started())]
            .map(|(nth, change)| serde_json::to_string(&Line::Change { nth, change }).unwrap())
            .into();
        let path = left.journal(BOOT, &lines.join("\n"));
        let text = fs::read_to_string(&path).unwrap();
        unmount(&left);
        let refused = [
            left.journals().repair(&left.root, Running::Kill).err(),
            left.journals().leftovers(&left.root).err(),
            left.journals().others(&left.root).err(),
        ];
        for error in refused {
            let Some(error @ ControlError::NoProcesses { .. }) = error else {
                panic!("{case}: {error:?}");
            };
            assert!(error.to_string().contains("plimsoll repair"), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{case}");
        assert!(folder.exists(), "{case}");
        let _ = fs::remove_dir_all(left.root.path("/proc"));
        show_own(&left.root);
        assert_eq!(left.repair().len(), 1, "{case}");
        assert!(!path.exists() && !folder.exists(), "{case}");
    }
}

#[test]
fn without_proc_the_end_of_a_run_takes_nothing_for_ended() {
    for (case, unmount) in unmounts() {
        let left = Left::new();
        unmount(&left);
        let undo = Undo {
            root: &left.root,
            journals: &left.journals().dir,
            killed: None,
        };
        let (folder, made) = left.folder_made();
        for change in [tree_started(), made] {
            let refused = undo.undo(&change);
            assert!(
                matches!(refused, Err(ControlError::NoProcesses { .. })),
                "{case}: {refused:?}"
            );
        }
        assert!(folder.exists(), "{case}");
    }
}

#[test]
fn without_its_own_proc_no_journal_is_begun() {
    for (case, unmount) in unmounts() {
        let left = Left::new();
        unmount(&left);
        let refused = left.journals().open(&left.root);
        assert!(
            matches!(refused, Err(ControlError::OtherProc { .. })),
            "{case}: {refused:?}"
        );
    }
}

#[test]
fn without_journals_proc_is_not_needed() {
    let left = Left::new();
    fs::remove_dir_all(left.root.path("/proc")).unwrap();
    assert_eq!(left.repair(), []);
}
