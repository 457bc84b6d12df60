//! Whether the service alone keeps up with the load after a step: else what its
//! latency comes back to is no level, but a queue that grows.

use super::decide::{CHANCE, FEWEST_PASSES, tail};
use super::{average, mean_latency};
use crate::carried::is_carried;
use crate::yields::Seen;
use plimsoll_model::{Arm, KeptUp, Slot};

/// A queue that grows evenly from nothing has mean latencies of 1, 3 and 5 in the
/// thirds of what is watched, and one that does not grow has equal ones. Between
/// the last two thirds this is the middle of both, in logarithms: the root of 5/3.
const GROWS: f64 = 1.29;

/// `None` where fewer passes count than tell anything from chance.
pub(super) fn of(seen: &Seen<'_>) -> Option<KeptUp> {
    let alone = || seen.valid(Arm::ServiceAlone);
    let passes: Vec<&Vec<Vec<Slot>>> = alone().map(|trial| &trial.work.steps).collect();
    if passes.len() < FEWEST_PASSES {
        return None;
    }
    let sum = |of: fn(&plimsoll_model::Work) -> u64| alone().map(|t| of(&t.work)).sum::<u64>();
    let (intended, completed) = (sum(|w| w.intended), sum(|w| w.completed));
    Some(match (is_carried(intended, completed), grows(&passes)) {
        (false, _) => KeptUp::FellBehind,
        (true, true) => KeptUp::KeptGrowing,
        (true, false) => KeptUp::KeptUp,
    })
}

/// Whether latency rises from each third of what is watched to the next, in more
/// passes than chance would have it, and by as much as a growing queue makes it.
fn grows(passes: &[&Vec<Vec<Slot>>]) -> bool {
    let rises: Vec<[f64; 2]> = passes.iter().filter_map(|steps| rise(steps)).collect();
    let both = [0, 1].map(|which| {
        let up = rises.iter().filter(|rise| rise[which] > 0.0).count();
        rises.len() >= FEWEST_PASSES && tail(rises.len(), up) <= CHANCE
    });
    let last = average(rises.iter().map(|rise| rise[1]));
    both == [true, true] && last.is_some_and(|last| last > GROWS.ln())
}

/// The logarithms of how much longer requests take in each third than in the one
/// before, on average over the steps of a pass.
fn rise(steps: &[Vec<Slot>]) -> Option<[f64; 2]> {
    let each: Vec<[f64; 2]> = steps
        .iter()
        .filter_map(|slots| rise_of_step(slots))
        .collect();
    let of = |which: usize| average(each.iter().map(|rise| rise[which]));
    Some([of(0)?, of(1)?])
}

fn rise_of_step(slots: &[Slot]) -> Option<[f64; 2]> {
    let third = slots.len().div_ceil(3).max(1);
    let mut thirds = slots.chunks(third).map(mean_latency);
    let [first, middle, last] = [thirds.next()??, thirds.next()??, thirds.next()??];
    Some([(middle / first).ln(), (last / middle).ln()])
}
