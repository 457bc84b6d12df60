//! Plimsoll's sweep, with the plan that its command would make.

use crate::simulated;
use crate::testbed::{Answer, Case};
use plimsoll_experiments::sweep::Request;
use plimsoll_model::{LoadLevel, Phase, Plan, Trial};

/// How much of a sweep is made before the search.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope {
    /// All graduated levels twice: the curves are wanted too.
    Whole,
    /// 50, 75 and 100 % once: only the capacity is wanted.
    FewLevels,
}

/// The answer, with the time of all trials and with that of the search and
/// the confirmation alone.
pub(crate) struct Found {
    pub(crate) whole: Answer,
    pub(crate) search: Answer,
}

fn plan(case: &Case, scope: Scope, precision: f64, seed: u64) -> Plan {
    let levels = match scope {
        Scope::Whole => None,
        Scope::FewLevels => Some(
            [50.0, 75.0, 100.0]
                .into_iter()
                .filter_map(LoadLevel::percent)
                .collect(),
        ),
    };
    Request {
        trials: levels.is_some().then_some(1),
        levels,
        ..case.request(precision, seed)
    }
    .plan()
}

pub(crate) fn sweep(case: &Case, scope: Scope, precision: f64, seed: u64) -> Found {
    let plan = plan(case, scope, precision, seed);
    // A planner that cannot go on has found nothing.
    let trials = simulated::trials(&case.machine(seed), &plan).unwrap_or_default();
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
    Found {
        whole: answer(trials.iter().map(|t| t.took).sum()),
        search: answer(trials.iter().filter(is_search).map(|t| t.took).sum()),
    }
}
