//! Findings made by hand.

use crate::{RecordFacts, Report, TrialTally};
use plimsoll_model::{
    Arrivals, Bounds, Bytes, CacheSize, CalibrationPlan, CapacityFinding, CapacityStatus, Copies,
    CopiesFinding, CpuPlan, CpuTime, Errors, Findings, HashService, Headroom, HttpService, Invalid,
    LatencySummary, LevelFinding, LightLoad, LoadLevel, NoHeadroom, Outcome, Plan, Provenance,
    Rate, RatedRate, Requirement, RunEnd, ServiceAt, Share, SlipSummary, Topology, Verdict, WarmUp,
    Workload,
};
use std::path::Path;
use std::time::Duration;

/// Everything that a report borrows.
pub(super) struct Sample {
    pub(super) findings: Findings,
    pub(super) plan: Plan,
    pub(super) provenance: Provenance,
    pub(super) requirements: Vec<Requirement>,
    pub(super) trials: TrialTally,
    pub(super) ended: Option<RunEnd>,
}

impl Sample {
    pub(super) fn report(&self) -> Report<'_> {
        Report {
            findings: &self.findings,
            plan: &self.plan,
            provenance: &self.provenance,
            requirements: &self.requirements,
            record: RecordFacts {
                file: Path::new("run.plimsoll"),
                created_unix_ms: 1_700_000_000_000,
                ended: self.ended.as_ref(),
                trials: self.trials.clone(),
            },
        }
    }

    pub(super) fn text(&self, width: usize) -> String {
        crate::text(&self.report(), width, false)
    }
}

/// A sweep of an HTTP service: found, one level without a valid trial.
pub(super) fn sweep() -> Sample {
    let mut trials = TrialTally::default();
    (0..31).for_each(|_| trials.add(&Verdict::Valid));
    let bound = Share::new(0.02).unwrap();
    let stolen = Share::new(0.05).unwrap();
    (0..3).for_each(|_| trials.add(&Verdict::Invalid(vec![Invalid::Steal { stolen, bound }])));
    let mut overloaded = level(100.0, 10_000.0, 91.0, 85_300.0);
    overloaded.achieved_rps = Some(9_100.0);
    overloaded.errors.timeout = 12;
    overloaded.unfinished = 3;
    overloaded.error_pct = Some(0.012);
    Sample {
        findings: Findings {
            rated: Some(RatedRate {
                rate_rps: 10_000.0,
                limited_by_service: true,
            }),
            idle_cpu_pct: Some(1.25),
            light_load: Some(LightLoad {
                up_to_load_pct: 10.0,
                p99_us: 1_100.0,
            }),
            levels: vec![
                level(10.0, 1000.0, 9.0, 1_100.0),
                level(50.0, 5000.0, 47.0, 2_300.0),
                disturbed(),
                overloaded,
            ],
            capacity: vec![
                found("p99<10ms", 8_400.0, Some(76.0)),
                found("errors<0.1%", 8_900.0, Some(82.5)),
            ],
            headroom: told(0.857),
            copies: vec![],
        },
        plan: plan(http()),
        provenance: provenance(),
        requirements: requirements(),
        trials,
        ended: Some(RunEnd::Complete),
    }
}

/// A headroom index, with the highest rate of [`sweep`].
pub(super) fn told(index: f64) -> Headroom {
    let most_rps = 9_100.0;
    Headroom::Known {
        index,
        promised_rps: most_rps / index,
        most_rps,
    }
}

/// A level of which no trial counts.
fn disturbed() -> LevelFinding {
    let mut disturbed = level(80.0, 8000.0, 0.0, 0.0);
    disturbed.achieved_rps = None;
    disturbed.cpu_pct = None;
    disturbed.cpu_us_per_request = None;
    disturbed.run_delay_us_per_request = None;
    disturbed.latency_us = None;
    disturbed.slip_us = None;
    disturbed.generator_cpu_pct = None;
    disturbed.error_pct = None;
    disturbed.trials = 0;
    disturbed.invalid_trials = 3;
    disturbed.invalid_reasons =
        vec!["the hypervisor took 5.0 % of the CPU time (bound 2.0 %)".to_owned()];
    disturbed
}

