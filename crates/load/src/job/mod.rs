//! Best-effort jobs with counted work: hashing, memory, disk.
//!
//! A job runs in its own process, so that it can be restricted like any other program. Progress is
//! stored in a file shared with the parent: one counter per thread, written after each piece of
//! work. The counters are up to date whenever they are read, even if the process is not scheduled.

mod counts;
mod disk;
mod hash;
mod memory;

pub use counts::Counts;

use crate::LoadError;
use counts::SLOT;
use plimsoll_model::{Bytes, CountedJob};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// A thread of a job: each call does a piece of work and returns its bytes.
type Piece<'a> = Box<dyn FnMut() -> io::Result<u64> + Send + 'a>;

/// Works on `threads` threads until `until` reaches its end or fails. Writes the bytes done by each
/// thread to `counts`, 8 bytes (native order) per thread.
///
/// `left` is how much more memory a job may take now; it is asked before each growth.
///
/// # Errors
/// Threads, memory or files are refused.
pub fn run(
    job: &CountedJob,
    threads: usize,
    counts: &File,
    left: &(dyn Fn() -> Bytes + Sync),
    mut until: impl Read,
) -> Result<(), LoadError> {
    let shared = Shared::prepare(job, threads, left)?;
    let stop = AtomicBool::new(false);
    let failed = |what: &str, error: io::Error| {
        LoadError::system(what, error, "raise `ulimit -u`, or free memory")
    };
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for nth in 0..threads.max(1) as u64 {
            let (shared, stop) = (&shared, &stop);
            let work = move || one_thread(shared.piece(nth)?, nth, counts, stop);
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
            done.map_err(|e| failed("the job cannot go on", e))?;
        }
        Ok(())
    })
}

/// What the threads of a job have in common.
enum Shared<'a> {
    Hash(hash::Shared),
    Memory(memory::Shared<'a>),
    Disk(disk::Shared),
}

impl<'a> Shared<'a> {
    fn prepare(
        job: &CountedJob,
        threads: usize,
        left: &'a (dyn Fn() -> Bytes + Sync),
    ) -> Result<Shared<'a>, LoadError> {
        Ok(match job {
            CountedJob::Burn => Shared::Hash(hash::Shared::prepare()),
            CountedJob::Memory { most } => Shared::Memory(memory::Shared::new(*most, left)),
            CountedJob::Disk { dir } => Shared::Disk(disk::Shared::new(dir, threads)?),
        })
    }

    fn piece(&self, nth: u64) -> io::Result<Piece<'_>> {
        Ok(match self {
            Shared::Hash(shared) => Box::new(shared.thread(nth)?),
            Shared::Memory(shared) => Box::new(shared.thread()),
            Shared::Disk(shared) => Box::new(shared.thread(nth)?),
        })
    }
}

fn one_thread(mut piece: Piece<'_>, nth: u64, counts: &File, stop: &AtomicBool) -> io::Result<()> {
    let mut bytes: u64 = 0;
    while !stop.load(Ordering::Relaxed) {
        bytes += piece()?;
        counts.write_all_at(&bytes.to_ne_bytes(), nth * SLOT)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
