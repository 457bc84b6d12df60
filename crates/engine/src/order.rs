//! In which order levels are visited.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The order of visits in pass `pass`, from 0. Even passes are shuffled, each
/// in its own way; an odd pass mirrors the one before it, so that over the
/// two every level is on average visited at the same time, and slow drift of
/// the machine is not taken for an effect of load.
pub fn visits<T: Clone>(levels: &[T], seed: u64, pass: u32) -> Vec<T> {
    let mut order = levels.to_vec();
    shuffle(&mut order, derive(seed, u64::from(pass / 2)));
    if pass % 2 == 1 {
        order.reverse();
    }
    order
}

/// Fisher and Yates, by Durstenfeld (*CACM* 7, 1964). The modulo's bias is
/// below 2^-50 for any number of levels.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    for i in (1..items.len()).rev() {
        let j = rng.next_u64() % (i as u64 + 1);
        items.swap(i, j as usize);
    }
}

/// A seed for part `index` of what `seed` decides (SplitMix64's finaliser;
/// Steele, Lea and Flood, OOPSLA 2014).
pub fn derive(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add((index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_order() {
        let levels: Vec<u32> = (1..=11).collect();
        assert_eq!(visits(&levels, 1, 0), [8, 6, 11, 4, 2, 7, 9, 10, 1, 5, 3]);
        assert_ne!(visits(&levels, 1, 0), visits(&levels, 2, 0));
        assert_ne!(visits(&levels, 1, 0), visits(&levels, 1, 2));
    }

    #[test]
    fn each_pass_visits_every_level_once() {
        let levels: Vec<u32> = (1..=11).collect();
        for pass in 0..6 {
            let mut order = visits(&levels, 99, pass);
            order.sort_unstable();
            assert_eq!(order, levels);
        }
    }
}
