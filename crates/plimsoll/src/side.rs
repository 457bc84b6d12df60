//! `plimsoll side`: runs a command within the headroom of a service.

mod args;

pub(crate) use args::SideArgs;

use crate::failure::Failure;
use crate::helper;
use crate::note::note;
use crate::signals::Signals;
use args::{MechanismChoice, RunAs};
use plimsoll_control::{Gate, Journals, MemoryLimits, NotPassed, start_attach_wait};
use plimsoll_experiments::yields;
use plimsoll_host::Root;
use plimsoll_side::{Advice, Notice, Request, Restriction, Sideload, SideloadOptions};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

pub(crate) fn run(args: &SideArgs) -> Result<(), Failure> {
    let gate = helper::gate();
    let mut request = request(args, &gate)?;
    if let Some(missing) = args.command.first().and_then(|program| missing(program)) {
        note(&format!("plimsoll: {missing}"));
        return Err(Failure::Command(missing.code()));
    }
    let root = Root::machine();
    start_attach_wait(&root);
    let mut signals = Signals::listen(&root)?;
    let mut notify = |notice: Notice| match notice {
        Notice::Warning(text) | Notice::NotHeld(text) => note(&format!("plimsoll: {text}")),
        Notice::Note(text) if !args.quiet => note(&format!("plimsoll: {text}")),
        Notice::Note(_) => {}
    };
    if let Restriction::Sideload(options) = &mut request.restriction
        && options.mechanism.is_none()
        && let Some(file) = yields::usual_file()
    {
        match yields::advice(&file, &root) {
            Ok(advice) => options.advice = advice,
            Err(warning) => notify(Notice::Warning(warning)),
        }
    }
    let journals = Journals::usual();
    let sideload = Sideload::start(&root, &journals, &request, &mut notify)?;
    let outcome = sideload.run(&mut signals, &mut notify)?;
    notify(Notice::Note(outcome.summary.to_string()));
    match exit_code(outcome.status) {
        0 => Ok(()),
        code => Err(Failure::Command(code)),
    }
}

fn request<'a>(args: &'a SideArgs, gate: &'a Gate) -> Result<Request<'a>, Failure> {
    let restriction = match args.run_as {
        RunAs::Sysload => match pointless(args) {
            Some(flag) => {
                return Err(Failure::Mistake(format!(
                    "nothing holds a sysload and nothing is decided about it, so {flag} has \
                     nothing to do; leave {flag} or --as sysload out"
                )));
            }
            None => Restriction::Sysload,
        },
        RunAs::Sideload => Restriction::Sideload(SideloadOptions {
            mechanism: args.mechanism.into(),
            advice: Advice::Unknown,
            headroom: args.headroom.unwrap_or_default(),
            period: args.period,
            guards: args.guards.clone(),
        }),
    };
    Ok(Request {
        command: &args.command,
        gate,
        restriction,
        memory: memory(args)?,
        least_io: args.io,
        log: args.log.as_deref(),
        no_input: std::io::stdin().is_terminal(),
        alone: true,
    })
}

fn memory(args: &SideArgs) -> Result<MemoryLimits, Failure> {
    let (high, max) = (args.memory, args.memory_max);
    match high.zip(max) {
        Some((high, max)) if high >= max => Err(Failure::Mistake(format!(
            "at --memory-max {max} it is killed before --memory {high} slows it down; give a \
             larger --memory-max, or one of the two"
        ))),
        _ => Ok(MemoryLimits {
            high,
            max,
            // Memory that is taken back goes there.
            swap_max: None,
        }),
    }
}

/// Why a program cannot be started, as far as that is seen before it is tried.
fn missing(program: &OsStr) -> Option<NotPassed> {
    let found = if program.as_bytes().contains(&b'/') {
        access(program, Access::EXEC_OK)
    } else {
        let search = std::env::var_os("PATH")?;
        let exists = std::env::split_paths(&search).any(|dir| dir.join(program).exists());
        exists.then_some(()).ok_or(Errno::NOENT)
    };
    found.err().map(|errno| NotPassed::NoProgram {
        program: program.to_string_lossy().into_owned(),
        source: errno.into(),
    })
}

/// The first flag that says how a sideload is held.
fn pointless(args: &SideArgs) -> Option<&'static str> {
    let given = [
        ("--headroom", args.headroom.is_some()),
        ("--guard", !args.guards.is_empty()),
        ("--mechanism", args.mechanism != MechanismChoice::Auto),
        ("--period", args.period.is_some()),
        ("--log", args.log.is_some()),
    ];
    given
        .iter()
        .find(|(_, given)| *given)
        .map(|(flag, _)| *flag)
}

/// As shells report it.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| Some(128 + status.signal()?))
        .and_then(|code| u8::try_from(code).ok());
    code.unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(exit_code(ExitStatus::from_raw(15)), 143);
        assert_eq!(exit_code(ExitStatus::from_raw(0)), 0);
    }
}
