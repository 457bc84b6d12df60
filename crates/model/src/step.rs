//! Steps of the load within a trial, and what became of the requests after
//! each, slot by slot.

use crate::{LoadLevel, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How the load steps within a trial: low, high, low, high, each so often.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepPlan {
    /// The load before each step.
    #[serde(rename = "low_pct")]
    pub low: LoadLevel,
    /// The load after it.
    #[serde(rename = "high_pct")]
    pub high: LoadLevel,
    /// How long the load is low before each step.
    #[serde(rename = "before_ns", with = "crate::Ns")]
    pub before: Duration,
    /// How long it is high after it.
    #[serde(rename = "after_ns", with = "crate::Ns")]
    pub after: Duration,
    /// Steps up in each trial.
    pub steps: u32,
    /// The length of the slots after a step.
    #[serde(rename = "slot_ns", with = "crate::Ns")]
    pub slot: Duration,
}

impl StepPlan {
    /// How long a trial measures.
    pub fn window(&self) -> Duration {
        (self.before + self.after) * self.steps
    }

    /// What to offer: `high_rate` is the rate after a step, and before the
    /// first of the low phases the load warms up for `warm_up` at the low rate.
    pub fn offered(&self, high_rate: Rate, warm_up: Duration) -> SteppedRate {
        SteppedRate {
            low: high_rate.times(self.low.pct() / self.high.pct()),
            first: warm_up + self.before,
            after: self.after,
            before: self.before,
            steps: self.steps,
            slot: self.slot,
        }
    }
}

/// The rate before steps and where they lie; the rate after them is that of the
/// offer. Times are from the beginning of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteppedRate {
    /// The rate before the first step, between steps, and after the last.
    pub low: Rate,
    /// When the first step up comes.
    pub first: Duration,
    /// How long the rate is high after each.
    pub after: Duration,
    /// How long it is low again before the next.
    pub before: Duration,
    /// How many steps up there are.
    pub steps: u32,
    /// The length of the slots after a step.
    pub slot: Duration,
}

impl SteppedRate {
    /// Whole slots after each step.
    pub fn slots_per_step(&self) -> usize {
        let slots = self.after.as_nanos().checked_div(self.slot.as_nanos());
        usize::try_from(slots.unwrap_or(0)).unwrap_or(0)
    }

    /// After which step, and in which slot after it, a request that was intended
    /// `at` belongs; `None` for one of a low phase.
    pub fn slot_of(&self, at: Duration) -> Option<(usize, usize)> {
        let since = at.checked_sub(self.first)?.as_nanos();
        let cycle = (self.after + self.before).as_nanos();
        let step = since.checked_div(cycle)?;
        let slot = (since % cycle).checked_div(self.slot.as_nanos())?;
        let slot = usize::try_from(slot).ok()?;
        let is_high = step < u128::from(self.steps) && slot < self.slots_per_step();
        is_high.then_some((step as usize, slot))
    }
}

/// Latencies of the requests that were intended within one slot after a step.
///
/// Their number and sum are exact; quantiles are read from buckets of 1/64 of
/// an octave, so to within 1.6 %. It takes memory for what it holds and no more.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "SlotParts", into = "SlotParts")]
pub struct Slot {
    requests: u64,
    sum_ns: u64,
    buckets: BTreeMap<u16, u64>,
}

/// A slot as it is written.
#[derive(Serialize, Deserialize)]
struct SlotParts {
    sum_ns: u64,
    buckets: Vec<(u16, u64)>,
}

impl From<Slot> for SlotParts {
    fn from(slot: Slot) -> SlotParts {
        SlotParts {
            sum_ns: slot.sum_ns,
            buckets: slot.buckets().collect(),
        }
    }
}

impl TryFrom<SlotParts> for Slot {
    type Error = &'static str;

    fn try_from(parts: SlotParts) -> Result<Slot, &'static str> {
        Slot::from_parts(parts.sum_ns, parts.buckets).ok_or("no such bucket of latencies")
    }
}

/// Parts of an octave, as a power of two.
const PARTS: u32 = 6;

impl Slot {
    /// The inverse of [`Slot::sum_ns`] and [`Slot::buckets`]; `None` for a bucket out of range.
    pub fn from_parts(sum_ns: u64, buckets: impl IntoIterator<Item = (u16, u64)>) -> Option<Slot> {
        let buckets: BTreeMap<u16, u64> = buckets.into_iter().collect();
        let is_known = buckets.keys().all(|at| *at <= bucket(u64::MAX));
        let requests = buckets.values().try_fold(0u64, |n, m| n.checked_add(*m))?;
        is_known.then_some(Slot {
            requests,
            sum_ns,
            buckets,
        })
    }

