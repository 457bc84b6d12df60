//! Whether only this user could have written a record: a run that is resumed runs the
//! commands in it.

use crate::RecordError;
use rustix::process::{getegid, geteuid};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// SQLite takes pages from these when it opens the file beside them.
const SIDE_FILES: [&str; 3] = ["-journal", "-wal", "-shm"];

const GROUP: u32 = 0o020;
const OTHERS: u32 = 0o002;

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

/// Refuses a record that another user may have written to. `opened` is of the open file,
/// and `resolved` its path without symlinks, which SQLite is given then.
pub(crate) fn check(opened: &Metadata, resolved: &Path, path: &Path) -> Result<(), RecordError> {
    let user = User {
        uid: geteuid().as_raw(),
        gid: getegid().as_raw(),
    };
    let refuse = |(why, way_out): (String, &'static str)| {
        let path = path.into();
        Err(RecordError::NotTrusted { path, why, way_out })
    };
    let read = |e: std::io::Error| RecordError::from_io(path, &e, "read");
    distrust_file(Access::of(opened), user).map_or(Ok(()), refuse)?;
    if let Some(folder) = resolved.parent() {
        let folder = fs::metadata(folder).map_err(read)?;
        distrust_folder(Access::of(&folder), user).map_or(Ok(()), refuse)?;
    }
    for ending in SIDE_FILES {
        let mut name = resolved.as_os_str().to_owned();
        name.push(ending);
        let about = match fs::symlink_metadata(&name) {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            about => about.map_err(read)?,
        };
        if !about.is_file() || distrust_file(Access::of(&about), user).is_some() {
            let why = format!("has a file NAME{ending} beside it that others made");
            return refuse((why, "remove that file"));
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
    // A group of the user's own, by the rule of pam_umask(8), which lets it write.
    let is_own_group = folder.gid == user.gid && user.gid == user.uid;
    let others = match is_own_group {
        true => OTHERS,
        false => GROUP | OTHERS,
    };
    let is_theirs = folder.uid != user.uid && folder.uid != 0;
    (is_theirs || folder.mode & others != 0).then(|| {
        let why = "is in a folder that others can write to".to_owned();
        (
            why,
            "if you trust it, move it to a folder that only you can write to",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: User = User {
        uid: 1000,
        gid: 1000,
    };
    const ROOT: User = User { uid: 0, gid: 0 };

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
    }
}