fn requirements() -> Vec<Requirement> {
    vec![
        Requirement {
            name: "counters of all CPUs".to_owned(),
            outcome: Outcome::Met {
                found: "4 CPUs".to_owned(),
            },
        },
        Requirement {
            name: "pressure stall information".to_owned(),
            outcome: Outcome::Missed {
                lost: "waiting for CPUs is not shown".to_owned(),
                remedy: "start the kernel with psi=1".to_owned(),
            },
        },
    ]
}

/// The sweep where nothing tells the CPU use.
pub(super) fn without_cpu() -> Sample {
    let mut sample = sweep();
    for level in &mut sample.findings.levels {
        level.cpu_pct = None;
        level.cpu_us_per_request = None;
        level.run_delay_us_per_request = None;
    }
    for capacity in &mut sample.findings.capacity {
        capacity.cpu_pct = None;
    }
    sample.findings.headroom = Headroom::Unknown {
        why: NoHeadroom::CpuUnreadable,
    };
    sample.findings.idle_cpu_pct = None;
    sample.requirements.clear();
    sample
}

/// A sweep of the hash service in which no trial counts.
pub(super) fn nothing_valid() -> Sample {
    let mut sample = sweep();
    sample.findings = Findings {
        rated: None,
        idle_cpu_pct: None,
        light_load: None,
        levels: vec![disturbed()],
        capacity: vec![CapacityFinding {
            status: CapacityStatus::Undecided,
            rate_rps: None,
            cpu_pct: None,
            limit_us: None,
            note: Some("no trial at light load is valid".to_owned()),
            ..found("p99<2x", 0.0, None)
        }],
        headroom: Headroom::Unknown {
            why: NoHeadroom::NoValidTrial,
        },
        copies: vec![],
    };
    sample.plan = plan(Workload::Hash(HashService {
        mean_block: Bytes(16 << 10),
        deviation_share: 0.3,
        request_cpu: CpuTime(Duration::from_micros(50)),
    }));
    sample.provenance = Provenance::default();
    sample.requirements.clear();
    sample.trials = TrialTally::default();
    sample.trials.add(&Verdict::Invalid(vec![Invalid::Steal {
        stolen: Share::ONE,
        bound: Share::ZERO,
    }]));
    sample.ended = Some(RunEnd::Interrupted);
    sample
}

/// A run of copies of a compiler.
pub(super) fn copies() -> Sample {
    let row = |copies, seconds, slowest_seconds, cpu_pct, efficiency_ratio| CopiesFinding {
        copies,
        seconds,
        slowest_seconds,
        cpu_pct,
        efficiency_ratio,
        trials: 2,
        invalid_trials: u32::from(copies == 4),
    };
    let mut sample = sweep();
    sample.findings = Findings {
        rated: None,
        idle_cpu_pct: None,
        light_load: None,
        levels: vec![],
        capacity: vec![],
        headroom: Headroom::Unknown {
            why: NoHeadroom::NoLevel,
        },
        copies: vec![
            row(1, 223.0, 223.0, Some(12.9), Some(1.0)),
            row(4, 262.4, 271.33, None, Some(0.85)),
            row(8, 354.0, 360.1, Some(99.6), Some(0.63)),
        ],
    };
    sample.plan = plan(Workload::Copies(Copies {
        command: ["make", "-C", "/src"].map(str::to_owned).to_vec(),
        timeout: Duration::from_secs(3600),
    }));
    sample.plan.copies = vec![1, 4, 8];
    sample.requirements.clear();
    sample.trials = TrialTally::default();
    (0..6).for_each(|_| sample.trials.add(&Verdict::Valid));
    sample
}

