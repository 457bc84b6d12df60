//! `plimsoll copies`: how long do copies of a command take that run at
//! once, on 1 to N CPUs?
//!
//! [`plan()`] makes the plan, [`planner`] says which trial is next, and
//! [`CopiesRunner`] carries it out.

mod args;
mod experiment;
mod plan;
mod run;
#[cfg(test)]
mod tests;

pub use args::CopiesArgs;
pub use experiment::CopiesOfCommand;
pub use plan::{CopiesRequest, plan, planner};
pub use run::CopiesRunner;
