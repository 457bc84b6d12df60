//! Random numbers that are a function of a key and of nothing that was drawn before.
//!
//! Each rule of a graph has a stream of its own, and each node a place in it. So a
//! draw of one rule says nothing about a draw of another at the same node, and a
//! node keeps its draws when other rules change.

/// The increment of SplitMix64: 2^64 divided by the golden ratio, odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom
/// Number Generators", OOPSLA 2014): a bijection in which each bit of the input turns
/// over half of the bits of the output.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One of the independent streams of a seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream(u64);

impl Stream {
    pub(crate) const fn new(seed: u64, number: u64) -> Stream {
        let seeded = mix(seed.wrapping_add(STEP));
        Stream(mix(
            seeded ^ mix(number.wrapping_mul(STEP).wrapping_add(STEP))
        ))
    }

    /// The number at `place`, `nth` of those that belong to it.
    fn number(self, place: u64, nth: u64) -> u64 {
        let at = mix(self.0.wrapping_add(place.wrapping_mul(STEP)));
        mix(at.wrapping_add(nth.wrapping_mul(STEP)))
    }

    /// Uniform in 0 <= x < 1, in steps of 2^-53.
    pub(crate) fn unit(self, place: u64, nth: u64) -> f64 {
        (self.number(place, nth) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `low..=high`; `low` where the ends are swapped.
    pub(crate) fn between(self, place: u64, nth: u64, low: u32, high: u32) -> u32 {
        let span = f64::from(high.saturating_sub(low)) + 1.0;
        low + (self.unit(place, nth) * span) as u32
    }
}
