//! `plimsoll burst`: what does a server burn while it has nothing to do?
//!
//! A trial is one cycle of a pattern of bursts and breaks on one target. The CPU time of the service
//! is read every few milliseconds. `plan` decides the trials, `sampler` reads the time line beside
//! the load, `study` concludes.

mod args;
mod charts;
mod document;
#[cfg(test)]
mod doubt_tests;
mod experiment;
mod findings;
mod late;
mod others;
mod outcome;
mod pattern;
mod plan;
mod prepare;
mod runner;
mod sampler;
mod server;
mod spreadsheet;
mod study;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;

pub use args::BurstArgs;
pub use experiment::Burst;
pub use findings::BurstFindings;
pub use plan::BurstPlan;
