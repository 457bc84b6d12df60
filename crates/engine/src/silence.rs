//! Why a server says nothing.

use crate::conduct::RunError;
use crate::sensors::stopped;
use plimsoll_host::{Listeners, Monitors, Pid, Root, listeners, process_name};
use plimsoll_load::LoadError;
use plimsoll_load::http::{HttpLoad, Probe};
use plimsoll_model::ServiceAt;
use std::net::SocketAddr;

/// Asks a server once. If it stays silent because its process is stopped, or runs in a virtual
/// machine none of whose CPUs ran meanwhile, the error says that: the kernel and a monitor take
/// connections for those who are paused.
///
/// # Errors
/// The server does not answer as a server does.
pub fn probe(root: &Root, load: &HttpLoad, service: &ServiceAt) -> Result<Probe, RunError> {
    let before = Monitors::now(root)?;
    let error = match load.probe() {
        Ok(probe) => return Ok(probe),
        Err(error) => error,
    };
    let LoadError::Silent { url, peer, .. } = &error else {
        return Err(error.into());
    };
    let pids = pids(root, service, *peer);
    for pid in &pids {
        // One that has just ended is not stopped.
        if let Ok(Some(why)) = stopped(root, *pid) {
            return Err(RunError::Stuck(why));
        }
    }
    let Some(pid) = before.still(root, &pids) else {
        return Err(error.into());
    };
    let name = process_name(root, pid).unwrap_or_default();
    Err(RunError::Stuck(format!(
        "{url} gave no answer, and no CPU of the virtual machine of process {pid} ({name}) ran \
         meanwhile: it is paused or has crashed; continue it in its monitor (in qemu's: cont)"
    )))
}

fn pids(root: &Root, service: &ServiceAt, peer: SocketAddr) -> Vec<Pid> {
    match (service, listeners(root, peer)) {
        (ServiceAt::Pid(pid), _) => vec![*pid],
        (ServiceAt::Find, Ok(Listeners::Found(pids))) => pids,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{CpuSet, HttpService};
    use std::net::TcpListener;
    use std::time::Duration;

    /// What is said of a server that takes a connection and answers nothing, whose process on a
    /// made-up machine has this name and state.
    fn said(name: &str, state: char) -> String {
        let tree = tempfile::tempdir().unwrap();
        let zeros = "0 ".repeat(10);
        let stat = format!("7 ({name}) {state} 1 {zeros}0 0 0 20 0 1 0 7 0 0\n");
        for (file, text) in [
            ("comm", name),
            ("stat", stat.as_str()),
            ("task/7/schedstat", "5 0 5"),
            ("task/8/schedstat", "9 1 4"),
        ] {
            let path = tree.path().join("proc/7").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let http = HttpService::get(url, 1, Duration::from_millis(50));
        let load = HttpLoad::new(&http, CpuSet::from_iter([0])).unwrap();
        let root = Root::at(tree.path());
        let error = probe(&root, &load, &ServiceAt::Pid(7)).unwrap_err();
        error.to_string()
    }

    #[test]
    fn a_stopped_process_is_named() {
        let stopped = said("nginx", 'T');
        assert!(
            stopped.contains("process 7 (nginx) is paused (state T)"),
            "{stopped}"
        );
    }

    #[test]
    fn a_paused_machine_is_told_from_a_slow_server() {
        let paused = said("qemu-system-x86", 'S');
        assert!(
            paused.contains("process 7 (qemu-system-x86) ran meanwhile: it is paused"),
            "{paused}"
        );
        let slow = said("nginx", 'S');
        assert!(
            slow.contains("gave no answer within 50ms; check why"),
            "{slow}"
        );
    }
}
