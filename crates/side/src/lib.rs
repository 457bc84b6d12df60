//! Runs a sideload: a command restricted to the headroom that a service leaves, by
//! a loop of four steps.
//!
//! ```text
//! sample (host, guards) -> decide (law) -> apply (control) -> log
//! ```
//!
//! [`Sideload::start`] undoes changes of earlier runs, makes the group and starts
//! the command with its minimum. [`Sideload::run`] repeats the loop until the
//! command ends, ends all its processes, and undoes all changes. Signals come from
//! a [`SignalSource`], so the loop runs in any thread of any program.
//!
//! [`gate`] is a loop of the same kind that keeps CPUs awake under chosen tasks.
//!
//! A caller with its own group uses the same loop: [`Control`] takes a [`Rule`] and
//! runs a round when it is [due](Control::due). An experiment does that in a
//! thread, also with the laws that ours is compared with.
//!
//! Decisions are pure: the mechanism ([`CpuMechanism`]), the meaning of an action or a
//! guard, the sums. This crate does not decide what the law decides, change the
//! machine except through `control`, or know flags. It does not print; it reports
//! [`Notice`] values.
//!
//! ```standalone_crate
//! use plimsoll_control::{Gate, Journals, pass_gate};
//! use plimsoll_host::Root;
//! use plimsoll_side::{Restriction, SignalSource, Signal, Request, Sideload};
//! use std::{ffi::OsString, time::Duration};
//!
//! struct Deaf;
//! impl SignalSource for Deaf {
//!     fn wait(&mut self, at_most: Duration) -> Vec<Signal> {
//!         std::thread::sleep(at_most.min(Duration::from_millis(10)));
//!         Vec::new()
//!     }
//! }
//!
//! // This program again is what becomes the command.
//! let mut args = std::env::args_os().skip(1);
//! if args.next().is_some_and(|arg| arg == "--gate") {
//!     std::process::exit(pass_gate(args).code().into());
//! }
//! let gate = Gate::new("/proc/self/exe", ["--gate".into()]);
//!
//! # let dir = tempfile::tempdir()?;
//! # let journals = Journals::at(dir.path().join("plimsoll"));
//! # /*
//! let journals = Journals::usual();
//! # */
//! let command = [OsString::from("true")];
//! let request = Request::new(&command, &gate, Restriction::Sysload);
//! let side = Sideload::start(&Root::machine(), &journals, &request, &mut |_| {})?;
//! let outcome = side.run(&mut Deaf, &mut |_| {})?;
//! assert!(outcome.status.success());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod advice;
mod control;
mod cpu_mechanism;
mod error;
mod freeze_reports;
pub mod gate;
mod guard;
mod limit;
mod log;
mod prepare;
mod request;
mod rule;
mod sample;
mod sideload;
mod signal;
mod tally;
mod warned;

pub use advice::Advice;
pub use control::{Control, GroupAccess};
pub use cpu_mechanism::CpuMechanism;
pub use error::SideError;
pub use guard::{GuardError, GuardSpec, Percentile, Whose, prometheus_number};
pub use request::{Notice, Request, Restriction, SideloadOptions};
pub use rule::Rule;
pub use sideload::{Outcome, Sideload};
pub use signal::{Signal, SignalSource};
pub use tally::{MemoryHeld, Summary};
