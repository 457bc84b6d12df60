//! This program as a job of its own: `plimsoll yield` starts it so, and nobody
//! types it.

use plimsoll_load::hash::burn::burn;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::process::ExitCode;

/// The first argument that asks for it.
const ASKED: &str = "--burn-blocks";

/// Who hashes blocks: this very program, even where another has been installed
/// in its place since. The number of threads is added.
pub(crate) fn command() -> Vec<OsString> {
    vec![
        format!("/proc/{}/exe", std::process::id()).into(),
        ASKED.into(),
    ]
}

/// Hashes if that is what the arguments ask for: as many threads as they say,
/// counted on standard output, until standard input ends.
pub(crate) fn if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != ASKED {
        return None;
    }
    let threads = args.next().and_then(|n| n.to_str()?.parse().ok());
    let counts = std::io::stdout().as_fd().try_clone_to_owned();
    let done = match (threads, counts) {
        (Some(threads), Ok(counts)) => burn(threads, &File::from(counts), std::io::stdin()).is_ok(),
        _ => false,
    };
    Some(ExitCode::from(u8::from(!done)))
}
