//! Flags of experiments that load a server.

use super::hash::HashArgs;
use super::run::RunArgs;
use super::value::{cgroup, cpus, pid, positive_duration, service_warm_up};
use clap::{ArgGroup, Args, ValueEnum};
use plimsoll_engine::{RunError, Site};
use plimsoll_host::{Root, online_cpus};
use plimsoll_load::hash;
use plimsoll_load::http::describe_requests;
use plimsoll_model::{
    Arrivals, Bytes, CpuPlan, CpuSet, CpuTime, HashService, HttpService, InterruptTime, Rate,
    RunPlan, ServiceAt, ServiceWarmUp, TlsFiles, Workload, parse_duration,
};
use std::fs::File;
use std::io::Read;
use std::num::NonZeroU32;
use std::time::Duration;

/// The group of flags that need a server, or a record of one.
pub(crate) const URL_OR_RECORD: &str = "url_or_record";

pub(crate) fn url_or_record() -> ArgGroup {
    ArgGroup::new(URL_OR_RECORD)
        .args(["url", "resume"])
        .multiple(true)
}

/// The heading of flags of a server.
pub const FOR_A_SERVER: &str = "For a server";

/// Flags that concern a server.
#[derive(Debug, Args)]
#[group(requires = "url")]
#[command(next_help_heading = FOR_A_SERVER)]
pub(crate) struct ServerArgs {
    /// The method (default: GET, or POST with --data).
    #[arg(short = 'X', long, visible_alias = "request", value_name = "METHOD")]
    pub method: Option<String>,

    /// Record what output hides of the request. Without, the record leaves it out, and --resume asks for it again. What commands contain is recorded and shown in any case.
    #[arg(long, conflicts_with = "resume")]
    pub keep_secrets: bool,

    /// Connections kept open (default: 128).
    #[arg(short, long, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub connections: Option<u32>,

    /// A request that takes longer has failed (default: 10s).
    #[arg(long, value_name = "TIME", value_parser = positive_duration, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// Close each connection after so many requests, the last of which says so (Connection: close).
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "no_keepalive",
        allow_hyphen_values = true
    )]
    pub requests_per_connection: Option<NonZeroU32>,

    /// A connection for each request; opening it is part of the latency.
    #[arg(long)]
    pub no_keepalive: bool,

    /// Speak HTTP/2: with https by ALPN, with http from the first byte (prior knowledge).
    #[arg(long, conflicts_with_all = ["requests_per_connection", "no_keepalive"])]
    pub http2: bool,

    /// Call a method of gRPC, over HTTP/2: the path is /package.Service/Method, and the body a message as protobuf encodes it.
    #[arg(long, conflicts_with_all = ["requests_per_connection", "no_keepalive", "method"])]
    pub grpc: bool,

    /// Requests at a time on each connection of HTTP/2 (default: 1).
    #[arg(long, value_name = "N", allow_hyphen_values = true,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub streams: Option<u32>,

    /// Accept any TLS certificate.
    #[arg(short = 'k', long)]
    pub insecure: bool,

    /// Trust the authorities in this PEM file, in place of those of the machine.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub cacert: Option<String>,

    /// The certificate of this client, in PEM form.
    #[arg(long, value_name = "FILE")]
    pub cert: Option<String>,

    /// Its private key, in PEM form (default: in the file of --cert).
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<String>,

    /// The status that counts as success (default: any of 200 to 299).
    #[arg(long, value_name = "STATUS",
        value_parser = clap::value_parser!(u16).range(100..=599))]
    pub expect_status: Option<u16>,

    /// What the body of a good answer contains: for a server that sends errors with a good status.
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub expect_body: Option<String>,

    /// Several requests with weights and values, from a file (docs/requests.md) or a .har archive; their paths are those in it, and -H is sent with all.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "data", "expect_status", "expect_body"])]
    pub requests_file: Option<String>,

    /// CPUs that the service may run on (default: where its processes may run).
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub service_cpus: Option<CpuSet>,

    /// The service's process, if it is on this host (default: found by its listening socket).
    #[arg(long, value_name = "PID", value_parser = pid, conflicts_with = "service_cgroup", allow_hyphen_values = true)]
    pub service_pid: Option<u32>,

    /// The service's cgroup, as a path below the cgroup mount.
    #[arg(long, value_name = "PATH", value_parser = cgroup)]
    pub service_cgroup: Option<String>,
}

