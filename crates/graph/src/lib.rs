//! Graphs of jobs: their shapes, the bounds of any schedule of them, and what a
//! scheduler sees of them.
//!
//! A [`JobGraph`] is data: nodes with weights, and edges from a job to those that
//! need its result. [`Jobs`] is the interface between a graph that is run and the
//! scheduler that runs it.
//!
//! This crate must not run anything: no threads, no clocks, no I/O. All randomness
//! follows from a seed.
//!
//! ```
//! use plimsoll_graph::JobGraph;
//!
//! // 0 -> {1, 2} -> 3, and job 2 takes three times as long as the others.
//! let diamond = JobGraph::new(&[1, 1, 3, 1], &[(0, 1), (0, 2), (1, 3), (2, 3)])?;
//! assert_eq!(diamond.successors(0), [1, 2]);
//! assert_eq!(diamond.predecessors(3), [1, 2]);
//! assert_eq!(diamond.level(3), 2);
//! # Ok::<(), plimsoll_graph::GraphError>(())
//! ```

mod bounds;
pub mod dot;
mod graph;
mod jobs;
mod patterns;
mod rules;
mod schedule;
mod shapes;
mod streams;
pub mod svg;

pub use bounds::{Bounds, ListSchedule};
pub use graph::{GraphError, JobGraph};
pub use jobs::{Jobs, Release};
pub use patterns::{Dependence, Pattern};
pub use rules::{Chance, Generated, Rule, RuleUse, Rules, RulesError};
pub use schedule::{Schedule, ScheduleError, Timing};
pub use shapes::{Preset, Shape, ShapeError};
