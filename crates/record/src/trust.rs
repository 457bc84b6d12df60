//! Whether only this user could have written a record: a run that is resumed runs the
//! commands in it.

use crate::RecordError;
use plimsoll_model::safe;
use rustix::process::{getegid, geteuid};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// SQLite takes pages from these when it opens the file beside them.
const SIDE_FILES: [&str; 3] = [JOURNAL, "-wal", "-shm"];
pub(crate) const JOURNAL: &str = "-journal";

const GROUP: u32 = 0o020;
const OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Who owns a file and who may write to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    uid: u32,
    gid: u32,
    mode: u32,
}

/// Who this process acts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
    /// Who runs this as root by sudo(8), and so could do without a forged record.
    caller: Option<u32>,
}

impl User {
    fn current() -> User {
        let uid = geteuid().as_raw();
        let caller = std::env::var("SUDO_UID").ok();
        User {
            uid,
            gid: getegid().as_raw(),
            caller: caller.filter(|_| uid == 0).and_then(|uid| uid.parse().ok()),
        }
    }

    /// Whoever may write to such a folder besides its owner.
    fn others(self, folder: Access) -> u32 {
        // A group of the user's own, by the rule of pam_umask(8), which lets it write.
        let is_own_group = folder.gid == self.gid && self.gid == self.uid;
        match is_own_group {
            true => OTHERS,
            false => GROUP | OTHERS,
        }
    }

    fn trusts_owner(self, folder: Access) -> bool {
        [Some(self.uid), Some(0), self.caller].contains(&Some(folder.uid))
    }
}

impl Access {
    fn of(about: &Metadata) -> Access {
        Access {
            uid: about.uid(),
            gid: about.gid(),
            mode: about.mode(),
        }
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
    let user = User::current();
    for (above, folder) in resolved.ancestors().skip(1).enumerate() {
        let about = fs::symlink_metadata(folder);
        let about = about.map_err(|e| RecordError::from_io(path, &e, "read"))?;
        let distrusted = match above {
            _ if !about.is_dir() => Some(exchangeable(folder)),
            0 => distrust_folder(Access::of(&about), user),
            _ => can_be_exchanged(Access::of(&about), user).then(|| exchangeable(folder)),
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
    let user = User::current();
    let about = Access::of(&fs::symlink_metadata(&resolved).map_err(read)?);
    let is_root = about.uid == 0;
    let owned = Access {
        uid: if is_root { user.uid } else { about.uid },
        ..about
    };
    refuse(distrust_file(owned, user), path)?;
    for folder in resolved.ancestors().skip(1) {
        let about = Access::of(&fs::symlink_metadata(folder).map_err(read)?);
        let found = can_be_exchanged(about, user).then(|| exchangeable(folder));
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
    let user = User::current();
    refuse(distrust_file(Access::of(opened), user), path)?;
    for ending in SIDE_FILES {
        let mut name = resolved.as_os_str().to_owned();
        name.push(ending);
        let about = match fs::symlink_metadata(&name) {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            about => about.map_err(|e| RecordError::from_io(path, &e, "read"))?,
        };
        if !about.is_file() || distrust_file(Access::of(&about), user).is_some() {
            let why = format!("has a file NAME{ending} beside it that others made");
            refuse(Some((why, "remove that file")), path)?;
        }
    }
    Ok(())
}

/// Why not to trust a file, and the way out.
fn distrust_file(file: Access, user: User) -> Option<(String, &'static str)> {
    if file.uid != user.uid {
        let why = format!("belongs to another user (UID {})", file.uid);
        return Some((why, "if you trust them, resume a copy of your own"));
    }
    (file.mode & (GROUP | OTHERS) != 0).then(|| {
        let why = format!("can be written by others (mode {:04o})", file.mode & 0o7777);
        (why, "if you trust it, run chmod go-w on it")
    })
}

/// The same for its folder. The sticky bit is no help: others can still put a journal
/// beside the record.
fn distrust_folder(folder: Access, user: User) -> Option<(String, &'static str)> {
    let is_theirs = !user.trusts_owner(folder);
    (is_theirs || folder.mode & user.others(folder) != 0).then(|| {
        let why = "is in a folder that others can write to".to_owned();
        (
            why,
            "if you trust it, move it to a folder that only you can write to",
        )
    })
}

/// Whether another user can rename what is in a folder above, and put something else in
/// its place. In a sticky folder only owners can.
fn can_be_exchanged(folder: Access, user: User) -> bool {
    let is_open = folder.mode & user.others(folder) != 0 && folder.mode & STICKY == 0;
    !user.trusts_owner(folder) || is_open
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

    const ALICE: User = User {
        uid: 1000,
        gid: 1000,
        caller: None,
    };
    const ROOT: User = User {
        uid: 0,
        gid: 0,
        caller: None,
    };

    const BY_SUDO: User = User {
        caller: Some(1000),
        ..ROOT
    };

    fn access(uid: u32, gid: u32, mode: u32) -> Access {
        Access { uid, gid, mode }
    }

    #[test]
    fn only_what_no_other_user_can_write_is_trusted() {
        let in_group = User { gid: 100, ..ALICE };
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
        for (above, user, trusted) in [
            (access(0, 0, 0o755), ALICE, true),
            (access(1000, 1000, 0o775), ALICE, true),
            (access(0, 0, 0o1777), ALICE, true),
            (access(0, 0, 0o777), ALICE, false),
            (access(0, 8, 0o775), ALICE, false),
            (access(1001, 1001, 0o755), ALICE, false),
            (access(1001, 1001, 0o1777), ALICE, false),
            (access(1000, 1000, 0o755), ROOT, false),
            (access(1000, 1000, 0o755), BY_SUDO, true),
            (access(1001, 1001, 0o755), BY_SUDO, false),
            (access(1000, 1000, 0o777), BY_SUDO, false),
        ] {
            let found = can_be_exchanged(above, user);
            assert_eq!(!found, trusted, "above {above:?} {user:?}");
        }
    }
}
