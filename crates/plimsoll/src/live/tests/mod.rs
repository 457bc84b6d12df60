//! Tests of the live view, and the runs that they show.

mod experiment;
pub(crate) mod sample;
mod state;
mod terminal;
