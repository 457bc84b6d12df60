//! What people and programs get to see, held against what they should.

mod agreement;
mod compare_plan;
mod contract;
mod labels;
pub(crate) mod pages;
pub(crate) mod sample;
mod sentences;
mod smt;
mod snapshots;
