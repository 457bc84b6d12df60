//! The heap that requests touch.

use super::positions::{PAGE, Touch};
use crate::LoadError;
use plimsoll_model::Bytes;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const WORDS: usize = PAGE as usize / size_of::<u64>();

/// Words of a cache line of 64 bytes.
const LINE: usize = 8;

/// Allocated at once: small enough that threads fill a heap in equal parts.
const CHUNK_PAGES: u64 = 1024;

/// Workers read and write pages at the same time, without order: only the traffic counts.
#[repr(align(4096))]
struct Page([AtomicU64; WORDS]);

/// Pages of random contents, all of which are present.
pub(crate) struct Heap {
    chunks: Vec<Box<[Page]>>,
    pages: u64,
}

impl Heap {
    /// A heap of `size`, in whole pages, filled by `threads` threads.
    ///
    /// The contents are random: the kernel would map pages never written to one page of zeros,
    /// merge equal pages (KSM) and compress regular ones (zswap).
    ///
    /// # Errors
    /// [`LoadError::System`] if memory or threads are refused.
    pub(crate) fn filled(size: Bytes, threads: usize) -> Result<Heap, LoadError> {
        let pages = size.0 / PAGE;
        let next = AtomicU64::new(0);
        let refused = |error: io::Error| {
            let what = format!("cannot fill {size} of memory for the hash service");
            LoadError::system(what, error, "give a smaller --memory, or raise `ulimit -v`")
        };
        let mut chunks = std::thread::scope(|scope| {
            let fill = || fill_some(pages, &next);
            let mut threads_made = Vec::new();
            for _ in 0..threads.max(1) {
                threads_made.push(std::thread::Builder::new().spawn_scoped(scope, fill)?);
            }
            let mut all = Vec::new();
            for thread in threads_made {
                let filled = thread.join();
                all.extend(filled.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(all)
        })
        .map_err(refused)?;
        chunks.sort_unstable_by_key(|(nth, _)| *nth);
        Ok(Heap {
            chunks: chunks.into_iter().map(|(_, chunk)| chunk).collect(),
            pages,
        })
    }

    /// Reads a word of each page, so that no page is in swap afterwards, and returns how many there
    /// are.
    pub(super) fn page_in(&self) -> u64 {
        let pages = self.chunks.iter().flatten();
        let words = pages.map(|page| page.0.first().map(|word| word.load(Ordering::Relaxed)));
        words.fold(0, |count, word| {
            std::hint::black_box(word);
            count + 1
        })
    }

    /// Reads a word of each cache line of a page, and writes it if asked.
    ///
    /// The whole page, because a request reads objects, not words: one miss of the TLB and of the page
    /// table, and 64 lines that the CPU prefetches in part. A single line would move 64 times as
    /// many pages for the same bytes.
    pub(crate) fn touch(&self, touch: Touch) -> u64 {
        let (chunk, page) = (touch.page / CHUNK_PAGES, touch.page % CHUNK_PAGES);
        let chunk = self.chunks.get(chunk as usize);
        let Some(page) = chunk.and_then(|chunk| chunk.get(page as usize)) else {
            return 0;
        };
        let mut sum: u64 = 0;
        for word in page.0.iter().step_by(LINE) {
            let value = word.load(Ordering::Relaxed);
            if touch.writes {
                // A rotation changes the page and leaves it random.
                word.store(value.rotate_left(1), Ordering::Relaxed);
            }
            sum = sum.wrapping_add(value);
        }
        sum
    }
}

/// Takes chunks from `next` until none is left.
fn fill_some(pages: u64, next: &AtomicU64) -> io::Result<Vec<(u64, Box<[Page]>)>> {
    let mut filled = Vec::new();
    loop {
        let nth = next.fetch_add(1, Ordering::Relaxed);
        let begin = nth.saturating_mul(CHUNK_PAGES);
        if begin >= pages {
            return Ok(filled);
        }
        let count = (pages - begin).min(CHUNK_PAGES) as usize;
        let mut chunk = Vec::new();
        chunk
            .try_reserve_exact(count)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut rng = SplitMix64::seed_from_u64(nth.rotate_left(32));
        chunk.extend(
            (0..count).map(|_| Page(std::array::from_fn(|_| AtomicU64::new(rng.next_u64())))),
        );
        filled.push((nth, chunk.into_boxed_slice()));
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Heap({} pages)", self.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pages_are_there_aligned_and_differ() {
        let pages = CHUNK_PAGES + 3;
        let heap = Heap::filled(Bytes(pages * PAGE), 3).unwrap();
        let all: Vec<&Page> = heap.chunks.iter().flatten().collect();
        assert_eq!(all.len() as u64, pages);
        assert_eq!(heap.page_in(), pages);
        assert!(
            all.iter()
                .all(|p| std::ptr::from_ref(*p).addr() % 4096 == 0)
        );
        let read = |page| {
            heap.touch(Touch {
                page,
                writes: false,
            })
        };
        let mut sums: Vec<u64> = (0..pages).map(read).collect();
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len() as u64, pages, "no two pages are equal");
    }

    #[test]
    fn a_write_changes_its_page_alone() {
        let heap = Heap::filled(Bytes(4 * PAGE), 1).unwrap();
        let read = |page| {
            heap.touch(Touch {
                page,
                writes: false,
            })
        };
        let before: Vec<u64> = (0..4).map(read).collect();
        heap.touch(Touch {
            page: 2,
            writes: true,
        });
        let after: Vec<u64> = (0..4).map(read).collect();
        assert_ne!(before[2], after[2]);
        assert_eq!((before[0], before[1]), (after[0], after[1]));
    }
}
