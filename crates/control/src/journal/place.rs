//! The folder of the journals: where it is, that it is this user's alone, and a lock
//! on it.
//!
//! No folder that all may write to: another user could make it first. No folder that
//! ends with a login: a run may outlive the session that started it.

use crate::error::ControlError;
use crate::poll::until;
use crate::stable::stable;
use rustix::fs::{Access, FlockOperation, access, flock};
use rustix::process::geteuid;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What decides where the folder is.
pub(super) struct Here {
    pub(super) uid: u32,
    pub(super) state_home: Option<OsString>,
    pub(super) home: Option<OsString>,
    /// Whether /run can be written to.
    pub(super) run: bool,
}

/// `plimsoll/journals` in `$XDG_STATE_HOME`, or in `~/.local/state`. For root
/// `/run/plimsoll`, or `/var/lib/plimsoll` where /run cannot be written to.
pub(super) fn usual() -> PathBuf {
    let uid = geteuid().as_raw();
    let given = std::env::var_os("XDG_STATE_HOME");
    in_use(&Here {
        uid,
        // sudo may pass on another user's environment, which is not for root's journals: who
        // can exchange one could have root undo what nobody did.
        state_home: match uid {
            0 => given.and_then(|dir| {
                let dir = Some(Path::new(&dir)).filter(|dir| dir.is_absolute())?;
                Some(stable(dir).ok()?.into_os_string())
            }),
            _ => given,
        },
        home: std::env::var_os("HOME"),
        run: access("/run", Access::WRITE_OK).is_ok(),
    })
}

/// Those of root, with and without XDG_STATE_HOME.
const OF_ROOT: [&str; 2] = ["/run/plimsoll", "/var/lib/plimsoll"];

pub(super) fn all_usual() -> Vec<PathBuf> {
    let usual = usual();
    let others = OF_ROOT.iter().map(PathBuf::from);
    let others = others.filter(|dir| geteuid().is_root() && *dir != usual && dir.is_dir());
    std::iter::once(usual.clone()).chain(others).collect()
}

pub(super) fn in_use(here: &Here) -> PathBuf {
    const OURS: &str = "plimsoll/journals";
    let absolute = |dir: &Option<OsString>| {
        let dir = PathBuf::from(dir.as_ref()?);
        dir.is_absolute().then_some(dir)
    };
    match (absolute(&here.state_home), here.uid) {
        (Some(state), _) => state.join(OURS),
        (None, 0) if here.run => "/run/plimsoll".into(),
        (None, 0) => "/var/lib/plimsoll".into(),
        // Without a home it cannot be made, and the error says what to set.
        (None, _) => {
            let home = absolute(&here.home).unwrap_or_else(|| "/nonexistent".into());
            home.join(".local/state").join(OURS)
        }
    }
}

pub(super) fn make(dir: &Path) -> Result<(), ControlError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|source| ControlError::NoJournals {
        dir: dir.to_owned(),
        source,
    })?;
    check(dir)
}

/// Whether a file in it is this user's alone, too.
pub(super) fn is_own(about: &fs::Metadata) -> bool {
    let (owner, mode) = (about.uid(), about.mode() & 0o022);
    about.is_file() && owner == geteuid().as_raw() && mode == 0 && about.nlink() == 1
}

/// Refuses a folder that is not this user's alone.
pub(super) fn check(dir: &Path) -> Result<(), ControlError> {
    let meta =
        fs::symlink_metadata(dir).map_err(|source| ControlError::file(dir, "read", source))?;
    let (owner, mode) = (meta.uid(), meta.mode() & 0o777);
    let ours = meta.is_dir() && owner == geteuid().as_raw() && mode & 0o077 == 0;
    match ours {
        true => Ok(()),
        false => Err(ControlError::UnsafeJournal {
            dir: dir.to_owned(),
            owner,
            mode,
        }),
    }
}

/// Locks the folder, which no other user can open, so that none can keep it locked.
pub(crate) fn lock(dir: &Path) -> Result<File, ControlError> {
    check(dir)?;
    let folder = File::open(dir).map_err(|source| ControlError::file(dir, "locked", source))?;
    let lock = FlockOperation::NonBlockingLockExclusive;
    match until(|| Ok(flock(&folder, lock).is_ok()))? {
        true => Ok(folder),
        false => Err(ControlError::Busy {
            dir: dir.to_owned(),
        }),
    }
}
