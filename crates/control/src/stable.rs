//! Paths that stay what they are: no other user can put something else in their place.

use plimsoll_model::{ActsFor, FileAccess};
use rustix::fs::getxattr;
use rustix::process::{getegid, geteuid};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The path without symlinks, if no other user can rename any of its folders, or what is in the
/// last one unless it is sticky. What does not exist of it yet is taken as given.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] names the folder in which others can; or none of it can
/// be read.
pub(crate) fn stable(path: &Path) -> io::Result<PathBuf> {
    let path = &std::path::absolute(path)?;
    let exists = path
        .ancestors()
        .find(|part| part.symlink_metadata().is_ok());
    let exists = exists.unwrap_or(Path::new("/"));
    let missing = path.strip_prefix(exists).unwrap_or(Path::new(""));
    if missing
        .components()
        .any(|part| part == Component::ParentDir)
    {
        let why = format!("{} leads through a folder that is missing", path.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    Ok(existing(exists)?.join(missing))
}

/// The same of a folder that is there.
///
/// # Errors
/// As of [`stable`]; or it is missing: another user may make it before we do.
pub(crate) fn existing(folder: &Path) -> io::Result<PathBuf> {
    let resolved = fs::canonicalize(folder)?;
    let user = ActsFor {
        uid: geteuid().as_raw(),
        gid: getegid().as_raw(),
        caller: None,
    };
    for folder in resolved.ancestors() {
        if user.can_be_exchanged_in(access(folder)?) {
            let why = format!("other users can exchange folders in {}", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    Ok(resolved)
}

fn access(folder: &Path) -> io::Result<FileAccess> {
    let about = fs::symlink_metadata(folder)?;
    Ok(FileAccess {
        uid: about.uid(),
        gid: about.gid(),
        mode: about.mode(),
        has_acl: getxattr(folder, "system.posix_acl_access", &mut [0; 0]).is_ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn links_are_resolved_and_what_is_missing_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(folder.path()).unwrap().join("real");
        fs::create_dir(&real).unwrap();
        symlink(&real, folder.path().join("link")).unwrap();
        let found = stable(&folder.path().join("link/new/newer")).unwrap();
        assert_eq!(found, real.join("new/newer"));
        assert!(existing(&folder.path().join("link/new")).is_err());
        assert!(stable(&folder.path().join("link/new/../..")).is_err());
    }

    #[test]
    fn a_folder_in_which_others_rename_is_refused_and_a_sticky_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("state");
        for (mode, is_stable) in [(0o777, false), (0o770, true), (0o1777, true), (0o700, true)] {
            // The group of root has members, and one of a user's own has none.
            let is_stable = is_stable && (mode != 0o770 || !geteuid().is_root());
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            let found = stable(&inside);
            assert_eq!(found.is_ok(), is_stable, "{mode:o} {found:?}");
        }
    }

    /// A symlink in a folder of another user can point elsewhere at any time.
    #[test]
    fn a_link_that_leads_through_a_folder_of_others_is_as_good_as_its_target() {
        if !geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let theirs = folder.path().join("theirs");
        let own = fs::canonicalize(folder.path()).unwrap().join("own");
        fs::create_dir(&theirs).unwrap();
        fs::create_dir(&own).unwrap();
        std::os::unix::fs::chown(&theirs, Some(65534), None).unwrap();
        symlink(&own, theirs.join("link")).unwrap();
        // Followed once: what the link becomes later does not matter.
        assert_eq!(stable(&theirs.join("link")).unwrap(), own);
        let refused = stable(&theirs.join("state")).unwrap_err().to_string();
        assert!(refused.ends_with("/theirs"), "{refused}");
    }
}
