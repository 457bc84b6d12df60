//! A run that is under way as OpenMetrics text, for Prometheus to scrape.

use crate::failure::Failure;
use plimsoll_engine::{Ended, Observer, Progress, RunError, Started};
use plimsoll_host::{Root, own_allowed_cpus};
use plimsoll_lab::http::{Answers, Bytes, Parts, Reply, Server, StatusCode, empty, text};
use plimsoll_lab::metrics::CONTENT_TYPE;
use plimsoll_model::{CpuTime, Second, Share};
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Where the state of a run is served, until it is dropped.
pub(crate) struct MetricsServer {
    page: Arc<Page>,
    server: Server,
}

/// The text of `/metrics`.
#[derive(Default)]
struct Page(Mutex<String>);

impl Answers for Page {
    const KEEPS: usize = 0;

    fn answer(self: Arc<Self>, head: &Parts, _: Bytes) -> Reply {
        Reply::Ready(match head.uri.path() {
            "/metrics" => {
                let page = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                text(StatusCode::OK, CONTENT_TYPE, page.clone())
            }
            _ => empty(StatusCode::NOT_FOUND),
        })
    }
}

impl MetricsServer {
    /// # Errors
    /// The address is taken or not this machine's.
    pub(crate) fn listen(addr: SocketAddr) -> Result<MetricsServer, Failure> {
        let page = Arc::new(Page::default());
        let cpus = own_allowed_cpus(&Root::machine()).map_err(RunError::from)?;
        let server = Server::start(addr, &cpus, Arc::clone(&page)).map_err(|error| {
            Failure::Mistake(format!(
                "--metrics: nothing can listen at {addr}: {error}; give a free address of this machine, such as 127.0.0.1:9464"
            ))
        })?;
        Ok(MetricsServer { page, server })
    }

    /// The address, with the port that port 0 has become.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// An observer that serves the state of a run of this experiment, and passes all events on.
    pub(crate) fn observing(self, experiment: &'static str, behind: Box<dyn Observer>) -> Metrics {
        let metrics = Metrics {
            behind,
            state: State::new(experiment),
            served: self,
        };
        metrics.publish();
        metrics
    }
}

pub(crate) struct Metrics {
    behind: Box<dyn Observer>,
    state: State,
    served: MetricsServer,
}

