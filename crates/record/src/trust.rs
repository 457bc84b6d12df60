//! Whether only this user could have written a record: a run that is resumed runs the
//! commands in it.

use crate::RecordError;
use plimsoll_model::{ActsFor, FileAccess, GROUP_WRITES, OTHERS_WRITE, safe};
use rustix::fs::getxattr;
use rustix::process::{getegid, geteuid};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// SQLite takes pages from these when it opens the file beside them.
const SIDE_FILES: [&str; 3] = [JOURNAL, "-wal", "-shm"];
pub(crate) const JOURNAL: &str = "-journal";

fn current_user() -> ActsFor {
    let uid = geteuid().as_raw();
    let caller = std::env::var("SUDO_UID").ok();
    ActsFor {
        uid,
        gid: getegid().as_raw(),
        caller: caller.filter(|_| uid == 0).and_then(|uid| uid.parse().ok()),
    }
}

fn access_to_file(about: &Metadata) -> FileAccess {
    FileAccess {
        uid: about.uid(),
        gid: about.gid(),
        mode: about.mode(),
        has_acl: false,
    }
}

fn access_to_folder(folder: &Path, about: &Metadata) -> FileAccess {
    let acl = getxattr(folder, "system.posix_acl_access", &mut [0; 0]);
    FileAccess {
        has_acl: acl.is_ok(),
        ..access_to_file(about)
    }
}

/// Refuses a journal that another user has made. SQLite makes it where there is none, and takes
/// one that is there.
pub(crate) fn check_journal(path: &Path) -> Result<(), RecordError> {
    let mut name = path.as_os_str().to_owned();
    name.push(JOURNAL);
    let about = fs::symlink_metadata(&name);
    let about = about.map_err(|e| RecordError::from_io(path, &e, "make"))?;
    let is_own = about.uid() == geteuid().as_raw() && about.is_file() && about.nlink() == 1;
    match is_own {
        true => Ok(()),
        false => Err(RecordError::JournalOfOthers { path: path.into() }),
    }
}

/// Refuses a record that another user can put another one in place of. `resolved` is its
/// path without symlinks. If this is `Ok`, it stays so until this user changes it.
pub(crate) fn check_folders(resolved: &Path, path: &Path) -> Result<(), RecordError> {
    let user = current_user();
    for (above, folder) in resolved.ancestors().skip(1).enumerate() {
        let about = fs::symlink_metadata(folder);
        let about = about.map_err(|e| RecordError::from_io(path, &e, "read"))?;
        let distrusted = match above {
            _ if !about.is_dir() => Some(exchangeable(folder)),
            0 => distrust_folder(access_to_folder(folder, &about), user),
            _ => {
                let access = access_to_folder(folder, &about);
                user.can_be_exchanged_in(access)
                    .then(|| exchangeable(folder))
            }
        };
        refuse(distrusted, path)?;
    }
    Ok(())
}

/// Refuses a folder that another user can write to, or put another one in place of:
/// commands are looked up in it.
///
/// # Errors
/// [`RecordError::NotTrusted`], or it cannot be read.
pub fn check_folder(folder: &Path) -> Result<(), RecordError> {
    let resolved = fs::canonicalize(folder);
    let resolved = resolved.map_err(|e| RecordError::from_io(folder, &e, "read"))?;
    check_folders(&resolved.join("command"), folder)
}

/// Refuses a file, such as a library, that another user may have written or can exchange.
///
/// # Errors
/// [`RecordError::NotTrusted`], or it cannot be found.
pub fn check_input(path: &Path) -> Result<(), RecordError> {
    let read = |e: std::io::Error| RecordError::from_io(path, &e, "read");
    let resolved = fs::canonicalize(path).map_err(read)?;
    let user = current_user();
    let about = access_to_file(&fs::symlink_metadata(&resolved).map_err(read)?);
    let is_root = about.uid == 0;
    let owned = FileAccess {
        uid: if is_root { user.uid } else { about.uid },
        ..about
    };
    refuse(distrust_file(owned, user), path)?;
    for folder in resolved.ancestors().skip(1) {
        let about = fs::symlink_metadata(folder).map_err(read)?;
        let access = access_to_folder(folder, &about);
        let found = user
            .can_be_exchanged_in(access)
            .then(|| exchangeable(folder));
        refuse(found, path)?;
    }
    Ok(())
}

