//! Processes beside a named service that listen at its address, and clients of it beside the generator.
//!
//! The CPU time of the first is in no figure; that of the second's requests is taken for that of the generator's.

use crate::sensors::ServiceTarget;
use plimsoll_host::{
    Cgroups, Pid, Root, ended_connections, listeners_beside, other_clients, process_name,
};
use plimsoll_load::http::was_own_port;
use std::net::SocketAddr;
use std::time::Duration;

/// Which processes listen at `peer` and are not of a service that was named, as a sentence. `None` if there are none,
/// or none can be seen, or the service is found by its address.
pub(crate) fn listeners(root: &Root, target: &ServiceTarget, peer: SocketAddr) -> Option<String> {
    let (named, pids) = match target {
        ServiceTarget::Process(pid) => (
            format!("neither process {pid} nor started by it"),
            vec![*pid],
        ),
        ServiceTarget::Cgroup(path) => {
            let pids = Cgroups::find(root).and_then(|found| found.processes(root, path));
            (format!("not in cgroup {path}"), pids.unwrap_or_default())
        }
        _ => return None,
    };
    let beside = listeners_beside(root, &pids, peer).unwrap_or_default();
    let (listens, is, its) = match beside.len() {
        0 => return None,
        1 => ("listens", "is", "its"),
        _ => ("listen", "are", "their"),
    };
    Some(format!(
        "{} {listens} at {peer}, and {is} {named}: {its} CPU time is in no figure of the service",
        processes(root, &beside),
    ))
}

/// Which connections to `peer` are open that are not ours, as a sentence; `None` if there are none, or none can be seen.
pub(crate) fn clients(root: &Root, peer: SocketAddr) -> Option<String> {
    let others = other_clients(root, peer).unwrap_or_default();
    let (open, their) = match others.connections {
        0 => return None,
        1 => ("another connection was open", "its"),
        _ => ("other connections were open", "their"),
    };
    let number = match others.connections {
        1 => String::new(),
        number => format!("{number} "),
    };
    let by = match others.pids.is_empty() {
        true => String::new(),
        false => format!(", by {}", processes(root, &others.pids)),
    };
    Some(format!(
        "{number}{open} to {peer}{by}: the CPU time of {their} requests counts as that of ours"
    ))
}

/// The same of connections that have ended in the last `within`.
pub(crate) fn departed_clients(root: &Root, peer: SocketAddr, within: Duration) -> Option<String> {
    let ended = ended_connections(root, peer, within, was_own_port).unwrap_or_default();
    let (connections, was, its) = match ended {
        0 => return None,
        1 => ("connection", "was", "its"),
        _ => ("connections", "were", "their"),
    };
    Some(format!(
        "at least {ended} {connections} to {peer} that {was} not ours ended during a trial: the CPU time of {its} requests \
         counts as that of ours"
    ))
}

pub(crate) fn processes(root: &Root, pids: &[Pid]) -> String {
    let name = |pid: &Pid| match process_name(root, *pid) {
        Some(name) => format!("{name} ({pid})"),
        None => pid.to_string(),
    };
    pids.iter().map(name).collect::<Vec<_>>().join(", ")
}
