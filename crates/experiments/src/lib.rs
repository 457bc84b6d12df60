//! The experiments: one folder each, with its flags, plan, trials, findings and
//! document.
//!
//! An experiment implements [`Experiment`] on top of the engine; the session does
//! the rest. No experiment knows another, except the self-test, whose subject is
//! the sweep. [`import`] turns a table into trials of a sweep or of copies.

pub mod args;
pub mod burst;
pub mod copies;
mod defaults;
mod experiment;
pub mod fixed;
mod given_again;
pub mod import;
pub mod lateness;
pub mod rig;
pub mod selftest;
pub mod sweep;
pub mod versus;
pub mod wake;
pub mod yields;

/// `$of` of each experiment, one line each, in the order of the help.
#[macro_export]
macro_rules! each_experiment {
    ($of:ident) => {
        [
            $of::<$crate::sweep::Sweep>(),
            $of::<$crate::fixed::FixedRate>(),
            $of::<$crate::versus::Versus>(),
            $of::<$crate::yields::Yield>(),
            $of::<$crate::copies::CopiesOfCommand>(),
            $of::<$crate::lateness::WakeUps>(),
            $of::<$crate::rig::Rig>(),
            $of::<$crate::wake::Wake>(),
            $of::<$crate::burst::Burst>(),
        ]
    };
}

#[cfg(test)]
extern crate self as plimsoll_experiments;
#[cfg(test)]
#[path = "../tests/simulated/mod.rs"]
mod simulated;

pub use experiment::{
    Experiment, HelpPage, Helpers, LoadLine, Machine, Prepared, ReportOf, Stage, TrialOf,
};
