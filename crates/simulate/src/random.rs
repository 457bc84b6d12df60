//! Seeded random numbers and arrivals.

use plimsoll_model::{Arrivals, Rate};
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generator whose sequence depends only on its seed.
#[derive(Debug, Clone)]
pub(crate) struct SeededRng(Xoshiro256PlusPlus);

impl SeededRng {
    pub(crate) fn seeded(seed: u64) -> SeededRng {
        SeededRng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Seeds from `parts`, in their order.
    pub(crate) fn mixed(parts: &[u64]) -> SeededRng {
        let mix = |seed: u64, part: &u64| {
            let mixed = (seed ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            mixed ^ (mixed >> 32)
        };
        SeededRng::seeded(parts.iter().fold(0x5851_F42D_4C95_7F2D, mix))
    }

    /// Uniform, strictly between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        // 53 bits, shifted by half a step to exclude both ends.
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}

/// The intended starts of an open loop in seconds, ascending and endless.
#[derive(Debug)]
pub(crate) struct Starts {
    arrivals: Arrivals,
    mean_gap: f64,
    /// In mean gaps, as in the load generator: the same seed at two rates gives
    /// the same pattern, scaled.
    gaps: f64,
    rng: SeededRng,
}

impl Starts {
    /// At rate zero the first start is at infinity.
    pub(crate) fn new(arrivals: Arrivals, rate: Rate, seed: u64) -> Starts {
        Starts {
            arrivals,
            mean_gap: 1.0 / rate.get(),
            gaps: 0.0,
            rng: SeededRng::seeded(seed),
        }
    }

    pub(crate) fn next_start(&mut self) -> f64 {
        self.gaps += match self.arrivals {
            Arrivals::Constant => 1.0,
            Arrivals::Poisson => self.rng.exponential(),
        };
        self.gaps * self.mean_gap
    }
}
