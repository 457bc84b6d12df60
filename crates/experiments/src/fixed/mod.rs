//! `plimsoll run`: one rate, one trial. What does the service answer at this load?

mod args;
mod charts;
mod document;
mod experiment;
mod judge;
mod phases;
mod plan;
mod runner;
mod shape;
mod study;
#[cfg(test)]
mod tests;

pub use args::FixedArgs;
pub use experiment::FixedRate;
pub use plan::FixedPlan;
pub use study::FixedFindings;
