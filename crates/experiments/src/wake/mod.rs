//! `plimsoll wake`: what does it cost that CPUs sleep, and what does it cost to keep them awake?
//!
//! A thread sleeps and is woken at intended times. How late it runs is measured under each policy:
//! CPUs sleep as they do, all are kept awake, or those alone whose threads are woken; and beside it
//! what the policy burns. `plan` decides the trials, `policy` keeps CPUs awake, `runner` measures,
//! `study` concludes.

mod args;
mod charts;
mod document;
mod experiment;
mod findings;
mod outcome;
mod plan;
mod policy;
mod prepare;
mod program;
mod record;
mod runner;
mod study;
mod tables;
#[cfg(test)]
mod tests;

pub use args::WakeArgs;
pub use experiment::Wake;
pub use findings::WakeFindings;
pub use plan::WakePlan;
