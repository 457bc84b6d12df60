//! What people and programs get to see.

mod agreement;
mod compare_plan;
mod contract;
mod frame;
mod labels;
pub(crate) mod pages;
pub(crate) mod sample;
pub(crate) mod sentences;
pub(crate) mod shown;
mod smt;
mod snapshots;
