//! `plimsoll versus`: two services in turn. What does a request cost on one, and on the other?
//!
//! What makes a machine faster and slower for minutes changes both, and cancels out in the
//! ratios of trials that follow each other.

mod args;
mod charts;
mod document;
mod doubts;
mod experiment;
mod findings;
mod judge;
mod moved;
mod plan;
mod prepare;
mod runner;
mod sentences;
mod study;
#[cfg(test)]
mod tests;

pub use args::VersusArgs;
pub use experiment::Versus;
pub use findings::VersusFindings;
pub use plan::VersusPlan;
