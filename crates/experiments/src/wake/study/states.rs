//! What leaving an idle state takes, beside what the driver says. Pure.

use super::Cell;
use crate::wake::findings::StateFinding;
use plimsoll_model::{IdlePolicy, Wait};
use plimsoll_study::wake::Figure;
use std::time::Duration;

/// Of the sleeps of a CPU, so many in one state make its wake-ups those of the state.
const MOSTLY: f64 = 0.8;

pub(super) fn findings(cells: &[Cell<'_>]) -> Vec<StateFinding> {
    let as_is = cells.iter().filter(|cell| cell.policy == IdlePolicy::AsIs);
    let uses = as_is.flat_map(|cell| cell.valid().flat_map(|t| &t.outcome.states));
    let mut found: Vec<(&str, Duration, u64)> = Vec::new();
    for state in uses.filter(|state| !state.advertised_exit.is_zero()) {
        let known = found.iter_mut().find(|known| known.0 == state.name);
        match known {
            Some(known) => known.2 += state.entered,
            None => found.push((&state.name, state.advertised_exit, state.entered)),
        }
    }
    found.sort_by_key(|state| state.1);
    let of = |(name, advertised, entered): (&str, Duration, u64)| {
        let measured = measured(cells, name);
        StateFinding {
            name: name.to_owned(),
            advertised_exit_us: advertised.as_secs_f64() * 1e6,
            measured_exit_us: measured.as_ref().ok().map(Figure::estimate),
            absent: measured.err(),
            entered,
        }
    };
    found.into_iter().map(of).collect()
}

/// How much later the median wake-up is out of this state than on CPUs that are kept awake: the mean
/// over all kinds of wake-ups of which most sleeps were in this state.
fn measured(cells: &[Cell<'_>], state: &str) -> Result<Figure, String> {
    // A timer's interrupt has its own way out of the state, and its own cost.
    let woken = |cell: &&Cell<'_>| cell.wakes.wait != Wait::Timer;
    let asleep = cells.iter().filter(|c| c.policy == IdlePolicy::AsIs);
    let mostly: Vec<&Cell<'_>> = asleep
        .filter(woken)
        .filter(|cell| share_of_sleeps(cell, state).is_some_and(|share| share >= MOSTLY))
        .collect();
    if mostly.is_empty() {
        return Err("no kind of wake-up had most of its sleeps in this state".to_owned());
    }
    let awake = |cell: &Cell<'_>| {
        let mut all = cells.iter();
        all.find(|c| c.policy == IdlePolicy::AllAwake && c.wakes == cell.wakes)
    };
    let later = |cell: &Cell<'_>| {
        let both = [cell.p50()?, awake(cell)?.p50()?];
        Figure::from(&both, |v| v[0] - v[1])
    };
    let each: Vec<Figure> = mostly.into_iter().filter_map(later).collect();
    let each: Vec<&Figure> = each.iter().collect();
    let mean = Figure::from(&each, |v| v.iter().sum::<f64>() / v.len() as f64);
    mean.ok_or_else(|| "there is no valid trial with all CPUs kept awake".to_owned())
}

fn share_of_sleeps(cell: &Cell<'_>, state: &str) -> Option<f64> {
    let states = || cell.valid().flat_map(|t| &t.outcome.states);
    let all: u64 = states().map(|s| s.entered).sum();
    let own = states().filter(|s| s.name == state);
    let own: u64 = own.map(|s| s.entered).sum();
    (all > 0).then(|| own as f64 / all as f64)
}
