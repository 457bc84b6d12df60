//! This program as a helper process of `plimsoll side`, `plimsoll yield` and `plimsoll
//! rig`; users never start it so. `/proc/.../exe` is this very program, even where another has
//! been installed in its place since.

use crate::note::note;
use plimsoll_control::{Gate, NotPassed, pass_gate};
use plimsoll_experiments::Helpers;
use plimsoll_experiments::rig::serve_scheduler;
use plimsoll_load::hash::burn::burn;
use plimsoll_load::open_files;
use rustix::process::{Signal, getppid, set_parent_process_death_signal, setsid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const GATE: &str = "--start-held";
/// In place of a limit on open files.
const UNCHANGED: &str = "-";
/// The first argument of the job that hashes blocks.
const BURNER: &str = "--burn-blocks";
/// The first argument of a command that gets SIGTERM when what started it is gone.
const BOUND: &str = "--bound-to";
/// The first argument of the process of a scheduler under test.
const SCHEDULER: &str = "--serve-scheduler";

pub(crate) fn all() -> Helpers {
    Helpers {
        gate: gate(),
        burner: this_program_as(BURNER),
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
        BURNER => Some(run_burner(args)),
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

/// Hashes on as many threads as the next argument says, and writes counts to
/// standard output, until standard input ends.
fn run_burner(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let threads = args.next().and_then(|n| n.to_str()?.parse().ok());
    let counts = std::io::stdout().as_fd().try_clone_to_owned();
    let done = match (threads, counts) {
        (Some(threads), Ok(counts)) => burn(threads, &File::from(counts), std::io::stdin()).is_ok(),
        _ => false,
    };
    ExitCode::from(u8::from(!done))
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
