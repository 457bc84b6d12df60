//! The files that describe tracepoints.

use crate::error::HostError;
use crate::root::Root;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Where tracefs is mounted, if it is.
const MOUNTED: [&str; 2] = [
    "/sys/kernel/tracing/events",
    "/sys/kernel/debug/tracing/events",
];

/// The folder `events` of tracefs.
#[derive(Debug)]
pub(super) struct Tracefs {
    /// The folder, or its file system.
    folder: OwnedFd,
    below: &'static str,
}

impl Tracefs {
    /// Opens it where it is mounted; else, on the machine itself, a mount of its own that no
    /// folder shows and that ends with this value.
    pub(super) fn open(root: &Root) -> io::Result<Tracefs> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        for path in MOUNTED {
            if let Ok(folder) = openat(CWD, root.path(path), flags, Mode::empty()) {
                return Ok(Tracefs { folder, below: "." });
            }
        }
        match root.path("/") == Path::new("/") {
            true => Ok(Tracefs {
                folder: unseen_mount()?,
                below: "events",
            }),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// A file of an event, such as `sched/sched_waking/id`.
    pub(super) fn read(&self, event: &str, file: &str) -> io::Result<String> {
        let path = format!("{}/{event}/{file}", self.below);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(&self.folder, path, flags, Mode::empty())?;
        let mut text = String::new();
        File::from(file).read_to_string(&mut text)?;
        Ok(text)
    }
}

fn unseen_mount() -> Result<OwnedFd, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_RDONLY,
    )
}

/// The error of an event.
pub(crate) fn refused(name: &'static str) -> impl FnOnce(io::Error) -> HostError {
    move |source| HostError::NoTracepoint { name, source }
}