fn refuse(found: Option<(String, &'static str)>, path: &Path) -> Result<(), RecordError> {
    found.map_or(Ok(()), |(why, way_out)| {
        let path = path.into();
        Err(RecordError::NotTrusted { path, why, way_out })
    })
}

/// Refuses a record that another user may have written to. `opened` is of the open file,
/// and `resolved` its path without symlinks, which SQLite is given then.
pub(crate) fn check_file(
    opened: &Metadata,
    resolved: &Path,
    path: &Path,
) -> Result<(), RecordError> {
    let user = current_user();
    refuse(distrust_file(access_to_file(opened), user), path)?;
    for ending in SIDE_FILES {
        let mut name = resolved.as_os_str().to_owned();
        name.push(ending);
        let about = match fs::symlink_metadata(&name) {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            about => about.map_err(|e| RecordError::from_io(path, &e, "read"))?,
        };
        if !about.is_file() || distrust_file(access_to_file(&about), user).is_some() {
            let why = format!("has a file NAME{ending} beside it that others made");
            refuse(Some((why, "remove that file")), path)?;
        }
    }
    Ok(())
}

/// Why not to trust a file, and the way out.
fn distrust_file(file: FileAccess, user: ActsFor) -> Option<(String, &'static str)> {
    if file.uid != user.uid {
        let why = format!("belongs to another user (UID {})", file.uid);
        return Some((why, "if you trust them, resume a copy of your own"));
    }
    (file.mode & (GROUP_WRITES | OTHERS_WRITE) != 0).then(|| {
        let why = format!("can be written by others (mode {:04o})", file.mode & 0o7777);
        (why, "if you trust it, run chmod go-w on it")
    })
}

/// The same for its folder. The sticky bit is no help: others can still put a journal
/// beside the record.
fn distrust_folder(folder: FileAccess, user: ActsFor) -> Option<(String, &'static str)> {
    let is_theirs = !user.trusts_owner(folder);
    (is_theirs || folder.mode & user.others(folder) != 0).then(|| {
        let why = "is in a folder that others can write to".to_owned();
        (
            why,
            "if you trust it, move it to a folder that only you can write to",
        )
    })
}

fn exchangeable(folder: &Path) -> (String, &'static str) {
    let folder = safe(&folder.to_string_lossy());
    (
        format!("is below {folder}, in which others can exchange folders"),
        "if you trust it, move it to a folder that only you can write to, as all above it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: ActsFor = ActsFor {
        uid: 1000,
        gid: 1000,
        caller: None,
    };
    const ROOT: ActsFor = ActsFor {
        uid: 0,
        gid: 0,
        caller: None,
    };

    fn access(uid: u32, gid: u32, mode: u32) -> FileAccess {
        FileAccess {
            uid,
            gid,
            mode,
            has_acl: false,
        }
    }

    #[test]
    fn only_what_no_other_user_can_write_is_trusted() {
        let in_group = ActsFor { gid: 100, ..ALICE };
        for (file, user, trusted) in [
            (access(1000, 1000, 0o600), ALICE, true),
            (access(1000, 1000, 0o644), ALICE, true),
            (access(1000, 1000, 0o664), ALICE, false),
            (access(1000, 1000, 0o602), ALICE, false),
            (access(1001, 1000, 0o600), ALICE, false),
            (access(0, 0, 0o600), ALICE, false),
            (access(1000, 1000, 0o600), ROOT, false),
        ] {
            let found = distrust_file(file, user);
            assert_eq!(found.is_none(), trusted, "file {file:?} {user:?}");
        }
        for (folder, user, trusted) in [
            (access(1000, 1000, 0o755), ALICE, true),
            (access(1000, 1000, 0o775), ALICE, true),
            (access(0, 0, 0o755), ALICE, true),
            (access(0, 0, 0o755), ROOT, true),
            (access(0, 0, 0o775), ROOT, false),
            (access(1000, 100, 0o775), in_group, false),
            (access(1000, 100, 0o775), ALICE, false),
            (access(1001, 1001, 0o755), ALICE, false),
            (access(1000, 1000, 0o755), ROOT, false),
            // /tmp
            (access(0, 0, 0o1777), ALICE, false),
            (access(0, 0, 0o1777), ROOT, false),
        ] {
            let found = distrust_folder(folder, user);
            assert_eq!(found.is_none(), trusted, "folder {folder:?} {user:?}");
        }
    }
}
