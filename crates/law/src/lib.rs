//! Control laws for sideloads: how much CPU a best-effort job next to a service
//! may use.
//!
//! A *sideload* is a best-effort job that runs next to a service while a
//! *headroom*, a share of the machine, stays free. Once per control period (100
//! ms to 1 s) a [`Law`] maps a measurement, a [`Sample`], to an [`Action`] and
//! its [`Reason`]:
//!
//! ```text
//! (state, sample) -> (state, action, reason)
//! ```
//!
//! A law of another kind decides which CPUs to keep out of deep idle states for
//! latency-sensitive tasks ([`KeepAwake`]).
//!
//! The crate holds our law ([`Plimsoll`]), two laws to compare it with
//! ([`ResctlDemo`], [`Koordinator`]), and the log from which decisions are
//! replayed ([`Entry`], [`replay()`]). It must not do I/O, read a clock or use
//! random numbers: a decision depends on its arguments only. The crate does not
//! apply actions (by quota, CPU set, freezer or signals), and no action kills.
//!
//! [`Settle`] is a law of another quantity: the request rate that just keeps a latency goal.
//!
//! ```
//! use plimsoll_law::{Action, Headroom, Law, Plimsoll, Sample};
//! use plimsoll_model::{CpuTime, CpuUse};
//! use std::time::Duration;
//!
//! let law = Law::Plimsoll(Plimsoll::new("20%".parse::<Headroom>()?));
//! let second = |busy_ms| {
//!     let cpu = |ms| CpuTime(Duration::from_millis(ms));
//!     Sample {
//!         period: Duration::from_secs(1),
//!         cpus: 2,
//!         machine: Some(CpuUse { user: cpu(busy_ms), idle: cpu(2000 - busy_ms), ..CpuUse::default() }),
//!         sideload: Some(CpuTime::ZERO),
//!         ..Sample::default()
//!     }
//! };
//! let calm = law.decide(&law.start(), &second(400));
//! assert!(matches!(calm.action, Action::Run { .. }));
//! let busy = law.decide(&calm.state, &second(1940));
//! assert_eq!(busy.action, Action::Frozen);
//! assert_eq!(busy.reason.to_string(), "others need the CPU: 3 % left of 20 % headroom");
//! # Ok::<(), plimsoll_law::HeadroomError>(())
//! ```

mod awake;
mod headroom;
mod koordinator;
mod law;
mod log;
mod plimsoll;
mod reason;
mod replay;
mod resctl;
mod sample;
mod settle;
#[cfg(test)]
mod testing;
mod view;

pub use awake::{
    AwakeDecision, AwakeEntry, AwakeSample, AwakeState, Change, CoreState, HoldRule, IdleLimit,
    KeepAwake, Price, StateLatency, TaskCpus, Why, replay_awake, snap,
};
pub use headroom::{Headroom, HeadroomError};
pub use koordinator::{Koordinator, KoordinatorState};
pub use law::{Action, Decision, Law, State};
pub use log::{Entry, replay};
pub use plimsoll::{Mode, ParameterError, Parameters, Plimsoll, PlimsollState};
pub use reason::{Missing, Reason};
pub use replay::Difference;
pub use resctl::{ResctlDemo, ResctlState};
pub use sample::{Guard, Reading, Sample};
pub use settle::{
    LatencyGoal, LatencyGoalError, Settle, SettleDecision, SettlePhase, SettleReason, SettleSample,
};
