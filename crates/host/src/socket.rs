//! Finds the processes that listen at a TCP address.
//!
//! /proc/net/tcp and tcp6 (Documentation/networking/proc_net_tcp.rst) list the
//! listening sockets; the links in /proc/PID/fd show which processes hold them.

use crate::error::{HostError, Malformed};
use crate::process::{Pid, ProcessStat, process_name, processes};
use crate::root::Root;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

mod clients;

pub use clients::{OtherClients, ServiceSockets};

/// The processes that listen at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listeners {
    /// PIDs of the holders of the listening socket that did not inherit it, in
    /// ascending order.
    Found(Vec<Pid>),
    /// The socket exists, but its holder may be among `unreadable` processes:
    /// run as root or name the process.
    Hidden {
        /// How many processes could not be inspected.
        unreadable: usize,
    },
    /// The socket exists, but no visible process holds it: the holder is in
    /// another PID namespace (a container) or in the kernel.
    HolderInvisible,
    /// The address is of this host, and nothing listens there.
    NotListening,
    /// The address is not of this host.
    OtherHost,
}

/// Finds the processes that serve `address` on this host.
///
/// As in the kernel (inet_lookup_listener), a socket bound to the exact address
/// takes precedence over a wildcard socket, and one of the same family over an
/// IPv6 socket that also accepts IPv4.
pub fn listeners(root: &Root, address: SocketAddr) -> Result<Listeners, HostError> {
    match holders_at(root, address)? {
        Ok(found) => {
            let heads = without_heirs(root, found.pids)?;
            Ok(classify(heads, found.unreadable))
        }
        Err(none) => Ok(none),
    }
}

/// The processes that hold a socket which serves `address`, and are neither among `named` nor descend from them; of
/// parents and children the parents. Empty if none can be seen.
///
/// # Errors
/// The tables of the kernel cannot be read.
pub fn listeners_beside(
    root: &Root,
    named: &[Pid],
    address: SocketAddr,
) -> Result<Vec<Pid>, HostError> {
    let Ok(found) = holders_at(root, address)? else {
        return Ok(vec![]);
    };
    let mut beside = Vec::new();
    for pid in found.pids.iter().filter(|pid| !named.contains(pid)) {
        match ProcessStat::read_if_shown(root, *pid)? {
            Some(stat) if !inherits(root, stat, named)? => beside.push(*pid),
            _ => {}
        }
    }
    without_heirs(root, beside)
}

/// What the links of a socket in /proc/PID/fd are to.
fn link(inode: u64) -> String {
    format!("socket:[{inode}]")
}

/// Where a connection to `address` ends: the unspecified address reaches this host.
fn destination(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip().to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Processes that hold a socket, and how many could not be looked into.
struct Holders {
    pids: Vec<Pid>,
    unreadable: usize,
}

/// Of the sockets that serve `address`.
fn holders_at(root: &Root, address: SocketAddr) -> Result<Result<Holders, Listeners>, HostError> {
    let ip = destination(address).ip();
    if !is_local(root, ip)? {
        return Ok(Err(Listeners::OtherHost));
    }
    let sockets = sockets(root, State::Listen)?;
    let inodes = reachable_inodes(&sockets, ip, address.port());
    if inodes.is_empty() {
        return Ok(Err(Listeners::NotListening));
    }
    holders(root, &inodes).map(Ok)
}

/// Those of the holders that descend from no other one: a server that starts a
/// process for each request leaves them its socket, and they soon end. Those that
/// have ended by now are left out.
fn without_heirs(root: &Root, holders: Vec<Pid>) -> Result<Vec<Pid>, HostError> {
    let mut heads = Vec::new();
    for pid in &holders {
        match ProcessStat::read_if_shown(root, *pid)? {
            Some(stat) if !stat.has_ended() && !inherits(root, stat, &holders)? => {
                heads.push(*pid);
            }
            _ => {}
        }
    }
    Ok(heads)
}

/// Whether an ancestor is one of the holders.
fn inherits(root: &Root, stat: ProcessStat, holders: &[Pid]) -> Result<bool, HostError> {
    // PIDs are reused while they are followed: no loop is endless.
    const MOST_ANCESTORS: usize = 64;
    let mut parent = stat.parent;
    for _ in 0..MOST_ANCESTORS {
        if holders.contains(&parent) {
            return Ok(true);
        }
        match ProcessStat::read_if_shown(root, parent)? {
            Some(stat) if parent > 1 => parent = stat.parent,
            _ => break,
        }
    }
    Ok(false)
}

fn classify(holders: Vec<Pid>, unreadable: usize) -> Listeners {
    match (holders.is_empty(), unreadable) {
        (false, _) => Listeners::Found(holders),
        (true, 0) => Listeners::HolderInvisible,
        (true, unreadable) => Listeners::Hidden { unreadable },
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Socket {
    at: SocketAddr,
    remote: SocketAddr,
    /// Until its timer expires, in ticks.
    timer: u64,
    inode: u64,
}

/// As /proc/net/tcp has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Established,
    TimeWait,
    Listen,
}

impl State {
    fn code(self) -> &'static str {
        match self {
            State::Established => "01",
            State::TimeWait => "06",
            State::Listen => "0A",
        }
    }
}

/// Of both versions of IP.
fn sockets(root: &Root, state: State) -> Result<Vec<Socket>, HostError> {
    let mut found = Vec::new();
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let sockets = root.parse_optional(path, |text| {
            let lines = text.lines().skip(1);
            let sockets = lines.filter_map(|line| socket(line, state).transpose());
            sockets.collect::<Result<Vec<Socket>, Malformed>>()
        })?;
        // A kernel without IPv6 has no tcp6.
        found.extend(sockets.unwrap_or_default());
    }
    Ok(found)
}

