//! `plimsoll sweep --copies`: how long do copies of a command take that run at
//! once, on 1 to N CPUs?
//!
//! [`plan()`] makes the plan, [`CopiesPlanner`] says which trial is next, and
//! [`CopiesRunner`] carries it out.

mod plan;
mod run;
#[cfg(test)]
mod tests;

pub use plan::{CopiesPlanner, CopiesRequest, plan};
pub use run::CopiesRunner;
