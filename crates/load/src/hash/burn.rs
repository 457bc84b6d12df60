//! A best-effort job with counted work: it hashes blocks endlessly.
//!
//! It runs in its own process, so that it can be restricted like any other
//! program. Progress is stored in a file shared with the parent: one counter
//! per thread, written after each block. The counters are up to date whenever
//! they are read, even if the process is not scheduled.

use super::blocks::{Blocks, Data};
use crate::LoadError;
use plimsoll_model::{Bytes, CpuTime, HashService};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// About 0.1 to 0.5 ms of CPU time: the resolution of the counters, and long
/// compared with the microsecond that counting takes.
const BLOCK: Bytes = Bytes(256 << 10);

/// Size of a counter in the file, in bytes.
const SLOT: u64 = 8;

/// Hashes blocks on `threads` threads until `until` reaches its end or fails.
/// Writes the bytes hashed by each thread to `counts`, 8 bytes (native order)
/// per thread.
pub fn burn(threads: usize, counts: &File, mut until: impl Read) -> Result<(), LoadError> {
    let data = Data::prepare();
    let stop = AtomicBool::new(false);
    let failed = |what: &str, error: io::Error| {
        LoadError::system(what, error, "raise `ulimit -u`, or free memory")
    };
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for nth in 0..threads.max(1) as u64 {
            let (data, stop) = (&data, &stop);
            let work = move || one_thread(nth, data, counts, stop);
            let made = std::thread::Builder::new().spawn_scoped(scope, work);
            workers.push(made.map_err(|e| {
                stop.store(true, Ordering::Relaxed);
                failed("cannot start a thread for the job", e)
            })?);
        }
        // The parent holds the other end; it closes when the parent ends.
        let _ = io::copy(&mut until, &mut io::sink());
        stop.store(true, Ordering::Relaxed);
        for worker in workers {
            let done = worker.join();
            let done = done.unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
            done.map_err(|e| failed("cannot count the job's work", e))?;
        }
        Ok(())
    })
}

fn one_thread(nth: u64, data: &Data, counts: &File, stop: &AtomicBool) -> io::Result<()> {
    let service = HashService {
        mean_block: BLOCK,
        deviation_share: super::DEVIATION_SHARE,
        request_cpu: CpuTime(Duration::ZERO),
        waiting: None,
        memory: None,
        files: None,
    };
    let blocks = Blocks::new(&service, nth).map_err(|e| io::Error::other(e.to_string()))?;
    let mut bytes: u64 = 0;
    for index in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let block = blocks.of_request(index);
        std::hint::black_box(data.digest(block));
        bytes += block.length();
        counts.write_all_at(&bytes.to_ne_bytes(), nth * SLOT)?;
    }
    Ok(())
}

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

    /// Bytes hashed so far.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::pipe;

    #[test]
    fn work_is_counted_while_running_and_ends_with_the_parent() {
        let counts = Counts::new(2).unwrap();
        assert_eq!(counts.bytes().unwrap(), 0);
        let file = counts.file().unwrap();
        let (until, held) = pipe().unwrap();
        let job = std::thread::spawn(move || burn(2, &file, until));
        let has_both = || {
            let mut slots = [0; 16];
            counts.file.read_exact_at(&mut slots, 0).unwrap();
            slots[..8] != [0; 8] && slots[8..] != [0; 8]
        };
        while !has_both() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(held);
        job.join().unwrap().unwrap();
        let done = counts.bytes().unwrap();
        assert!(done > 0);
        assert_eq!(counts.bytes().unwrap(), done, "nothing goes on");
    }
}
