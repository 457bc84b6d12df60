//! The share of all requests that break a goal, over all valid trials up to a load.
//!
//! The boundary ([`crate::boundary`]) is where most trials stop keeping a goal. A service
//! that pauses, or is slow in one trial of ten, keeps it in most trials and yet breaks it
//! over time. More load makes no request faster, so the share of all requests up to a
//! load is at most the share at that load: where it exceeds the goal's, the goal is not
//! kept there.

use crate::bootstrap::{self, resample};
use crate::boundary::{Boundary, FAR};
use crate::evidence::{Evidence, Seen};
use plimsoll_model::{AllRequests, CapacityNote};

/// The trials at the load up to which most trials keep a goal, and below.
pub(crate) struct TrialsUpTo {
    rate: f64,
    /// From this rate on the load explains that a trial is far beyond what is allowed.
    explained_from: f64,
    trials: Vec<Evidence>,
}

impl TrialsUpTo {
    /// `None` where the goal is kept at no load.
    pub(crate) fn of(boundary: Boundary, evidence: &[Evidence]) -> Option<TrialsUpTo> {
        let (rate, explained_from) = match boundary {
            Boundary::Below(_) => return None,
            Boundary::Above(rate) => (rate, f64::INFINITY),
            Boundary::Gap { low, .. } => (low.rate, f64::INFINITY),
            Boundary::Line { rate, slope } => (rate.value, rate.value * (-FAR.ln() / slope).exp()),
        };
        let is_below = |e: &&Evidence| e.rate <= rate * (1.0 + 1e-9);
        Some(TrialsUpTo {
            rate,
            explained_from,
            trials: evidence.iter().filter(is_below).copied().collect(),
        })
    }

    /// What their requests show together of a goal that allows `allowed` of them to miss
    /// it; `None` for a goal that is not about requests.
    pub(crate) fn all_requests(&self, allowed: f64) -> Option<AllRequests> {
        Some(AllRequests {
            rate_rps: self.rate,
            missed_pct: 100.0 * share_of(self.counts().into_iter())?,
            missed: self.trials.iter().filter(|e| e.share() > allowed).count(),
            of: self.trials.len(),
            seconds: self.trials.iter().map(|e| e.seconds).sum(),
        })
    }

    /// Why the goal is not kept at that load although most trials keep it; `None` where
    /// nothing says so.
    pub(crate) fn against(&self, allowed: f64, seed: u64) -> Option<CapacityNote> {
        let counts = self.counts();
        let share = share_of(counts.iter().copied())?;
        let is_far = |e: &Evidence| e.share() > (allowed * FAR).min(0.5);
        let is_unexplained = |e: &Evidence| is_far(e) && e.rate < self.explained_from;
        if share <= allowed && !self.trials.iter().any(is_unexplained) {
            return None;
        }
        let resampled = resample(counts.len(), seed, |draw| {
            share_of(draw.iter().map(|i| counts[*i]))
        });
        let at_most = bootstrap::estimate(share, resampled, counts.len()).high;
        let at_most = at_most.unwrap_or(1.0).max(share);
        (at_most > allowed).then_some(CapacityNote::MissedOverall {
            allowed_pct: 100.0 * allowed,
            at_most_pct: 100.0 * at_most,
            seen: self.all_requests(allowed)?,
        })
    }

    /// Requests that miss the goal, of how many, by trial.
    fn counts(&self) -> Vec<(f64, f64)> {
        self.trials.iter().filter_map(count).collect()
    }
}

fn count(evidence: &Evidence) -> Option<(f64, f64)> {
    match evidence.seen {
        Seen::Counted { over, of, .. } => Some((over, of)),
        Seen::Measured(_) | Seen::Nothing => None,
    }
}

fn share_of(counts: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (over, of) = counts.fold((0.0, 0.0), |sum, (over, of)| (sum.0 + over, sum.1 + of));
    (of > 0.0).then(|| over / of)
}

#[cfg(test)]
mod tests {
    use super::*;

    const P99: f64 = 0.01;

    fn trial(rate: f64, share: f64) -> Evidence {
        Evidence {
            rate,
            seconds: 5.0,
            carried: true,
            seen: Seen::Counted {
                over: share * 10_000.0,
                of: 10_000.0,
                thinning: 1.0,
                independent: 10_000.0,
            },
        }
    }

    fn up_to(rate: f64, trials: &[Evidence]) -> TrialsUpTo {
        TrialsUpTo::of(Boundary::Above(rate), trials).unwrap()
    }

    #[test]
    fn a_pause_in_few_trials_is_weighed_over_all_requests() {
        let paused = |n: usize, share: f64| {
            let mut trials = vec![trial(1000.0, 0.001); n - 1];
            trials.push(trial(500.0, share));
            // Beyond the load in question nothing counts.
            trials.push(trial(1100.0, 0.9));
            up_to(1000.0, &trials).against(P99, 1)
        };
        let seen = |note| match note {
            Some(CapacityNote::MissedOverall {
                at_most_pct, seen, ..
            }) => (
                seen.missed_pct > 1.0,
                at_most_pct > 1.0,
                seen.missed,
                seen.of,
            ),
            other => panic!("{other:?}"),
        };
        assert_eq!(seen(paused(20, 0.4)), (true, true, 1, 20), "2.1 % of all");
        assert_eq!(
            seen(paused(100, 0.4)),
            (false, true, 1, 100),
            "0.5 %, and perhaps more"
        );
        assert_eq!(paused(20, 0.02), None, "as much as one trial may by chance");
    }

    #[test]
    fn trials_near_a_line_may_miss_the_goal() {
        let mut trials = vec![trial(900.0, 0.002); 30];
        trials.push(trial(995.0, 0.12));
        let rate = plimsoll_model::Estimate::alone(1000.0);
        let up_to = TrialsUpTo::of(Boundary::Line { rate, slope: 20.0 }, &trials).unwrap();
        assert_eq!(up_to.against(P99, 1), None);
        let seen = up_to.all_requests(P99).unwrap();
        assert_eq!((seen.missed, seen.of, seen.seconds), (1, 31, 155.0));
        assert!((seen.visible_every_s() - 155.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn what_was_not_answered_is_among_all_requests() {
        let mut trials = vec![trial(1000.0, 0.0); 9];
        let stopped = trial(900.0, 0.6);
        trials.push(Evidence {
            carried: false,
            ..stopped
        });
        let seen = up_to(1000.0, &trials).all_requests(P99).unwrap();
        assert!(
            (seen.missed_pct - 6.0).abs() < 1e-9 && seen.missed == 1,
            "{seen:?}"
        );
    }

    #[test]
    fn cpu_use_is_no_share_of_requests() {
        let seen = Seen::Measured(0.9);
        let trials = [Evidence {
            seen,
            ..trial(1.0, 0.0)
        }];
        assert_eq!(up_to(1.0, &trials).all_requests(0.8), None);
        assert_eq!(up_to(1.0, &trials).against(0.8, 1), None);
    }
}
