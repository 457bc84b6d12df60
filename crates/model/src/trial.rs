//! One measured window at one setting.

use crate::{
    Answers, CpuTime, Histogram, LoadLevel, MachineUse, PhaseWork, Rate, ServiceUse, Share, Slot,
    Verdict, Waited, WarmUp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The part of a run that a trial belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Idle,
    /// Loading a service that gets faster with use. Findings exclude its trials.
    WarmUp,
    /// Finding the rated rate.
    Calibration,
    /// A graduated level.
    Level {
        /// The level; for copies, 100 % per copy is meaningless, so `None`.
        level: Option<LoadLevel>,
    },
    /// Narrowing down where a goal stops being kept.
    Search,
    /// A longer look at the lower end of what was found.
    Confirmation,
    /// Full load with the service on one thread of each core.
    OneThreadPerCore,
    /// Full load with the service on both threads of each core, beside
    /// [`Phase::OneThreadPerCore`].
    TwoThreadsPerCore,
}

impl Phase {
    pub fn is_level(self) -> bool {
        matches!(self, Phase::Level { .. })
    }

    /// Whether it shows how the service as it is goes with the load: neither
    /// the search for the rated rate nor a service that was moved does.
    pub fn shows_load(self) -> bool {
        self.is_level() || matches!(self, Phase::Search | Phase::Confirmation)
    }
}

/// What a trial is made at. Each experiment has its own type.
pub trait TrialSetting: Clone + PartialEq + fmt::Debug + Send + 'static {
    /// The rate of the requests offered; `None` where none are.
    fn rate(&self) -> Option<Rate> {
        None
    }

    /// The client's connections; `None` for as many as the plan says.
    fn connections(&self) -> Option<u32> {
        None
    }

    /// Whether the service is idle by design, so that CPU time it uses counts
    /// as other load.
    fn is_idle(&self) -> bool {
        false
    }
}

/// The setting of a trial of offered load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    Idle,
    /// An open loop at this rate.
    Offer {
        #[serde(rename = "rate_rps")]
        rate: Rate,
        /// The client's connections where the calibration may raise their number; else
        /// `None`, as in older records: the plan has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        connections: Option<u32>,
    },
}

impl Setting {
    /// This rate, over as many connections as the plan says.
    pub fn offer(rate: Rate) -> Setting {
        let connections = None;
        Setting::Offer { rate, connections }
    }

    /// The same over so many connections.
    pub fn over(self, connections: Option<u32>) -> Setting {
        match self {
            Setting::Idle => Setting::Idle,
            Setting::Offer { rate, .. } => Setting::Offer { rate, connections },
        }
    }
}

impl TrialSetting for Setting {
    fn rate(&self) -> Option<Rate> {
        match self {
            Setting::Idle => None,
            Setting::Offer { rate, .. } => Some(*rate),
        }
    }

    fn connections(&self) -> Option<u32> {
        match self {
            Setting::Idle => None,
            Setting::Offer { connections, .. } => *connections,
        }
    }

    fn is_idle(&self) -> bool {
        *self == Setting::Idle
    }
}

/// What to do next: made by a planner, carried out by a runner, kept in the
/// record. With the plan it decides everything about a trial but its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec<S = Setting> {
    pub phase: Phase,
    pub setting: S,
    /// Which visit of this level, from 0.
    pub pass: u32,
    /// How often this visit was tried before.
    pub attempt: u32,
    /// How long to wait for steady state.
    pub warm_up: WarmUp,
    #[serde(rename = "window_ns", with = "crate::Ns")]
    pub window: Duration,
    /// The shortest limit on latency that it decides about, which bounds its slip. `None` where
    /// it decides about none.
    #[serde(rename = "limit_ns", with = "crate::OptionNs")]
    pub limit: Option<Duration>,
    /// Seeds the arrivals.
    pub seed: u64,
}

impl<S> TrialSpec<S> {
    /// The first visit of a setting, without a warm-up and without a limit:
    /// what a row of a table comes from, and what any other can be made from by
    /// saying in what it differs.
    pub fn blank(phase: Phase, setting: S, window: Duration) -> TrialSpec<S> {
        TrialSpec {
            phase,
            setting,
            pass: 0,
            attempt: 0,
            warm_up: WarmUp::NONE,
            window,
            limit: None,
            seed: 0,
        }
    }
}