/// Of experiments that measure a service as it is once it has run for a while.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct WarmUpArgs {
    /// Load the service before anything is measured, for so long (30s) or with so many requests (50000): for one that compiles or caches as it runs.
    #[arg(long, value_name = "TIME|N", requires = "url", help_heading = FOR_A_SERVER, value_parser = service_warm_up, allow_hyphen_values = true)]
    pub(crate) warm_up: Option<ServiceWarmUp>,
}

const LONGEST_WARM_UP: Duration = Duration::from_secs(24 * 3600);

impl WarmUpArgs {
    /// The warm-up at a rate that is known.
    ///
    /// # Errors
    /// Its requests take more than a day.
    pub(crate) fn at(self, rate: Rate) -> Result<Option<ServiceWarmUp>, RunError> {
        match self.warm_up {
            Some(ServiceWarmUp::Requests(requests))
                if requests as f64 / rate.get() > LONGEST_WARM_UP.as_secs_f64() =>
            {
                Err(RunError::Usage(format!(
                    "the requests of --warm-up take more than a day at {rate}; give fewer, or a higher --rate"
                )))
            }
            warm_up => Ok(warm_up),
        }
    }
}

const MOST_OF_BODY: Bytes = Bytes(64 << 20);
const MOST_OF_HEADERS: Bytes = Bytes(1 << 20);

/// What a run that is resumed may need again of its requests.
#[derive(Debug, Args)]
#[group(requires = URL_OR_RECORD)]
#[command(next_help_heading = FOR_A_SERVER)]
pub(crate) struct RequestArgs {
    /// A header, such as 'Accept: text/html'; @FILE reads headers from a file, one per line, so that they are not in the list of processes. Repeatable. Output hides all values but of headers such as Accept.
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,

    /// The body; @FILE reads it from a file. Output hides it.
    #[arg(
        short = 'd',
        long = "data",
        visible_alias = "body",
        value_name = "BODY"
    )]
    pub data: Option<String>,
}

impl RequestArgs {
    /// Names and values.
    ///
    /// # Errors
    /// One has no name, or a file cannot be read.
    pub(crate) fn parsed_headers(&self) -> Result<Vec<(String, String)>, RunError> {
        let mut headers = Vec::new();
        for text in &self.headers {
            match text.strip_prefix('@') {
                None => headers.push(header(text, "the text given")?),
                Some(path) => headers.extend(headers_in(path)?),
            }
        }
        Ok(headers)
    }

    /// # Errors
    /// A file cannot be read.
    pub(crate) fn body(&self) -> Result<Option<Vec<u8>>, RunError> {
        let Some(data) = &self.data else {
            return Ok(None);
        };
        let is_time = data.ends_with(char::is_alphabetic) && parse_duration(data).is_some();
        if is_time {
            return Err(RunError::Usage(format!(
                "-d is the body, as that of curl, and '{data}' is a time; for how long give -z {data}, and for this body a file: -d @FILE"
            )));
        }
        let body = match data.strip_prefix('@') {
            None => data.as_bytes().to_vec(),
            Some(path) => read("--data", path, MOST_OF_BODY)?,
        };
        Ok(Some(body))
    }
}

/// The headers in a file, one per line.
fn headers_in(path: &str) -> Result<Vec<(String, String)>, RunError> {
    let text = String::from_utf8(read("--header", path, MOST_OF_HEADERS)?);
    let text = text.map_err(|_| RunError::Usage(format!("--header: '{path}' is no UTF-8 text")))?;
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let header = |(i, line)| header(line, &format!("line {} of '{path}'", i + 1));
    lines.map(header).collect()
}

