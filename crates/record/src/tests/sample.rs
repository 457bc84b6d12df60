//! Sample plans and trials, and directories for records.

use crate::Record;
use plimsoll_model::{
    Arrivals, Bounds, Bytes, CalibrationPlan, CpuPlan, CpuSet, CpuTime, CpuUse, Histogram,
    HttpService, InterruptTime, LoadLevel, MachineUse, Outcome, Phase, Plan, Provenance, Rate,
    Requirement, Second, ServiceAt, Setting, Share, Trial, TrialSpec, Verdict, WarmUp, Work,
    Workload,
};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

pub(super) fn plan() -> Plan {
    Plan {
        workload: Workload::Http(HttpService {
            url: "http://localhost:8080/".to_owned(),
            method: "GET".to_owned(),
            headers: vec![("Authorization".to_owned(), "Bearer abc".to_owned())],
            body: vec![0, 255, 7],
            connections: 16,
            timeout: Duration::from_secs(5),
            expected_status: None,
            insecure: false,
            service: ServiceAt::Find,
        }),
        goals: vec!["p99<10ms".parse().unwrap(), "p99.9<2x".parse().unwrap()],
        arrivals: Arrivals::Poisson,
        levels: [10.0, 33.3, 90.0]
            .map(|p| LoadLevel::percent(p).unwrap())
            .to_vec(),
        copies: vec![],
        passes: 2,
        window: Duration::from_secs(10),
        warm_up: WarmUp {
            min: Duration::from_secs(1),
            max: Duration::from_secs(8),
        },
        calibration: CalibrationPlan {
            first: Rate::per_second(0.1 + 0.2).unwrap(),
            window: Duration::from_secs(2),
            retries: 1,
            rated: None,
        },
        restart: None,
        smt: None,
        sideload: None,
        step: None,
        search: None,
        idle: Duration::from_secs(3),
        bounds: Bounds {
            slip: Duration::from_micros(500),
            slip_share: Share::new(0.1).unwrap(),
            steal_share: Share::new(0.02).unwrap(),
            other_share: Share::new(0.05).unwrap(),
            interrupts: InterruptTime::InTasks,
            retries: 3,
        },
        cpus: CpuPlan {
            service: "0-2".parse().unwrap(),
            generator: "3".parse().unwrap(),
            cores: Vec::new(),
        },
        seed: u64::MAX - 1,
        budget: Duration::from_secs(600),
    }
}

pub(super) fn provenance() -> Provenance {
    Provenance {
        plimsoll_version: "0.1.0".to_owned(),
        hostname: Some("host\u{1b}[2J".to_owned()),
        cgroup_cpu_limit: Some(1.1 * 3.0),
        memory: Some(Bytes(1 << 40)),
        ..Provenance::default()
    }
}

pub(super) fn command_line() -> Vec<String> {
    ["plimsoll", "sweep", "--goal", "p99<10ms"]
        .map(str::to_owned)
        .to_vec()
}

pub(super) fn requirements() -> Vec<Requirement> {
    vec![Requirement {
        name: "pressure stall information".to_owned(),
        outcome: Outcome::Missed {
            lost: "pressure is not shown".to_owned(),
            remedy: "boot with psi=1".to_owned(),
        },
    }]
}

/// A temporary directory for records.
pub(super) struct TestDir {
    dir: TempDir,
}

impl TestDir {
    pub(super) fn new() -> TestDir {
        TestDir {
            dir: TempDir::new().unwrap(),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn create(&self, name: &str) -> Record {
        create(&self.path(name)).unwrap()
    }

    /// The path of a closed record with `n` trials.
    pub(super) fn record_of(&self, name: &str, n: u32) -> PathBuf {
        let mut record = self.create(name);
        (0..n).for_each(|pass| record.append(&trial(pass)).unwrap());
        self.path(name)
    }
}

pub(super) fn create(path: &Path) -> Result<Record, crate::RecordError> {
    Record::create(
        path,
        &plan(),
        &provenance(),
        &command_line(),
        &requirements(),
    )
}

pub(super) fn read_all(record: &Record) -> Vec<Trial> {
    record.trials().unwrap().map(Result::unwrap).collect()
}

/// A valid trial at 50 %, identified by its pass.
pub(super) fn trial(pass: u32) -> Trial {
    let mut latency = Histogram::new();
    let mut slip = Histogram::new();
    for us in 1..200 {
        latency.record(Duration::from_micros(us * (u64::from(pass) + 1)));
        slip.record(Duration::from_nanos(us * 100));
    }
    Trial {
        spec: TrialSpec {
            phase: Phase::Level {
                level: LoadLevel::percent(50.0),
            },
            setting: Setting::Offer {
                rate: Rate::per_second(19.9).unwrap(),
            },
            pass,
            attempt: 0,
            warm_up: plan().warm_up,
            window: Duration::from_secs(10),
            limit: None,
            seed: u64::from(pass),
        },
        started_unix_ms: 1_700_000_000_000 + u64::from(pass) * 20_000,
        took: Duration::from_secs(12),
        warm_up: Duration::from_millis(1500),
        steady: true,
        window: Duration::from_secs(10),
        work: Work {
            intended: 199,
            sent: 199,
            completed: 199,
            latency,
            slip,
            ..Work::default()
        },
        copy_times: vec![],
        job: None,
        generator_cpu: Some(CpuTime(Duration::from_millis(3))),
        machine: MachineUse {
            window: Duration::from_secs(10),
            cpu: Some(CpuUse::default()),
            service_cpus: CpuSet::default(),
            service_cpu: None,
            context_switches: Some(7),
            pressure: None,
            frequency_hz: None,
            clock_ratio: None,
            energy: None,
            observer_cpu: None,
            view_cpu: None,
        },
        service: None,
        seconds: vec![],
        verdict: Verdict::Valid,
    }
}

/// Equal measured seconds.
pub(super) fn seconds(n: usize) -> Vec<Second> {
    let second = Second {
        at: Duration::from_secs(1),
        length: Duration::from_secs(1),
        measured: true,
        sent: 1 << 40,
        completed: 1 << 40,
        errors: 0,
        in_flight: 0,
        p50: None,
        p99: Some(Duration::from_millis(3)),
        cpu: None,
        steal: None,
    };
    vec![second; n]
}
