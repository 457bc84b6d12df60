//! What a run proves about the scheduler: values that only the right order gives.
//!
//! The value of a job is a hash of its own number and of the values of its
//! predecessors, in order. Two jobs have different values, also where their places in
//! the graph are alike, so that one run in place of another shows.

use plimsoll_graph::JobGraph;
use std::fmt;

/// A job that has not ended.
pub(crate) const NOT_RUN: u64 = 0;

/// The value of a job that started before a predecessor had ended.
pub(crate) const EARLY: u64 = 1;

/// How many violations are kept.
const KEPT: usize = 16;

/// What a run proved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proof {
    pub nodes_checked: u64,
    /// The first few violations: those seen while it ran, then those found after it,
    /// by job.
    pub violations: Vec<Violation>,
    /// How many there are.
    pub violated: u64,
}

/// How a scheduler broke its contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    Lost {
        job: u32,
    },
    RanTwice {
        job: u32,
    },
    /// Started before a predecessor had ended.
    Early {
        job: u32,
    },
    /// Started before the earliest start that it was given.
    BeforeStart {
        job: u32,
    },
    /// Its value does not follow from those of its predecessors: it did not see what
    /// they had written, or something wrote over it.
    WrongValue {
        job: u32,
    },
    /// Not in the graph.
    NoSuchJob {
        job: u32,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Lost { job } => write!(f, "job {job} did not run"),
            Violation::RanTwice { job } => write!(f, "job {job} ran twice"),
            Violation::Early { job } => {
                write!(f, "job {job} started before a predecessor had ended")
            }
            Violation::BeforeStart { job } => write!(f, "job {job} ran before its start"),
            Violation::WrongValue { job } => {
                write!(f, "job {job} did not see the results of its predecessors")
            }
            Violation::NoSuchJob { job } => write!(f, "it ran job {job}, which does not exist"),
        }
    }
}

impl fmt::Display for Proof {
    /// The first violation and how many more there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.violations.first(), self.violated) {
            (None, _) => write!(f, "{} jobs ran once and in order", self.nodes_checked),
            (Some(first), 1) => write!(f, "{first}"),
            (Some(first), all) => write!(f, "{first} (and {} more violations)", all - 1),
        }
    }
}

impl Proof {
    pub(crate) fn add(&mut self, violation: Violation) {
        self.violated += 1;
        if self.violations.len() < KEPT {
            self.violations.push(violation);
        }
    }

    /// Adds what the values of all jobs show, given what they should be.
    pub(crate) fn check(&mut self, graph: &JobGraph, values: &[u64], reference: &[u64]) {
        self.nodes_checked += values.len() as u64;
        if values == reference {
            return;
        }
        for job in graph.nodes() {
            // By the values that its predecessors have, so that a wrong one is
            // reported where it arose and not at all that follow from it.
            let follows = || value(job, graph.predecessors(job), |p| values[p as usize]);
            match values[job as usize] {
                NOT_RUN => self.add(Violation::Lost { job }),
                EARLY => self.add(Violation::Early { job }),
                found if found != reference[job as usize] && Some(found) != follows() => {
                    self.add(Violation::WrongValue { job });
                }
                _ => {}
            }
        }
    }
}

/// The values of a run in order.
pub(crate) fn reference(graph: &JobGraph) -> Vec<u64> {
    let mut values: Vec<u64> = Vec::with_capacity(graph.count() as usize);
    for job in graph.nodes() {
        let of_job = value(job, graph.predecessors(job), |p| values[p as usize]);
        values.push(of_job.unwrap_or(EARLY));
    }
    values
}

/// The value of `job`, at least 2; `None` if a predecessor has none.
///
/// Multiplication by an odd constant and xor of a shift are both invertible: two
/// different values of one predecessor never give the same result. Different jobs
/// collide with a probability of about 2^-64.
#[inline]
pub(crate) fn value(job: u32, predecessors: &[u32], of: impl Fn(u32) -> u64) -> Option<u64> {
    // 2^64 divided by the golden ratio, made odd.
    let mut hash = (u64::from(job) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for &predecessor in predecessors {
        let theirs = of(predecessor);
        if theirs == NOT_RUN {
            return None;
        }
        hash = (hash ^ theirs).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        hash ^= hash >> 32;
    }
    Some(hash.max(EARLY + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_chains() -> JobGraph {
        JobGraph::new(&[1; 5], &[(0, 1), (0, 2), (1, 3), (2, 4)]).unwrap()
    }

    #[test]
    fn alike_places_have_different_values() {
        let mut values = reference(&two_chains());
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), 5);
        assert!(values[0] > EARLY);
    }

    #[test]
    fn order_of_predecessors_matters() {
        let of = |p| 1000 + u64::from(p);
        assert_ne!(value(9, &[1, 2], of), value(9, &[2, 1], of));
        assert_eq!(value(9, &[1], |_| NOT_RUN), None);
    }

    #[test]
    fn a_wrong_value_is_reported_where_it_arose() {
        let graph = two_chains();
        let reference = reference(&graph);
        let mut values = reference.clone();
        // As if job 1 had not seen what job 0 wrote, and job 3 had used its value.
        values[1] ^= 0x10;
        values[3] = value(3, &[1], |p| values[p as usize]).unwrap();
        let mut proof = Proof::default();
        proof.check(&graph, &values, &reference);
        assert_eq!(proof.violations, [Violation::WrongValue { job: 1 }]);
        assert_eq!(proof.nodes_checked, 5);
    }

    #[test]
    fn violations_are_counted_beyond_those_kept() {
        let graph = JobGraph::new(&[1; 100], &[]).unwrap();
        let mut proof = Proof::default();
        proof.check(&graph, &[NOT_RUN; 100], &reference(&graph));
        assert_eq!((proof.violated, proof.violations.len()), (100, KEPT));
        let shown = proof.to_string();
        assert_eq!(shown, "job 0 did not run (and 99 more violations)");
    }
}
