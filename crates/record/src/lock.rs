//! The lock that keeps two runs from writing one file.

use crate::RecordError;
use std::fs::{File, TryLockError};
use std::path::Path;

/// Held for as long as this process may add trials to a file.
///
/// It is `flock(2)` on the file itself, which SQLite's own locks
/// (`fcntl(2)`) do not see, so readers are not kept out, and which the kernel
/// gives back however the process ends.
///
/// Closing any descriptor of a file drops all `fcntl` locks that the process
/// has on it. So this value must outlive the connection to the same file.
#[derive(Debug)]
pub(crate) struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Takes the lock, or says who has it.
    pub(crate) fn take(file: File, path: &Path) -> Result<WriterLock, RecordError> {
        let kind = rustix::fs::fstatfs(&file).map_err(|e| {
            RecordError::from_io(path, &std::io::Error::from(e), "read the file system of")
        })?;
        // A magic number has 32 bits, whatever the field has on this machine.
        if has_one_kind_of_lock(kind.f_type as u32) {
            return Ok(WriterLock { _file: file });
        }
        match file.try_lock() {
            Ok(()) => Ok(WriterLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(RecordError::BeingWritten {
                path: path.to_owned(),
            }),
            Err(TryLockError::Error(e)) => Err(RecordError::from_io(path, &e, "lock")),
        }
    }
}

/// Whether `flock` and `fcntl` locks are one and the same on this file system.
///
/// NFS and SMB make an `fcntl` lock on the whole file of an `flock`
/// (flock(2), "NFS details" and "CIFS details"); SQLite would then find its
/// own file locked. There a second run is only found out when both number a
/// trial the same.
pub(crate) fn has_one_kind_of_lock(magic: u32) -> bool {
    // linux/magic.h
    const NFS: u32 = 0x6969;
    const CIFS: u32 = 0xff53_4d42;
    const SMB2: u32 = 0xfe53_4d42;
    [NFS, CIFS, SMB2].contains(&magic)
}
