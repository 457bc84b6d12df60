//! The side of the library: a [`Scheduler`] in Rust behind the C ABI. Used by
//! [`export_scheduler!`](crate::export_scheduler).

use crate::abi::{JobsTable, NO_DEADLINE};
use crate::{Scheduler, panic_message};
use plimsoll_graph::{Jobs, Release};
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Exports a scheduler from a crate of type `cdylib`.
///
/// Takes a function from the CPUs to run on, one worker each, to
/// `Result<impl Scheduler, String>`.
#[macro_export]
macro_rules! export_scheduler {
    ($start:expr) => {
        const _: () = {
            unsafe extern "C" fn start(
                cpus: *const u32,
                count: u32,
                error: *mut ::std::ffi::c_char,
                error_size: usize,
            ) -> *mut ::std::ffi::c_void {
                // SAFETY: handed on as they are, to the same contract.
                unsafe { $crate::export::start(cpus, count, error, error_size, $start) }
            }

            static TABLE: $crate::SchedulerTable = $crate::SchedulerTable {
                abi_version: $crate::ABI_VERSION,
                start: Some(start),
                run: Some($crate::export::run),
                stop: Some($crate::export::stop),
            };

            // SAFETY: the name is the library's one export, as the ABI wants it.
            #[unsafe(no_mangle)]
            extern "C" fn plimsoll_scheduler() -> *const $crate::SchedulerTable {
                &raw const TABLE
            }
        };
    };
}

type Exported = Box<dyn Scheduler>;

/// # Safety
/// As `start` of the header: `cpus` has `count` entries, `error` has `error_size`
/// bytes.
pub unsafe fn start<S: Scheduler + 'static>(
    cpus: *const u32,
    count: u32,
    error: *mut c_char,
    error_size: usize,
    make: impl FnOnce(&[u32]) -> Result<S, String>,
) -> *mut c_void {
    // SAFETY: by the contract of this function.
    let cpus = unsafe { entries(cpus, count as usize) };
    match caught(|| make(cpus)) {
        Ok(scheduler) => Box::into_raw(Box::<Exported>::new(Box::new(scheduler))).cast(),
        Err(why) => {
            // SAFETY: by the contract of this function.
            unsafe { tell(&why, error, error_size) };
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// As `run` of the header: `scheduler` is from [`start`] and in no other call, `jobs`
/// is filled as its fields say, `error` has `error_size` bytes.
pub unsafe extern "C" fn run(
    scheduler: *mut c_void,
    jobs: *const JobsTable,
    error: *mut c_char,
    error_size: usize,
) -> c_int {
    // SAFETY: made by `start` from this type, and in no other call.
    let scheduler = unsafe { &mut *scheduler.cast::<Exported>() };
    // SAFETY: by the contract of this function.
    let jobs = Arc::new(HostJobs(unsafe { *jobs }));
    let given: Arc<dyn Jobs> = Arc::clone(&jobs) as _;
    let result = caught(|| scheduler.run(given));
    // A worker may drop its share just after the last job. Those behind the pointers
    // are gone once this returns, so it waits for that.
    while Arc::strong_count(&jobs) > 1 {
        std::thread::sleep(Duration::from_micros(10));
    }
    match result {
        Ok(()) => 0,
        Err(why) => {
            // SAFETY: by the contract of this function.
            unsafe { tell(&why, error, error_size) };
            1
        }
    }
}

/// # Safety
/// `scheduler` is from [`start`], in no call, and not used again.
pub unsafe extern "C" fn stop(scheduler: *mut c_void) {
    // SAFETY: made by `start` from this type, and not used again.
    let scheduler = unsafe { Box::from_raw(scheduler.cast::<Exported>()) };
    // A panic must not cross the ABI; the panic hook has reported it.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(scheduler)));
}

/// The jobs of the program.
struct HostJobs(JobsTable);

// SAFETY: the tables are not written to while they are here, and the header lets
// `run_job` be called on any thread.
unsafe impl Send for HostJobs {}
// SAFETY: as above.
unsafe impl Sync for HostJobs {}

impl HostJobs {
    fn all(&self, table: *const u32) -> &[u32] {
        // SAFETY: these tables have an entry for each job, as long as `run` lasts,
        // which ends after this.
        unsafe { entries(table, self.0.count as usize) }
    }

    fn time(&self, table: *const u64, job: u32) -> Option<u64> {
        // SAFETY: as above, or null.
        let times = unsafe { entries(table, self.0.count as usize) };
        times.get(job as usize).copied()
    }
}

impl Jobs for HostJobs {
    fn count(&self) -> u32 {
        self.0.count
    }

    fn predecessors(&self, job: u32) -> u32 {
        self.all(self.0.predecessors)[job as usize]
    }

    fn successors(&self, job: u32) -> &[u32] {
        // SAFETY: the starts have an entry for each job and one for the end; the
        // successors have as many entries as that says.
        let (starts, successors) = unsafe {
            let starts = entries(self.0.successor_starts, self.0.count as usize + 1);
            let end = starts[self.0.count as usize];
            (starts, entries(self.0.successors, end as usize))
        };
        let job = job as usize;
        &successors[starts[job] as usize..starts[job + 1] as usize]
    }

    fn release(&self, job: u32) -> Release {
        let deadline_ns = self.time(self.0.deadline_ns, job);
        Release {
            start_ns: self.time(self.0.start_ns, job).unwrap_or(0),
            deadline_ns: deadline_ns.filter(|ns| *ns != NO_DEADLINE),
        }
    }

    fn run(&self, job: u32, worker: usize) {
        // Beyond all workers in any case, which the program reports.
        let worker = u32::try_from(worker).unwrap_or(u32::MAX);
        // SAFETY: function and context belong together and are valid until `run` has
        // returned, which is after this.
        unsafe { (self.0.run_job)(self.0.context, job, worker) }
    }
}

/// A table of the C side; empty if it is null.
///
/// # Safety
/// `table` is null or has `count` entries that outlive `'a` and are not written to.
unsafe fn entries<'a, T>(table: *const T, count: usize) -> &'a [T] {
    if table.is_null() {
        return &[];
    }
    // SAFETY: by the contract of this function.
    unsafe { std::slice::from_raw_parts(table, count) }
}

/// Writes a text that ends with a 0, cut where it is too long.
///
/// # Safety
/// `error` is null or has `error_size` bytes that may be written to.
unsafe fn tell(why: &str, error: *mut c_char, error_size: usize) {
    let Some(most) = error_size.checked_sub(1).filter(|_| !error.is_null()) else {
        return;
    };
    let bytes = &why.as_bytes()[..why.len().min(most)];
    // SAFETY: `bytes` and a 0 fit into `error_size` bytes, which are the caller's own.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), error.cast(), bytes.len());
        error.add(bytes.len()).write(0);
    }
}

/// Panics as errors: they must not cross the ABI.
fn caught<T>(call: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let result = catch_unwind(AssertUnwindSafe(call));
    result.unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_message(panic.as_ref()))))
}
