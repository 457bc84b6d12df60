//! Which pages of memory or of files a request touches.

use crate::LoadError;
use crate::arrivals::uniform;
use plimsoll_model::{Bytes, Share};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// What an access touches, in bytes: a page of memory, and of the page cache.
pub(crate) const PAGE: u64 = 4096;

/// The increment of SplitMix64's state per draw.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The pages of each request. They depend only on seed, index and footprint, not on which worker
/// runs the request or when.
///
/// A position is the absolute value of a normal deviate with mean 0, in units of the whole, so
/// that the pages at the beginning are hot and those at the end are cold. Beyond the footprint it
/// is drawn again, uniformly within it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Positions {
    pages: u64,
    per_request: f64,
    write_share: f64,
    spread: f64,
    seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) page: u64,
    pub(crate) writes: bool,
}

impl Positions {
    /// Positions in `whole`, of which a request touches `touched` on average; `what` names it in
    /// an error.
    ///
    /// # Errors
    /// [`LoadError::Mistake`] if `whole` has no page, `touched` is nothing or more than the whole,
    /// or `spread` is not above 0 and up to 1.
    pub(super) fn new(
        what: &str,
        (whole, touched): (Bytes, Bytes),
        write_share: Share,
        spread: f64,
    ) -> Result<Positions, LoadError> {
        if whole.0 < PAGE {
            return LoadError::mistake(format!(
                "{what} of {whole} is less than a page; give 4KiB or more"
            ));
        }
        if touched.0 == 0 || touched > whole {
            return LoadError::mistake(format!(
                "a request cannot touch {touched} of {whole} of {what}; give more than nothing and \
                 no more than there is"
            ));
        }
        if !(spread > 0.0 && spread <= 1.0) {
            return LoadError::mistake(format!(
                "the spread of {what} is {spread}; give more than 0 and up to 1"
            ));
        }
        Ok(Positions {
            pages: whole.0 / PAGE,
            per_request: touched.0 as f64 / PAGE as f64,
            write_share: write_share.get(),
            spread,
            seed: 0,
        })
    }

    #[must_use]
    pub(super) fn seeded(self, seed: u64) -> Positions {
        Positions { seed, ..self }
    }

    /// What request number `index` touches within `footprint` of the whole.
    pub(super) fn of_request(&self, index: u64, footprint: Share) -> impl Iterator<Item = Touch> {
        let state = self.seed.wrapping_add(index.wrapping_mul(GAMMA));
        // A further draw, because the states of two requests are a draw apart.
        let own_seed = SplitMix64::seed_from_u64(state).next_u64();
        let mut rng = SplitMix64::seed_from_u64(own_seed);
        // Rounded up or down at random, so that the mean is exact.
        let count = (self.per_request + uniform(&mut rng)) as u64;
        let within = (self.pages as f64 * footprint.get()).max(1.0);
        let (pages, spread, write_share) = (self.pages, self.spread, self.write_share);
        (0..count).map(move |_| {
            // Always four draws: the rest of the request does not depend on the footprint.
            let (u, v, again) = (uniform(&mut rng), uniform(&mut rng), uniform(&mut rng));
            let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
            let at = normal.abs() * spread * pages as f64;
            let at = if at < within { at } else { again * within };
            Touch {
                page: (at as u64).min(pages - 1),
                writes: uniform(&mut rng) < write_share,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u64 = 100_000;

    fn positions(touched: u64, spread: f64) -> Positions {
        let sizes = (Bytes(PAGES * PAGE), Bytes(touched));
        let write_share = Share::new(0.3).unwrap();
        let made = Positions::new("memory", sizes, write_share, spread).unwrap();
        made.seeded(7)
    }

    fn touches(positions: Positions, footprint: f64) -> Vec<Touch> {
        let footprint = Share::new(footprint).unwrap();
        (0..2000)
            .flat_map(|i| positions.of_request(i, footprint))
            .collect()
    }

    fn share_of(touches: &[Touch], is: impl Fn(&Touch) -> bool) -> f64 {
        touches.iter().filter(|t| is(t)).count() as f64 / touches.len() as f64
    }

    #[test]
    fn positions_are_normal_folded_and_within_the_whole() {
        let all = touches(positions(20 * PAGE, 0.25), 1.0);
        assert_eq!(all.len(), 40_000);
        assert!(all.iter().all(|t| t.page < PAGES));
        // 68.3 % lie within a deviation; of the 6 in 100,000 beyond the whole, some as well.
        let near = share_of(&all, |t| t.page < PAGES / 4);
        assert!((near - 0.6827).abs() < 0.012, "{near}");
        // The centre is about seven times as hot as the half-way point.
        let centre = share_of(&all, |t| t.page < PAGES / 20);
        let half_way = share_of(&all, |t| t.page.abs_diff(PAGES / 2) < PAGES / 40);
        assert!(centre > 5.0 * half_way, "{centre} {half_way}");
        let written = share_of(&all, |t| t.writes);
        assert!((written - 0.3).abs() < 0.012, "{written}");
    }

    #[test]
    fn a_large_spread_uses_nearly_all_alike() {
        let all = touches(positions(20 * PAGE, 1.0), 1.0);
        let far = share_of(&all, |t| t.page >= PAGES / 2);
        assert!((0.4..0.5).contains(&far), "{far}");
    }

    #[test]
    fn touches_depend_only_on_seed_and_index() {
        let of = |seed: u64, i| -> Vec<Touch> {
            let positions = positions(20 * PAGE, 0.25).seeded(seed);
            positions.of_request(i, Share::ONE).collect()
        };
        let forward: Vec<Vec<Touch>> = (0..50).map(|i| of(1, i)).collect();
        let mut backward: Vec<Vec<Touch>> = (0..50).rev().map(|i| of(1, i)).collect();
        backward.reverse();
        assert_eq!(forward, backward);
        assert!((0..50).all(|i| of(2, i) != forward[i as usize]));
        let shifted = |a: &[Touch], b: &[Touch]| a[1..] == b[..b.len() - 1];
        assert!(!shifted(&forward[0], &forward[1]), "not the same sequence");
    }

    #[test]
    fn the_footprint_limits_positions_and_keeps_the_hot_centre() {
        let positions = positions(20 * PAGE, 0.25);
        let (whole, half) = (touches(positions, 1.0), touches(positions, 0.5));
        assert!(whole.iter().any(|t| t.page >= PAGES / 2));
        assert!(half.iter().all(|t| t.page < PAGES / 2));
        // Of those beyond the whole, 2.5 on average, some come back to its first half.
        let pairs = whole.iter().zip(&half);
        let moved = pairs.filter(|(a, b)| a.page < PAGES / 2 && a != b).count();
        assert!(moved < 20, "{moved}");
    }

    #[test]
    fn the_mean_is_kept_where_it_is_no_whole_page() {
        let all = touches(positions(PAGE / 2, 0.25), 1.0);
        assert!((900..1100).contains(&all.len()), "{}", all.len());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let of = |whole, touched, spread| {
            let sizes = (Bytes(whole), Bytes(touched));
            Positions::new("memory", sizes, Share::ZERO, spread)
        };
        for (whole, touched, spread) in [
            (0, 1, 0.2),
            (8192, 0, 0.2),
            (8192, 9000, 0.2),
            (8192, 4096, 0.0),
            (8192, 4096, 1.1),
            (8192, 4096, f64::NAN),
        ] {
            let refused = of(whole, touched, spread);
            assert!(matches!(refused, Err(LoadError::Mistake(_))), "{spread}");
        }
    }
}
