//! Plimsoll's sweep, with the plan that its command would make.

use crate::simulated;
use crate::testbed::{Answer, Case};
use plimsoll_model::{Phase, Trial};

/// The answer with the time of all trials, and with that of the search and the
/// confirmation alone.
pub(crate) fn sweep(case: &Case, flags: &str, seed: u64) -> (Answer, Answer) {
    let plan = simulated::plan(&format!("{} {flags}", case.flags(seed)));
    // A planner that cannot continue has found nothing.
    let trials = simulated::sweep(&case.machine(seed), &plan, Vec::new()).unwrap_or_default();
    let found = plimsoll_study::findings(&plan, &trials)
        .capacity
        .first()
        .and_then(|finding| finding.rate_rps);
    let is_search = |t: &&Trial| matches!(t.spec.phase, Phase::Search | Phase::Confirmation);
    let answer = |took| Answer {
        rate: found.map(|rate| rate.value),
        interval: found.and_then(|rate| rate.interval()),
        took,
    };
    (
        answer(trials.iter().map(|t| t.took).sum()),
        answer(trials.iter().filter(is_search).map(|t| t.took).sum()),
    )
}