/// Failed requests by kind, among those intended within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// No connection could be made.
    pub connect: u64,
    /// The TLS handshake failed.
    pub tls: u64,
    /// No whole answer within the time-out.
    pub timeout: u64,
    /// A status or a body that was not expected, or a call of gRPC that failed.
    pub status: u64,
    /// Something that is not HTTP/1.1, or not HTTP/2 where that is spoken.
    pub protocol: u64,
    /// The server closed or reset the connection, or the stream of HTTP/2, before the answer ended.
    pub reset: u64,
}

impl Errors {
    pub fn by_kind(&self) -> [(&'static str, u64); 6] {
        [
            ("connect", self.connect),
            ("tls", self.tls),
            ("timeout", self.timeout),
            ("status", self.status),
            ("protocol", self.protocol),
            ("reset", self.reset),
        ]
    }

    pub fn total(&self) -> u64 {
        self.by_kind().iter().map(|(_, n)| n).sum()
    }
}

impl std::ops::Add for Errors {
    type Output = Errors;
    fn add(self, o: Errors) -> Errors {
        Errors {
            connect: self.connect + o.connect,
            tls: self.tls + o.tls,
            timeout: self.timeout + o.timeout,
            status: self.status + o.status,
            protocol: self.protocol + o.protocol,
            reset: self.reset + o.reset,
        }
    }
}

/// How the client's connections served a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionUse {
    /// Connections, over all generator threads.
    pub connections: u32,
    /// Those that were sent a request in the trial.
    pub used: u32,
    /// Those of them that had no answer when the trial ended.
    pub unserved: u32,
    /// Requests of the window that were due while all connections were in use.
    pub waited: u64,
}

impl std::ops::Add for ConnectionUse {
    type Output = ConnectionUse;
    fn add(self, o: ConnectionUse) -> ConnectionUse {
        ConnectionUse {
            connections: self.connections + o.connections,
            used: self.used + o.used,
            unserved: self.unserved + o.unserved,
            waited: self.waited + o.waited,
        }
    }
}

/// The lengths of the bodies of good answers, without framing, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BodySizes {
    pub answers: u64,
    pub least: u64,
    pub most: u64,
    pub sum: u64,
    /// For the standard deviation.
    pub sum_of_squares: f64,
}

impl BodySizes {
    pub fn one(bytes: u64) -> BodySizes {
        BodySizes {
            answers: 1,
            least: bytes,
            most: bytes,
            sum: bytes,
            sum_of_squares: (bytes as f64).powi(2),
        }
    }

    pub fn mean(&self) -> f64 {
        self.sum as f64 / (self.answers as f64).max(1.0)
    }

    /// The standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        let n = (self.answers as f64).max(1.0);
        let variance = (self.sum_of_squares / n - self.mean().powi(2)).max(0.0);
        f64::sqrt(variance / n)
    }
}

impl std::ops::Add for BodySizes {
    type Output = BodySizes;
    fn add(self, o: BodySizes) -> BodySizes {
        BodySizes {
            answers: self.answers.saturating_add(o.answers),
            least: self.least.min(o.least),
            most: self.most.max(o.most),
            sum: self.sum.saturating_add(o.sum),
            sum_of_squares: self.sum_of_squares + o.sum_of_squares,
        }
    }
}

/// What became of the requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// Requests whose intended start lies in the window.
    pub intended: u64,
    /// Those of them that were sent (or started) before the trial ended.
    pub sent: u64,
    /// Requests, of whatever intended start, whose good answer came within
    /// the window: the throughput.
    pub completed: u64,
    /// How those of the window failed.
    pub errors: Errors,
    /// Those of the window that had no answer when the trial ended. They
    /// stand in `latency` with the time that they had waited until then.
    pub unfinished: u64,
    /// From the intended start to the last byte of a good answer, for those
    /// of the window. Timed-out and unfinished requests count with the time
    /// they had waited; requests that failed at once do not count.
    pub latency: Histogram,
    /// From the intended start until the generator had seen that it was due.
    pub slip: Histogram,
    /// Where the load steps: after each step, the slots in order. Requests
    /// belong where they were intended, and those that count stand in
    /// `latency`, too. Else empty.
    pub steps: Vec<Vec<Slot>>,
    /// Where the load has phases: those in order, in the window or not. Not in
    /// the record: an experiment that needs them keeps them in its outcome.
    pub phases: Vec<PhaseWork>,
    /// `None` without a client that has connections, and in older records.
    pub connections: Option<ConnectionUse>,
    /// Of the good answers that came within the window; `None` without a client that reads bodies,
    /// and in older records.
    pub bodies: Option<BodySizes>,
    /// Of several requests, those of the window that were sent, by kind in the order of their file.
    /// Else empty.
    pub kinds: Vec<Answers>,
    /// Of the window, without those that failed at once. Not in the record, as `phases`.
    pub waited: Waited,
}

