//! What people and programs get to see, held against what they should.

mod contract;
mod sample;
mod sentences;
mod snapshots;
