//! How much of memory and files is in use.

use plimsoll_model::{Rate, Share};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The share of memory and files that requests use; the whole at first. Clones are one, and it may
/// change while a load runs: each request reads it once.
#[derive(Debug, Clone)]
pub struct Footprint(Arc<AtomicU64>);

impl Footprint {
    pub(super) fn whole() -> Footprint {
        Footprint(Arc::new(AtomicU64::new(1.0_f64.to_bits())))
    }

    /// The footprint of requests that start from now on.
    pub fn set(&self, share: Share) {
        self.0.store(share.get().to_bits(), Ordering::Relaxed);
    }

    /// The share in use, 0 to 1.
    pub fn get(&self) -> Share {
        Share::new(f64::from_bits(self.0.load(Ordering::Relaxed))).unwrap_or(Share::ONE)
    }

    /// What is in use at `offered`: half of it is there without load, and the rest grows with the
    /// load up to `rated`. The whole, where no rated rate is known.
    pub fn at(offered: Rate, rated: Option<Rate>) -> Share {
        let rated = rated.map_or(0.0, Rate::get);
        let load = if rated > 0.0 {
            offered.get() / rated
        } else {
            1.0
        };
        Share::new(0.5 + 0.5 * load.min(1.0)).unwrap_or(Share::ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_is_there_without_load_and_all_at_the_rated_rate() {
        let rate = |n| Rate::per_second(n).unwrap();
        for (offered, rated, share) in [
            (0.0, Some(100.0), 0.5),
            (50.0, Some(100.0), 0.75),
            (300.0, Some(100.0), 1.0),
            (5.0, Some(0.0), 1.0),
            (5.0, None, 1.0),
        ] {
            let at = Footprint::at(rate(offered), rated.map(rate));
            assert_eq!(at.get(), share, "{offered} {rated:?}");
        }
    }

    #[test]
    fn clones_are_one() {
        let footprint = Footprint::whole();
        assert_eq!(footprint.get(), Share::ONE);
        let half = Share::new(0.5).unwrap();
        footprint.clone().set(half);
        assert_eq!(footprint.get(), half);
    }
}
