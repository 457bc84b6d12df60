//! What people and programs get to see, held against what they should.

mod agreement;
mod compare_plan;
mod contract;
mod labels;
mod pages;
mod sample;
mod sentences;
mod smt;
mod snapshots;
