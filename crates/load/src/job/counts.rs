//! Counters that a job's process and its parent share.

use crate::LoadError;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Size of a counter in the file, in bytes.
pub(super) const SLOT: u64 = 8;

/// The counters of a job, for its parent.
#[derive(Debug)]
pub struct Counts {
    file: File,
    threads: usize,
}

impl Counts {
    /// Counters of `threads` threads, all zero, in an anonymous file in memory.
    pub fn new(threads: usize) -> Result<Counts, LoadError> {
        let threads = threads.max(1);
        let make = || {
            let file = File::from(memfd_create("plimsoll-job", MemfdFlags::CLOEXEC)?);
            file.set_len(threads as u64 * SLOT)?;
            Ok(file)
        };
        let file = make().map_err(|error: io::Error| {
            LoadError::system("cannot count the job's work", error, "free some memory")
        })?;
        Ok(Counts { file, threads })
    }

    /// A handle to pass to the job's process.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Bytes done so far.
    pub fn bytes(&self) -> io::Result<u64> {
        let mut sum: u64 = 0;
        for nth in 0..self.threads as u64 {
            let mut slot = [0; SLOT as usize];
            self.file.read_exact_at(&mut slot, nth * SLOT)?;
            sum = sum.saturating_add(u64::from_ne_bytes(slot));
        }
        Ok(sum)
    }
}
