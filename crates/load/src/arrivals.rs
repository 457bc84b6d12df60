use crate::{Offer, Shape, ns};
use plimsoll_model::{Arrivals, Rate, SteppedRate};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Duration;

/// The intended starts of an open loop in nanoseconds from its beginning,
/// ascending and endless. Deterministic in its arguments. A clone continues
/// from the same point.
///
/// Poisson gaps are drawn by inverse transform, `-ln(1 - u) / rate`, and summed
/// in floating point from the beginning, so that rounding errors do not
/// accumulate.
///
/// With a stepped rate, the start of request `n` is the time by which `n`
/// requests are expected: a Poisson process of varying rate, by inversion of
/// its cumulative rate (Cinlar, Introduction to Stochastic Processes, 1975,
/// section 4.7). No request is lost or added at a step. The same holds for
/// phases, the last of which ends it.
#[derive(Debug, Clone)]
pub struct Schedule {
    gaps: Gaps,
    mean_gap_ns: f64,
    shape: Shape,
    /// The part of a load in phases that is offered.
    share: f64,
}

/// Starts in mean gaps from the beginning, ascending and endless: at a constant rate of one.
#[derive(Debug, Clone)]
pub(crate) struct Gaps {
    arrivals: Arrivals,
    /// The next start.
    next: f64,
    rng: Xoshiro256PlusPlus,
}

impl Gaps {
    pub(crate) fn new(arrivals: Arrivals, seed: u64) -> Gaps {
        let mut gaps = Gaps {
            arrivals,
            next: 0.0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        gaps.step();
        gaps
    }

    /// The next start, which is followed by another.
    pub(crate) fn step(&mut self) -> f64 {
        let next = self.next;
        self.next += match self.arrivals {
            Arrivals::Constant => 1.0,
            Arrivals::Poisson => -(1.0 - uniform(&mut self.rng)).ln(),
        };
        next
    }
}

impl Schedule {
    /// A schedule at `rate`; at rate zero nothing ever starts.
    pub fn new(arrivals: Arrivals, rate: Rate, seed: u64) -> Schedule {
        Schedule {
            gaps: Gaps::new(arrivals, seed),
            mean_gap_ns: 1e9 / rate.get(),
            shape: Shape::Constant,
            share: 1.0,
        }
    }

    /// The part of `offer` for thread `index` of `threads`.
    ///
    /// A Poisson process split among threads is a Poisson process on each;
    /// constant arrivals are assigned round-robin.
    pub fn offered(offer: &Offer, index: usize, threads: usize) -> Schedule {
        let threads = threads.max(1);
        let part = |rate: Rate| rate.times(1.0 / threads as f64);
        // Any odd multiplier gives each thread a distinct seed.
        let own_seed = (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let seed = offer.seed.wrapping_add(own_seed);
        let mut schedule = Schedule::new(offer.arrivals, part(offer.rate), seed);
        schedule.share = 1.0 / threads as f64;
        schedule.shape = match &offer.shape {
            Shape::Steps(steps) => Shape::Steps(SteppedRate {
                low: part(steps.low),
                ..*steps
            }),
            shape => shape.clone(),
        };
        if offer.arrivals == Arrivals::Constant {
            schedule.gaps.next = (index + 1) as f64 / threads as f64;
        }
        schedule
    }

    /// The next intended start, without advancing.
    pub fn peek(&self) -> u64 {
        let at_ns = match &self.shape {
            Shape::Constant => self.gaps.next * self.mean_gap_ns,
            Shape::Steps(steps) => when_expected(steps, self.mean_gap_ns, self.gaps.next),
            Shape::Phases(phases) => {
                let when = phases.when_expected(self.gaps.next, self.share);
                return when.map_or(u64::MAX, ns);
            }
        };
        // `as` saturates: beyond 584 years nothing starts.
        at_ns as u64
    }
}

impl Iterator for Schedule {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let start = self.peek();
        self.gaps.step();
        Some(start)
    }
}

/// The time in nanoseconds by which `count` requests are expected.
fn when_expected(steps: &SteppedRate, high_gap_ns: f64, count: f64) -> f64 {
    let ns = |time: Duration| time.as_nanos() as f64;
    let low_gap_ns = 1e9 / steps.low.get();
    let before_first = ns(steps.first) / low_gap_ns;
    if count < before_first {
        return count * low_gap_ns;
    }
    let in_high = ns(steps.after) / high_gap_ns;
    let in_cycle = in_high + ns(steps.before) / low_gap_ns;
    let since = count - before_first;
    let step = (since / in_cycle).floor().min(f64::from(steps.steps));
    let left = since - step * in_cycle;
    let began = ns(steps.first) + step * ns(steps.after + steps.before);
    if step >= f64::from(steps.steps) {
        began + left * low_gap_ns
    } else if left < in_high {
        began + left * high_gap_ns
    } else {
        began + ns(steps.after) + (left - in_high) * low_gap_ns
    }
}

/// Uniform in [0, 1) with 53 bits.
pub(crate) fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{PhasedRate, RatePhase};
    use std::sync::Arc;

    fn rate(n: f64) -> Rate {
        Rate::per_second(n).unwrap()
    }

