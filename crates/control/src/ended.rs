//! Waiting for a command of which it shall be known what it used.

use plimsoll_host::{Root, life};
use plimsoll_model::CpuTime;
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io;
use std::process::{Child, ExitStatus};

/// Waits until a command has ended: how, and the CPU time of it and of all that
/// it and its children have waited for. That is read while its number is still
/// taken; `None` where /proc does not tell.
///
/// # Errors
/// When it cannot be waited for.
pub fn wait_counting(root: &Root, child: &mut Child) -> io::Result<(ExitStatus, Option<CpuTime>)> {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let who = WaitId::Pid(Pid::from_child(child));
    while waitid(who.clone(), ended).err() == Some(Errno::INTR) {}
    let life = life(root, child.id()).ok().flatten();
    Ok((child.wait()?, life.map(|life| life.cpu)))
}
