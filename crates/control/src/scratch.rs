//! A folder of our own for what is not to be kept, made where others may write
//! too, such as /tmp, and perhaps by root.
//!
//! Nobody can prepare it: its name is random, one mkdir makes it with mode 0700,
//! and what exists is refused. Nobody can replace it: what is in it is reached
//! through a descriptor, whatever becomes of its path.

use crate::error::ControlError;
use crate::journal::random;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// So begins the name of each.
const PREFIX: &str = "plimsoll-";

/// A folder that only this user can look into. Clones are the same folder; the
/// last of them removes it if it is empty.
#[derive(Debug, Clone)]
pub struct Scratch {
    made: Arc<Made>,
}

#[derive(Debug)]
struct Made {
    path: PathBuf,
    folder: File,
}

impl Scratch {
    /// Makes a new one below `parent`, for `what` (`copies`), which is part of its
    /// name.
    ///
    /// # Errors
    /// When it cannot be made, or is no longer ours once it is.
    pub fn make(parent: &Path, what: &str) -> Result<Scratch, ControlError> {
        let path = parent.join(format!("{PREFIX}{what}-{}", random()));
        let path = std::path::absolute(&path).unwrap_or(path);
        match folder(&path) {
            Ok(folder) => Ok(Scratch {
                made: Arc::new(Made { path, folder }),
            }),
            Err(source) => Err(ControlError::File {
                path,
                verb: "made",
                source,
            }),
        }
    }

    /// Where it was made, to be shown.
    pub fn path(&self) -> &Path {
        &self.made.path
    }

    /// A path to it that goes by its descriptor. It leads there as long as a clone
    /// of this is kept, in this process and in a child that has not yet become
    /// another program.
    pub fn held(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.made.folder.as_raw_fd()))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}

/// A new folder, opened.
fn folder(path: &Path) -> io::Result<File> {
    DirBuilder::new().mode(0o700).create(path)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(openat(CWD, path, flags, Mode::empty())?);
    let meta = folder.metadata()?;
    match meta.uid() == geteuid().as_raw() && meta.mode() & 0o077 == 0 {
        true => Ok(folder),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "somebody has put another folder in its place",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn it_is_new_and_for_this_user_alone() {
        let parent = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| Scratch::make(parent.path(), "test").unwrap());
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
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_exists_is_refused() {
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
    fn a_path_that_leads_elsewhere_is_no_way_in() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::make(parent.path(), "test").unwrap();
        let (moved, theirs) = (parent.path().join("moved"), parent.path().join("theirs"));
        fs::rename(scratch.path(), &moved).unwrap();
        fs::create_dir(&theirs).unwrap();
        symlink(&theirs, scratch.path()).unwrap();
        fs::write(scratch.held().join("file"), "ours").unwrap();
        assert_eq!(fs::read_to_string(moved.join("file")).unwrap(), "ours");
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    }
}
