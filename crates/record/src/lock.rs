//! The lock that prevents two runs from writing the same file.

use crate::RecordError;
use std::fs::{File, TryLockError};
use std::path::Path;

/// Held as long as this process may append trials to a file.
///
/// It is `flock(2)` on the file itself. SQLite's own locks (`fcntl(2)`) are
/// independent of it, so readers are not blocked, and the kernel releases it
/// however the process ends.
///
/// Closing any descriptor of a file drops all `fcntl` locks that the process
/// has on it, so this value must outlive the connection to the same file.
#[derive(Debug)]
pub(crate) struct WriterLock {
    file: File,
}

impl WriterLock {
    /// # Errors
    /// [`RecordError::BeingWritten`] if another process holds the lock.
    pub(crate) fn take(file: File, path: &Path) -> Result<WriterLock, RecordError> {
        let kind = rustix::fs::fstatfs(&file).map_err(|e| {
            RecordError::from_io(path, &std::io::Error::from(e), "read the file system of")
        })?;
        // A magic number has 32 bits, whatever the field's type on this
        // architecture.
        if flock_equals_fcntl(kind.f_type as u32) {
            return Ok(WriterLock { file });
        }
        match file.try_lock() {
            Ok(()) => Ok(WriterLock { file }),
            Err(TryLockError::WouldBlock) => Err(RecordError::BeingWritten { path: path.into() }),
            Err(TryLockError::Error(e)) => Err(RecordError::from_io(path, &e, "lock")),
        }
    }

    /// Of the file, in bytes.
    pub(crate) fn length(&self) -> std::io::Result<u64> {
        self.file.metadata().map(|about| about.len())
    }
}

/// Whether `flock` and `fcntl` locks are the same on this file system.
///
/// NFS and SMB implement `flock` as an `fcntl` lock on the whole file
/// (flock(2), "NFS details" and "CIFS details"), which would block SQLite
/// itself. There, a second run is only detected when both use the same trial
/// number.
pub(crate) fn flock_equals_fcntl(magic: u32) -> bool {
    const NFS: u32 = 0x6969;
    const CIFS: u32 = 0xff53_4d42;
    const SMB2: u32 = 0xfe53_4d42;
    [NFS, CIFS, SMB2].contains(&magic)
}
