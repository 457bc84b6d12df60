//! What a request does: files, then memory, then the hash.

use super::blocks::{Blocks, Data};
use super::files::{Files, MOST_OF_LOG};
use super::footprint::Footprint;
use super::memory::Heap;
use super::positions::{PAGE, Positions};
use crate::LoadError;
use plimsoll_model::{Bytes, FileUse, HashService, MemoryUse};
use std::io;
use std::sync::Arc;

/// Separate the random sequences of memory and files from those of blocks and arrivals.
const MEMORY_STREAM: u64 = 0x6D65_6D6F_7279_5F5F;
const FILE_STREAM: u64 = 0x6669_6C65_735F_5F5F;

/// The standard deviation of a position in the files, as a share of their size.
const FILE_SPREAD: f64 = 0.25;

/// What requests use, made once for all trials.
#[derive(Debug, Clone)]
pub(super) struct Stores {
    data: Data,
    memory: Option<(Arc<Heap>, Positions)>,
    files: Option<(Arc<Files>, Positions)>,
    pub(super) footprint: Footprint,
}

impl Stores {
    /// Fills memory by `threads` threads, and makes the files.
    ///
    /// # Errors
    /// [`LoadError::Mistake`] if sizes make no sense or there is no room for the files;
    /// [`LoadError::System`] if memory or files cannot be had.
    pub(super) fn prepare(service: &HashService, threads: usize) -> Result<Stores, LoadError> {
        // Both before the first takes its time.
        let of_memory = service
            .memory
            .as_ref()
            .map(positions_in_memory)
            .transpose()?;
        let of_files = service.files.as_ref().map(positions_in_files).transpose()?;
        let mut stores = Stores {
            data: Data::prepare(),
            memory: None,
            files: None,
            footprint: Footprint::whole(),
        };
        if let Some((files, positions)) = service.files.as_ref().zip(of_files) {
            stores.files = Some((Arc::new(Files::made(files)?), positions));
        }
        if let Some((memory, positions)) = service.memory.as_ref().zip(of_memory) {
            let heap = Heap::filled(memory.heap, threads)?;
            stores.memory = Some((Arc::new(heap), positions));
        }
        Ok(stores)
    }

    /// Brings the heap back from swap: what ran before may have taken its place, and would be measured
    /// in place of what runs now.
    pub(super) fn page_in(&self) {
        if let Some((heap, _)) = &self.memory {
            heap.page_in();
        }
    }

    /// # Errors
    /// The first error of the files that a request met.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        self.files
            .as_ref()
            .map_or(Ok(()), |(files, _)| files.check())
    }

    #[cfg(test)]
    pub(super) fn files(&self) -> Option<&Files> {
        self.files.as_ref().map(|(files, _)| files.as_ref())
    }
}

fn positions_in_memory(memory: &MemoryUse) -> Result<Positions, LoadError> {
    let sizes = (memory.heap, memory.touched);
    Positions::new("memory", sizes, memory.write_share, memory.spread)
}

fn positions_in_files(files: &FileUse) -> Result<Positions, LoadError> {
    if files.log > MOST_OF_LOG {
        return LoadError::mistake(format!(
            "a request cannot append {} to the log; give up to {MOST_OF_LOG}",
            files.log
        ));
    }
    let sizes = (files.size, files.touched);
    Positions::new("files", sizes, files.write_share, FILE_SPREAD)
}

/// The requests of one trial.
#[derive(Debug)]
pub(super) struct Work {
    stores: Stores,
    blocks: Blocks,
    log: Bytes,
}

impl Work {
    /// # Errors
    /// [`LoadError::Mistake`] if `service` describes invalid blocks.
    pub(super) fn new(service: &HashService, of: &Stores, seed: u64) -> Result<Work, LoadError> {
        let mut stores = of.clone();
        if let Some((_, positions)) = &mut stores.memory {
            *positions = positions.seeded(seed ^ MEMORY_STREAM);
        }
        if let Some((_, positions)) = &mut stores.files {
            *positions = positions.seeded(seed ^ FILE_STREAM);
        }
        Ok(Work {
            stores,
            blocks: Blocks::new(service, seed)?,
            log: service.files.as_ref().map_or(Bytes(0), |files| files.log),
        })
    }

    /// Serves request number `index` on the calling thread.
    ///
    /// # Errors
    /// A file cannot be read or written, or has become shorter. The request ends there.
    pub(super) fn request(&self, index: u64) -> io::Result<()> {
        let Stores {
            data, footprint, ..
        } = &self.stores;
        let share = footprint.get();
        if let Some((files, positions)) = &self.stores.files {
            let done = self.on_files(files, positions, index);
            done.inspect_err(|error| files.failed(error))?;
        }
        if let Some((heap, positions)) = &self.stores.memory {
            for touch in positions.of_request(index, share) {
                // Keeps reads whose values nothing needs.
                std::hint::black_box(heap.touch(touch));
            }
        }
        std::hint::black_box(data.digest(self.blocks.of_request(index)));
        Ok(())
    }

    fn on_files(&self, files: &Files, positions: &Positions, index: u64) -> io::Result<()> {
        let data = &self.stores.data;
        let mut page = [0; PAGE as usize];
        for touch in positions.of_request(index, self.stores.footprint.get()) {
            files.touch(touch, &mut page, data.some(touch.page, Bytes(PAGE)))?;
            std::hint::black_box(&page);
        }
        files.log(data.some(index, self.log))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{CpuTime, Share};
    use std::path::Path;

    fn service(dir: &Path) -> HashService {
        let share = Share::new(0.3).unwrap();
        HashService {
            mean_block: Bytes(4096),
            deviation_share: 0.25,
            request_cpu: CpuTime::ZERO,
            waiting: None,
            memory: Some(MemoryUse {
                heap: Bytes(1 << 20),
                touched: Bytes(64 << 10),
                write_share: share,
                spread: 0.25,
            }),
            files: Some(FileUse {
                dir: dir.to_owned(),
                size: Bytes(1 << 20),
                touched: Bytes(64 << 10),
                write_share: share,
                log: Bytes(1000),
            }),
        }
    }

    #[test]
    fn requests_use_files_and_memory() {
        let dir = tempfile::tempdir().unwrap();
        let service = service(dir.path());
        let stores = Stores::prepare(&service, 2).unwrap();
        let work = Work::new(&service, &stores, 7).unwrap();
        assert!((0..100).all(|i| work.request(i).is_ok()));
        assert_eq!(stores.files().unwrap().logged(), 100_000);
        assert!(stores.check().is_ok());
    }

    #[test]
    fn a_truncated_file_fails_requests_and_the_check_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let service = service(dir.path());
        let stores = Stores::prepare(&service, 1).unwrap();
        let work = Work::new(&service, &stores, 7).unwrap();
        stores.files().unwrap().truncate().unwrap();
        let failed = (0..100).filter(|i| work.request(*i).is_err()).count();
        assert!(failed > 0);
        assert!(stores.check().is_err());
    }

    #[test]
    fn sizes_that_make_no_sense_are_refused_before_anything_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let mut no_memory = service(dir.path());
        no_memory.memory.as_mut().unwrap().heap = Bytes(0);
        let mut much_log = service(dir.path());
        much_log.files.as_mut().unwrap().log = Bytes(2 << 20);
        for service in [no_memory, much_log] {
            let refused = Stores::prepare(&service, 1);
            assert!(matches!(refused, Err(LoadError::Mistake(_))));
        }
        assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none());
    }
}
