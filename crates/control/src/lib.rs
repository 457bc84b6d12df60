//! All changes to the machine and their undoing: cgroups, scheduling class,
//! affinity, freeze and thaw, idle states, CPUs of interrupts.
//!
//! [`CgroupLayout`] describes where groups can be made. [`Group`] is a group of our
//! own that commands run in; its drop undoes everything. A change outside the group
//! goes to a [`Journal`] before it is made, so that [`Journals::repair`] undoes it
//! at the next start if this process is killed. Without cgroups the same calls use
//! fallbacks: [`Capabilities`] lists the means and the losses.
//!
//! [`idle`] keeps CPUs from sleeping; [`PlacedTasks`] run on chosen CPUs meanwhile.
//!
//! This is the only crate that writes to cgroups or changes other tasks. It does
//! not decide when to change what, measure, or print.
//!
//! A command starts through a [`Gate`]: a process that is in the group before it
//! becomes the command. The calling program provides it.
//!
//! ```standalone_crate
//! use plimsoll_control::{AtEnd, CgroupLayout, Gate, Group, Journals, Mechanism, Running, pass_gate};
//! use plimsoll_host::Root;
//! use std::collections::BTreeSet;
//! use std::ffi::OsStr;
//!
//! let mut args = std::env::args_os().skip(1);
//! if args.next().is_some_and(|arg| arg == "--gate") {
//!     std::process::exit(pass_gate(args).code().into());
//! }
//! let gate = Gate::new("/proc/self/exe", ["--gate".into()]);
//!
//! let root = Root::machine();
//! # let dir = tempfile::tempdir()?;
//! # let journals = Journals::at(dir.path().join("plimsoll"));
//! # /*
//! let journals = Journals::usual();
//! # */
//! for repaired in journals.repair(&root, Running::Leave)? {
//!     println!("{}", repaired.done.join(" "));
//! }
//! let needs = BTreeSet::from([Mechanism::Freeze, Mechanism::Kill]);
//! let layout = CgroupLayout::find(&root)?;
//! let mut group = Group::make(&layout, &needs, &journals.open(&root)?, AtEnd::Kill)?;
//! let mut child = group.start(&gate, OsStr::new("sleep"), &["60"], |_| {})?;
//! group.freeze()?;
//! group.give_back()?;
//! assert!(!child.wait()?.success());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attach_wait;
mod error;
mod files;
mod folder;
mod gate;
mod group;
pub mod idle;
mod interrupts;
mod journal;
mod layout;
mod mechanism;
mod orphans;
mod placed;
mod poll;
mod random;
mod schedule;
mod scratch;
mod settings;
mod stable;
mod tasks;
#[cfg(test)]
mod tests;
mod tree;

pub use attach_wait::start_attach_wait;
pub use error::ControlError;
pub use gate::{Gate, NotPassed, pass_gate};
pub use group::{Group, wait_with_cpu_time};
pub use interrupts::MovedInterrupts;
pub use journal::{Asked, AtEnd, Journal, Journals, OnlyOne, Repaired, Running};
pub use layout::CgroupLayout;
pub use mechanism::{Capabilities, CgroupSupport, Means, Mechanism};
pub use orphans::AdoptedOrphans;
pub use placed::{Placed, PlacedTasks};
pub use rustix::process::Signal;
pub use scratch::{Scratch, Working};
pub use settings::{MemoryEvents, MemoryLimits, Quota, Usage, Weight};

/// Maximum time for a group to freeze or to become empty.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
