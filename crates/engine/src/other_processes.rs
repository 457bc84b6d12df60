//! Processes beside a named service that listen at its address, and clients of it beside the generator.
//!
//! The CPU time of the first is in no figure; that of the second's requests is taken for that of the generator's.

use crate::sensors::ServiceTarget;
use plimsoll_host::{
    Cgroups, Listeners, Pid, Root, ServiceSockets, listeners as host_listeners, listeners_beside,
    process_name,
};
use plimsoll_load::http::was_own_port;
use std::net::SocketAddr;
use std::time::Duration;

/// Which processes listen at `peer` and are not of a service that was named, as a sentence. `None` if there are none,
/// or none can be seen, or the service is found by its address.
pub(crate) fn listeners(root: &Root, target: &ServiceTarget, peer: SocketAddr) -> Option<String> {
    let named = match target {
        ServiceTarget::Process(pid) => format!("neither process {pid} nor started by it"),
        ServiceTarget::Cgroup(path) => format!("not in cgroup {path}"),
        _ => return None,
    };
    let beside = listeners_beside(root, &service_pids(root, target), peer).unwrap_or_default();
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

/// Which connections with the service are open that are not ours, as a sentence; `None` if there are none, or none can
/// be seen.
pub(crate) fn clients(root: &Root, target: &ServiceTarget, peer: SocketAddr) -> Option<String> {
    let sockets = ServiceSockets::find(root, peer, &service_pids(root, target)).ok()?;
    let others = sockets.other_clients(root).ok()?;
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
        "{number}{open} to {}{by}: the CPU time of {their} requests counts as that of ours",
        listed(others.to.iter())
    ))
}

/// The same of connections that have ended in the last `within`.
pub(crate) fn departed_clients(
    root: &Root,
    target: &ServiceTarget,
    peer: SocketAddr,
    within: Duration,
) -> Option<String> {
    let sockets = ServiceSockets::find(root, peer, &service_pids(root, target)).ok()?;
    let ended = sockets.ended_connections(root, within, was_own_port).ok()?;
    let number: usize = ended.values().sum();
    let (connections, was, its) = match number {
        0 => return None,
        1 => ("connection", "was", "its"),
        _ => ("connections", "were", "their"),
    };
    let elsewhere = listed(ended.keys().filter(|at| at.port() != peer.port()));
    let unless = match elsewhere.is_empty() {
        true => String::new(),
        false => format!(", unless the service itself connects to {elsewhere}"),
    };
    Some(format!(
        "at least {number} {connections} to {} that {was} not ours ended during a trial: the CPU time of {its} requests \
         counts as that of ours{unless}",
        listed(ended.keys())
    ))
}

/// Processes of the service, from which its others descend. Empty if they are not known.
fn service_pids(root: &Root, target: &ServiceTarget) -> Vec<Pid> {
    match target {
        ServiceTarget::Process(pid) => vec![*pid],
        ServiceTarget::Cgroup(path) => {
            let pids = Cgroups::find(root).and_then(|found| found.processes(root, path));
            pids.unwrap_or_default()
        }
        // Looked for each time: the service may have been restarted.
        ServiceTarget::Listening(at) => match host_listeners(root, *at) {
            Ok(Listeners::Found(pids)) => pids,
            _ => vec![],
        },
        _ => vec![],
    }
}

fn listed<'a>(addresses: impl Iterator<Item = &'a SocketAddr>) -> String {
    let addresses: Vec<String> = addresses.map(SocketAddr::to_string).collect();
    addresses.join(", ")
}

pub(crate) fn processes(root: &Root, pids: &[Pid]) -> String {
    let name = |pid: &Pid| match process_name(root, *pid) {
        Some(name) => format!("{name} ({pid})"),
        None => pid.to_string(),
    };
    pids.iter().map(name).collect::<Vec<_>>().join(", ")
}
