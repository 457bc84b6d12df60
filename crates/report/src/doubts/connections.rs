//! Doubts about the client's connections.

use crate::number::{self, time_us};
use plimsoll_model::{Doubt, counted};

/// Empty for any other doubt.
pub(super) fn sentence(doubt: &Doubt) -> String {
    match *doubt {
        Doubt::Connections {
            connections,
            streams,
            latency_us,
            most_rps,
            waited_pct,
        } => over_connections((connections, streams), latency_us, most_rps, waited_pct),
        Doubt::CpuLeft {
            cpu_pct,
            over,
            streams,
        } => cpu_left(cpu_pct, over, streams),
        Doubt::Unserved {
            connections,
            unserved,
        } => unserved_connections(connections, unserved),
        Doubt::Closed {
            connections,
            failed_pct,
        } => closed_connections(connections, failed_pct),
        _ => String::new(),
    }
}

fn over_connections(
    (connections, streams): (u32, u32),
    latency_us: f64,
    most_rps: f64,
    waited_pct: Option<f64>,
) -> String {
    let waited = waited_pct.map_or_else(String::new, |pct| {
        format!(
            " Up to {} % of the requests of a trial waited for one.",
            number::pct(pct)
        )
    });
    format!(
        "The client's {} may be the limit, not the service: at a mean \
         latency of {} they carry {} at most.{waited} Sweep again with more of them \
         (--max-connections, or -c for a fixed number).",
        connections_of(connections, streams),
        time_us(latency_us),
        number::per_second(most_rps)
    )
}

/// `8 connections`, or `8 connections with 4 streams each`.
pub fn connections_of(connections: u32, streams: u32) -> String {
    let connections = counted(connections as usize, "connection", "connections");
    match streams {
        1 => connections,
        _ => format!("{connections} with {streams} streams each"),
    }
}

fn cpu_left(cpu_pct: f64, over: u32, streams: u32) -> String {
    format!(
        "The service's CPUs were at most {} % busy, and all of the client's {} were \
         in use where no more was carried: the limit is something else than CPU time, such as its \
         threads, a lock, what it waits for, or a limit for each connection. Sweep with -c {} to \
         see whether more connections carry more.",
        number::pct(cpu_pct),
        connections_of(over, streams),
        over.saturating_mul(8)
    )
}

fn unserved_connections(connections: u32, unserved: u32) -> String {
    format!(
        "The server answers few connections at a time: at light load {unserved} of {connections} \
         had no answer in a whole trial. Clients beyond those wait until they give up; raise the \
         server's limit, or sweep with as many as it serves (-c)."
    )
}

fn closed_connections(connections: u32, failed_pct: f64) -> String {
    let failed = number::pct(failed_pct);
    format!(
        "The server refuses or closes connections: at light load {failed} % of the requests failed \
         so, over {connections} connections. It may permit fewer; raise its limit, or sweep with as \
         many as it permits (-c)."
    )
}
