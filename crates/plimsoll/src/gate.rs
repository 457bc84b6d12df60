//! This program as what becomes a command once that is held: `plimsoll side` and
//! `plimsoll yield` start it so, and nobody types it.

use plimsoll_control::{Gate, NotPassed, pass_gate};
use std::io::Write;
use std::process::ExitCode;

/// The first argument that asks for it.
const ASKED: &str = "--start-held";

/// This very program, even where another has been installed in its place since.
pub(crate) fn gate() -> Gate {
    Gate::new("/proc/self/exe", [ASKED.into()])
}

/// Becomes the command if that is what the arguments ask for; otherwise the exit
/// code of a command that cannot be started.
pub(crate) fn if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != ASKED {
        return None;
    }
    let not_passed = pass_gate(args);
    // Of a group that is gone the process tells that has made it.
    if !matches!(not_passed, NotPassed::Outside { .. }) {
        let _ = writeln!(std::io::stderr(), "plimsoll: {not_passed}");
    }
    Some(ExitCode::from(not_passed.code()))
}
