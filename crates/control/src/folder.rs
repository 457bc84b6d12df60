//! Operations on one directory of a cgroup hierarchy: create, freeze, empty,
//! remove.

use crate::error::ControlError;
use crate::files::{self, is_absent, is_denied};
use crate::poll::{until, until_or};
use crate::tasks;
use plimsoll_host::Pid;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const PROCS: &str = "cgroup.procs";

/// Prefix of the names of our groups. Only these are ever removed.
pub(crate) const PREFIX: &str = "plimsoll-";

/// Name prefix of the leaf group that a run makes for itself. The leaf needs none
/// of the controllers that its parent enables.
pub(crate) const LEAF: &str = "plimsoll-self-";

/// Creates a group. Fails if the name is taken.
pub(crate) fn make(folder: &Path) -> Result<(), ControlError> {
    // Whatever the umask, no other user makes a group inside of it.
    let made = fs::DirBuilder::new().mode(0o755).create(folder);
    made.map_err(|source| on_folder(folder, "made", source))
}

/// Moves a process with all its threads into a group.
pub(crate) fn attach(folder: &Path, pid: Pid) -> Result<(), ControlError> {
    const HINT: &str = "a cgroup that passes controllers on may hold no processes itself";
    files::write(&folder.join(PROCS), &pid.to_string(), HINT)
}

/// Moves all processes of `from` into `into`; children that they start stay there.
/// Ignores processes that have ended.
pub(crate) fn move_into(from: &Path, into: &Path) -> Result<(), ControlError> {
    let mut asked: BTreeSet<Pid> = BTreeSet::new();
    loop {
        asked.extend(processes(into)?);
        let mut outside = processes(from)?;
        // Writing 0 moves the calling process.
        outside.retain(|pid| *pid != 0 && !asked.contains(pid));
        if outside.is_empty() {
            return Ok(());
        }
        for pid in outside {
            attach_living(into, pid)?;
            asked.insert(pid);
        }
    }
}

/// Moves a process that may have ended; the kernel reports ESRCH then.
fn attach_living(folder: &Path, pid: Pid) -> Result<(), ControlError> {
    match attach(folder, pid) {
        Err(ControlError::NoController { .. }) => Ok(()),
        other => other,
    }
}

