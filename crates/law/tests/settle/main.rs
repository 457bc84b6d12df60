//! The law that finds the rate of a latency goal, in closed loop with queues on virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod promises;
mod queue;
#[path = "../common/random.rs"]
mod random;
mod rig;
mod table;
mod truths;
