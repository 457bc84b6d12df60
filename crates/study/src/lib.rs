//! From trials to findings: statistics and models.
//!
//! Everything here is a pure function of a plan and the trials that were
//! made: no I/O, no clock, no randomness without a seed. So findings can be
//! made again years later on another machine, and tested on trials that no
//! machine ever ran. This room must not know how a trial was measured nor how
//! a finding is shown; of Plimsoll's crates it depends on `model` alone.
//!
//! ```
//! use plimsoll_study::isotonic;
//!
//! // A dip is pooled with its neighbour: load cannot make latency better.
//! let fitted = isotonic::fit(&[(1.0, 1.0), (3.0, 1.0), (2.0, 1.0)]);
//! assert_eq!(fitted, [1.0, 2.5, 2.5]);
//! ```

pub mod capacity;
pub mod carried;
pub mod copies;
pub mod headroom;
pub mod isotonic;
pub mod levels;
pub mod rated;
pub mod steady;

use plimsoll_model::{Findings, Phase, Plan, Trial};

/// All that can be concluded from the trials of a run so far.
pub fn findings(plan: &Plan, trials: &[Trial]) -> Findings {
    let rated = rated::rated(plan, trials);
    let levels = levels::levels(plan, trials, rated.as_ref());
    let light_load = capacity::light_load(&levels);
    let capacity = plan
        .goals
        .iter()
        .filter(|_| plan.copies.is_empty())
        .map(|goal| capacity::capacity(goal, &levels, light_load.as_ref()))
        .collect();
    let headroom = headroom::headroom(&levels, rated.as_ref());
    Findings {
        idle_cpu_pct: idle_cpu_pct(plan, trials),
        light_load: light_load.map(|l| l.finding),
        headroom,
        copies: copies::copies(trials),
        rated,
        levels: levels.into_iter().map(|l| l.row).collect(),
        capacity,
    }
}

fn idle_cpu_pct(plan: &Plan, trials: &[Trial]) -> Option<f64> {
    let idle = trials
        .iter()
        .rfind(|t| t.spec.phase == Phase::Idle && t.verdict.is_valid())
        .or_else(|| trials.iter().rfind(|t| t.spec.phase == Phase::Idle))?;
    levels::cpu_share(plan, idle).map(|share| share.pct())
}

#[cfg(test)]
mod testing;
