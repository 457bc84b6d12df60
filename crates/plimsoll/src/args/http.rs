//! The flags of `plimsoll sweep` and `plimsoll yield` that concern a server.

use super::value::{cpus, positive_duration};
use clap::Args;
use plimsoll_model::CpuSet;
use std::time::Duration;

/// Flags that concern a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "For a server")]
pub(crate) struct HttpArgs {
    /// The method (default: GET, or POST with --data).
    #[arg(
        short = 'X',
        long,
        visible_alias = "request",
        value_name = "METHOD",
        requires = "url"
    )]
    pub(crate) method: Option<String>,

    /// A header, such as 'Accept: text/html'. Repeatable.
    #[arg(short = 'H', long = "header", value_name = "HEADER", requires = "url")]
    pub(crate) headers: Vec<String>,

    /// The body; @FILE reads it from a file.
    #[arg(
        short = 'd',
        long = "data",
        visible_alias = "body",
        value_name = "BODY",
        requires = "url"
    )]
    pub(crate) data: Option<String>,

    /// Connections kept open (default: 128).
    #[arg(short, long, value_name = "N", requires = "url",
        value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) connections: Option<u32>,

    /// A request (or, with --copies, a copy) that takes longer has failed (default: 10s; copies: 1h).
    #[arg(long, value_name = "TIME", value_parser = positive_duration, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,

    /// Accept any TLS certificate.
    #[arg(short = 'k', long, requires = "url")]
    pub(crate) insecure: bool,

    /// The status that counts as success (default: any of 200 to 299).
    #[arg(long, value_name = "STATUS", requires = "url",
        value_parser = clap::value_parser!(u16).range(100..=599))]
    pub(crate) expect_status: Option<u16>,

    /// CPUs that the service may run on (default: where its processes may run).
    #[arg(long, value_name = "LIST", requires = "url", value_parser = cpus)]
    pub(crate) service_cpus: Option<CpuSet>,

    /// The service's process, if it is on this host (default: found by its listening socket).
    #[arg(long, value_name = "PID", requires = "url", conflicts_with_all = ["service_cgroup", "node_metrics"])]
    pub(crate) service_pid: Option<u32>,

    /// The service's cgroup, as a path below the cgroup mount.
    #[arg(
        long,
        value_name = "PATH",
        requires = "url",
        conflicts_with = "node_metrics"
    )]
    pub(crate) service_cgroup: Option<String>,

    /// A command that restarts the service, run by sh before each pass over the levels; shows how much comes from restarts.
    #[arg(long, value_name = "CMD", requires = "url")]
    pub(crate) restart: Option<String>,

    /// node_exporter of the host where the service is, such as http://host:9100/metrics.
    #[arg(long, value_name = "URL", requires = "url")]
    pub(crate) node_metrics: Option<String>,
}