impl Work {
    /// Counts a good answer.
    pub fn count(&mut self, latency: Duration) {
        self.completed += 1;
        self.latency.record(latency);
    }
}

/// One second of a trial, as it was seen while it ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// The end of the second, from the start of the trial.
    #[serde(rename = "at_ns", with = "crate::Ns")]
    pub at: Duration,
    /// How long it really was.
    #[serde(rename = "length_ns", with = "crate::Ns")]
    pub length: Duration,
    /// Whether it lies in the measured window.
    pub measured: bool,
    pub sent: u64,
    /// Good answers.
    pub completed: u64,
    /// Failed requests.
    pub errors: u64,
    /// Requests sent and not answered when it ended.
    pub in_flight: u64,
    /// Latency quantiles of the good answers of this second.
    #[serde(rename = "p50_ns", with = "crate::OptionNs")]
    pub p50: Option<Duration>,
    #[serde(rename = "p99_ns", with = "crate::OptionNs")]
    pub p99: Option<Duration>,
    /// CPU use of the service's CPUs, or of the machine.
    #[serde(rename = "cpu_share")]
    pub cpu: Option<Share>,
    /// Steal as a share of all CPU time.
    #[serde(rename = "steal_share")]
    pub steal: Option<Share>,
}

/// One measured window at one setting: what was measured, not what follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial<S = Setting, O = ()> {
    pub spec: TrialSpec<S>,
    /// Wall clock at its start, in milliseconds since 1970: a label only.
    pub started_unix_ms: u64,
    /// From its start to its end, warm-up and drain included.
    pub took: Duration,
    pub warm_up: Duration,
    /// Whether the load was steady when the window began.
    pub steady: bool,
    pub window: Duration,
    /// What became of the requests; all zero where none are offered.
    pub work: Work,
    /// What else the experiment measured.
    pub outcome: O,
    /// CPU time of the generator's threads; `None` where the service makes
    /// its own arrivals.
    pub generator_cpu: Option<CpuTime>,
    pub machine: MachineUse,
    pub service: Option<ServiceUse>,
    /// One entry a second.
    pub seconds: Vec<Second>,
    pub verdict: Verdict,
}

impl<S, O> Trial<S, O> {
    /// The same trial with another setting and another outcome.
    pub fn with<T, P>(self, setting: T, outcome: P) -> Trial<T, P> {
        let spec = self.spec;
        Trial {
            spec: TrialSpec {
                phase: spec.phase,
                setting,
                pass: spec.pass,
                attempt: spec.attempt,
                warm_up: spec.warm_up,
                window: spec.window,
                limit: spec.limit,
                seed: spec.seed,
            },
            started_unix_ms: self.started_unix_ms,
            took: self.took,
            warm_up: self.warm_up,
            steady: self.steady,
            window: self.window,
            work: self.work,
            outcome,
            generator_cpu: self.generator_cpu,
            machine: self.machine,
            service: self.service,
            seconds: self.seconds,
            verdict: self.verdict,
        }
    }
}

impl<S, O: Default> Trial<S, O> {
    /// A trial of which nothing has been measured yet.
    pub fn begun(spec: TrialSpec<S>, started_unix_ms: u64) -> Trial<S, O> {
        Trial {
            window: spec.window,
            machine: MachineUse::unknown(spec.window),
            spec,
            started_unix_ms,
            took: Duration::ZERO,
            warm_up: Duration::ZERO,
            steady: false,
            work: Work::default(),
            outcome: O::default(),
            generator_cpu: None,
            service: None,
            seconds: Vec::new(),
            verdict: Verdict::Valid,
        }
    }
}

impl<S: TrialSetting, O> Trial<S, O> {
    /// The intended rate; zero where no requests are offered.
    pub fn asked(&self) -> Rate {
        self.spec.setting.rate().unwrap_or(Rate::ZERO)
    }

    /// Good answers per second of the window.
    pub fn achieved(&self) -> Rate {
        Rate::of(self.work.completed, self.window)
    }

    /// Good answers while the sensors counted. A load command states those of all the time in which
    /// it sends, of which the sensors see the last part: theirs are in proportion.
    pub fn sensed_answers(&self) -> f64 {
        self.achieved().get() * self.machine.window.as_secs_f64()
    }

    /// Requests intended per second of the window.
    pub fn offered(&self) -> Rate {
        Rate::of(self.work.intended, self.window)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// All trials of its plan were made.
    Complete,
    Interrupted,
    /// It could not go on, for the reason in this sentence.
    Failed(String),
}
