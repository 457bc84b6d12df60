//! What is under test.

use crate::{Bytes, CpuTime, FileUse, MemoryUse, Rate, counted, shown_url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// What a sweep drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Workload {
    /// Plimsoll's own hash service, in this process.
    Hash(HashService),
    /// A server that speaks HTTP/1.1.
    Http(HttpService),
    /// A service that another load generator loads.
    Command(LoadCommand),
    /// What somebody else measured and put into a table.
    Imported(ImportedTable),
}

/// A service whose requests hash a block with SHA-1; sizes follow a normal
/// distribution clamped to 0.1 to 3 times the mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HashService {
    /// The mean size of a block, calibrated so that a request costs
    /// [`HashService::request_cpu`] on this machine.
    #[serde(rename = "mean_block_bytes")]
    pub mean_block: Bytes,
    /// The standard deviation of the size, as a share of the mean.
    pub deviation_share: f64,
    /// What hashing in one request was calibrated to cost. Memory and files come on top: what a
    /// request costs with them, each trial measures.
    #[serde(rename = "request_cpu_ns")]
    pub request_cpu: CpuTime,
    /// How its workers wait for requests, by the name of a waiting policy; left out if they sleep.
    #[serde(
        default,
        rename = "wait_policy",
        skip_serializing_if = "Option::is_none"
    )]
    pub waiting: Option<String>,
    /// The memory that requests touch besides the block; left out for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryUse>,
    /// The files that requests read and write; left out for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileUse>,
}

/// An HTTP/1.1 server and the request that it is asked again and again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HttpService {
    /// `http://` or `https://`, with host, port and path. Output and, as a rule, records
    /// have "(hidden)" for user and password, and for values of the query.
    pub url: String,
    /// The method, such as GET.
    pub method: String,
    /// Headers besides Host, Content-Length and Connection, in order. Output and, as a
    /// rule, records have "(hidden)" for values that may be secret.
    pub headers: Vec<(String, String)>,
    /// Names of further headers, whose values an early version left out of a record. Now
    /// they are among the others, their values hidden.
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    pub omitted_headers: Vec<String>,
    /// The body; empty for none, and where it is left out.
    pub body: Vec<u8>,
    /// The length of a body that a record or an output leaves out, because it may be
    /// secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub omitted_body_bytes: Option<u64>,
    /// Connections kept open, over all generator threads.
    pub connections: u32,
    /// The calibration may raise their number up to this; left out if it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<u32>,
    /// A request that takes longer counts as a time-out.
    #[serde(rename = "timeout_ns", with = "crate::Ns")]
    pub timeout: Duration,
    /// The status that counts as success; `None` for any of 200 to 299.
    pub expected_status: Option<u16>,
    /// What the body of a good answer contains; left out where any will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_text: Option<String>,
    /// Several requests, from a file; left out for the one that the other fields describe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Box<RequestFile>>,
    /// Whether to take any certificate.
    pub insecure: bool,
    /// Requests after which a connection is closed; left out for as many as the server takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<NonZeroU32>,
    /// HTTP/2, with at most so many requests at a time on a connection; HTTP/1.1 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2_streams: Option<NonZeroU32>,
    /// The requests are unary calls of gRPC, with bodies that are messages; left out if they are not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub grpc: bool,
    /// Certificates and a key, by the names of their files; left out where none is given.
    #[serde(default, skip_serializing_if = "TlsFiles::are_none")]
    pub tls: TlsFiles,
    /// Where the service's own CPU time is found.
    pub service: ServiceAt,
}

/// A file of requests, without what may be secret of them: it is read again by its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestFile {
    /// Its name, as it was given.
    pub file: String,
    /// SHA-1 of it and of the files that it names, in hexadecimal.
    pub sha1: String,
    /// The requests that are chosen from, in its order.
    pub requests: Vec<RequestOfFile>,
    /// How many more are sent before each trial.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub logins: usize,
    /// Requests of an archive that went to other hosts, or had no good answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

