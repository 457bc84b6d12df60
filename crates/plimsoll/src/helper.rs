//! This program as a helper process of `plimsoll side`, `plimsoll yield` and `plimsoll
//! rig`; users never start it so. `/proc/.../exe` is this very program, even where another has
//! been installed in its place since.

use crate::note::note;
use plimsoll_control::{Gate, NotPassed, pass_gate};
use plimsoll_engine::room;
use plimsoll_experiments::Helpers;
use plimsoll_experiments::rig::serve_scheduler;
use plimsoll_host::Root;
use plimsoll_load::job;
use plimsoll_load::open_files;
use plimsoll_model::CountedJob;
use rustix::process::{Signal, getppid, set_parent_process_death_signal, setsid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const GATE: &str = "--start-held";
/// In place of a limit on open files.
const UNCHANGED: &str = "-";
/// The first argument of a job whose work is counted.
const WORKER: &str = "--count-work";
/// The first argument of a command that gets SIGTERM when what started it is gone.
const BOUND: &str = "--bound-to";
/// The first argument of the process of a scheduler under test.
const SCHEDULER: &str = "--serve-scheduler";

pub(crate) fn all() -> Helpers {
    Helpers {
        gate: gate(),
        worker,
        scheduler: this_program_as(SCHEDULER),
    }
}

/// The gate: becomes a command once it is restricted, with the limit on open files that
/// it would have without us.
pub(crate) fn gate() -> Gate {
    let soft = open_files::soft_before().map_or(UNCHANGED.to_owned(), |soft| soft.to_string());
    Gate::new("/proc/self/exe", [GATE.into(), soft.into()])
}

/// This program with such words, in a session of its own. It gets SIGTERM when the thread that starts
/// it is gone, also if that is killed.
pub(crate) fn bound<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(BOUND).arg(std::process::id().to_string());
    command.args(words);
    command
}

fn this_program_as(helper: &str) -> Vec<OsString> {
    let program = format!("/proc/{}/exe", std::process::id());
    vec![program.into(), helper.into()]
}

/// Runs as a helper if the arguments ask for one.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let first = args.next()?;
    match first.to_str()? {
        GATE => Some(run_gate(args)),
        WORKER => Some(run_worker(args)),
        BOUND => Some(run_bound(args)),
        SCHEDULER => Some(run_scheduler()),
        _ => None,
    }
}

/// Becomes the command; otherwise the exit code of one that cannot be started.
fn run_gate(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    if let Some(soft) = args.next().and_then(|soft| soft.to_str()?.parse().ok()) {
        open_files::set_soft(soft);
    }
    let not_passed = pass_gate(args);
    // The process that made the group reports that it is gone.
    if !matches!(not_passed, NotPassed::Outside { .. }) {
        note(&format!("plimsoll: {not_passed}"));
    }
    ExitCode::from(not_passed.code())
}

/// The words that start a job on so many threads.
pub(crate) fn worker(job: &CountedJob, threads: usize) -> Vec<OsString> {
    let mut words = this_program_as(WORKER);
    words.push(serde_json::to_string(job).unwrap_or_default().into());
    words.push(threads.to_string().into());
    words
}

/// Does the job of the next argument on as many threads as the one after it says, and writes counts
/// to standard output, until standard input ends.
fn run_worker(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut next = || args.next()?.into_string().ok();
    let job = next().and_then(|text| serde_json::from_str::<CountedJob>(&text).ok());
    let threads = next().and_then(|n| n.parse().ok());
    let (Some(job), Some(threads), Ok(counts)) =
        (job, threads, std::io::stdout().as_fd().try_clone_to_owned())
    else {
        return ExitCode::FAILURE;
    };
    // Where memory runs out all the same, the kernel ends the job and not the service.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let machine = Root::machine();
    let left = || room::left_to_job(&machine);
    match job::run(&job, threads, &File::from(counts), &left, std::io::stdin()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&format!("plimsoll: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Becomes this program with the words after the first, which is the process to end with.
fn run_bound(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = args
        .next()
        .and_then(|pid| pid.to_str()?.parse::<i32>().ok());
    let is_asked = set_parent_process_death_signal(Some(Signal::TERM)).is_ok();
    // It may be gone before it was asked for.
    let is_there = getppid().map(|pid| pid.as_raw_pid()) == parent;
    if !is_asked || !is_there {
        return ExitCode::FAILURE;
    }
    // Where it leads a group already, it stays in its session.
    let _ = setsid();
    let error = Command::new("/proc/self/exe").args(args).exec();
    note(&format!(
        "plimsoll: this program cannot be started again: {error}"
    ));
    ExitCode::FAILURE
}

/// Does a task for the rig, which kills this process when it is done.
fn run_scheduler() -> ExitCode {
    match serve_scheduler() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let why = "only Plimsoll itself starts this; use plimsoll rig";
            note(&format!("plimsoll: {error}: {why}"));
            ExitCode::from(2)
        }
    }
}
