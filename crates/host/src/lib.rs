//! Read-only access to /proc, /sys, cgroups and energy counters.
//!
//! Every reader takes a [`Root`], so that tests can read a fake tree. A counter
//! that the kernel does not provide is `None`. A file whose content does not
//! match its documentation is an error that names the file.
//!
//! - [`Sensors`] read all counters of a trial; [`difference`] subtracts two
//!   readings.
//! - [`provenance()`] describes the machine for a record.
//! - [`requirements()`] lists which counters and conditions are met or missed.
//! - [`listeners`] finds the processes that listen at an address.
//! - [`idle`] reads idle states and limits on wake-up latency.
//! - [`MoveEvents`] tell when threads begin to run on another CPU.
//! - [`Tracepoints`] record when CPUs leave idle states and tasks are woken and run.
//!
//! This crate must not change anything on the machine and does not judge
//! whether a trial is valid.
//!
//! ```
//! use plimsoll_host::{Root, Sensors, ServiceSource, Subject, difference, online_cpus};
//!
//! let root = Root::machine();
//! let subject = Subject::Here {
//!     cpus: online_cpus(&root)?,
//!     generator: Default::default(),
//!     service: ServiceSource::Processes(vec![std::process::id()]),
//! };
//! let mut sensors = Sensors::new(&root, subject, &[])?;
//! let earlier = sensors.read();
//! let later = sensors.read();
//! let window = difference(&earlier, &later);
//! assert!(window.service.is_some());
//! # Ok::<(), plimsoll_host::HostError>(())
//! ```

mod account;
mod busiest;
mod busy;
mod cgroup;
mod clock;
mod cpu_meter;
mod cpu_model;
mod device_interrupts;
mod disks;
mod energy;
mod error;
#[cfg(test)]
mod fake_tree;
mod frequency;
pub mod idle;
mod interrupts;
mod last_cpu;
mod memory;
mod monitors;
mod mounts;
mod moves;
mod node_metrics;
mod node_window;
mod pressure;
mod process;
mod process_tree;
mod provenance;
mod reading;
mod requirements;
mod root;
mod run_delay;
mod sensors;
mod socket;
mod stat;
mod task;
mod task_status;
mod topology;
mod tracepoints;
mod tracking;
mod virtualisation;

pub use busiest::{BusyProcess, BusyWatch};
pub use busy::ReadTimes;
pub use cgroup::{Cgroups, OwnGroup, OwnGroups, cpu_quota, own_cpu_quota};
pub use cpu_meter::CpuMeter;
pub use device_interrupts::interrupts_of;
pub use disks::disks_take_weights;
pub use error::{HostError, Malformed};
pub use interrupts::interrupt_time;
pub use last_cpu::{Family, TaskCpuReader, TaskOnCpu, processes_named, processes_of_unit};
pub use memory::{AllMemory, all_memory, available_memory, memory_left, memory_limit, own_swap};
pub use monitors::Monitors;
pub use mounts::mounted_within;
pub use moves::{Move, MoveEvents, Moved};
pub use node_metrics::{NodeMetrics, NodeMetricsError};
pub use node_window::NodeDoubt;
pub use pressure::pressure;
pub use process::{
    Pid, ProcessStat, Tid, allowed_cpus, ignores_children, online_cpus, own_allowed_cpus,
    own_foreground_group, own_ignored_signals, own_resident_memory, own_voluntary_switches,
    process_name, service_cpus,
};
pub use provenance::provenance;
pub use reading::{Reading, Window, difference};
pub use requirements::requirements;
pub use root::Root;
pub use run_delay::{DelayScope, RunDelays, Waited};
pub use sensors::{Sensors, ServiceSource, Subject};
pub use socket::{Listeners, OtherClients, ServiceSockets, listeners, listeners_beside};
pub use stat::CpuTimes;
pub use task_status::{TaskStatus, cgroups_of, processes_started, thread_started, threads_of};
pub use topology::{Vicinity, cores_of, vicinity};
pub use tracepoints::Tracepoints;
pub use virtualisation::is_virtual_machine;

/// Combines two counters; unknown if either is.
fn both<T>(a: Option<T>, b: Option<T>, combine: fn(T, T) -> T) -> Option<T> {
    Some(combine(a?, b?))
}