fn is_false(is: &bool) -> bool {
    !is
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// One request of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestOfFile {
    /// Its name in the file, or its method and path.
    pub name: String,
    /// The method, such as GET.
    pub method: String,
    /// Its path, with "(hidden)" for values of the query.
    pub path: String,
    /// How often it is chosen, as a share of the sum of all.
    pub weight: f64,
}

impl RequestFile {
    /// The share of the requests that are of this kind.
    pub fn share(&self, request: &RequestOfFile) -> f64 {
        request.weight / self.requests.iter().map(|r| r.weight).sum::<f64>()
    }
}

/// Files in PEM form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsFiles {
    /// Authorities that are trusted, in place of those of the machine.
    pub authorities: Option<String>,
    /// The certificate chain of this client.
    pub certificate: Option<String>,
    /// The private key of it; the file of the certificate has it where there is none.
    pub key: Option<String>,
}

impl TlsFiles {
    /// Whether there is none.
    pub fn are_none(&self) -> bool {
        *self == TlsFiles::default()
    }
}

impl HttpService {
    /// Requests at a time on a connection.
    pub fn streams(&self) -> u32 {
        self.http2_streams.map_or(1, NonZeroU32::get)
    }

    /// A plain GET of `url` on any server whose certificate is trusted.
    pub fn get(url: impl Into<String>, connections: u32, timeout: Duration) -> HttpService {
        HttpService {
            url: url.into(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            omitted_headers: Vec::new(),
            body: Vec::new(),
            omitted_body_bytes: None,
            connections,
            max_connections: None,
            timeout,
            expected_status: None,
            expected_text: None,
            requests: None,
            insecure: false,
            requests_per_connection: None,
            http2_streams: None,
            grpc: false,
            tls: TlsFiles::default(),
            service: ServiceAt::Find,
        }
    }
}

/// Where the service's own CPU time is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceAt {
    /// By its listening socket, if it is on this host.
    Find,
    /// A process with its threads and children.
    Pid(u32),
    /// A cgroup, as a path below the cgroup mount.
    Cgroup(String),
    /// node_exporter's counters of the host where the service is.
    NodeMetrics(String),
}

/// An external load generator and the service that it loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadCommand {
    /// The address of the service, such as `tcp://127.0.0.1:5432`.
    pub url: String,
    /// Run by sh for each trial, with values for `{rate}`, `{duration}`, `{seed}`, `{url}` and `{out}`.
    pub command: String,
    /// How its output is read.
    pub format: LoadFormat,
    /// Where the service's own CPU time is found.
    pub service: ServiceAt,
}

/// How the output of a load generator is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadFormat {
    /// The file of k6's `--summary-export`.
    K6,
    /// What wrk2 prints with `--latency`.
    Wrk2,
    /// The file of fortio's `-json`.
    Fortio,
    /// The logs of pgbench's `--log`.
    Pgbench,
    /// A line of JSON.
    Json,
}

