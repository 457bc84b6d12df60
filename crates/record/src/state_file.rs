//! Small JSON files in the user's state directory: what one command found and a later one uses.
//! They are optional: a caller reports an error once and goes on.

use crate::private::{Existing, write_private};
use crate::trust::{check_folder, check_input};
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Maximum size of a file.
const MOST_BYTES: u64 = 64 * 1024;

/// The path: `plimsoll/NAME` in `$XDG_STATE_HOME`, or in `.local/state` in the
/// home directory (XDG Base Directory Specification 0.8, which ignores relative
/// paths); `None` if neither is set.
pub fn usual(name: &str) -> Option<PathBuf> {
    let dir = folder_of(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"))?;
    Some(dir.join(name))
}

fn folder_of(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |dir: OsString| Some(PathBuf::from(dir)).filter(|dir| dir.is_absolute());
    let of_home = || Some(home.and_then(absolute)?.join(".local/state"));
    let dir = state.and_then(absolute).or_else(of_home)?;
    Some(dir.join("plimsoll"))
}

/// Writes a file with mode 0600 in a folder that is this user's alone.
///
/// # Errors
/// Why not, as a part of a sentence.
pub fn write(content: &impl Serialize, file: &Path) -> Result<(), String> {
    let json = serde_json::to_string_pretty(content).map_err(|e| e.to_string())? + "\n";
    let written =
        make_folder(file).and_then(|()| write_private(file, json.as_bytes(), Existing::Replace));
    written.map_err(|e| e.to_string())
}

fn make_folder(file: &Path) -> std::io::Result<()> {
    let Some(dir) = file.parent() else {
        return Ok(());
    };
    // Mode required by the XDG Base Directory Specification.
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    check_folder(dir).map_err(|_| Error::other("others can write to that folder"))
}

/// Locks a file until what is returned is dropped, also by the end of this process; `None` if another
/// process has it locked, or it cannot be made.
pub fn lock(file: &Path) -> Option<File> {
    make_folder(file).ok()?;
    // Nothing that another user has put there is followed or emptied.
    let mut options = OpenOptions::new();
    let options = options.create(true).write(true).truncate(false).mode(0o600);
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let open = options.custom_flags(flags.bits().cast_signed()).open(file);
    let open = open
        .ok()
        .filter(|open| open.metadata().is_ok_and(|about| about.is_file()))?;
    open.try_lock().is_ok().then_some(open)
}

/// Reads a file that no other user can have written; `None` if there is none.
///
/// # Errors
/// Why not, as a part of a sentence.
pub fn read<T: DeserializeOwned>(file: &Path) -> Result<Option<T>, String> {
    // Opening a pipe would block.
    match fs::metadata(file) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e.to_string()),
        Ok(there) if !there.is_file() => return Err("it is not a file".to_owned()),
        Ok(_) => check_input(file).map_err(|_| "others can write to it".to_owned())?,
    }
    let mut text = String::new();
    let opened = File::open(file).map_err(|e| e.to_string())?;
    let mut some = opened.take(MOST_BYTES);
    some.read_to_string(&mut text).map_err(|e| e.to_string())?;
    // A serde error may quote the file, whose text must not reach a terminal.
    let read = serde_json::from_str(&text).map_err(|e| format!("line {} is wrong", e.line()))?;
    Ok(Some(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_held_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("below/lock");
        let held = lock(&file);
        assert!(held.is_some());
        assert!(lock(&file).is_none());
        drop(held);
        assert!(lock(&file).is_some());
    }

    #[test]
    fn lock_follows_no_link_and_empties_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let link = dir.path().join("lock");
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(lock(&link).is_none());
        assert!(lock(&victim).is_some());
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
    }

    #[test]
    fn state_directory_is_absolute_or_that_of_the_home() {
        let of = |state: Option<&str>, home: Option<&str>| {
            folder_of(state.map(OsString::from), home.map(OsString::from))
        };
        assert_eq!(of(Some("/s"), Some("/h")), Some("/s/plimsoll".into()));
        let of_home = Some("/h/.local/state/plimsoll".into());
        assert_eq!(of(Some("s"), Some("/h")), of_home);
        assert_eq!(of(None, Some("/h")), of_home);
        assert_eq!(of(None, None), None);
        assert_eq!(of(Some(""), Some("h")), None);
    }
}