/// Name and value of a header as typed: `Accept: text/html`. Its text may be a secret.
fn header(text: &str, place: &str) -> Result<(String, String), RunError> {
    text.split_once(':')
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| {
            RunError::Usage(format!(
                "--header: {place} is not a header; write it like 'Accept: text/html'"
            ))
        })
}

/// A file or a pipe, up to `most` bytes: a device may have no end.
fn read(flag: &str, path: &str, most: Bytes) -> Result<Vec<u8>, RunError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most.0 + 1).read_to_end(&mut bytes));
    read.map_err(|e| {
        RunError::Usage(format!("{flag}: the file '{path}' cannot be read: {e}; check the name and its permissions, or leave out the @ to send the text itself"))
    })?;
    match bytes.len() as u64 <= most.0 {
        true => Ok(bytes),
        false => Err(RunError::Usage(format!(
            "{flag}: '{path}' has more than {most}; give a smaller file"
        ))),
    }
}

/// Flags of a server that decide the plan: `--resume` refuses them. Headers and bodies may be given
/// again.
pub(crate) const FIXED_OF_SERVER: &[&str] = &[
    "method",
    "connections",
    "timeout",
    "requests_per_connection",
    "no_keepalive",
    "http2",
    "grpc",
    "streams",
    "insecure",
    "cacert",
    "cert",
    "key",
    "expect_status",
    "expect_body",
    "requests_file",
    "service_cpus",
    "service_pid",
    "service_cgroup",
];

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

/// How much time a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A first look.
    Quick,
    /// Figures to act on.
    Full,
}

impl Effort {
    /// As `--quick` asks.
    pub fn of(quick: bool) -> Effort {
        match quick {
            true => Effort::Quick,
            false => Effort::Full,
        }
    }
}

/// Flags of experiments that load a service.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// How requests arrive.
    #[arg(long, value_name = "LAW", default_value = "poisson")]
    pub(crate) arrivals: ArrivalChoice,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    #[command(flatten)]
    pub(crate) request: RequestArgs,

    #[command(flatten)]
    pub(crate) server: ServerArgs,

    #[command(flatten)]
    pub(crate) hash: HashArgs,
}

impl LoadArgs {
    /// A server at `url`, or the hash service, calibrated on the first CPU.
    ///
    /// # Errors
    /// A flag's value makes no sense, or the hash service cannot be calibrated.
    pub(crate) fn workload(&self, url: Option<&str>, root: &Root) -> Result<Workload, RunError> {
        let allowed = self.run.allowed_cpus(root)?;
        match url {
            Some(url) => {
                self.server.check_cpus(root)?;
                Ok(Workload::Http(self.server.service(url, &self.request)?))
            }
            None => {
                let first = allowed.iter().next().unwrap_or(0);
                let service = hash::calibrate(HASH_REQUEST, first)?;
                Ok(Workload::Hash(self.hash.of(service)))
            }
        }
    }

    /// The CPUs of the service and of the generator.
    pub(crate) fn cpus(&self, site: &Site, root: &Root) -> CpuPlan {
        let (asked, service) = (self.run.cpus.as_ref(), self.server.service_cpus.as_ref());
        site.cpus(root, asked, service)
    }

    /// A run on `cpus`, with bounds and seed, and nothing else.
    pub(crate) fn blank_run(&self, cpus: CpuPlan, interrupts: InterruptTime) -> RunPlan {
        RunPlan {
            cpus,
            bounds: self.run.bounds(interrupts),
            seed: self.run.seed(),
            ..RunPlan::blank()
        }
    }
}

/// The hash service before it is calibrated: its blocks have no size.
pub fn hash_service() -> HashService {
    HashService {
        mean_block: Bytes(0),
        deviation_share: hash::DEVIATION_SHARE,
        request_cpu: HASH_REQUEST,
        waiting: None,
        memory: None,
        files: None,
    }
}

