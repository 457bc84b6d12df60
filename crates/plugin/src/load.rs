//! The side of the program: a library behind the trait [`Scheduler`].

use crate::Scheduler;
use crate::abi::{ABI_VERSION, JobsTable, NO_DEADLINE, Run, SYMBOL, SchedulerTable, Start, Stop};
use crate::panic_message;
use libloading::Library;
use plimsoll_graph::Jobs;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Room for what a library says went wrong.
const ERROR_SIZE: usize = 1024;

/// Why a library is no scheduler.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot open {path}: {source}; give the path of a shared library")]
    NoFile {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "{path} is no shared library for this machine: {source}; build one, with --crate-type cdylib or -shared"
    )]
    NoLibrary {
        path: PathBuf,
        source: libloading::Error,
    },
    #[error(
        "{path} exports no function {SYMBOL}; build it against plimsoll_scheduler.h or with export_scheduler!"
    )]
    NoSymbol { path: PathBuf },
    #[error(
        "{path} is built for version {found} of the scheduler ABI and this program for {ABI_VERSION}; build it again"
    )]
    Version { path: PathBuf, found: u32 },
    #[error("the table that {path} exports lacks start, run or stop; set all three")]
    Incomplete { path: PathBuf },
    #[error("{path} does not start: {why}")]
    Start { path: PathBuf, why: String },
    #[error(
        "this program is linked statically and cannot load {path}; build one with `cargo build --release --target x86_64-unknown-linux-gnu` for schedulers of your own"
    )]
    StaticProgram { path: PathBuf },
}

/// A library that exports a scheduler. It stays loaded until the process ends: a
/// thread that a broken scheduler leaves behind would run in code that is gone.
#[derive(Debug, Clone)]
pub struct Plugin {
    path: PathBuf,
    start: Start,
    run: Run,
    stop: Stop,
}

impl Plugin {
    /// Loads the library and looks at what it exports. What is in it runs from here
    /// on with the rights of this process.
    ///
    /// # Errors
    /// There is no such library, it exports no scheduler, or one of another version.
    pub fn load(path: &Path) -> Result<Plugin, LoadError> {
        // With its directory: a bare name would be looked for among the system's.
        let path = std::fs::canonicalize(path).map_err(|source| LoadError::NoFile {
            path: path.into(),
            source,
        })?;
        if cfg!(target_feature = "crt-static") {
            return Err(LoadError::StaticProgram { path });
        }
        // SAFETY: the library's initialisers run, as the user wants who names it.
        let library = match unsafe { Library::new(&path) } {
            Ok(library) => Box::leak(Box::new(library)),
            Err(source) => return Err(LoadError::NoLibrary { path, source }),
        };
        // SAFETY: the header gives the function of that name this type.
        let table = unsafe {
            let symbol = library.get::<unsafe extern "C" fn() -> *const SchedulerTable>(SYMBOL);
            match symbol {
                Ok(function) => function(),
                Err(_) => return Err(LoadError::NoSymbol { path }),
            }
        };
        if table.is_null() {
            return Err(LoadError::Incomplete { path });
        }
        // SAFETY: not null, and its first field is the version in each of them.
        let found = unsafe { *table.cast::<u32>() };
        if found != ABI_VERSION {
            return Err(LoadError::Version { path, found });
        }
        // SAFETY: a table of this version has these fields.
        let table = unsafe { *table };
        match (table.start, table.run, table.stop) {
            (Some(start), Some(run), Some(stop)) => Ok(Plugin {
                path,
                start,
                run,
                stop,
            }),
            _ => Err(LoadError::Incomplete { path }),
        }
    }

    /// Starts the scheduler on these CPUs, one worker each.
    ///
    /// # Errors
    /// The library says why it cannot.
    pub fn start(&self, cpus: &[u32]) -> Result<Box<dyn Scheduler>, LoadError> {
        let mut error = [0; ERROR_SIZE];
        let count = cpus.len() as u32;
        // SAFETY: called as the header says; the table has passed its check.
        let scheduler =
            unsafe { (self.start)(cpus.as_ptr(), count, error.as_mut_ptr(), ERROR_SIZE) };
        if scheduler.is_null() {
            let (path, why) = (self.path.clone(), text(&error));
            return Err(LoadError::Start { path, why });
        }
        Ok(Box::new(Started {
            plugin: self.clone(),
            scheduler,
            workers: count,
            last: None,
        }))
    }
}

/// A scheduler of a library that has been started.
struct Started {
    plugin: Plugin,
    scheduler: *mut c_void,
    workers: u32,
    /// What the last run was given. Kept, so that a call of `run_job` that comes too
    /// late finds it.
    last: Option<Arc<Given>>,
}

