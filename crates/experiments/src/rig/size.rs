//! How much memory a graph takes, before it is built.

use super::plan::GraphPlan;
use plimsoll_engine::RunError;
use plimsoll_graph::Shape;
use plimsoll_model::{Bytes, human_duration};
use std::time::Duration;

/// The size of a graph that is built by rules, before it is built.
pub(super) struct GraphSize {
    jobs: u64,
    bytes: u64,
}

impl GraphSize {
    /// What a trial takes at most, by its peak resident memory: 347 MB for 1,000,000 jobs
    /// without edges on a schedule (`rig break --graph isolated:nodes=1000000`). An edge
    /// is twice in the graph and once in what a plug-in gets.
    const BYTES_PER_JOB: u64 = 350;
    const BYTES_PER_EDGE: u64 = 20;

    /// Graphs of more jobs are worth a note.
    const LARGE: u64 = 500_000;

    pub(super) fn of(graph: &GraphPlan) -> GraphSize {
        let shape = graph.name.parse::<Shape>().ok();
        // The size of a file is bounded.
        let (jobs, edges) = match shape.filter(|_| graph.dot.is_none()) {
            Some(shape) => (shape.nodes(), shape.edges_at_most()),
            None => (0, 0),
        };
        let bytes = jobs.saturating_mul(Self::BYTES_PER_JOB);
        GraphSize {
            jobs,
            bytes: bytes.saturating_add(edges.saturating_mul(Self::BYTES_PER_EDGE)),
        }
    }

    pub(super) fn refuse_too_large(&self, name: &str, free: Option<Bytes>) -> Result<(), RunError> {
        match free {
            Some(free) if self.bytes > free.0 => Err(RunError::Usage(format!(
                "--graph {name}: a trial of {} jobs needs about {} of memory, and {free} are free; take fewer nodes",
                self.jobs,
                Bytes(self.bytes)
            ))),
            _ => Ok(()),
        }
    }

    pub(super) fn note(&self, name: &str, built_in: Duration) -> Option<String> {
        (self.jobs > Self::LARGE).then(|| {
            format!(
                "{name} has {} jobs: each trial takes about {} of memory, and {} to build the graph before it starts",
                self.jobs,
                Bytes(self.bytes),
                human_duration(built_in)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_that_does_not_fit_is_refused_with_what_it_needs() {
        let of = |name: &str| {
            GraphSize::of(&GraphPlan {
                name: name.to_owned(),
                dot: None,
            })
        };
        let size = of("isolated:nodes=10000000");
        assert_eq!((size.jobs, size.bytes), (10_000_000, 3_500_000_000));
        let refused = size.refuse_too_large("isolated", Some(Bytes(1 << 30)));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "--graph isolated: a trial of 10000000 jobs needs about 3.3 GiB of memory, and 1.0 GiB are free; take fewer nodes"
        );
        assert!(size.refuse_too_large("x", Some(Bytes(4 << 30))).is_ok());
        assert!(size.refuse_too_large("x", None).is_ok());
        assert!(size.note("x", Duration::from_secs(9)).is_some());
        assert_eq!(of("load-bursts").note("x", Duration::ZERO), None);
    }
}
