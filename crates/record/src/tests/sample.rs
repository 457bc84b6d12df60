//! Sample plans and trials, and directories for records.

use crate::{NewRun, Record, RecordError};
use plimsoll_model::{
    Arm, Arrivals, BesideRate, Bytes, CalibrationPlan, Copies, CopiesOutcome, CopiesPlan,
    CopiesSetting, CopiesTrial, CopiesWorkload, CpuTime, CpuUse, CpusOf, Histogram, HttpService,
    InterruptTime, Invalid, Job, JobHeld, JobWork, LoadLevel, MachineUse, Outcome, Phase, Plan,
    Provenance, Rate, Requirement, RunPlan, Second, ServiceAt, Setting, Share, SideloadPlan,
    StepPlan, TlsFiles, Trial, TrialSpec, Verdict, WarmUp, Work, Workload, YieldOutcome, YieldPlan,
    YieldSetting, YieldTrial,
};
use rusqlite::Connection;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

pub(super) fn plan() -> Plan {
    let service = HttpService {
        url: "http://localhost:8080/".to_owned(),
        method: "GET".to_owned(),
        headers: vec![("Authorization".to_owned(), "Bearer abc".to_owned())],
        omitted_headers: Vec::new(),
        omitted_body_bytes: None,
        body: vec![0, 255, 7],
        connections: 16,
        max_connections: None,
        timeout: Duration::from_secs(5),
        expected_status: None,
        expected_text: None,
        requests: None,
        insecure: false,
        requests_per_connection: NonZeroU32::new(7),
        http2_streams: NonZeroU32::new(9),
        grpc: true,
        tls: TlsFiles {
            authorities: Some("ca.pem".to_owned()),
            ..TlsFiles::default()
        },
        service: ServiceAt::Find,
    };
    Plan {
        goals: vec!["p99<10ms".parse().unwrap(), "p99.9<2x".parse().unwrap()],
        arrivals: Arrivals::Poisson,
        levels: vec![percent(10.0), percent(33.3), percent(90.0)],
        calibration: CalibrationPlan {
            first: Rate::per_second(0.1 + 0.2).unwrap(),
            window: Duration::from_secs(2),
            retries: 1,
            rated: None,
        },
        run: run_plan(),
        ..Plan::blank(Workload::Http(service))
    }
}

fn run_plan() -> RunPlan {
    let mut run = RunPlan::blank();
    run.passes = 2;
    run.warm_up = WarmUp {
        min: Duration::from_secs(1),
        max: Duration::from_secs(8),
    };
    run.bounds.slip_share = Share::new(0.1).unwrap();
    run.bounds.interrupts = InterruptTime::InTasks;
    run.cpus.service = "0-2".parse().unwrap();
    run.cpus.generator = "3".parse().unwrap();
    run.seed = u64::MAX - 1;
    run.budget = Duration::from_secs(600);
    run
}

fn percent(pct: f64) -> LoadLevel {
    LoadLevel::percent(pct).unwrap()
}

pub(super) fn yield_plan() -> YieldPlan {
    YieldPlan {
        load: plan(),
        sideload: SideloadPlan {
            job: Job::Command("make -j2".to_owned()),
            service: BesideRate::Load(percent(60.0)),
            arms: vec![Arm::ServiceAlone, Arm::JobAlone, Arm::Plimsoll],
            missing_arms: vec![],
            headroom: Share::new(0.1 + 0.2).unwrap(),
            headrooms: vec![],
            budget: "p99+5%".parse().unwrap(),
            cpus: "0-1".parse().unwrap(),
            timeout: Duration::from_secs(600),
        },
        step: Some(StepPlan {
            low: percent(20.0),
            high: percent(80.0),
            before: Duration::from_secs(2),
            after: Duration::from_secs(1),
            steps: 3,
            slot: Duration::from_millis(50),
        }),
    }
}