    #[test]
    fn seed_determines_the_arrivals() {
        let of = |seed| Schedule::new(Arrivals::Poisson, rate(1000.0), seed).take(4);
        assert!(of(42).eq(of(42)));
        assert!(of(42).ne(of(43)));
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let n = 100_000;
        let starts: Vec<u64> = Schedule::new(Arrivals::Poisson, rate(1e6), 1)
            .take(n)
            .collect();
        let gaps: Vec<f64> = starts.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The standard error of the mean is 1/sqrt(n) = 0.3 %; allow five of
        // them.
        assert!((mean / 1000.0 - 1.0).abs() < 0.016, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{variance}");
    }

    #[test]
    fn short_windows_have_as_many_arrivals_as_were_asked_for() {
        // Two seconds after one at 100/s, with seeds as runs have them.
        let seeds = 100_000..110_000;
        let count = |seed| {
            let starts = Schedule::new(Arrivals::Poisson, rate(100.0), seed);
            let starts = starts.take_while(|start| *start < 3_000_000_000);
            starts.filter(|start| *start >= 1_000_000_000).count() as f64
        };
        let counts: Vec<f64> = seeds.map(count).collect();
        let n = counts.len() as f64;
        let mean = counts.iter().sum::<f64>() / n;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / n;
        // Standard errors are 0.14 and 2.8; five of them.
        assert!((mean - 200.0).abs() < 0.7, "{mean}");
        assert!((variance - 200.0).abs() < 14.0, "{variance}");
    }

    #[test]
    fn constant_arrivals_are_assigned_round_robin() {
        let offer = Offer {
            rate: rate(1000.0),
            shape: Shape::Constant,
            ..stepped(Arrivals::Constant, 0)
        };
        let starts = (0..4).flat_map(|i| Schedule::offered(&offer, i, 4).take(2));
        let mut all: Vec<u64> = starts.collect();
        all.sort_unstable();
        let even: Vec<u64> = (1..=8).map(|i| i * 1_000_000).collect();
        assert_eq!(all, even);
    }

    #[test]
    fn clone_continues_the_same_schedule() {
        let mut ahead = Schedule::new(Arrivals::Poisson, rate(10.0), 9);
        let behind = ahead.clone();
        let seen: Vec<u64> = ahead.by_ref().take(100).collect();
        assert_eq!(behind.take(100).collect::<Vec<_>>(), seen);
    }

    fn stepped(arrivals: Arrivals, seed: u64) -> Offer {
        let s = Duration::from_secs;
        Offer {
            rate: rate(9000.0),
            arrivals,
            seed,
            drain: s(1),
            connections: None,
            shape: Shape::Steps(SteppedRate {
                low: rate(2000.0),
                first: s(2),
                after: s(3),
                before: s(1),
                steps: 2,
                slot: Duration::from_millis(50),
            }),
        }
    }

    /// Number of starts in each of the first 12 seconds, over all threads.
    fn per_second(offer: &Offer, threads: usize) -> Vec<u64> {
        let mut counts = vec![0; 12];
        for index in 0..threads {
            let mut last = 0;
            let starts = Schedule::offered(offer, index, threads);
            for start in starts.take_while(|start| *start < 12_000_000_000) {
                assert!(start >= last, "{start} comes after {last}");
                last = start;
                counts[(start / 1_000_000_000) as usize] += 1;
            }
        }
        counts
    }

    #[test]
    fn constant_arrivals_step_without_losing_any() {
        let offer = stepped(Arrivals::Constant, 1);
        let wanted = [2, 2, 9, 9, 9, 2, 9, 9, 9, 2, 2, 2];
        for (found, thousands) in per_second(&offer, 1).iter().zip(wanted) {
            // One start may fall on either side of a step.
            assert!(found.abs_diff(thousands * 1000) <= 1, "{found}");
        }
    }

    #[test]
    fn poisson_arrivals_step_at_the_same_time_on_every_thread() {
        let wanted = [2, 2, 9, 9, 9, 2, 9, 9, 9, 2, 2, 2].map(|n| f64::from(n) * 1000.0);
        for seed in 0..20 {
            let offer = stepped(Arrivals::Poisson, seed);
            for (found, mean) in per_second(&offer, 3).iter().zip(wanted) {
                // Six standard deviations of a Poisson count.
                let off = (*found as f64 - mean).abs();
                assert!(off < 6.0 * mean.sqrt(), "{found} of {mean}, seed {seed}");
            }
        }
    }

    #[test]
    fn offer_without_steps_equals_the_plain_schedule() {
        let mut offer = stepped(Arrivals::Poisson, 7);
        offer.shape = Shape::Constant;
        let plain = Schedule::new(Arrivals::Poisson, offer.rate, 7);
        let starts = Schedule::offered(&offer, 0, 1);
        assert!(starts.take(1000).eq(plain.take(1000)));
    }

    #[test]
    fn phases_have_their_rates_on_any_number_of_threads() {
        let phase = |ms, rps| RatePhase {
            length: Duration::from_millis(ms),
            rate: rate(rps),
        };
        let phases = vec![phase(2000, 900.0), phase(3000, 0.0), phase(1000, 300.0)];
        for (arrivals, threads) in [(Arrivals::Constant, 1), (Arrivals::Poisson, 3)] {
            let mut offer = stepped(arrivals, 3);
            offer.shape = Shape::Phases(Arc::new(PhasedRate(phases.clone())));
            let wanted = [900.0, 900.0, 0.0, 0.0, 0.0, 300.0];
            let counts = per_second(&offer, threads);
            for (found, mean) in counts.iter().zip(wanted) {
                let off = (*found as f64 - mean).abs();
                assert!(off <= 6.0 * f64::sqrt(mean), "{counts:?}");
            }
            assert_eq!(counts[6..].iter().sum::<u64>(), 0);
        }
    }

    #[test]
    fn nothing_starts_at_rate_zero() {
        let never = Schedule::new(Arrivals::Poisson, Rate::ZERO, 0);
        assert_eq!(never.peek(), u64::MAX);
    }
}
