//! A job that takes memory for as long as there is some, and writes all that it has again and again.

use crate::hash::{Heap, PAGE, Touch};
use plimsoll_model::Bytes;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Taken at once.
const CHUNK: u64 = 4 << 20;
/// Written between two growths: it grows by a quarter of what it writes.
const WRITTEN: u64 = 4 * CHUNK;

pub(super) struct Shared<'a> {
    most: Option<Bytes>,
    taken: AtomicU64,
    left: &'a (dyn Fn() -> Bytes + Sync),
}

impl<'a> Shared<'a> {
    pub(super) fn new(most: Option<Bytes>, left: &'a (dyn Fn() -> Bytes + Sync)) -> Shared<'a> {
        Shared {
            most,
            taken: AtomicU64::new(0),
            left,
        }
    }

    /// Whether a thread may take another chunk, which it then has to.
    fn may_grow(&self) -> bool {
        let taken = self.taken.fetch_add(CHUNK, Ordering::Relaxed);
        let fits = self
            .most
            .is_none_or(|most| taken + CHUNK <= most.0.max(CHUNK));
        // Other threads may be about to take one as well.
        let grows = fits && (self.left)().0 >= 2 * CHUNK;
        if !grows {
            self.taken.fetch_sub(CHUNK, Ordering::Relaxed);
        }
        grows
    }

    pub(super) fn thread(&self) -> impl FnMut() -> io::Result<u64> + Send {
        let mut chunks: Vec<Heap> = Vec::new();
        let mut at = 0;
        move || {
            let mut written = 0;
            if self.may_grow() {
                let chunk = Heap::filled(Bytes(CHUNK), 1);
                chunks.push(chunk.map_err(|e| io::Error::other(e.to_string()))?);
                written += CHUNK;
            }
            if chunks.is_empty() {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            for _ in 0..WRITTEN.min(chunks.len() as u64 * CHUNK) / CHUNK {
                at = (at + 1) % chunks.len();
                for page in 0..CHUNK / PAGE {
                    chunks[at].touch(Touch { page, writes: true });
                }
                written += CHUNK;
            }
            Ok(written)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_up_to_what_is_left_and_to_the_most() {
        let taken = |most: Option<u64>, left: u64| {
            let taken = AtomicU64::new(0);
            let left = || Bytes(left.saturating_sub(taken.load(Ordering::Relaxed)));
            let shared = Shared::new(most.map(Bytes), &left);
            for _ in 0..100 {
                if shared.may_grow() {
                    taken.fetch_add(CHUNK, Ordering::Relaxed);
                }
            }
            taken.load(Ordering::Relaxed) / CHUNK
        };
        assert_eq!(taken(None, 10 * CHUNK), 9);
        assert_eq!(taken(Some(3 * CHUNK), 10 * CHUNK), 3);
        assert_eq!(taken(Some(1), 10 * CHUNK), 1);
        assert_eq!(taken(None, 0), 0);
    }

    #[test]
    fn each_piece_writes_what_there_is() {
        let left = || Bytes(u64::MAX);
        let shared = Shared::new(Some(Bytes(2 * CHUNK)), &left);
        let mut piece = shared.thread();
        let written: Vec<u64> = (0..4).map(|_| piece().unwrap() / CHUNK).collect();
        assert_eq!(written, [2, 3, 2, 2]);
    }
}