/// `None` if it is in another state.
fn socket(line: &str, asked: State) -> Result<Option<Socket>, Malformed> {
    let malformed = || Malformed::new("a line of a TCP socket", line);
    let words: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
    let [_, local, remote, state, _, timer, _, _, _, inode] = words[..] else {
        return Err(malformed());
    };
    if state != asked.code() {
        return Ok(None);
    }
    Ok(Some(Socket {
        at: address(local).ok_or_else(malformed)?,
        remote: address(remote).ok_or_else(malformed)?,
        timer: ticks(timer).ok_or_else(malformed)?,
        inode: inode.parse().map_err(|_| malformed())?,
    }))
}

/// `03:00001770`: the kind of the timer, and the time left, both in hexadecimal.
fn ticks(text: &str) -> Option<u64> {
    u64::from_str_radix(text.split_once(':')?.1, 16).ok()
}

/// `0100007F:1F90`: each four bytes of the address as a number in host byte
/// order, the port in hexadecimal.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |nth: usize| {
        let hex = ip.get(8 * nth..8 * nth + 8)?;
        Some(u32::from_str_radix(hex, 16).ok()?.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let mut bytes = [0u8; 16];
            for (nth, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(nth)?);
            }
            IpAddr::from(bytes)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The inodes of the sockets that a connection to this address can reach; more
/// than one with SO_REUSEPORT.
fn reachable_inodes(sockets: &[Socket], ip: IpAddr, port: u16) -> BTreeSet<u64> {
    let rank = |socket: &Socket| {
        let at = socket.at.ip().to_canonical();
        if socket.at.port() != port {
            None
        } else if at == ip {
            Some(0)
        } else if at.is_unspecified() && at.is_ipv4() == ip.is_ipv4() {
            Some(1)
        } else if at == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            // Unless the socket is IPv6-only, which the table does not show.
            Some(2)
        } else {
            None
        }
    };
    let Some(best) = sockets.iter().filter_map(rank).min() else {
        return BTreeSet::new();
    };
    sockets
        .iter()
        .filter(|socket| rank(socket) == Some(best))
        .map(|socket| socket.inode)
        .collect()
}

fn holders(root: &Root, inodes: &BTreeSet<u64>) -> Result<Holders, HostError> {
    let links: BTreeSet<String> = inodes.iter().copied().map(link).collect();
    let mut pids = Vec::new();
    let mut unreadable = 0;
    for pid in processes(root)? {
        match holds(root, pid, &links) {
            Ok(true) => pids.push(pid),
            Ok(false) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => unreadable += 1,
            // The process has ended.
            Err(_) => {}
        }
    }
    pids.sort_unstable();
    leave_out_systemd(root, &mut pids);
    Ok(Holders { pids, unreadable })
}

/// systemd keeps the sockets of the services that it starts on demand, and all processes descend from it.
fn leave_out_systemd(root: &Root, pids: &mut Vec<Pid>) {
    let is_systemd = |pid: &Pid| process_name(root, *pid).as_deref() == Some("systemd");
    if !pids.iter().all(is_systemd) {
        pids.retain(|pid| !is_systemd(pid));
    }
}

fn holds(root: &Root, pid: Pid, links: &BTreeSet<String>) -> io::Result<bool> {
    Ok(!open_files(root, pid)?.is_disjoint(links))
}

/// What the open files of a process are links to.
fn open_files(root: &Root, pid: Pid) -> io::Result<BTreeSet<String>> {
    let mut links = BTreeSet::new();
    for entry in fs::read_dir(root.path(format!("/proc/{pid}/fd")))? {
        match fs::read_link(entry?.path()) {
            Ok(target) => links.extend(target.into_os_string().into_string()),
            // The file was closed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(links)
}

/// Whether `ip` is an address of this host. A wildcard socket here does not
/// serve another host's address.
fn is_local(root: &Root, ip: IpAddr) -> Result<bool, HostError> {
    if ip.is_loopback() || ip.is_unspecified() {
        return Ok(true);
    }
    Ok(match ip {
        IpAddr::V4(ip) => {
            let trie = root.optional("/proc/net/fib_trie")?.unwrap_or_default();
            local_v4(&trie).contains(&ip)
        }
        IpAddr::V6(ip) => {
            let table = root.optional("/proc/net/if_inet6")?.unwrap_or_default();
            local_v6(&table).contains(&ip)
        }
    })
}

/// A leaf `|-- 192.0.2.2` is followed by its routes; `/32 host LOCAL` marks an
/// address of this host.
fn local_v4(fib_trie: &str) -> BTreeSet<Ipv4Addr> {
    let mut leaf: Option<Ipv4Addr> = None;
    let mut found = BTreeSet::new();
    for line in fib_trie.lines() {
        let line = line.trim();
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse().ok();
        } else if line == "/32 host LOCAL" {
            found.extend(leaf);
        }
    }
    found
}

/// The first column is the address in 32 hexadecimal digits.
fn local_v6(if_inet6: &str) -> BTreeSet<Ipv6Addr> {
    if_inet6
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().next())
        .filter_map(|hex| u128::from_str_radix(hex, 16).ok())
        .map(Ipv6Addr::from)
        .collect()
}

#[cfg(test)]
mod tests;
