//! How a sideload is run: a command held within the headroom beside a service,
//! by a loop of four steps.
//!
//! ```text
//! sample (host, guards) -> decide (law) -> apply (control) -> log
//! ```
//!
//! [`Sideload::start`] gives the machine back what earlier runs left, makes the
//! group and starts the command in it at the least that it may have;
//! [`Sideload::run`] goes round until the command ends, ends all that it has
//! started, and gives everything back. Signals come in through [`SignalSource`], so that
//! the loop runs in any thread of any program.
//!
//! Who has a group already holds it by the same loop: [`Control`] is told the law by
//! a [`Rule`] and goes round when it is [due](Control::due). An experiment does that
//! in a thread, with the laws that ours is compared with.
//!
//! What decides is pure: which mechanism ([`Hold`]), what an action comes to,
//! what a guard means, what is summed up. This room must not decide what the
//! law decides, change the machine otherwise than through `control`, or know
//! flags; it does not print, but tells ([`Told`]).
//!
//! ```standalone_crate
//! use plimsoll_control::{Gate, Journals, pass_gate};
//! use plimsoll_host::Root;
//! use plimsoll_side::{Care, SignalSource, Signal, Request, Sideload};
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
//! let request = Request::new(&command, &gate, Care::Sysload);
//! let side = Sideload::start(&Root::machine(), &journals, &request, &mut |_| {})?;
//! let outcome = side.run(&mut Deaf, &mut |_| {})?;
//! assert!(outcome.status.success());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod advice;
mod control;
mod error;
mod guard;
mod hold;
mod limit;
mod log;
mod memory;
mod prepare;
mod reach;
mod request;
mod rule;
mod sample;
mod sideload;
mod signal;
mod still;
mod tally;

pub use advice::Advice;
pub use control::Control;
pub use error::SideError;
pub use guard::{GuardError, GuardSpec, Percentile, Whose};
pub use hold::Hold;
pub use memory::MemoryHeld;
pub use reach::Reach;
pub use request::{Care, Held, Request, Told};
pub use rule::Rule;
pub use sideload::{Outcome, Sideload};
pub use signal::{Signal, SignalSource};
pub use tally::Summary;
