//! What sleeping CPUs are allowed to do: idle states, limits on wake-up latency, who
//! holds them, and what keeps a guest polling.
//!
//! From Documentation/admin-guide/pm/cpuidle.rst, Documentation/power/pm_qos_interface.rst,
//! Documentation/ABI/testing/sysfs-devices-power and Documentation/virt/guest-halt-polling.rst.
//!
//! ```
//! use plimsoll_host::Root;
//! use plimsoll_host::idle::{ResumeLatency, idle_setup, idle_states, resume_latency};
//!
//! let root = Root::machine();
//! let driver = idle_setup(&root)?.driver;
//! for state in idle_states(&root, 0)? {
//!     println!("{driver:?}: {} takes {:?} to leave", state.name, state.latency);
//! }
//! if resume_latency(&root, 0)? == Some(ResumeLatency::PollOnly) {
//!     println!("CPU 0 never sleeps");
//! }
//! # Ok::<(), plimsoll_host::HostError>(())
//! ```

mod conflicts;
mod dma_latency;
mod haltpoll;
mod limit;
mod residency;
mod states;
mod task;
mod tuned;

pub use conflicts::idle_requirements;
pub use dma_latency::{DMA_LATENCY, DmaLatency, DmaLatencyHolders, dma_latency};
pub use haltpoll::{HALT_POLL_NS, HaltPoll, halt_poll};
pub use limit::{ResumeLatency, resume_latency, resume_latency_file};
pub use residency::{Residency, residency};
pub use states::{IdleSetup, IdleState, disable_file, idle_setup, idle_states};
pub use task::timer_slack;
