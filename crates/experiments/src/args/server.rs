//! Flags of experiments that load a server.

use super::value::cpus;
use super::value::positive_duration;
use clap::{ArgGroup, Args, ValueEnum};
use plimsoll_engine::RunError;
use plimsoll_load::hash;
use plimsoll_model::{Arrivals, CpuSet, CpuTime, HttpService, ServiceAt, Workload};
use std::time::Duration;

/// The group of all flags that make no sense without a server.
pub(crate) const OF_A_SERVER: &str = "of_a_server";

/// The group of headers.
pub(crate) const HEADERS: &str = "headers_of_a_server";

/// The group of what they make sense with.
pub(crate) const URL_OR_RECORD: &str = "url_or_record";

/// The group of those two.
pub(crate) fn url_or_record() -> ArgGroup {
    ArgGroup::new(URL_OR_RECORD)
        .args(["url", "resume"])
        .multiple(true)
}

/// The heading of flags of a server.
pub const FOR_A_SERVER: &str = "For a server";

/// Flags that concern a server.
#[derive(Debug, Args)]
#[group(id = OF_A_SERVER, requires = "url")]
#[command(next_help_heading = FOR_A_SERVER)]
pub struct ServerArgs {
    /// The method (default: GET, or POST with --data).
    #[arg(short = 'X', long, visible_alias = "request", value_name = "METHOD")]
    pub method: Option<String>,

    /// Record all header values. Without, those that output hides are left out of the record, and --resume asks for them again.
    #[arg(long, conflicts_with = "resume")]
    pub keep_headers: bool,

    /// The body; @FILE reads it from a file.
    #[arg(
        short = 'd',
        long = "data",
        visible_alias = "body",
        value_name = "BODY"
    )]
    pub data: Option<String>,

    /// Connections kept open (default: 128).
    #[arg(short, long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub connections: Option<u32>,

    /// A request that takes longer has failed (default: 10s).
    #[arg(long, value_name = "TIME", value_parser = positive_duration, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// Accept any TLS certificate.
    #[arg(short = 'k', long)]
    pub insecure: bool,

    /// The status that counts as success (default: any of 200 to 299).
    #[arg(long, value_name = "STATUS",
        value_parser = clap::value_parser!(u16).range(100..=599))]
    pub expect_status: Option<u16>,

    /// CPUs that the service may run on (default: where its processes may run).
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub service_cpus: Option<CpuSet>,

    /// The service's process, if it is on this host (default: found by its listening socket).
    #[arg(long, value_name = "PID", conflicts_with = "service_cgroup")]
    pub service_pid: Option<u32>,

    /// The service's cgroup, as a path below the cgroup mount.
    #[arg(long, value_name = "PATH")]
    pub service_cgroup: Option<String>,
}

/// Headers, which a run that is resumed may need again.
#[derive(Debug, Args)]
#[group(id = HEADERS, requires = URL_OR_RECORD)]
#[command(next_help_heading = FOR_A_SERVER)]
pub struct HeaderArgs {
    /// A header, such as 'Accept: text/html'. Repeatable. With --resume, a header whose value the record leaves out.
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,
}

impl HeaderArgs {
    /// Names and values.
    /// # Errors
    /// One has no name.
    pub(crate) fn parsed(&self) -> Result<Vec<(String, String)>, RunError> {
        let headers = self.headers.iter();
        headers.map(|text| crate::headers::parse(text)).collect()
    }
}

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalChoice {
    /// Independent users: exponential gaps.
    Poisson,
    /// Equal gaps.
    Constant,
}

impl From<ArrivalChoice> for Arrivals {
    fn from(choice: ArrivalChoice) -> Arrivals {
        match choice {
            ArrivalChoice::Poisson => Arrivals::Poisson,
            ArrivalChoice::Constant => Arrivals::Constant,
        }
    }
}

/// The workload that flags ask for: a server at `url`, or the hash service,
/// calibrated on the first of `cpus`.
///
/// # Errors
/// A flag's value makes no sense, or the hash service cannot be calibrated.
pub(crate) fn workload(
    url: Option<&str>,
    server: &ServerArgs,
    header: &HeaderArgs,
    cpus: &CpuSet,
) -> Result<Workload, RunError> {
    match url {
        Some(url) => Ok(Workload::Http(server.service(url, header.parsed()?)?)),
        None => {
            let first = cpus.iter().next().unwrap_or(0);
            Ok(Workload::Hash(hash::calibrate(HASH_REQUEST, first)?))
        }
    }
}

/// What one request to the hash service is calibrated to cost.
const HASH_REQUEST: CpuTime = CpuTime(Duration::from_millis(1));

/// Enough for 100,000 requests a second of a millisecond each.
const CONNECTIONS: u32 = 128;

const TIMEOUT: Duration = Duration::from_secs(10);

impl ServerArgs {
    fn service(&self, url: &str, headers: Vec<(String, String)>) -> Result<HttpService, RunError> {
        let body = match self.data.as_deref() {
            None => Vec::new(),
            Some(data) => match data.strip_prefix('@') {
                None => data.as_bytes().to_vec(),
                Some(path) => std::fs::read(path).map_err(|e| {
                    RunError::Usage(format!("--data: the file '{path}' cannot be read: {e}; check the name and its permissions, or leave out the @ to send the text itself"))
                })?,
            },
        };
        let default_method = if self.data.is_some() { "POST" } else { "GET" };
        Ok(HttpService {
            url: url.to_owned(),
            method: self.method.clone().unwrap_or(default_method.to_owned()),
            headers,
            omitted_headers: Vec::new(),
            body,
            connections: self.connections.unwrap_or(CONNECTIONS),
            timeout: self.timeout.unwrap_or(TIMEOUT),
            expected_status: self.expect_status,
            insecure: self.insecure,
            service: self.service_at(),
        })
    }

    fn service_at(&self) -> ServiceAt {
        match (self.service_pid, &self.service_cgroup) {
            (Some(pid), _) => ServiceAt::Pid(pid),
            (None, Some(path)) => ServiceAt::Cgroup(path.clone()),
            (None, None) => ServiceAt::Find,
        }
    }
}