// SAFETY: the header says that its functions are called on different threads, one
// after the other, which `&mut self` and `Drop` ensure.
unsafe impl Send for Started {}

/// What the pointers of a run point to.
struct Given {
    predecessors: Vec<u32>,
    successor_starts: Vec<u32>,
    successors: Vec<u32>,
    start_ns: Vec<u64>,
    deadline_ns: Vec<u64>,
    context: Context,
}

/// What `run_job` gets back.
struct Context {
    jobs: Arc<dyn Jobs>,
    workers: u32,
    /// The first thing that was wrong with a call.
    wrong: OnceLock<String>,
}

impl Scheduler for Started {
    fn run(&mut self, jobs: Arc<dyn Jobs>) -> Result<(), String> {
        let given = Arc::new(Given::new(jobs, self.workers)?);
        let table = given.table();
        let mut error = [0; ERROR_SIZE];
        let (run, error_text) = (self.plugin.run, error.as_mut_ptr());
        // SAFETY: the scheduler is started and in no other call; the table is valid
        // until the next run has ended or the scheduler is stopped.
        let result = unsafe { run(self.scheduler, &raw const table, error_text, ERROR_SIZE) };
        let wrong = given.context.wrong.get().cloned();
        self.last = Some(given);
        match (result, wrong) {
            (0, None) => Ok(()),
            (0, Some(wrong)) => Err(wrong),
            (_, _) => Err(text(&error)),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // SAFETY: started, in no call, and not used again.
        unsafe { (self.plugin.stop)(self.scheduler) }
        // Leaked: a broken scheduler may still run a job.
        std::mem::forget(self.last.take());
    }
}

impl Given {
    fn new(jobs: Arc<dyn Jobs>, workers: u32) -> Result<Given, String> {
        let all = 0..jobs.count();
        let (mut successor_starts, mut successors) = (vec![0], Vec::new());
        for job in all.clone() {
            successors.extend_from_slice(jobs.successors(job));
            let end = u32::try_from(successors.len());
            successor_starts.push(end.map_err(|_| "the graph has more than 2^32 edges")?);
        }
        let releases = || all.clone().map(|job| jobs.release(job));
        // An empty table is handed over as null.
        let are_timed = releases().any(|release| release.start_ns > 0);
        let have_deadlines = releases().any(|release| release.deadline_ns.is_some());
        let start_ns = releases().filter(|_| are_timed).map(|r| r.start_ns);
        let deadline_ns = releases().filter(|_| have_deadlines);
        Ok(Given {
            predecessors: all.clone().map(|job| jobs.predecessors(job)).collect(),
            successor_starts,
            successors,
            start_ns: start_ns.collect(),
            deadline_ns: deadline_ns
                .map(|release| release.deadline_ns.unwrap_or(NO_DEADLINE))
                .collect(),
            context: Context {
                jobs,
                workers,
                wrong: OnceLock::new(),
            },
        })
    }

    fn table(&self) -> JobsTable {
        JobsTable {
            count: self.predecessors.len() as u32,
            predecessors: self.predecessors.as_ptr(),
            successor_starts: self.successor_starts.as_ptr(),
            successors: self.successors.as_ptr(),
            start_ns: or_null(&self.start_ns),
            deadline_ns: or_null(&self.deadline_ns),
            context: (&raw const self.context).cast_mut().cast(),
            run_job,
        }
    }
}

fn or_null(times: &[u64]) -> *const u64 {
    match times {
        [] => std::ptr::null(),
        some => some.as_ptr(),
    }
}

/// # Safety
/// `context` is that of a run whose [`Given`] is still there.
unsafe extern "C" fn run_job(context: *mut c_void, job: u32, worker: u32) {
    // SAFETY: by the contract of this function; only shared access is made of it.
    let context = unsafe { &*context.cast::<Context>() };
    if worker >= context.workers {
        let workers = context.workers;
        let wrong =
            format!("it ran job {job} as worker {worker}, but there are {workers} (from 0)");
        let _ = context.wrong.set(wrong);
    }
    let worker = worker.min(context.workers.saturating_sub(1)) as usize;
    let run = AssertUnwindSafe(|| context.jobs.run(job, worker));
    // It must not cross the ABI.
    if let Err(panic) = catch_unwind(run) {
        let why = panic_message(panic.as_ref());
        let _ = context.wrong.set(format!("job {job} panicked: {why}"));
    }
}

/// What a library wrote as its error.
fn text(error: &[c_char; ERROR_SIZE]) -> String {
    let bytes = error.map(|c| c as u8);
    match CStr::from_bytes_until_nul(&bytes) {
        Ok(text) if !text.is_empty() => text.to_string_lossy().into_owned(),
        Ok(_) => "it does not say why".into(),
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests;
