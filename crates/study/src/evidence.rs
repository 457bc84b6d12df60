//! The evidence of single trials about a goal.

use crate::carried::trial_is_carried;
use crate::decide::{Decision, decide, needed, thinning};
use crate::levels::cpu_share;
use plimsoll_model::{Goal, Plan, Setting, Trial, Work, Workload, sort_by_number};
use std::time::Duration;

/// The evidence of one trial about one goal at its rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The offered rate, per second.
    pub rate: f64,
    pub seconds: f64,
    /// Whether the service kept up with the rate. If not, the trial meets no goal, and
    /// what was seen depends on its length.
    pub carried: bool,
    pub seen: Seen,
}

/// The observation of the quantity that a goal bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    Counted {
        over: f64,
        of: f64,
        /// Number of successive requests at the bound that are worth one independent
        /// request.
        thinning: f64,
        /// Effective number of independent requests at the measured latency: below the
        /// bound queues are shorter, so fewer requests share one.
        independent: f64,
    },
    /// The quantity itself, as a share.
    Measured(f64),
    /// Nothing, in a trial that was not carried.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// At most `share` of the requests take longer than `limit_s` or fail.
    Latency {
        limit_s: f64,
        /// Share of requests, 0 to 1.
        share: f64,
    },
    /// At most this share of the requests fails.
    Errors(f64),
    /// The CPU use is at most this share.
    Cpu(f64),
}

impl Bound {
    /// The bound of `goal`; `limit_s` is the resolved latency limit.
    pub fn of(goal: &Goal, limit_s: f64) -> Bound {
        match *goal {
            Goal::Latency { quantile, .. } => Bound::Latency {
                limit_s,
                share: 1.0 - quantile.fraction(),
            },
            Goal::Errors { limit } => Bound::Errors(limit.get()),
            Goal::Cpu { limit } => Bound::Cpu(limit.get()),
        }
    }

    /// The share that may not be exceeded.
    pub fn share(&self) -> f64 {
        match *self {
            Bound::Latency { share, .. } | Bound::Errors(share) | Bound::Cpu(share) => share,
        }
    }

    /// The latency that it allows, if it is about latency.
    pub fn limit(&self) -> Option<Duration> {
        match *self {
            Bound::Latency { limit_s, .. } => Some(Duration::from_secs_f64(limit_s)),
            Bound::Errors(_) | Bound::Cpu(_) => None,
        }
    }

    /// Whether a valid trial met the bound, over all of its requests; `None` where they
    /// are too few to show it.
    pub fn is_kept(&self, plan: &Plan, trial: &Trial) -> Option<bool> {
        let evidence = self.evidence(plan, trial)?;
        let is_kept = evidence.share() <= self.share();
        match evidence.seen {
            Seen::Counted { over, of, .. } if of < needed(self.share()) => {
                (decide(over, of, self.share()) == Decision::Fails).then_some(false)
            }
            _ => Some(is_kept),
        }
    }

    /// Whether a trial missed the bound for the reason alone that the service fell
    /// behind the offered rate.
    pub(crate) fn is_missed_by_throughput(&self, plan: &Plan, trial: &Trial) -> bool {
        let answered = match *self {
            // Of those that were not answered the end of the trial cut the latency.
            Bound::Latency { limit_s, .. } => {
                Some(too_late(&trial.work, limit_s) as f64 / trial.work.intended as f64)
            }
            _ => self.observe(plan, trial).map(|seen| seen.share()),
        };
        !trial_is_carried(trial) && answered.is_none_or(|share| share <= self.share())
    }

    /// The evidence of a trial; `None` if it is invalid, offered no rate, or did not
    /// measure the bounded quantity.
    pub fn evidence(&self, plan: &Plan, trial: &Trial) -> Option<Evidence> {
        if !trial.verdict.is_valid() || trial.work.intended == 0 {
            return None;
        }
        let Setting::Offer { rate, .. } = trial.spec.setting else {
            return None;
        };
        let carried = trial_is_carried(trial);
        let seen = self.observe(plan, trial);
        Some(Evidence {
            rate: rate.get(),
            seconds: trial.window.as_secs_f64(),
            carried,
            seen: match carried {
                true => seen?,
                false => seen.unwrap_or(Seen::Nothing),
            },
        })
    }

    /// The bounded quantity of a trial, whether the service kept up or not.
    fn observe(&self, plan: &Plan, trial: &Trial) -> Option<Seen> {
        Some(match *self {
            Bound::Latency { limit_s, .. } => {
                let rate = trial.asked().get();
                let (work, latency) = (&trial.work, &trial.work.latency);
                let unanswered = work.errors.total() + work.unfinished;
                let over = too_late(work, limit_s).max(unanswered) as f64;
                let of = (latency.count() + failed_at_once(work)) as f64;
                let there_was = latency.quantile(1.0 - self.share())?.as_secs_f64();
                Seen::Counted {
                    over,
                    of,
                    thinning: thinning(rate, limit_s),
                    independent: of / thinning(rate, limit_s.min(there_was)),
                }
            }
            Bound::Errors(_) if matches!(plan.workload, Workload::Imported(_)) => return None,
            // What has no answer by then has failed.
            Bound::Errors(_) => Seen::Counted {
                over: (trial.work.errors.total() + trial.work.unfinished) as f64,
                of: trial.work.intended as f64,
                thinning: 1.0,
                independent: trial.work.intended as f64,
            },
            Bound::Cpu(_) => Seen::Measured(cpu_share(&plan.run.cpus, trial)?.get()),
        })
    }
}

/// Requests that failed or took longer than `limit_s`. Time-outs and unfinished
/// requests are in the histogram with the time that they waited, which may be below it.
fn too_late(work: &Work, limit_s: f64) -> u64 {
    let above = work.latency.above(Duration::from_secs_f64(limit_s));
    (above + failed_at_once(work)).max(work.errors.total())
}

/// Failed requests that are not in the histogram.
fn failed_at_once(work: &Work) -> u64 {
    work.errors.total() - work.errors.timeout
}

impl Seen {
    /// As a share, 0 to 1.
    fn share(&self) -> f64 {
        match *self {
            Seen::Counted { over, of, .. } if of > 0.0 => over / of,
            Seen::Counted { .. } | Seen::Nothing => 0.0,
            Seen::Measured(share) => share,
        }
    }
}

impl Evidence {
    /// The seen quantity as a share, 0 to 1; infinite when the rate was not carried,
    /// which meets no goal.
    pub fn share(&self) -> f64 {
        match self.carried {
            true => self.seen.share(),
            false => f64::INFINITY,
        }
    }

    /// The evidence at each load, ascending.
    pub(crate) fn by_load(evidence: &[Evidence]) -> Vec<Vec<&Evidence>> {
        let mut sorted: Vec<&Evidence> = evidence.iter().collect();
        sort_by_number(&mut sorted, |one| one.rate);
        let loads = sorted.chunk_by(|a, b| a.rate.total_cmp(&b.rate).is_eq());
        loads.map(<[_]>::to_vec).collect()
    }
}