impl Metrics {
    fn publish(&self) {
        let text = self.state.text();
        let page = &self.served.page.0;
        *page.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl Observer for Metrics {
    fn wait_while_paused(&mut self, stop: &AtomicBool) {
        self.behind.wait_while_paused(stop);
    }

    fn trial_started(&mut self, trial: &Started, progress: &Progress) {
        self.state.started(trial, progress);
        self.publish();
        self.behind.trial_started(trial, progress);
    }

    fn second(&mut self, second: &Second) {
        self.state.last = Some(second.clone());
        self.publish();
        self.behind.second(second);
    }

    fn trial_ended(&mut self, trial: &Ended) {
        self.state.ended(trial);
        self.publish();
        self.behind.trial_ended(trial);
    }

    fn cpu_used(&self) -> Option<CpuTime> {
        self.behind.cpu_used()
    }
}

/// The name of a counter or gauge, what it is, and its value where it is known.
type Family = (&'static str, &'static str, Option<f64>);

/// What is known of the run.
struct State {
    experiment: &'static str,
    trials: u64,
    invalid: u64,
    progress: Option<Progress>,
    /// Of the trial that runs, in requests per second.
    offered: Option<f64>,
    last: Option<Second>,
}

impl State {
    fn new(experiment: &'static str) -> State {
        State {
            experiment,
            trials: 0,
            invalid: 0,
            progress: None,
            offered: None,
            last: None,
        }
    }

    fn started(&mut self, trial: &Started, progress: &Progress) {
        self.progress = Some(*progress);
        self.offered = trial.x.filter(|_| trial.offers_load);
        self.last = None;
    }

    fn ended(&mut self, trial: &Ended) {
        self.trials += 1;
        self.invalid += u64::from(!trial.is_valid());
        (self.offered, self.last) = (None, None);
    }

    /// Gauges of what is not known now are left out.
    fn text(&self) -> String {
        let mut out = String::new();
        let experiment = self.experiment;
        let known = self.of_run().into_iter().chain(self.of_second());
        for (name, help, value) in known {
            let Some(value) = value else { continue };
            let kind = match name.ends_with("trials") {
                true => "counter",
                false => "gauge",
            };
            let suffix = if kind == "counter" { "_total" } else { "" };
            // Writing to a string does not fail.
            let _ = writeln!(out, "# TYPE plimsoll_run_{name} {kind}");
            let _ = writeln!(out, "# HELP plimsoll_run_{name} {help}");
            let _ = writeln!(
                out,
                "plimsoll_run_{name}{suffix}{{experiment=\"{experiment}\"}} {value}"
            );
        }
        out.push_str("# EOF\n");
        out
    }

    fn of_run(&self) -> [Family; 6] {
        let progress = self.progress;
        [
            (
                "trials",
                "Trials that have ended.",
                Some(self.trials as f64),
            ),
            (
                "invalid_trials",
                "Those of them that are invalid.",
                Some(self.invalid as f64),
            ),
            (
                "visits",
                "Planned visits to settings.",
                progress.map(|p| p.visits as f64),
            ),
            (
                "visits_done",
                "Those of them that are done.",
                progress.map(|p| p.done as f64),
            ),
            (
                "left_seconds",
                "About how long the rest takes when the trial begins.",
                progress.map(|p| p.left.as_secs_f64()),
            ),
            (
                "offered_requests_per_second",
                "Requests per second that the trial offers.",
                self.offered,
            ),
        ]
    }

    fn of_second(&self) -> Vec<Family> {
        let Some(second) = &self.last else {
            return Vec::new();
        };
        let length = Some(second.length.as_secs_f64()).filter(|length| *length > 0.0);
        let per_second = |count: u64| Some(count as f64 / length?);
        let seconds = |time: Option<Duration>| Some(time?.as_secs_f64());
        let share = |share: Option<Share>| Some(share?.get());
        vec![
            (
                "answered_requests_per_second",
                "Good answers per second, in the last second.",
                per_second(second.completed),
            ),
            (
                "failed_requests_per_second",
                "Failed requests per second, in the last second.",
                per_second(second.errors),
            ),
            (
                "in_flight",
                "Requests without an answer yet.",
                Some(second.in_flight as f64),
            ),
            (
                "latency_p50_seconds",
                "Of the last second's answers.",
                seconds(second.p50),
            ),
            (
                "latency_p99_seconds",
                "Of the last second's answers.",
                seconds(second.p99),
            ),
            (
                "cpu_ratio",
                "CPU use of the service's CPUs.",
                share(second.cpu),
            ),
            (
                "steal_ratio",
                "CPU time that the hypervisor took.",
                share(second.steal),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::Quiet;
    use plimsoll_model::Phase;
    use std::io::{Read, Write as _};
    use std::net::TcpStream;

    fn get(addr: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(addr).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_run_is_served_while_it_goes_on() {
        let any = "127.0.0.1:0".parse().unwrap();
        let server = MetricsServer::listen(any).unwrap();
        let addr = server.addr();
        let mut metrics = server.observing("sweep", Box::new(Quiet));
        assert!(
            get(addr, "/metrics").contains("plimsoll_run_trials_total{experiment=\"sweep\"} 0")
        );
        assert!(get(addr, "/").starts_with("HTTP/1.1 404"));
        let started = Started {
            phase: Phase::Calibration,
            attempt: 0,
            what: "x".to_owned(),
            offers_load: true,
            x: Some(500.0),
            window: Duration::from_secs(1),
        };
        let progress = Progress {
            done: 1,
            visits: 8,
            left: Duration::from_secs(70),
        };
        metrics.trial_started(&started, &progress);
        metrics.second(&Second {
            length: Duration::from_secs(2),
            completed: 980,
            p99: Some(Duration::from_millis(4)),
            cpu: Share::new(0.5),
            ..Second::default()
        });
        let page = get(addr, "/metrics");
        for line in [
            "offered_requests_per_second{experiment=\"sweep\"} 500",
            "answered_requests_per_second{experiment=\"sweep\"} 490",
            "latency_p99_seconds{experiment=\"sweep\"} 0.004",
            "left_seconds{experiment=\"sweep\"} 70",
            "# EOF",
        ] {
            assert!(page.contains(line), "{line} in {page}");
        }
        assert!(!page.contains("steal_ratio"), "{page}");
        let taken = MetricsServer::listen(addr).err().unwrap();
        assert!(taken.sentence().unwrap().contains("give a free address"));
    }
}
