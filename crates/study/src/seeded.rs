//! Chance that a seed decides.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generator whose sequence depends on its seed alone, on every machine.
#[derive(Debug, Clone)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    pub fn seeded(seed: u64) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A uniform number strictly between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        // 53 bits, moved by half a step so that neither end is hit.
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A uniform index below `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n.saturating_sub(1))
    }

    /// An exponential number of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}
