//! When requests are intended to start.

use plimsoll_model::{Arrivals, Rate};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The intended starts of an open loop, in nanoseconds from its beginning,
/// ascending and without end. The same arguments give the same starts.
///
/// Poisson gaps are drawn by inverse transform, `-ln(1 - u) / rate`, and added
/// up in floating point from the beginning, so that rounding does not drift.
/// A clone goes on from the same point: two hands on one schedule.
#[derive(Debug, Clone)]
pub struct Schedule {
    arrivals: Arrivals,
    mean_gap_ns: f64,
    /// The next start is this many mean gaps from the beginning.
    gaps: f64,
    rng: Xoshiro256PlusPlus,
}

impl Schedule {
    /// A schedule at `rate`; at a rate of zero nothing ever starts.
    pub fn new(arrivals: Arrivals, rate: Rate, seed: u64) -> Schedule {
        let mut schedule = Schedule {
            arrivals,
            mean_gap_ns: 1e9 / rate.get(),
            gaps: 0.0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        schedule.step();
        schedule
    }

    /// The schedule of thread `index` of `threads` that share `rate`.
    ///
    /// A Poisson process split among threads is a Poisson process for each;
    /// constant arrivals are dealt out in turn.
    pub fn shared(
        arrivals: Arrivals,
        rate: Rate,
        seed: u64,
        index: usize,
        threads: usize,
    ) -> Schedule {
        let threads = threads.max(1);
        let part = rate.times(1.0 / threads as f64);
        // Any odd multiplier gives each thread a seed of its own.
        let own_seed = seed.wrapping_add((index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut schedule = Schedule::new(arrivals, part, own_seed);
        if arrivals == Arrivals::Constant {
            schedule.gaps = (index + 1) as f64 / threads as f64;
        }
        schedule
    }

    /// The next intended start, without moving on.
    pub fn peek(&self) -> u64 {
        // `as` saturates: what is beyond 584 years never starts.
        (self.gaps * self.mean_gap_ns) as u64
    }

    fn step(&mut self) {
        self.gaps += match self.arrivals {
            Arrivals::Constant => 1.0,
            Arrivals::Poisson => -(1.0 - uniform(&mut self.rng)).ln(),
        };
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let start = self.peek();
        self.step();
        Some(start)
    }
}

/// Uniform in [0, 1) with 53 bits.
pub(crate) fn uniform(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(n: f64) -> Rate {
        Rate::per_second(n).unwrap()
    }

    #[test]
    fn a_seed_means_the_same_arrivals_for_ever() {
        let starts: Vec<u64> = Schedule::new(Arrivals::Poisson, rate(1000.0), 42)
            .take(4)
            .collect();
        let again: Vec<u64> = Schedule::new(Arrivals::Poisson, rate(1000.0), 42)
            .take(4)
            .collect();
        let other: Vec<u64> = Schedule::new(Arrivals::Poisson, rate(1000.0), 43)
            .take(4)
            .collect();
        assert_eq!(starts, again);
        assert_ne!(starts, other);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let n = 100_000;
        let starts: Vec<u64> = Schedule::new(Arrivals::Poisson, rate(1e6), 1)
            .take(n)
            .collect();
        let gaps: Vec<f64> = starts.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Standard error of the mean is 1/sqrt(n) = 0.3 %; five of them.
        assert!((mean / 1000.0 - 1.0).abs() < 0.016, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{variance}");
    }

    #[test]
    fn constant_arrivals_are_dealt_out_evenly() {
        let mut all: Vec<u64> = (0..4)
            .flat_map(|i| Schedule::shared(Arrivals::Constant, rate(1000.0), 0, i, 4).take(2))
            .collect();
        all.sort_unstable();
        let even: Vec<u64> = (1..=8).map(|i| i * 1_000_000).collect();
        assert_eq!(all, even);
    }

    #[test]
    fn a_clone_is_a_second_hand_on_the_same_schedule() {
        let mut ahead = Schedule::new(Arrivals::Poisson, rate(10.0), 9);
        let behind = ahead.clone();
        let seen: Vec<u64> = ahead.by_ref().take(100).collect();
        assert_eq!(behind.take(100).collect::<Vec<_>>(), seen);
    }

    #[test]
    fn nothing_starts_at_rate_zero() {
        assert_eq!(
            Schedule::new(Arrivals::Poisson, Rate::ZERO, 0).peek(),
            u64::MAX
        );
    }
}
