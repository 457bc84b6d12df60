//! The clients of a service on this host beside this process.

use super::{
    Socket, State, destination, holders, inherits, link, open_files, sockets, without_heirs,
};
use crate::error::HostError;
use crate::process::{Pid, ProcessStat, processes};
use crate::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// Where a service takes connections: at the address that it is asked at, and where else its processes listen.
#[derive(Debug, Clone)]
pub struct ServiceSockets {
    address: SocketAddr,
    /// Of its processes.
    listening: Vec<SocketAddr>,
    /// What its processes have open.
    files: BTreeSet<String>,
}

/// Clients of a service besides this process and the service itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherClients {
    /// Their connections.
    pub connections: usize,
    /// Where these end.
    pub to: BTreeSet<SocketAddr>,
    /// Those of this host.
    pub pids: Vec<Pid>,
}

impl ServiceSockets {
    /// Of the service at `address` whose processes are `pids`, with all that they have started.
    ///
    /// # Errors
    /// The tables of the kernel cannot be read.
    pub fn find(
        root: &Root,
        address: SocketAddr,
        pids: &[Pid],
    ) -> Result<ServiceSockets, HostError> {
        let mut files = BTreeSet::new();
        for pid in processes(root)? {
            let is_its = match ProcessStat::read_if_shown(root, pid)? {
                Some(stat) => pids.contains(&pid) || inherits(root, stat, pids)?,
                None => false,
            };
            if is_its && pid != std::process::id() {
                files.extend(open_files(root, pid).unwrap_or_default());
            }
        }
        let listening = sockets(root, State::Listen)?
            .into_iter()
            .filter(|socket| files.contains(&link(socket.inode)));
        Ok(ServiceSockets {
            address: destination(address),
            listening: listening.map(|socket| canonical(socket.at)).collect(),
            files,
        })
    }

    /// Whether a connection that ends at `at`, in canonical form, is with the service.
    fn take(&self, at: SocketAddr) -> bool {
        let serves = |by: &SocketAddr| {
            by.port() == at.port() && (by.ip() == at.ip() || by.ip().is_unspecified())
        };
        at == self.address || self.listening.iter().any(serves)
    }

    /// Finds the connections that are open.
    ///
    /// # Errors
    /// The tables of the kernel cannot be read.
    pub fn other_clients(&self, root: &Root) -> Result<OtherClients, HostError> {
        let ends = sockets(root, State::Established)?.into_iter();
        let ends: BTreeMap<(SocketAddr, SocketAddr), u64> = ends
            .map(|end| ((canonical(end.at), canonical(end.remote)), end.inode))
            .collect();
        let ours = open_files(root, std::process::id()).unwrap_or_default();
        let is_other = |inode: u64| {
            let link = link(inode);
            !ours.contains(&link) && !self.files.contains(&link)
        };
        let (mut found, mut inodes) = (OtherClients::default(), BTreeSet::new());
        for (at, remote) in ends.keys().filter(|(at, _)| self.take(*at)) {
            // A client on another host has no socket here.
            let client = ends.get(&(*remote, *at)).copied();
            if client.is_none_or(is_other) {
                found.connections += 1;
                found.to.insert(*at);
                inodes.extend(client);
            }
        }
        if !inodes.is_empty() {
            found.pids = without_heirs(root, holders(root, &inodes)?.pids)?;
        }
        Ok(found)
    }

    /// Counts the connections that ended in the last `within`, at most a minute, by where they ended at the service, but
    /// for those whose client had a port that `is_ours`. The service may have made those at another port itself.
    ///
    /// The side that closes first is in TIME_WAIT for a minute (`TCP_TIMEWAIT_LEN` in include/net/tcp.h), and the table
    /// has what is left of it. Not seen are those that a client on another host closed, that were reset, as by a client
    /// that closes with an answer unread, or whose port was used again since: the numbers are lower bounds.
    ///
    /// # Errors
    /// The tables of the kernel cannot be read.
    pub fn ended_connections(
        &self,
        root: &Root,
        within: Duration,
        is_ours: impl Fn(u16) -> bool,
    ) -> Result<BTreeMap<SocketAddr, usize>, HostError> {
        const TIME_WAIT: Duration = Duration::from_secs(60);
        let mut ended = BTreeMap::new();
        for socket in sockets(root, State::TimeWait)? {
            let since = TIME_WAIT.saturating_sub(root.tick().times(socket.timer));
            let Some((at, client)) = self.ends(&socket) else {
                continue;
            };
            if since < within && !is_ours(client.port()) {
                *ended.entry(at).or_default() += 1;
            }
        }
        Ok(ended)
    }

    /// The end at the service and that of the client; `None` if the service has neither.
    fn ends(&self, socket: &Socket) -> Option<(SocketAddr, SocketAddr)> {
        let (at, remote) = (canonical(socket.at), canonical(socket.remote));
        match (self.take(at), self.take(remote)) {
            (true, _) => Some((at, remote)),
            (false, true) => Some((remote, at)),
            (false, false) => None,
        }
    }
}

/// As IPv4 where it is an address of IPv4 in IPv6.
fn canonical(at: SocketAddr) -> SocketAddr {
    SocketAddr::new(at.ip().to_canonical(), at.port())
}
