//! How long to spin before parking, learnt from the gaps so far. Pure.

use std::time::Duration;

/// The longest limit, in prices.
const LONGEST: u32 = 3;

/// How many limits are compared: 0, and the longest halved up to 9 times.
const LIMITS: usize = 11;

/// A gap weighs as much as 1 less this part one gap later: some 120 gaps count.
const FORGETS: f64 = 1.0 / 64.0;

/// What may be paid, in costs of hindsight.
const HINDSIGHTS: f64 = 2.25;

/// Costs this close are the same, and the longer limit is taken, which wakes faster.
const SAME_COST: f64 = 1.03;

/// Of gaps, as few ends by spinning buy nothing.
const IN_VAIN: f64 = 0.03;

/// The spin limit of [`Waiting::Adaptive`](super::Waiting::Adaptive).
///
/// It is ski rental: spinning is the rent, and parking costs a *price*, once a gap. A gap costs what
/// was spun, and the price too if it was longer than the limit. An oracle that knew each gap before
/// (*hindsight*) would pay the lesser of gap and price. Of 11 limits from 0 to 3 prices, the one is
/// taken that would have cost least for recent gaps, so it grows where gaps are spun through and shrinks where
/// spinning is in vain. Of limits whose costs are the same within 3 %, that is the longest, but 0 if
/// that would have ended at most 3 % of the gaps: such spinning makes no quantile up to p97 better. Before the first gap the limit is the price.
///
/// **Bound.** The cost of any number of gaps is at most 2.25 times that of hindsight and 4 prices.
/// The *debt* is the cost so far less 2.25 times that of hindsight. While it is above 0, the limit is
/// the price, with which no gap costs more than twice hindsight (a gap up to the price costs
/// itself, a longer one two prices), so the debt falls. While it is not, a gap adds at most the longest
/// limit and a price: 4 prices. The debt never falls below -4 prices: good times do not pay for bad ones
/// for ever, and the bound holds from any gap on with 8 prices. (With 2 instead of 2.25 the debt
/// would not fall in long gaps, and a worker with little to do would spin for a price in each.)
#[derive(Debug, Clone, PartialEq)]
pub struct SpinLimit {
    price_ns: f64,
    limit_ns: f64,
    /// What each limit would have cost, older gaps less.
    costs_ns: [f64; LIMITS],
    /// How many gaps each limit would have slept through, older gaps less.
    parked: [f64; LIMITS],
    debt_ns: f64,
}

impl SpinLimit {
    /// With the price of parking and being woken, in time of spinning.
    pub fn new(price: Duration) -> SpinLimit {
        let price_ns = price.as_nanos() as f64;
        SpinLimit {
            price_ns,
            limit_ns: price_ns,
            costs_ns: [0.0; LIMITS],
            parked: [0.0; LIMITS],
            debt_ns: 0.0,
        }
    }

    /// How long to spin in the next gap; up to 3 prices.
    pub fn limit(&self) -> Duration {
        Duration::from_nanos(self.limit_ns as u64)
    }

    /// A gap has ended, by spinning or by a wake-up. Returns the next limit.
    pub fn observe(&mut self, gap: Duration) -> Duration {
        let gap_ns = gap.as_nanos() as f64;
        let hindsight_ns = gap_ns.min(self.price_ns);
        let debt_ns =
            self.debt_ns + self.cost_ns(self.limit_ns, gap_ns) - HINDSIGHTS * hindsight_ns;
        self.debt_ns = debt_ns.max(-f64::from(LONGEST + 1) * self.price_ns);
        for at in 0..LIMITS {
            let limit_ns = self.candidate_ns(at);
            let parks = if gap_ns > limit_ns { 1.0 } else { 0.0 };
            self.costs_ns[at] += self.cost_ns(limit_ns, gap_ns) - FORGETS * self.costs_ns[at];
            self.parked[at] += parks - FORGETS * self.parked[at];
        }
        self.limit_ns = match self.debt_ns > 0.0 {
            true => self.price_ns,
            false => self.cheapest_ns(),
        };
        self.limit()
    }

    fn cost_ns(&self, limit_ns: f64, gap_ns: f64) -> f64 {
        match gap_ns <= limit_ns {
            true => gap_ns,
            false => limit_ns + self.price_ns,
        }
    }

    /// The limits that are compared, the longest first.
    fn candidate_ns(&self, at: usize) -> f64 {
        match at + 1 {
            LIMITS => 0.0,
            _ => f64::from(LONGEST) * self.price_ns / f64::from(1u32 << at),
        }
    }

    fn cheapest_ns(&self) -> f64 {
        let least_ns = self.costs_ns.iter().copied().fold(f64::INFINITY, f64::min);
        let is_cheap = |at: &usize| self.costs_ns[*at] <= SAME_COST * least_ns;
        let Some(longest) = (0..LIMITS).find(is_cheap) else {
            return self.price_ns;
        };
        let none = LIMITS - 1;
        let is_in_vain = self.parked[longest] >= (1.0 - IN_VAIN) * self.parked[none];
        match is_in_vain && is_cheap(&none) {
            true => 0.0,
            false => self.candidate_ns(longest),
        }
    }
}