pub(super) fn copies_plan() -> CopiesPlan {
    CopiesPlan {
        workload: CopiesWorkload::Copies(Copies {
            command: vec!["true".to_owned()],
            timeout: Duration::from_secs(60),
        }),
        numbers: vec![1, 2, 4],
        run: run_plan(),
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
    let words = ["plimsoll", "sweep", "--goal", "p99<10ms"];
    words.map(str::to_owned).to_vec()
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
pub(super) struct TestDir(TempDir);

impl TestDir {
    pub(super) fn new() -> TestDir {
        TestDir(TempDir::new().unwrap())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn create(&self, name: &str) -> Record {
        create(&self.path(name)).unwrap()
    }

    /// A directory with an open record without trials.
    pub(super) fn with_new_record() -> (TestDir, Record) {
        let test_dir = TestDir::new();
        let record = test_dir.create("run.plimsoll");
        (test_dir, record)
    }

    /// A directory with a closed record with `n` trials, and the record's path.
    pub(super) fn with_record(n: u32) -> (TestDir, PathBuf) {
        let test_dir = TestDir::new();
        let path = test_dir.record_of("run.plimsoll", n);
        (test_dir, path)
    }

    /// The path of a closed record with `n` trials.
    pub(super) fn record_of(&self, name: &str, n: u32) -> PathBuf {
        let mut record = self.create(name);
        (0..n).for_each(|pass| record.append(&trial(pass)).unwrap());
        self.path(name)
    }
}

/// Changes a record by SQL.
pub(super) fn execute(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

pub(super) fn create(path: &Path) -> Result<Record, RecordError> {
    create_for(path, "sweep", &plan())
}

pub(super) fn create_for<P: Serialize>(
    path: &Path,
    experiment: &str,
    plan: &P,
) -> Result<Record, RecordError> {
    let run = NewRun {
        experiment,
        workload: "GET http://localhost:8080/".to_owned(),
        plan,
        seed: run_plan().seed,
        provenance: &provenance(),
        command_line: &command_line(),
        folder: Some("/somewhere".into()),
        requirements: &requirements(),
    };
    Record::create(path, &run)
}

pub(super) fn read_all<S: DeserializeOwned, O: DeserializeOwned>(
    record: &Record,
) -> Vec<Trial<S, O>> {
    record.trials().unwrap().map(Result::unwrap).collect()
}

/// A valid trial with a job that has a quota.
pub(super) fn yield_trial() -> YieldTrial {
    let setting = YieldSetting::Beside {
        rate: Rate::per_second(1200.5).unwrap(),
        arm: Arm::Quota10ms,
        allowed: Share::new(0.5),
        headroom: Share::new(0.2),
    };
    let job = JobWork {
        done: 3,
        over: Duration::from_secs(10),
        cpu: Some(CpuTime(Duration::from_millis(9_900))),
        held: JobHeld {
            throttled: Share::new(0.25),
            ..JobHeld::default()
        },
    };
    trial_of(setting, YieldOutcome { job: Some(job) }, 0)
}

/// A valid trial of two copies.
pub(super) fn copies_trial() -> CopiesTrial {
    let copy_times = vec![Duration::from_nanos(1_234_567_891), Duration::from_secs(2)];
    let setting = CopiesSetting::Copies { copies: 2 };
    trial_of(setting, CopiesOutcome { copy_times }, 0)
}

/// A valid trial at 50 % that differs by its pass.
pub(super) fn trial(pass: u32) -> Trial {
    let rate = Rate::per_second(19.9).unwrap();
    trial_of(Setting::offer(rate), (), pass)
}

/// The same, but its CPUs were stolen.
pub(super) fn invalid_trial(pass: u32) -> Trial {
    let reason = Invalid::Steal {
        stolen: Share::ONE,
        bound: Share::ZERO,
        on: CpusOf::Machine,
    };
    Trial {
        verdict: Verdict::Invalid(vec![reason]),
        ..trial(pass)
    }
}

fn trial_of<S, O>(setting: S, outcome: O, pass: u32) -> Trial<S, O> {
    let mut latency = Histogram::new();
    let mut slip = Histogram::new();
    for us in 1..200 {
        latency.record(Duration::from_micros(us * (u64::from(pass) + 1)));
        slip.record(Duration::from_nanos(us * 100));
    }
    let phase = Phase::Level {
        level: Some(percent(50.0)),
    };
    Trial {
        spec: TrialSpec {
            pass,
            warm_up: plan().run.warm_up,
            seed: u64::from(pass),
            ..TrialSpec::blank(phase, setting, Duration::from_secs(10))
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
        outcome,
        generator_cpu: Some(CpuTime(Duration::from_millis(3))),
        machine: MachineUse {
            cpu: Some(CpuUse::default()),
            context_switches: Some(7),
            ..MachineUse::unknown(Duration::from_secs(10))
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
