//! The flags of `plimsoll sweep` and `plimsoll yield` that concern a server.

use super::value::cpus;
use crate::failure::Failure;
use clap::{ArgGroup, Args};
use plimsoll_model::CpuSet;

/// The group of all flags that make no sense without a server.
pub(super) const OF_A_SERVER: &str = "of_a_server";

/// The group of those that only a sweep has.
pub(super) const OF_A_SWEPT_SERVER: &str = "of_a_swept_server";

/// The group of headers.
pub(super) const HEADERS: &str = "headers_of_a_server";

/// The group of what they make sense with.
pub(super) const URL_OR_RECORD: &str = "url_or_record";

/// The group of those two.
pub(super) fn url_or_record() -> ArgGroup {
    ArgGroup::new(URL_OR_RECORD)
        .args(["url", "resume"])
        .multiple(true)
}

/// The heading that they stand under.
pub(crate) const FOR_A_SERVER: &str = "For a server";

/// Flags that concern a server.
#[derive(Debug, Args)]
#[group(id = OF_A_SERVER, requires = "url")]
#[command(next_help_heading = FOR_A_SERVER)]
pub(crate) struct HttpArgs {
    /// The method (default: GET, or POST with --data).
    #[arg(short = 'X', long, visible_alias = "request", value_name = "METHOD")]
    pub(crate) method: Option<String>,

    /// Record all header values. Without, those that output hides are left out of the record, and --resume asks for them again.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) keep_headers: bool,

    /// The body; @FILE reads it from a file.
    #[arg(
        short = 'd',
        long = "data",
        visible_alias = "body",
        value_name = "BODY"
    )]
    pub(crate) data: Option<String>,

    /// Connections kept open (default: 128).
    #[arg(short, long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) connections: Option<u32>,

    /// Accept any TLS certificate.
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,

    /// The status that counts as success (default: any of 200 to 299).
    #[arg(long, value_name = "STATUS",
        value_parser = clap::value_parser!(u16).range(100..=599))]
    pub(crate) expect_status: Option<u16>,

    /// CPUs that the service may run on (default: where its processes may run).
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(crate) service_cpus: Option<CpuSet>,

    /// The service's process, if it is on this host (default: found by its listening socket).
    #[arg(long, value_name = "PID", conflicts_with = "service_cgroup")]
    pub(crate) service_pid: Option<u32>,

    /// The service's cgroup, as a path below the cgroup mount.
    #[arg(long, value_name = "PATH")]
    pub(crate) service_cgroup: Option<String>,
}

/// Headers, which a run that is resumed may need again.
#[derive(Debug, Args)]
#[group(id = HEADERS, requires = URL_OR_RECORD)]
#[command(next_help_heading = FOR_A_SERVER)]
pub(crate) struct HeaderArgs {
    /// A header, such as 'Accept: text/html'. Repeatable. With --resume, a header whose value the record leaves out.
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
}

impl HeaderArgs {
    /// Names and values.
    pub(crate) fn parsed(&self) -> Result<Vec<(String, String)>, Failure> {
        let headers = self.headers.iter();
        headers.map(|text| crate::headers::parse(text)).collect()
    }
}

/// Flags of a sweep that concern a server. A job runs beside a server that
/// stays up, and on its machine: these make no sense there.
#[derive(Debug, Args)]
#[group(id = OF_A_SWEPT_SERVER, requires = "url")]
#[command(next_help_heading = FOR_A_SERVER)]
pub(crate) struct SweptServerArgs {
    /// A command that restarts the service, run by sh before each pass over the levels; shows how much comes from restarts.
    #[arg(long, value_name = "CMD")]
    pub(crate) restart: Option<String>,

    /// node_exporter of the host where the service is, such as http://host:9100/metrics.
    #[arg(long, value_name = "URL", conflicts_with_all = ["service_pid", "service_cgroup"])]
    pub(crate) node_metrics: Option<String>,
}
