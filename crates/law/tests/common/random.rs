//! Seeded random numbers of the simulations.

#![allow(dead_code, reason = "each test program uses some of them")]

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform, strictly between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// By Box and Muller, "A note on the generation of random normal deviates", 1958.
    pub(crate) fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    pub(crate) fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.unit() * (high / low).ln()).exp()
    }
}
