//! The law that keeps CPUs awake, in closed loop with simulated tasks on virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod arrivals;
mod bounds;
#[path = "../common/random.rs"]
mod random;
mod rig;
mod scenes;