/// What one request to the hash service is calibrated to cost.
const HASH_REQUEST: CpuTime = CpuTime(Duration::from_millis(1));

/// Enough for 100,000 requests a second of a millisecond each.
const CONNECTIONS: u32 = 128;

const TIMEOUT: Duration = Duration::from_secs(10);

impl ServerArgs {
    pub(crate) fn check_cpus(&self, root: &Root) -> Result<(), RunError> {
        let online = online_cpus(root)?;
        let missing = self.service_cpus.as_ref().map(|cpus| cpus.without(&online));
        match missing.filter(|missing| !missing.is_empty()) {
            None => Ok(()),
            Some(missing) => Err(RunError::Usage(format!(
                "CPU {missing} is not online here; choose --service-cpus from {online}"
            ))),
        }
    }

    fn service(&self, url: &str, request: &RequestArgs) -> Result<HttpService, RunError> {
        let body = request.body()?;
        let default_method = match body.is_some() || self.grpc {
            true => "POST",
            false => "GET",
        };
        let http2_streams = self.http2_streams()?;
        let connections = self.connections.unwrap_or(CONNECTIONS);
        let timeout = self.timeout.unwrap_or(TIMEOUT);
        let headers = request.parsed_headers()?;
        let requests = self.requests_file.as_ref();
        let requests = requests.map(|file| describe_requests(file, &headers, url).map(Box::new));
        Ok(HttpService {
            method: self.method.clone().unwrap_or(default_method.to_owned()),
            requests: requests.transpose()?,
            headers,
            body: body.unwrap_or_default(),
            expected_status: self.expect_status,
            expected_text: self.expect_body.clone(),
            insecure: self.insecure,
            requests_per_connection: match self.no_keepalive {
                true => Some(NonZeroU32::MIN),
                false => self.requests_per_connection,
            },
            http2_streams,
            grpc: self.grpc,
            tls: TlsFiles {
                authorities: self.cacert.clone(),
                certificate: self.cert.clone(),
                key: self.key.clone(),
            },
            service: self.service_at(),
            ..HttpService::get(url, connections, timeout)
        })
    }

    fn http2_streams(&self) -> Result<Option<NonZeroU32>, RunError> {
        let streams = self.streams.and_then(NonZeroU32::new);
        match (self.http2 || self.grpc, streams) {
            (true, streams) => Ok(Some(streams.unwrap_or(NonZeroU32::MIN))),
            (false, None) => Ok(None),
            (false, Some(_)) => Err(RunError::Usage(
                "--streams is for HTTP/2; add --http2, or --grpc for calls".to_owned(),
            )),
        }
    }

    pub(crate) fn service_at(&self) -> ServiceAt {
        match (self.service_pid, &self.service_cgroup) {
            (Some(pid), _) => ServiceAt::Pid(pid),
            (None, Some(path)) => ServiceAt::Cgroup(path.clone()),
            (None, None) => ServiceAt::Find,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_of_a_warm_up_have_an_end() {
        let at = |requests| {
            let warm_up = Some(ServiceWarmUp::Requests(requests));
            WarmUpArgs { warm_up }.at(Rate::per_second(100.0).unwrap())
        };
        assert_eq!(at(500).unwrap(), Some(ServiceWarmUp::Requests(500)));
        let refused = at(1_000_000_000).unwrap_err();
        assert!(refused.to_string().contains("more than a day"), "{refused}");
    }

    #[test]
    fn a_file_without_an_end_is_refused() {
        let refused = read("--data", "/dev/zero", Bytes(1 << 20)).unwrap_err();
        assert!(
            refused.to_string().contains("more than 1.0 MiB"),
            "{refused}"
        );
        assert!(read("--data", "/dev/null", Bytes(1)).unwrap().is_empty());
    }
}