impl LoadFormat {
    /// All of them, with their names.
    pub const ALL: [(&'static str, LoadFormat); 5] = [
        ("k6", LoadFormat::K6),
        ("wrk2", LoadFormat::Wrk2),
        ("fortio", LoadFormat::Fortio),
        ("pgbench", LoadFormat::Pgbench),
        ("json", LoadFormat::Json),
    ];

    /// How long a generator sends requests before it measures any.
    pub fn lead(self) -> Duration {
        match self {
            // Its calibration, CALIBRATE_DELAY_MS in its source.
            LoadFormat::Wrk2 => Duration::from_secs(10),
            _ => Duration::ZERO,
        }
    }

    /// That of the program which a command names first; `None` if none of them is known.
    pub fn of_command(command: &str) -> Option<LoadFormat> {
        programs(command).find_map(|name| {
            let name = if name == "wrk" { "wrk2" } else { name };
            let found = LoadFormat::ALL.iter().find(|(one, _)| *one == name);
            found.map(|(_, format)| *format)
        })
    }

    /// A program in a command that offers no rate: it sends a request when an answer has come.
    pub fn closed_loop(command: &str) -> Option<&str> {
        let has_rate = || {
            let mut words = command.split_whitespace();
            words.any(|word| word.starts_with("-R") || word.starts_with("--rate"))
        };
        // Elsewhere the short name may be an argument.
        let first = programs(command).next();
        let known = first.filter(|name| matches!(*name, "ab" | "redis-benchmark"));
        known.or_else(|| programs(command).find(|name| *name == "wrk" && !has_rate()))
    }
}

/// The words of a command without folders: its program is among them.
fn programs(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split_whitespace();
    words.map(|word| word.rsplit('/').next().unwrap_or(word))
}

impl fmt::Display for LoadFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = LoadFormat::ALL.iter().find(|(_, format)| format == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

/// A command of which 1 to N copies run at once, each on a CPU of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Copies {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Copies that take longer are ended, and the run fails.
    #[serde(rename = "timeout_ns", with = "crate::Ns")]
    pub timeout: Duration,
}

/// A table that somebody else measured: one number each per row, of which it is
/// not known how it came about. A latency in it may be a mean or any
/// percentile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedTable {
    /// What was measured, in a word: the machine, as a rule.
    pub name: String,
    /// What its rows are.
    pub rows: TableRows,
    /// How many CPUs its CPU use is a part of, where that is known.
    #[schemars(range(min = 1))]
    pub cpus: Option<u32>,
    /// How many threads its cores have, where that is known.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub threads_per_core: Option<u32>,
    /// Where it comes from, and what else a reader should know.
    pub note: Option<String>,
    /// Its latencies as they were given, of which a histogram holds three
    /// digits; none for copies. Records of older versions have none.
    #[serde(default)]
    pub latencies: Vec<GivenLatency>,
}

/// A latency that a table gives at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GivenLatency {
    /// The rate.
    #[serde(rename = "rate_rps")]
    pub rate: Rate,
    /// The latency.
    #[serde(rename = "latency_ns", with = "crate::Ns")]
    pub latency: Duration,
}

/// What the rows of an imported table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableRows {
    /// A rate, the CPU use and the latency at it.
    Rates,
    /// A number of copies at once, the CPU use and the time at it.
    Copies,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workload::Hash(h) => {
                write!(f, "hash service (SHA-1, {} blocks", h.mean_block)?;
                h.waiting
                    .iter()
                    .try_for_each(|name| write!(f, ", waiting {name}"))?;
                h.memory.iter().try_for_each(|m| write!(f, ", {m}"))?;
                h.files
                    .iter()
                    .try_for_each(|files| write!(f, ", {files}"))?;
                f.write_str(")")
            }
            Workload::Http(h) => h.fmt(f),
            Workload::Command(load) => {
                write!(f, "{} loaded by {}", shown_url(&load.url), load.command)
            }
            Workload::Imported(table) => table.fmt(f),
        }
    }
}

impl fmt::Display for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = shown_url(&self.url);
        match &self.requests {
            None => write!(f, "{} {url}", self.method)?,
            Some(several) => {
                let requests = counted(several.requests.len(), "request", "requests");
                write!(f, "{requests} of {} to {url}", several.file)?;
            }
        }
        match self.http2_streams {
            None => Ok(()),
            Some(streams) => {
                let streams = counted(streams.get() as usize, "stream", "streams");
                let over = if self.grpc { "gRPC" } else { "HTTP/2" };
                write!(f, " over {over}, {streams} a connection")
            }
        }
    }
}

impl fmt::Display for ImportedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (imported table)", self.name)?;
        self.note.iter().try_for_each(|note| write!(f, ": {note}"))
    }
}
