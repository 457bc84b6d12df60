//! What jobs do: work of a known amount, which never looks at a clock.
//!
//! A kernel works in *rounds*. A job of weight `w` at grain `g` does `w * g` times the
//! rounds that the calibration has found for a microsecond, whatever time they take:
//! a job that is slowed down takes longer and does not do less.

use crate::NodeWork;
use crate::error::{SchedulerError, alternatives};
use sha1::{Digest, Sha1};
use std::fmt;
use std::hint::black_box;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Size of a block that a memory kernel walks: larger than the private caches of most
/// CPUs.
pub const BLOCK_BYTES: usize = 4 << 20;

/// Words of 8 bytes to a cache line.
const LINE_WORDS: usize = 8;

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// A chain of integer multiplications, in registers.
    Compute,
    /// A walk through a block of the worker's own, which changes each line.
    Memory,
    /// The same walk of all workers through one block.
    SharedMemory,
    /// SHA-1 of 64 bytes a round, with the CPU's SHA instructions where it has them.
    Hash,
}

impl Kernel {
    pub const ALL: [Kernel; 4] = [
        Kernel::Compute,
        Kernel::Memory,
        Kernel::SharedMemory,
        Kernel::Hash,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kernel::Compute => "compute",
            Kernel::Memory => "memory",
            Kernel::SharedMemory => "shared-memory",
            Kernel::Hash => "hash",
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kernel {
    type Err = SchedulerError;

    fn from_str(name: &str) -> Result<Kernel, SchedulerError> {
        let named = Kernel::ALL.into_iter().find(|kernel| kernel.name() == name);
        named.ok_or_else(|| SchedulerError::UnknownKernel {
            name: name.to_owned(),
            known: alternatives(&Kernel::ALL),
        })
    }
}

/// How fast a kernel was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Median of the samples: the speed between interruptions.
    pub rounds_per_us: f64,
    /// From the 10th to the 90th percentile of the samples' times, as a share of
    /// the median.
    pub spread_share: f64,
    /// The mean time of a sample relative to the median: how much longer the same work
    /// takes with the interruptions of the kernel, the hypervisor and other processes.
    pub interruption_ratio: f64,
}

/// A kernel with the memory that it works on.
#[derive(Debug)]
pub struct Work {
    kernel: Kernel,
    blocks: Vec<Block>,
}

/// Memory of a worker, and how far its walk has come. Aligned, so that the cursors of
/// two workers do not share a line.
#[derive(Debug)]
#[repr(align(128))]
struct Block {
    cursor: AtomicU64,
    words: Arc<[AtomicU64]>,
}

impl Work {
    /// `kernel` for so many workers; a memory kernel takes [`BLOCK_BYTES`] each, or
    /// once.
    pub fn new(kernel: Kernel, workers: usize) -> Work {
        let words = || -> Arc<[AtomicU64]> {
            let count = BLOCK_BYTES as u64 / 8;
            // Written, because pages that never were all map to one of zeros.
            (1..=count).map(AtomicU64::new).collect()
        };
        let shared = matches!(kernel, Kernel::SharedMemory).then(words);
        let block = |_| Block {
            cursor: AtomicU64::new(0),
            words: match kernel {
                Kernel::Memory => words(),
                _ => shared.clone().unwrap_or_default(),
            },
        };
        Work {
            kernel,
            blocks: (0..workers.max(1)).map(block).collect(),
        }
    }

    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Does so many rounds as this worker.
    pub fn run(&self, rounds: u64, worker: usize) {
        if rounds == 0 {
            return;
        }
        match self.kernel {
            Kernel::Compute => compute(rounds),
            Kernel::Hash => hash(rounds),
            Kernel::Memory | Kernel::SharedMemory => {
                self.blocks[worker % self.blocks.len()].walk(rounds);
            }
        }
    }

    /// What a node of weight `w` does at this grain: `w` times the grain. A grain of 0
    /// is an empty job.
    pub fn node_work(self: Arc<Work>, calibration: Calibration, grain: Duration) -> NodeWork {
        let rounds_of_one = calibration.rounds_in(grain);
        Box::new(move |weight, worker| {
            let rounds = (f64::from(weight) * rounds_of_one).round() as u64;
            self.run(rounds, worker);
        })
    }
}

impl Calibration {
    /// From the nanoseconds that each of some samples of `rounds` rounds took; `None`
    /// without a sample.
    pub fn of_samples(rounds: u64, mut sample_ns: Vec<u64>) -> Option<Calibration> {
        sample_ns.sort_unstable();
        let at = |share: f64| {
            let place = share * sample_ns.len().checked_sub(1)? as f64;
            Some(sample_ns[place.round() as usize].max(1) as f64)
        };
        let median = at(0.5)?;
        let mean = sample_ns.iter().sum::<u64>() as f64 / sample_ns.len() as f64;
        Some(Calibration {
            rounds_per_us: 1000.0 * rounds as f64 / median,
            spread_share: (at(0.9)? - at(0.1)?) / median,
            interruption_ratio: mean / median,
        })
    }