    /// Adds a request.
    pub fn record_ns(&mut self, ns: u64) {
        self.requests = self.requests.saturating_add(1);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        *self.buckets.entry(bucket(ns)).or_default() += 1;
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Slot) {
        self.requests = self.requests.saturating_add(other.requests);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        for (at, count) in &other.buckets {
            let own = self.buckets.entry(*at).or_default();
            *own = own.saturating_add(*count);
        }
    }

    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The sum of their latencies.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Their mean; `None` without any.
    pub fn mean(&self) -> Option<Duration> {
        self.sum_ns
            .checked_div(self.requests)
            .map(Duration::from_nanos)
    }

    /// The number and the count of each bucket that holds any, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.buckets.iter().map(|(at, count)| (*at, *count))
    }

    /// Those that took longer than `limit` by a 64th or more, and some that took longer by less.
    pub fn above(&self, limit: Duration) -> u64 {
        let last = bucket(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        let longer = self.buckets.range(last + 1..);
        longer.fold(0u64, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The latency that a share `q` (0..=1) of them do not exceed; `None`
    /// without any.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let wanted = ((self.requests as f64 * q).ceil() as u64).max(1);
        let mut seen = 0u64;
        let at = self.buckets.iter().find_map(|(at, count)| {
            seen = seen.saturating_add(*count);
            (seen >= wanted).then_some(*at)
        })?;
        Some(Duration::from_nanos(highest(at)))
    }
}

/// Below 64 each value has a bucket; above, each octave has 64.
fn bucket(ns: u64) -> u16 {
    let shift = ns.checked_ilog2().unwrap_or(0).saturating_sub(PARTS);
    let part = ns >> shift;
    // At most 58 octaves of 64 above the first 128 values: it fits.
    ((u64::from(shift) << PARTS) + part) as u16
}

/// The highest value of a bucket.
fn highest(bucket: u16) -> u64 {
    let parts = 1u64 << PARTS;
    let bucket = u64::from(bucket);
    let shift = (bucket >> PARTS).saturating_sub(1).min(63);
    let part = bucket - shift * parts;
    ((u128::from(part) + 1) << shift)
        .saturating_sub(1)
        .min(u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn stepped() -> SteppedRate {
        let plan = StepPlan {
            low: LoadLevel::percent(20.0).unwrap(),
            high: LoadLevel::percent(90.0).unwrap(),
            before: 200 * MS,
            after: 120 * MS,
            steps: 2,
            slot: 50 * MS,
        };
        assert_eq!(plan.window(), 640 * MS);
        plan.offered(Rate::per_second(900.0).unwrap(), 100 * MS)
    }

    #[test]
    fn a_request_belongs_to_the_slot_that_it_was_intended_in() {
        let stepped = stepped();
        assert!((stepped.low.get() - 200.0).abs() < 1e-9);
        assert_eq!(stepped.slots_per_step(), 2);
        for (ms, slot) in [
            (0, None),
            (299, None),
            (300, Some((0, 0))),
            (349, Some((0, 0))),
            (350, Some((0, 1))),
            // The rest of 120 ms is no whole slot.
            (401, None),
            (619, None),
            (620, Some((1, 0))),
            (940, None),
            (1_000_000, None),
        ] {
            assert_eq!(stepped.slot_of(ms * MS), slot, "{ms} ms");
        }
    }

    #[test]
    fn quantiles_of_a_slot_are_exact_to_a_64th() {
        let mut slot = Slot::default();
        (1..=1000).for_each(|us| slot.record_ns(us * 1000));
        assert_eq!((slot.requests(), slot.sum_ns()), (1000, 500_500_000));
        for (q, us) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = slot.quantile(q).unwrap().as_secs_f64() * 1e6;
            assert!((us..us * (1.0 + 1.0 / 64.0)).contains(&found), "{found}");
        }
        assert_eq!(Slot::default().quantile(0.5), None);
        let above = slot.above(Duration::from_micros(900));
        assert!((86..=100).contains(&above), "{above}");
        assert_eq!(slot.above(Duration::MAX), 0);
    }

    #[test]
    fn every_value_lies_in_a_bucket_that_ends_at_or_above_it() {
        let powers = (0..64).map(|n| 1u64 << n);
        let values = powers.flat_map(|p| [p - 1, p, p.saturating_add(p / 3)]);
        for ns in values.chain([u64::MAX]) {
            let top = highest(bucket(ns));
            assert!(top >= ns && top - ns <= ns / 64, "{ns}: {top}");
            assert_eq!(bucket(top), bucket(ns), "{ns}");
        }
    }

    #[test]
    fn slots_are_merged_and_come_back_from_their_parts() {
        let mut one = Slot::default();
        one.record_ns(100);
        let mut both = one.clone();
        one.record_ns(1_000_000);
        both.merge(&one);
        assert_eq!((both.requests(), both.sum_ns()), (3, 1_000_200));
        let back = Slot::from_parts(both.sum_ns(), both.buckets());
        assert_eq!(back, Some(both));
        assert_eq!(Slot::from_parts(1, [(u16::MAX, 1)]), None);
        assert_eq!(Slot::from_parts(1, [(0, u64::MAX), (1, 1)]), None);
    }
}
