//! The files that requests read and write.

use super::positions::{PAGE, Touch};
use crate::LoadError;
use plimsoll_model::{Bytes, FileUse};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::tempfile_in;

/// At most so many files, so that they stay far below `ulimit -n`.
const MOST_FILES: u64 = 256;

/// Several files, because a file system may admit one writer of a file at a time.
const LEAST_OF_FILE: u64 = 64 << 20;

/// The largest entry of the log: a part of the data that is hashed.
pub(super) const MOST_OF_LOG: Bytes = Bytes(1 << 20);

/// A log is rotated at this size. Two are kept.
const LOG_LIMIT: u64 = 32 << 20;

/// Written at once when files are filled, in bytes.
const FILL: usize = 1 << 20;

/// Checks that a folder takes the files of a hash service: that it can be written to, and that its
/// file system has room for files, logs and a tenth more. Nothing is left in it.
///
/// # Errors
/// [`LoadError::Mistake`] if there is not enough room; [`LoadError::System`] if the folder cannot be
/// written to.
pub fn check_files(files: &FileUse) -> Result<(), LoadError> {
    let dir = files.dir.display();
    let cannot = |error: io::Error| {
        let what = format!("cannot make files in '{dir}'");
        LoadError::system(
            what,
            error,
            "give a folder to --files that you may write to",
        )
    };
    tempfile_in(&files.dir).map_err(cannot)?;
    let room = rustix::fs::statvfs(&files.dir).map_err(|e| cannot(e.into()))?;
    let free = Bytes(room.f_bavail.saturating_mul(room.f_frsize));
    let logs = if files.log.0 > 0 { 2 * LOG_LIMIT } else { 0 };
    let needed = files.size.0.saturating_add(logs);
    let needed = Bytes(needed.saturating_add(needed / 10));
    if needed > free {
        return LoadError::mistake(format!(
            "the files of the hash service need {needed} (with a tenth to spare), and the file \
             system of '{dir}' has {free}; give a smaller --file-size, or another folder to --files"
        ));
    }
    Ok(())
}

/// Files without names: the kernel frees them when they are closed, also after SIGKILL.
#[derive(Debug)]
pub(super) struct Files {
    dir: PathBuf,
    parts: Vec<File>,
    pages_of_part: u64,
    log: Option<Log>,
    first_error: OnceLock<(io::ErrorKind, String)>,
}

impl Files {
    /// Makes the files, writes them to the disk with random contents, and leaves them in the page
    /// cache as far as they fit. Takes as long as the disk writes.
    ///
    /// # Errors
    /// As [`check_files`], and [`LoadError::System`] if writing fails.
    pub(super) fn made(of: &FileUse) -> Result<Files, LoadError> {
        check_files(of)?;
        Files::written(of).map_err(|error| {
            let what = format!(
                "cannot write {} of files in '{}'",
                of.size,
                of.dir.display()
            );
            let way_out = "give a smaller --file-size, or another folder to --files";
            LoadError::system(what, error, way_out)
        })
    }

    fn written(of: &FileUse) -> io::Result<Files> {
        let pages = of.size.0 / PAGE;
        let pages_of_part = pages.div_ceil(MOST_FILES).max(LEAST_OF_FILE / PAGE);
        let parts = (0..pages.div_ceil(pages_of_part)).map(|nth| {
            let pages = (pages - nth * pages_of_part).min(pages_of_part);
            filled(tempfile_in(&of.dir)?, nth, pages * PAGE)
        });
        let parts: Vec<File> = parts.collect::<io::Result<_>>()?;
        let log = match of.log.0 {
            0 => None,
            record => Some(Log::begun(
                [tempfile_in(&of.dir)?, tempfile_in(&of.dir)?],
                record,
            )),
        };
        Ok(Files {
            dir: of.dir.clone(),
            parts,
            pages_of_part,
            log,
            first_error: OnceLock::new(),
        })
    }

    /// Reads a page, or writes `page` there.
    pub(super) fn touch(&self, touch: Touch, page: &mut [u8], new: &[u8]) -> io::Result<()> {
        let part = self.parts.get((touch.page / self.pages_of_part) as usize);
        let part = part.ok_or(io::ErrorKind::NotFound)?;
        let at = touch.page % self.pages_of_part * PAGE;
        match touch.writes {
            true => part.write_all_at(new, at),
            false => part.read_exact_at(page, at),
        }
    }

    /// Appends `entry` to the log, if there is one.
    pub(super) fn log(&self, entry: &[u8]) -> io::Result<()> {
        self.log.as_ref().map_or(Ok(()), |log| log.append(entry))
    }

    /// Keeps the first error that a request met.
    pub(super) fn failed(&self, error: &io::Error) {
        self.first_error
            .get_or_init(|| (error.kind(), error.to_string()));
    }

    /// # Errors
    /// The first error that a request met.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        let Some((kind, why)) = self.first_error.get() else {
            return Ok(());
        };
        let folder = self.dir.display();
        Err(LoadError::system(
            format!("requests of the hash service could not use their files in '{folder}'"),
            io::Error::new(*kind, why.clone()),
            "check the disk, and leave the files alone during a run",
        ))
    }
}

#[cfg(test)]
impl Files {
    /// Bytes in the first file of the log.
    pub(super) fn logged(&self) -> u64 {
        self.log.as_ref().unwrap().files[0]
            .metadata()
            .unwrap()
            .len()
    }

    /// Empties a file, as damage does.
    pub(super) fn truncate(&self) -> io::Result<()> {
        self.parts[0].set_len(0)
    }
}

/// Fills a file with random contents, on the disk.
fn filled(mut file: File, seed: u64, bytes: u64) -> io::Result<File> {
    let mut rng = SplitMix64::seed_from_u64(seed.rotate_left(32));
    let mut buffer = vec![0; FILL];
    let mut left = bytes;
    while left > 0 {
        let some = left.min(FILL as u64) as usize;
        rng.fill_bytes(&mut buffer[..some]);
        file.write_all(&buffer[..some])?;
        left -= some as u64;
    }
    file.sync_all()?;
    Ok(file)
}

/// Two files that are written in turns: when one is full, the other begins anew.
#[derive(Debug)]
struct Log {
    files: [File; 2],
    record: u64,
    /// Of one file: a multiple of `record`, so that no entry crosses it.
    limit: u64,
    at: AtomicU64,
}

impl Log {
    fn begun(files: [File; 2], record: u64) -> Log {
        Log {
            files,
            record,
            limit: LOG_LIMIT / record * record,
            at: AtomicU64::new(0),
        }
    }

    fn append(&self, entry: &[u8]) -> io::Result<()> {
        let at = self.at.fetch_add(self.record, Ordering::Relaxed);
        let [even, odd] = &self.files;
        let file = if (at / self.limit).is_multiple_of(2) {
            even
        } else {
            odd
        };
        let within = at % self.limit;
        if within == 0 {
            // What another worker has already written behind it is lost: it is not read.
            file.set_len(0)?;
        }
        file.write_all_at(entry, within)
    }
}

#[cfg(test)]
mod tests;