    /// How many rounds a time is worth.
    pub fn rounds_in(&self, time: Duration) -> f64 {
        time.as_nanos() as f64 / 1000.0 * self.rounds_per_us
    }

    /// How much longer the same work takes here than in `other`, as a ratio.
    pub fn inflation_over(&self, other: &Calibration) -> f64 {
        other.rounds_per_us / self.rounds_per_us
    }
}

fn compute(rounds: u64) {
    let mut x = black_box(rounds | 1);
    for _ in 0..rounds {
        x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    }
    black_box(x);
}

fn hash(rounds: u64) {
    let bytes = black_box([0x5A; 64]);
    let mut sha = Sha1::new();
    for _ in 0..rounds {
        sha.update(bytes);
    }
    black_box(sha.finalize());
}

impl Block {
    /// Reads and writes one word of so many lines, each from the one before.
    fn walk(&self, rounds: u64) {
        let lines = self.words.len() / LINE_WORDS;
        let mut line = self.cursor.load(Ordering::Relaxed) as usize % lines;
        let mut carried = 1;
        for _ in 0..rounds {
            let word = &self.words[line * LINE_WORDS];
            carried = word.load(Ordering::Relaxed).wrapping_add(carried);
            word.store(carried, Ordering::Relaxed);
            line = if line + 1 == lines { 0 } else { line + 1 };
        }
        self.cursor.store(line as u64, Ordering::Relaxed);
        black_box(carried);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kernel in Kernel::ALL {
            assert_eq!(kernel.name().parse::<Kernel>().unwrap(), kernel);
        }
        let refused = "sleep".parse::<Kernel>().unwrap_err().to_string();
        assert!(refused.contains("choose compute, memory"), "{refused}");
    }

    #[test]
    fn a_calibration_is_the_median_with_its_spread() {
        let samples = vec![2000, 1000, 1100, 1000, 900];
        let found = Calibration::of_samples(500, samples).unwrap();
        assert_eq!(found.rounds_per_us, 500.0);
        assert_eq!(found.spread_share, 1.1);
        assert_eq!(found.interruption_ratio, 1.2);
        assert_eq!(found.rounds_in(Duration::from_micros(3)), 1500.0);
        assert_eq!(Calibration::of_samples(500, Vec::new()), None);
        let slower = Calibration {
            rounds_per_us: 250.0,
            ..found
        };
        assert_eq!(slower.inflation_over(&found), 2.0);
    }

    #[test]
    fn a_walk_changes_each_line_once_a_turn() {
        let work = Work::new(Kernel::Memory, 2);
        let lines = (BLOCK_BYTES / 64) as u64;
        let words = |block: usize| -> Vec<u64> {
            let words = work.blocks[block].words.iter();
            words.map(|w| w.load(Ordering::Relaxed)).collect()
        };
        let before = words(1);
        work.run(lines - 1, 1);
        work.run(1, 1);
        let after = words(1);
        let changed = (0..before.len()).filter(|&i| before[i] != after[i]);
        let changed: Vec<usize> = changed.collect();
        assert_eq!(changed.len() as u64, lines);
        assert!(changed.iter().all(|i| i % LINE_WORDS == 0));
        assert_eq!(words(0), before, "the block of the other worker");
    }

    #[test]
    fn one_block_is_shared_by_all_workers() {
        let work = Work::new(Kernel::SharedMemory, 3);
        assert!(Arc::ptr_eq(&work.blocks[0].words, &work.blocks[2].words));
    }

    #[test]
    fn an_empty_job_does_nothing() {
        let work = Arc::new(Work::new(Kernel::Memory, 1));
        let calibration = Calibration {
            rounds_per_us: 100.0,
            spread_share: 0.0,
            interruption_ratio: 1.0,
        };
        let empty = Arc::clone(&work).node_work(calibration, Duration::ZERO);
        empty(5, 0);
        assert_eq!(work.blocks[0].cursor.load(Ordering::Relaxed), 0);
        let some = Arc::clone(&work).node_work(calibration, Duration::from_micros(2));
        some(5, 7);
        assert_eq!(work.blocks[0].cursor.load(Ordering::Relaxed), 1000);
    }
}
