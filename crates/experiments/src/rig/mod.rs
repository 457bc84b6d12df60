//! `plimsoll rig`: where does a task scheduler break?
//!
//! Each scheduler under test runs graphs of jobs whose work is calibrated, and every
//! run is proved: each job ran once, after its predecessors. `planner` decides the
//! trials, `runner` carries them out, `study` concludes.

mod args;
mod charts;
mod document;
mod experiment;
mod figures;
mod files;
mod findings;
mod graphs;
mod outcome;
mod plan;
mod planner;
mod prepare;
mod runner;
mod runs;
mod search;
mod size;
mod spreadsheet;
mod study;
mod tables;
#[cfg(test)]
mod tests;
mod waiting;

pub use args::RigArgs;
pub use experiment::Rig;
pub use findings::RigFindings;
pub use outcome::Part;
pub use plan::{GraphPlan, RigPlan};
pub use runner::serve_scheduler;
pub use waiting::{GapPattern, WaitFigures, WaitPlan};
