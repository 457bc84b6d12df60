//! A job that writes a file to the disk and reads it back, again and again.

use crate::LoadError;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use tempfile::tempfile_in;

/// Written or read at once.
const BLOCK: u64 = 1 << 20;
/// Blocks between two syncs.
const SYNC: u64 = 8;
/// All files together: more than the cache of a disk.
const MOST: u64 = 1 << 30;
/// Of the free space; the rest is left to others.
const SHARE: u64 = 4;

#[derive(Debug)]
pub(super) struct Shared {
    files: Vec<File>,
    /// Of each file.
    blocks: u64,
}

impl Shared {
    /// A file without a name for each thread.
    pub(super) fn new(dir: &Path, threads: usize) -> Result<Shared, LoadError> {
        let cannot = |error: io::Error| {
            let what = format!("the job cannot make files in '{}'", dir.display());
            LoadError::system(what, error, "give a folder that you may write to: disk:DIR")
        };
        let threads = threads.max(1) as u64;
        let files = (0..threads).map(|_| tempfile_in(dir));
        let files = files.collect::<io::Result<Vec<File>>>().map_err(cannot)?;
        let room = rustix::fs::statvfs(dir).map_err(|e| cannot(e.into()))?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        let blocks = (free / SHARE).min(MOST) / threads / BLOCK;
        match blocks {
            0 => LoadError::mistake(format!(
                "the file system of '{}' has no room for the job's files; give another folder: \
                 disk:DIR",
                dir.display()
            )),
            blocks => Ok(Shared { files, blocks }),
        }
    }

    /// Each piece is a block: first all are written, then all are read, from the disk.
    pub(super) fn thread(&self, nth: u64) -> io::Result<impl FnMut() -> io::Result<u64> + Send> {
        let file = &self.files[nth as usize % self.files.len()];
        let blocks = self.blocks;
        let mut buffer = vec![0; BLOCK as usize];
        // Regular contents would be compressed by some file systems.
        SplitMix64::seed_from_u64(nth).fill_bytes(&mut buffer);
        let mut at = 0;
        Ok(move || {
            let (block, reads) = (at % blocks, at / blocks % 2 == 1);
            at += 1;
            if reads {
                if block == 0 {
                    file.sync_all()?;
                    fadvise(file, 0, None, Advice::DontNeed)?;
                }
                file.read_exact_at(&mut buffer, block * BLOCK)?;
                return Ok(BLOCK);
            }
            file.write_all_at(&buffer, block * BLOCK)?;
            if block % SYNC == SYNC - 1 {
                file.sync_data()?;
            }
            Ok(BLOCK)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_written_then_read_in_files_without_names() {
        let dir = tempfile::tempdir().unwrap();
        let mut shared = Shared::new(dir.path(), 1).unwrap();
        shared.blocks = 3;
        let mut piece = shared.thread(0).unwrap();
        for _ in 0..7 {
            assert_eq!(piece().unwrap(), BLOCK);
        }
        assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none());
        assert_eq!(shared.files[0].metadata().unwrap().len(), 3 * BLOCK);
        let refused = Shared::new(Path::new("/proc"), 1).unwrap_err().to_string();
        assert!(refused.contains("disk:DIR"), "{refused}");
    }
}
