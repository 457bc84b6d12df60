//! Reaps a command and counts its CPU time.

use plimsoll_host::{Root, life};
use plimsoll_model::CpuTime;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io;
use std::process::{Child, ExitStatus};

/// Waits until a command has ended. Returns its exit status and the CPU time of it
/// and of all descendants that were waited for, read while its PID is still
/// reserved; `None` if /proc does not have it.
///
/// # Errors
/// If the command cannot be waited for.
pub fn wait_counting(root: &Root, child: &mut Child) -> io::Result<(ExitStatus, Option<CpuTime>)> {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let who = WaitId::Pid(Pid::from_child(child));
    while waitid(who.clone(), ended).err() == Some(Errno::INTR) {}
    let life = life(root, child.id()).ok().flatten();
    Ok((child.wait()?, life.map(|life| life.cpu)))
}
