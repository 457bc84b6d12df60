//! The block that each request hashes, and the data that blocks are taken from.

use crate::LoadError;
use crate::arrivals::uniform;
use plimsoll_model::{Bytes, HashService};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use sha1::{Digest, Sha1};
use std::sync::Arc;

/// Size of the data that all blocks are taken from.
///
/// Larger than the private caches of most CPUs, so that a block is not still in
/// L1 from the previous request, and small enough for the shared cache of a
/// server, so that many cores together are limited by arithmetic, not memory
/// bandwidth. SHA-1 reads 1 to 3 GB/s per core sequentially, which prefetchers
/// sustain from L2, L3 or memory.
const DATA_BYTES: usize = 8 << 20;

/// Blocks are aligned to cache lines.
const LINE: usize = 64;

/// Draws per request; see [`Blocks::of_request`].
const DRAWS: u64 = 3;

/// The increment of SplitMix64's state per draw.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Separates the random sequence of sizes from that of arrivals with the same
/// seed.
const SIZE_STREAM: u64 = 0x6861_7368_7369_7A65;

/// The block of each request. It depends only on seed and index, not on which
/// worker runs the request or when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    mean: f64,
    deviation: f64,
    seed: u64,
}

/// A range of the data that wraps round at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    offset: usize,
    length: usize,
}

impl Blocks {
    /// # Errors
    /// [`LoadError::Mistake`] if `service` describes invalid blocks.
    pub(crate) fn new(service: &HashService, seed: u64) -> Result<Blocks, LoadError> {
        let share = service.deviation_share;
        if service.mean_block.0 == 0 {
            return LoadError::mistake(
                "the hash service has blocks of 0 bytes; calibrate it again",
            );
        }
        // Above 0.5, clamping would shift the mean by more than 1 %.
        if !(0.0..=0.5).contains(&share) {
            return LoadError::mistake(format!(
                "the hash service's block size deviation is {share} of the mean; give 0 to 0.5"
            ));
        }
        let mean = service.mean_block.0 as f64;
        Ok(Blocks {
            mean,
            deviation: share * mean,
            seed: seed ^ SIZE_STREAM,
        })
    }

    /// The block of request number `index`.
    ///
    /// Request `i` uses draws `3i` to `3i + 2` of the SplitMix64 sequence of
    /// the seed, which allows random access because its state is a counter. Two
    /// draws give a normal deviate (Box and Muller, 1958), the third the
    /// offset.
    pub(crate) fn of_request(&self, index: u64) -> Block {
        let state = index.wrapping_mul(DRAWS).wrapping_mul(GAMMA);
        let mut rng = SplitMix64::seed_from_u64(self.seed.wrapping_add(state));
        let (u, v) = (uniform(&mut rng), uniform(&mut rng));
        let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        let size = self.mean + self.deviation * normal;
        let clamped = size.clamp(0.1 * self.mean, 3.0 * self.mean);
        let lines = (DATA_BYTES / LINE) as u64;
        Block {
            offset: (rng.next_u64() % lines) as usize * LINE,
            length: (clamped.round() as usize).max(1),
        }
    }
}

