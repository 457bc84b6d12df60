//! The tables of `include/plimsoll_scheduler.h`, field by field.

use std::ffi::{c_char, c_int, c_void};

/// The version of the tables here. A change of their fields or meaning raises it.
pub const ABI_VERSION: u32 = 1;

/// The name of the one function that a library exports. It is the same in all
/// versions, and so is the first field of what it returns.
pub(crate) const SYMBOL: &str = "plimsoll_scheduler";

/// A scheduler, as a library exports it: `struct plimsoll_scheduler_table`.
///
/// All fields but the version are optional here, because C can leave them out.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SchedulerTable {
    pub abi_version: u32,
    pub start: Option<Start>,
    pub run: Option<Run>,
    pub stop: Option<Stop>,
}

/// (CPUs, how many, error text, its size) -> scheduler, or null.
pub type Start = unsafe extern "C" fn(*const u32, u32, *mut c_char, usize) -> *mut c_void;
/// (scheduler, jobs, error text, its size) -> 0, or not.
pub type Run = unsafe extern "C" fn(*mut c_void, *const JobsTable, *mut c_char, usize) -> c_int;
/// (scheduler)
pub type Stop = unsafe extern "C" fn(*mut c_void);
/// (context, job, worker)
pub type RunJob = unsafe extern "C" fn(*mut c_void, u32, u32);

/// The jobs of a run: `struct plimsoll_jobs`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct JobsTable {
    pub count: u32,
    /// `count` entries.
    pub predecessors: *const u32,
    /// `count + 1` entries.
    pub successor_starts: *const u32,
    /// As many as the last of these says.
    pub successors: *const u32,
    /// `count` entries, or null if no job has a start.
    pub start_ns: *const u64,
    /// `count` entries, or null if no job has a deadline; `u64::MAX` for a job without one.
    pub deadline_ns: *const u64,
    pub context: *mut c_void,
    pub run_job: RunJob,
}

/// The deadline of a job that has none.
pub(crate) const NO_DEADLINE: u64 = u64::MAX;