/// The processes in a group and its descendants.
pub(crate) fn processes(folder: &Path) -> Result<Vec<Pid>, ControlError> {
    let mut pids = Vec::new();
    for folder in with_inner(folder) {
        match files::read(&folder.join(PROCS)) {
            // 0 stands for a process in another PID namespace.
            Ok(text) => pids.extend(text.lines().filter_map(|l| l.trim().parse::<Pid>().ok())),
            Err(ControlError::Gone { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// A group and its descendants, innermost last.
pub(crate) fn with_inner(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut nth = 0;
    while nth < folders.len() {
        if let Ok(entries) = fs::read_dir(&folders[nth]) {
            let entries = entries.flatten();
            // The directory listing has the file types, so no stat per entry.
            let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.extend(inner.map(|entry| entry.path()));
        }
        nth += 1;
    }
    folders
}

/// Freezes or thaws the group and waits until the kernel confirms it. Returns
/// `false` if the group has no freezer.
pub(crate) fn freeze(folder: &Path, on: bool) -> Result<bool, ControlError> {
    const HINT: &str = "a group above it may be frozen";
    let (v2, v1) = (folder.join("cgroup.freeze"), folder.join("freezer.state"));
    let state = if v2.exists() {
        files::write(&v2, if on { "1" } else { "0" }, HINT)?;
        let events = folder.join("cgroup.events");
        let wanted = u64::from(on);
        until(|| Ok(files::keyed(&files::read(&events)?, "frozen") == Some(wanted)))
    } else if v1.exists() {
        let wanted = if on { "FROZEN" } else { "THAWED" };
        files::write(&v1, wanted, HINT)?;
        until(|| Ok(files::read(&v1)?.trim() == wanted))
    } else {
        return Ok(false);
    };
    match state {
        Ok(true) => Ok(true),
        // A group inside a frozen ancestor cannot be thawed alone; the ancestor is not
        // ours.
        Ok(false) if !on => Ok(true),
        Ok(false) => Err(ControlError::NotFrozen {
            what: folder.display().to_string(),
        }),
        Err(error) => Err(error),
    }
}

pub(crate) fn can_freeze(folder: &Path) -> bool {
    ["cgroup.freeze", "freezer.state"]
        .iter()
        .any(|file| folder.join(file).exists())
}

pub(crate) fn is_frozen(folder: &Path) -> bool {
    let holds = |file: &str, state: &str| {
        files::read(&folder.join(file)).is_ok_and(|found| found.trim() == state)
    };
    holds("cgroup.freeze", "1") || holds("freezer.state", "FROZEN")
}

/// Kills all processes in a group, repeatedly until none is left.
pub(crate) fn kill(folder: &Path) -> Result<(), ControlError> {
    let whole = folder.join("cgroup.kill");
    let kill_all = || {
        let pids = processes(folder)?;
        if pids.is_empty() {
            return Ok(true);
        }
        if whole.exists() {
            files::write(&whole, "1", "it cannot be used in a threaded group")?;
        } else {
            for pid in pids {
                let inside = || Ok(processes(folder)?.contains(&pid));
                tasks::signal(pid, Signal::KILL, inside)?;
            }
            // In version 1 a frozen process dies only after it is thawed.
            freeze(folder, false)?;
        }
        Ok(false)
    };
    match until_or(kill_all, || still_there(folder)) {
        Err(ControlError::Gone { .. }) => Ok(()),
        other => other,
    }
}

/// Moves all processes of a group to `home`, repeatedly until none is left. Ignores
/// processes that have ended.
pub(crate) fn move_out(folder: &Path, home: &Path) -> Result<(), ControlError> {
    let move_all = || {
        let pids = processes(folder)?;
        // Writing 0 moves the calling process.
        for pid in pids.iter().filter(|pid| **pid != 0) {
            attach_living(home, *pid)?;
        }
        Ok(pids.is_empty())
    };
    until_or(move_all, || still_there(folder))
}

/// Removes a group and its descendants. Waits, because a killed process stays in
/// its group until the kernel has reaped it. Succeeds if the group is gone.
pub(crate) fn remove(folder: &Path) -> Result<(), ControlError> {
    let remove_all = || {
        for folder in with_inner(folder).iter().rev() {
            match fs::remove_dir(folder) {
                Ok(()) => {}
                Err(e) if is_absent(&e) => {}
                Err(e) if is_busy(&e) => return Ok(false),
                Err(source) => return Err(on_folder(folder, "removed", source)),
            }
        }
        Ok(true)
    };
    until_or(remove_all, || still_there(folder))
}

pub(crate) fn is_there(folder: &Path) -> bool {
    folder.join(PROCS).exists()
}

/// Whether `parent` contains another group made by Plimsoll.
pub(crate) fn has_ours(parent: &Path) -> bool {
    fs::read_dir(parent).is_ok_and(|entries| {
        let mut names = entries.flatten().map(|entry| entry.file_name());
        names.any(|name| {
            let name = name.to_string_lossy();
            name.starts_with(PREFIX) && !name.starts_with(LEAF)
        })
    })
}

/// The controllers that `parent` enables for its children.
pub(crate) fn enabled(parent: &Path) -> Result<Vec<String>, ControlError> {
    let text = files::read(&parent.join("cgroup.subtree_control"))?;
    Ok(text.split_ascii_whitespace().map(str::to_owned).collect())
}

/// Enables or disables controllers for the children of `parent`.
pub(crate) fn pass_on(parent: &Path, controllers: &[String], on: bool) -> Result<(), ControlError> {
    const HINT: &str = "a group below may use the controller, or this group holds processes itself";
    let sign = if on { '+' } else { '-' };
    let words: Vec<String> = controllers.iter().map(|c| format!("{sign}{c}")).collect();
    let file = parent.join("cgroup.subtree_control");
    files::write(&file, &words.join(" "), HINT)
}

/// A new `cpuset` group of version 1 has no CPUs and no memory nodes and accepts no
/// processes until both are set. Copies those of the parent.
pub(crate) fn fill_cpuset(folder: &Path, parent: &Path) -> Result<(), ControlError> {
    const HINT: &str = "the group above must have them as well";
    for (own, effective) in [
        ("cpuset.cpus", "cpuset.effective_cpus"),
        ("cpuset.mems", "cpuset.effective_mems"),
    ] {
        let above = match files::read(&parent.join(effective)) {
            Ok(text) => text,
            Err(_) => files::read(&parent.join(own))?,
        };
        files::write(&folder.join(own), above.trim(), HINT)?;
    }
    Ok(())
}

fn still_there(folder: &Path) -> ControlError {
    let pids = processes(folder).unwrap_or_default();
    ControlError::still_there(folder.display().to_string(), &pids)
}

fn is_busy(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::BUSY | Errno::NOTEMPTY))
}

fn on_folder(path: &Path, verb: &'static str, source: io::Error) -> ControlError {
    match is_denied(&source) {
        true => ControlError::Denied {
            path: path.to_owned(),
        },
        false => ControlError::file(path, verb, source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_outside_our_namespace_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let (from, into) = (dir.path().join("from"), dir.path().join("into"));
        for (folder, procs) in [(&from, "0\n"), (&into, "")] {
            make(folder).unwrap();
            fs::write(folder.join(PROCS), procs).unwrap();
        }
        let moved = || {
            move_into(&from, &into).unwrap();
            fs::read_to_string(into.join(PROCS)).unwrap()
        };
        assert_eq!(moved(), "");
        fs::write(from.join(PROCS), "0\n4000000000\n").unwrap();
        assert_eq!(moved(), "4000000000");
    }
}
