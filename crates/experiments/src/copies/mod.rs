//! `plimsoll copies`: how long do copies of a command take that run at
//! once, on 1 to N CPUs?
//!
//! [`plan()`] makes the plan, [`CopiesPlanner`] says which trial is next, and
//! [`CopiesRunner`] carries it out.

mod args;
mod experiment;
mod plan;
mod run;
#[cfg(test)]
mod tests;

pub use args::CopiesArgs;
pub use experiment::CopiesOfCommand;
pub use plan::{CopiesPlanner, CopiesRequest, plan};
pub use run::CopiesRunner;
