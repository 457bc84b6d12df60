//! What the rules are proved to cost at most, and what they cost.

use crate::arrivals::{Costs, PERIOD, WAKEUP, arrivals, sampled_costs, true_costs};
use plimsoll_law::HoldRule::{self, BreakEven, LastRan, Rent};
use proptest::prelude::*;

/// Sums of many steps of 0.02 s.
const ROUNDING: f64 = 1e-6;

fn keeps_the_bound(costs: &Costs) -> bool {
    costs.burn <= costs.hindsight + ROUNDING && costs.cost() <= 2.0 * costs.hindsight + ROUNDING
}

fn mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = ratios.collect();
    all.iter().sum::<f64>() / all.len() as f64
}

fn mean_ratio(rule: HoldRule, costs: fn(HoldRule, &[f64], std::time::Duration) -> Costs) -> f64 {
    mean((0..100).map(|seed| costs(rule, &arrivals(seed), PERIOD).ratio()))
}

#[test]
fn cost_is_at_most_twice_hindsight_and_burn_at_most_hindsight() {
    for seed in 0..100 {
        let arrivals = arrivals(seed);
        for rule in [Rent, BreakEven] {
            let costs = sampled_costs(rule, &arrivals, PERIOD);
            assert!(keeps_the_bound(&costs), "seed {seed}, {rule:?}: {costs:?}");
        }
    }
}

#[test]
fn learnt_hold_costs_at_most_1_3_times_hindsight_on_average() {
    let ratio = |rule| mean_ratio(rule, sampled_costs);
    assert!(ratio(Rent) <= 1.3, "{}", ratio(Rent));
    assert!(ratio(BreakEven) < ratio(LastRan));
}

/// Hindsight that acts at any instant is out of reach for a sampler: there is no bound
/// here, only an order.
#[test]
fn rules_keep_their_order_in_true_time() {
    let ratio = |rule| mean_ratio(rule, true_costs);
    let ratios = [Rent, BreakEven, LastRan].map(ratio);
    assert!(ratios.is_sorted(), "{ratios:?}");
}

/// A hold that is never shortened pays twice the hindsight for each long gap, so the
/// bound is reached: the tests above can fail.
#[test]
fn plain_rule_reaches_its_bound() {
    let sparse: Vec<f64> = (1..200).map(f64::from).collect();
    let plain = sampled_costs(BreakEven, &sparse, PERIOD).ratio();
    assert!((1.98..=2.0).contains(&plain), "{plain}");
    assert!(sampled_costs(Rent, &sparse, PERIOD).ratio() < 1.45);
}

proptest! {
    /// Also for gaps chosen against the learnt hold: regular for a while, then not.
    #[test]
    fn no_sequence_of_gaps_breaks_the_bound(
        runs in prop::collection::vec((1u32..40, 1usize..25), 1..20)
    ) {
        let mut at = 0.0;
        let mut arrivals = Vec::new();
        for (periods, repeats) in runs {
            for _ in 0..repeats {
                at += f64::from(periods) * PERIOD.as_secs_f64();
                arrivals.push(at - 1e-9);
            }
        }
        for rule in [Rent, BreakEven] {
            let costs = sampled_costs(rule, &arrivals, PERIOD);
            prop_assert!(keeps_the_bound(&costs), "{:?}: {:?} {:?}", rule, costs, WAKEUP);
        }
    }
}