impl Block {
    pub(crate) fn length(&self) -> u64 {
        self.length as u64
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Data(Arc<[u8]>);

impl Data {
    /// Fills the data. Pages that were never written all map to one page of
    /// zeros, which would always be in L1.
    pub(crate) fn prepare() -> Data {
        let mut bytes = vec![0; DATA_BYTES];
        SplitMix64::seed_from_u64(0).fill_bytes(&mut bytes);
        Data(bytes.into())
    }

    /// A part of `length` bytes, at most all, that depends on `nth`.
    pub(super) fn some(&self, nth: u64, length: Bytes) -> &[u8] {
        let length = (length.0 as usize).min(self.0.len());
        let lines = ((self.0.len() - length) / LINE) as u64 + 1;
        let begin = (nth.wrapping_mul(GAMMA) % lines) as usize * LINE;
        &self.0[begin..begin + length]
    }

    pub(crate) fn digest(&self, block: Block) -> [u8; 20] {
        let mut sha = Sha1::new();
        let (mut at, mut left) = (block.offset, block.length);
        while left > 0 {
            let end = self.0.len().min(at.saturating_add(left));
            sha.update(&self.0[at..end]);
            left -= end - at;
            at = 0;
        }
        sha.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::CpuTime;

    fn blocks(mean: u64, deviation_share: f64, seed: u64) -> Result<Blocks, LoadError> {
        let service = HashService {
            mean_block: Bytes(mean),
            deviation_share,
            request_cpu: CpuTime::ZERO,
            waiting: None,
            memory: None,
            files: None,
        };
        Blocks::new(&service, seed)
    }

    #[test]
    fn block_depends_only_on_seed_and_index() {
        let of = |seed| blocks(1 << 20, 0.25, seed).unwrap();
        let forward: Vec<Block> = (0..100).map(|i| of(7).of_request(i)).collect();
        let mut backward: Vec<Block> = (0..100).rev().map(|i| of(7).of_request(i)).collect();
        backward.reverse();
        assert_eq!(forward, backward);
        assert!((0..100).all(|i| of(8).of_request(i) != forward[i as usize]));
    }

    #[test]
    fn sizes_are_normal_around_the_mean() {
        let n = 40_000;
        let blocks = blocks(1_000_000, 0.25, 3).unwrap();
        let sizes: Vec<f64> = (0..n)
            .map(|i| blocks.of_request(i).length() as f64 / 1e6)
            .collect();
        let mean = sizes.iter().sum::<f64>() / n as f64;
        let variance = sizes.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n as f64;
        let within = sizes.iter().filter(|s| (**s - 1.0).abs() < 0.25).count() as f64 / n as f64;
        // The standard error of the mean is 0.25 / sqrt(40,000) = 0.125 %.
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        assert!((variance.sqrt() - 0.25).abs() < 0.005, "{variance}");
        assert!((within - 0.6827).abs() < 0.012, "{within}");
    }

    #[test]
    fn sizes_are_clamped_to_0_1_and_3_times_the_mean() {
        let blocks = blocks(1000, 0.5, 1).unwrap();
        let sizes: Vec<u64> = (0..200_000)
            .map(|i| blocks.of_request(i).length())
            .collect();
        assert!(sizes.iter().all(|s| (100..=3000).contains(s)));
        assert!(sizes.contains(&100), "the lower clamp was reached");
    }

    #[test]
    fn zero_deviation_gives_mean_size_at_varying_offsets() {
        let blocks = blocks(4096, 0.0, 1).unwrap();
        let all: Vec<Block> = (0..100).map(|i| blocks.of_request(i)).collect();
        assert!(all.iter().all(|b| b.length == 4096));
        let mut places: Vec<usize> = all.iter().map(|b| b.offset).collect();
        places.sort_unstable();
        places.dedup();
        assert!(places.len() > 95, "{}", places.len());
    }

    #[test]
    fn invalid_blocks_are_refused() {
        for (mean, share) in [(0, 0.25), (1000, -0.1), (1000, f64::NAN), (1000, 0.6)] {
            let refused = blocks(mean, share, 1);
            assert!(
                matches!(refused, Err(LoadError::Mistake(_))),
                "{mean} {share}"
            );
        }
    }

    #[test]
    fn block_wraps_round_at_the_end() {
        let data = Data::prepare();
        let length = 3 * DATA_BYTES / 2;
        let offset = DATA_BYTES - LINE;
        let unrolled: Vec<u8> = (0..length)
            .map(|i| data.0[(offset + i) % DATA_BYTES])
            .collect();
        let expected: [u8; 20] = Sha1::digest(&unrolled).into();
        assert_eq!(data.digest(Block { offset, length }), expected);
    }
}