pub(super) fn found(goal: &str, rate: f64, cpu_pct: Option<f64>) -> CapacityFinding {
    CapacityFinding {
        goal: goal.parse().unwrap(),
        status: CapacityStatus::Found,
        rate_rps: Some(rate),
        cpu_pct,
        limit_us: None,
        note: None,
    }
}

fn level(load_pct: f64, rate: f64, cpu: f64, p99: f64) -> LevelFinding {
    LevelFinding {
        offered_rps: rate,
        achieved_rps: Some(rate),
        load_pct,
        cpu_pct: Some(cpu),
        cpu_us_per_request: Some(182.5),
        run_delay_us_per_request: Some(4.25),
        latency_us: Some(LatencySummary {
            p50: 320.0,
            p90: p99 / 2.0,
            p99,
            p999: p99 * 1.5,
            max: p99 * 2.0,
        }),
        slip_us: Some(SlipSummary {
            p50: 6.1,
            p99: 55.25,
        }),
        errors: Errors::default(),
        unfinished: 0,
        error_pct: Some(0.0),
        generator_cpu_pct: Some(23.0),
        trials: 4,
        invalid_trials: 0,
        invalid_reasons: vec![],
    }
}

fn provenance() -> Provenance {
    Provenance {
        plimsoll_version: "0.1.0".to_owned(),
        hostname: Some("web1".to_owned()),
        cpu_model: Some("AMD EPYC 9B14".to_owned()),
        architecture: Some("x86_64".to_owned()),
        topology: Topology {
            online: "0-3".parse().unwrap(),
            allowed: "0-3".parse().unwrap(),
            sockets: Some(1),
            cores: Some(2),
            threads_per_core: Some(2),
            numa_nodes: Some(1),
            caches: vec![CacheSize {
                name: "L2".to_owned(),
                size: Bytes(1 << 20),
            }],
        },
        boost: Some(true),
        kernel: Some("6.1.0".to_owned()),
        mitigations: [("meltdown".to_owned(), "Not affected".to_owned())].into(),
        virtualisation: Some("kvm".to_owned()),
        cgroup_cpu_limit: Some(3.5),
        cgroup_memory_limit: Some(Bytes(1 << 33)),
        cgroup_version: Some(2),
        memory: Some(Bytes(1 << 34)),
        clock_source: Some("kvm-clock".to_owned()),
        steal_since_boot_share: Some(0.001),
        governor: None,
    }
}

pub(super) fn http() -> Workload {
    Workload::Http(HttpService {
        url: "http://localhost:8080/".to_owned(),
        method: "GET".to_owned(),
        headers: vec![
            ("Accept".to_owned(), "*/*".to_owned()),
            ("Authorization".to_owned(), "Bearer 12345".to_owned()),
        ],
        body: vec![],
        connections: 16,
        timeout: Duration::from_secs(5),
        expected_status: Some(204),
        insecure: false,
        service: ServiceAt::Pid(4711),
    })
}

pub(super) fn plan(workload: Workload) -> Plan {
    let share = |x| Share::new(x).unwrap();
    Plan {
        workload,
        goals: vec!["p99<10ms".parse().unwrap()],
        arrivals: Arrivals::Poisson,
        levels: [10.0, 50.0, 80.0, 100.0]
            .map(|p| LoadLevel::percent(p).unwrap())
            .to_vec(),
        copies: vec![],
        passes: 4,
        window: Duration::from_secs(10),
        warm_up: WarmUp {
            min: Duration::from_secs(1),
            max: Duration::from_secs(8),
        },
        calibration: CalibrationPlan {
            first: Rate::per_second(100.0).unwrap(),
            window: Duration::from_secs(2),
            retries: 1,
            rated: None,
        },
        idle: Duration::from_secs(3),
        bounds: Bounds {
            slip: Duration::from_micros(500),
            slip_share: share(0.1),
            steal_share: share(0.02),
            other_share: share(0.05),
            retries: 3,
        },
        cpus: CpuPlan {
            service: "0-2".parse().unwrap(),
            generator: "3".parse().unwrap(),
        },
        seed: 42,
        budget: Duration::from_secs(600),
    }
}
