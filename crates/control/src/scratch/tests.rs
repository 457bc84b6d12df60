use super::*;
use crate::{Journals, Running};
use std::os::unix::fs::symlink;
use tempfile::TempDir;

fn journals(parent: &TempDir) -> Journals {
    Journals::at(parent.path().join("journals"))
}

fn make(parent: &TempDir) -> Scratch {
    let journal = journals(parent).open(&Root::machine()).unwrap();
    Scratch::make(&journal, parent.path(), "test").unwrap()
}

fn sleeper(scratch: &Scratch) -> (Child, Working) {
    let mut command = Command::new("sleep");
    let started = command.arg("1000").current_dir(scratch.held());
    scratch.start(started).unwrap()
}

/// The journal of a process that was killed, as a copy of a live one's.
fn left_behind(parent: &TempDir) -> Journals {
    let mut live = fs::read_dir(journals(parent).dir()).unwrap();
    let live = live.next().unwrap().unwrap().path();
    let journals = Journals::at(parent.path().join("left"));
    drop(journals.open(&Root::machine()).unwrap());
    let text = fs::read_to_string(live).unwrap();
    fs::write(journals.dir().join("4194304-1-x.jsonl"), text).unwrap();
    journals
}

#[test]
fn it_is_new_and_private() {
    let parent = tempfile::tempdir().unwrap();
    let [one, other] = [(); 2].map(|()| make(&parent));
    assert_ne!(one.path(), other.path());
    let meta = fs::symlink_metadata(one.path()).unwrap();
    assert_eq!(meta.mode() & 0o7777, 0o700);
    let path = one.path().to_owned();
    fs::write(one.held().join("file"), "kept").unwrap();
    let kept = one.clone();
    drop(one);
    fs::remove_file(path.join("file")).unwrap();
    assert!(path.exists());
    drop((kept, other));
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(journals(&parent).dir()).unwrap().count(), 0);
}

#[test]
fn it_is_removed_with_all_that_is_in_it_unless_that_is_kept() {
    let parent = tempfile::tempdir().unwrap();
    let [removed, kept] = [(); 2].map(|()| make(&parent));
    let paths = [&removed, &kept].map(|one| {
        fs::create_dir(one.held().join("folder")).unwrap();
        one.path().to_owned()
    });
    kept.keep();
    drop((removed, kept));
    assert_eq!(paths.map(|path| path.exists()), [false, true]);
    assert_eq!(fs::read_dir(journals(&parent).dir()).unwrap().count(), 0);
}

#[test]
fn the_next_start_ends_processes_and_removes_the_folder() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = make(&parent);
    let (mut known, working) = sleeper(&scratch);
    fs::write(scratch.held().join("file"), "").unwrap();
    let left = left_behind(&parent);
    // Its start is not in the copied journal.
    let (mut unknown, _) = sleeper(&scratch);
    let repaired = left.repair(&Root::machine(), Running::Leave).unwrap();
    assert_eq!(repaired.len(), 1);
    assert_eq!(repaired[0].left, [] as [String; 0]);
    assert_eq!(repaired[0].done.len(), 2, "{repaired:?}");
    assert!(!known.wait().unwrap().success());
    assert!(!unknown.wait().unwrap().success());
    assert!(!scratch.path().exists());
    drop(working);
}

#[test]
fn a_process_that_was_not_started_here_keeps_the_folder_and_lives() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = make(&parent);
    let mut shell = Command::new("sleep");
    let mut shell = shell
        .arg("1000")
        .current_dir(scratch.path())
        .spawn()
        .unwrap();
    let left = left_behind(&parent);
    let repaired = left.repair(&Root::machine(), Running::Leave).unwrap();
    let words = format!("process {} (sleep) works in it", shell.id());
    assert!(repaired[0].left[0].contains(&words), "{repaired:?}");
    assert!(scratch.path().exists() && shell.try_wait().unwrap().is_none());
    shell.kill().unwrap();
    shell.wait().unwrap();
    left.repair(&Root::machine(), Running::Leave).unwrap();
    assert!(!scratch.path().exists());
}

#[test]
fn undoing_at_once_refuses_further_starts() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = make(&parent);
    let (mut child, _working) = sleeper(&scratch);
    let at_once = scratch.made.journal.at_once();
    at_once();
    assert!(!child.wait().unwrap().success());
    assert!(!scratch.path().exists());
    assert_eq!(fs::read_dir(journals(&parent).dir()).unwrap().count(), 0);
    let refused = scratch.start(&mut Command::new("true")).unwrap_err();
    assert!(refused.to_string().contains("being ended"), "{refused}");
    drop((_working, scratch));
    at_once();
}

#[test]
fn folders_of_others_are_not_removed() {
    let parent = tempfile::tempdir().unwrap();
    let [open, link, other] =
        ["plimsoll-open", "plimsoll-link", "other"].map(|n| parent.path().join(n));
    for folder in [&open, &other] {
        DirBuilder::new().mode(0o700).create(folder).unwrap();
    }
    assert!(is_ours(&open));
    let set = |mode| fs::set_permissions(&open, PermissionsExt::from_mode(mode)).unwrap();
    set(0o711);
    assert!(is_ours(&open), "others get through it only");
    set(0o755);
    assert!(!is_ours(&open));
    set(0o777);
    symlink(&other, &link).unwrap();
    for path in [&open, &link, &other] {
        assert!(!is_ours(path), "{}", path.display());
    }
}

#[test]
fn an_existing_name_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let [there, link] = ["there", "link"].map(|name| parent.path().join(name));
    fs::create_dir(&there).unwrap();
    symlink(&there, &link).unwrap();
    for path in [&there, &link] {
        let refused = folder(path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
    }
}

#[test]
fn a_replaced_path_is_not_followed() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = make(&parent);
    let (moved, theirs) = (parent.path().join("moved"), parent.path().join("theirs"));
    fs::rename(scratch.path(), &moved).unwrap();
    fs::create_dir(&theirs).unwrap();
    symlink(&theirs, scratch.path()).unwrap();
    fs::write(scratch.held().join("file"), "ours").unwrap();
    assert_eq!(fs::read_to_string(moved.join("file")).unwrap(), "ours");
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
}

#[test]
fn a_folder_with_a_mount_in_it_is_kept_whole() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("plimsoll-copies-1");
    fs::create_dir_all(folder.join("copy/m")).unwrap();
    fs::write(folder.join("copy/m/of-others"), "").unwrap();
    let table = parent.path().join("proc/self/mountinfo");
    fs::create_dir_all(table.parent().unwrap()).unwrap();
    let point = folder.canonicalize().unwrap().join("copy/m");
    let line = format!("2 1 8:1 /data {} rw - ext4 /dev/vda rw\n", point.display());
    let root = Root::at(parent.path());
    fs::write(&table, line).unwrap();
    let kept = remove(&root, &folder).unwrap_err();
    assert!(kept.to_string().contains("mounted at"), "{kept}");
    assert!(folder.join("copy/m/of-others").exists());
    fs::write(&table, "").unwrap();
    remove(&root, &folder).unwrap();
    assert!(!folder.exists());
}
