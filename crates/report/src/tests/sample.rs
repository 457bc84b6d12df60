//! Findings made by hand.

use crate::chart::Charset;
use crate::{Look, RecordFacts, Report, TrialTally};
use plimsoll_model::{
    Arrivals, Bounds, Bytes, CacheSize, CalibrationPlan, CapacityFinding, CapacityNote,
    CapacityStatus, Copies, CopiesFinding, CopiesWork, CpuPlan, CpuTime, DirectionFinding,
    DirectionVerdict, Errors, Estimate, Findings, HashService, Headroom, HeadroomIndex,
    HintFinding, HttpService, ImportedTable, Invalid, LatencySummary, LevelFinding, LightBasis,
    LightLoad, LoadLevel, NoHeadroom, NoSpeedup, Outcome, Plan, PooledCpu, Provenance, Rate,
    RatedRate, Requirement, RunEnd, SearchPlan, ServiceAt, Share, SlipSummary, SmtFinding, Speedup,
    TableRows, ThresholdFinding, Topology, Verdict, WarmUp, Workload,
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

    /// Tables and sentences.
    pub(super) fn text(&self, width: usize) -> String {
        self.with_charts(width, None)
    }

    /// All of it, in black and white.
    pub(super) fn with_charts(&self, width: usize, charts: Option<Charset>) -> String {
        let look = Look {
            width,
            colour: false,
            charts,
        };
        crate::text(&self.report(), look)
    }
}

/// A sweep of an HTTP service: found, one level without a valid trial.
pub(super) fn sweep() -> Sample {
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
                disturbed: false,
                given: false,
                never_carried: None,
            }),
            idle_cpu_pct: Some(1.25),
            light_load: Some(LightLoad {
                up_to_load_pct: 10.0,
                p99_us: 1_100.0,
                basis: LightBasis::Levels,
            }),
            levels: vec![
                level(10.0, 1000.0, 9.0, 1_100.0),
                level(50.0, 5000.0, 47.0, 2_300.0),
                disturbed(),
                overloaded,
            ],
            cpu_pooled: vec![],
            doubts: vec![],
            capacity: vec![
                CapacityFinding {
                    confirmed: Some(true),
                    ..found("p99<10ms", 8_412.0, Some(76.0))
                },
                CapacityFinding {
                    status: CapacityStatus::Cliff,
                    rate_rps: Some(within(8_900.0, 0.0, 120.0)),
                    ..found("errors<0.1%", 8_900.0, Some(82.5))
                },
            ],
            headroom: told(0.857),
            thresholds_of_rps: Some(within(8_412.0, 171.0, 190.0)),
            thresholds: thresholds(),
            hints: hints(),
            direction: Some(DirectionFinding {
                down_over_up_ratio: Some(within(1.012, 0.031, 0.044)),
                levels: 12,
                verdict: DirectionVerdict::NoDifferenceSeen,
                restarts: None,
            }),
            copies: vec![],
            smt: SmtFinding::unknown(NoSpeedup::NotOurs),
        },
        plan: plan(http()),
        provenance: provenance(),
        requirements: requirements(),
        trials: tally(),
        ended: Some(RunEnd::Complete),
    }
}

/// Most count, some are disturbed.
fn tally() -> TrialTally {
    let mut trials = TrialTally::default();
    (0..31).for_each(|_| trials.add(&Verdict::Valid));
    let bound = Share::new(0.02).unwrap();
    let stolen = Share::new(0.05).unwrap();
    (0..3).for_each(|_| trials.add(&Verdict::Invalid(vec![Invalid::Steal { stolen, bound }])));
    trials
}

/// An estimate by how far its ends are away.
pub(super) fn within(value: f64, below: f64, above: f64) -> Estimate {
    Estimate::within(value, value - below, value + above)
}

/// A headroom index within 0.02, with the highest rate of [`sweep`].
pub(super) fn told(ratio: f64) -> Headroom {
    about(within(ratio, 0.02, 0.02))
}

/// A headroom index.
pub(super) fn about(ratio: Estimate) -> Headroom {
    let most = 9_100.0;
    let half = Estimate {
        value: most / ratio.value / 2.0,
        low: ratio.high.map(|high| most / high / 2.0),
        high: ratio.low.map(|low| most / low / 2.0),
    };
    Headroom::Known(HeadroomIndex {
        max_rate_rps: match ratio.interval() {
            Some(_) => within(most, 61.0, 70.0),
            None => Estimate::alone(most),
        },
        nearest_cpu_pct: 47.0,
        nearest_level_ratio: ratio.map_rising(|ratio| ratio - 0.011),
        linear_expectation_rps: half.map_rising(|half| 2.03 * half),
        interpolated_ratio: Some(ratio),
        half_rate_rps: Some(half),
        extra_over_half_ratio: Some(ratio.map_rising(|ratio| 2.0 * ratio - 1.0)),
    })
}

/// Thresholds of a machine whose CPU use lags behind its work.
fn thresholds() -> Vec<ThresholdFinding> {
    let row = |headroom_pct: f64, cpu_pct: f64, left: Option<f64>| ThresholdFinding {
        headroom_pct,
        rate_rps: 8_412.0 * (1.0 - headroom_pct / 100.0),
        cpu_pct: (cpu_pct > 45.0).then(|| within(cpu_pct, 1.84, 1.13)),
        linear_cpu_pct: 100.0 - headroom_pct,
        linear_headroom_pct: left.map(|left| within(left, 2.2, 1.9)),
        linear_error_points: left.map(|left| within(left - headroom_pct, 2.2, 1.9)),
    };
    vec![
        row(10.0, 68.31, Some(-17.4)),
        row(20.0, 60.14, Some(-5.12)),
        row(30.0, 52.25, Some(8.8)),
        row(40.0, 46.0, Some(20.2)),
        row(50.0, 40.0, None),
    ]
}

fn hints() -> Vec<HintFinding> {
    let hint = |counter: &str, unit, slope, at_lowest, at_highest| HintFinding {
        counter: counter.to_owned(),
        unit,
        slope,
        at_lowest,
        at_highest,
        from_rps: 1_000.0,
        to_rps: 9_100.0,
    };
    let slope = within(0.473, 0.112, 0.093);
    vec![
        hint("waiting for a CPU", "us", within(0.9, 0.2, 0.1), 4.25, 31.0),
        hint("context switches", "switches", slope, 1.2, 3.4),
    ]
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
    sample.findings.thresholds.clear();
    sample.findings.hints.clear();
    sample.requirements.clear();
    sample
}

/// Two rows between which CPU use falls.
fn pooled() -> [PooledCpu; 2] {
    [(345_138.0, 50.0), (395_424.0, 48.0)].map(|(rate_rps, measured_cpu_pct)| PooledCpu {
        rate_rps,
        measured_cpu_pct,
        fitted_cpu_pct: 49.0,
    })
}

/// A table that somebody else measured: single rows, so no intervals.
pub(super) fn imported() -> Sample {
    let mut sample = sweep();
    sample.plan = plan(Workload::Imported(ImportedTable {
        name: "c6i.2xlarge".to_owned(),
        rows: TableRows::Rates,
        cpus: Some(8),
        threads_per_core: None,
        note: Some("netty, 64 KB answers".to_owned()),
        latencies: Vec::new(),
    }));
    sample.plan.search = None;
    sample.provenance = Provenance {
        hostname: Some("c6i.2xlarge".to_owned()),
        ..Provenance::default()
    };
    sample.requirements.clear();
    sample.trials = TrialTally::default();
    (0..3).for_each(|_| sample.trials.add(&Verdict::Valid));
    let findings = &mut sample.findings;
    findings.levels = [
        (49_516.0, 7.0, 1005.0),
        (345_138.0, 50.0, 1037.0),
        (591_411.0, 94.0, 1806.0),
    ]
    .map(|(rate, cpu, us)| row(rate, cpu, us))
    .to_vec();
    findings.idle_cpu_pct = None;
    findings.cpu_pooled = pooled().to_vec();
    findings.rated = Some(RatedRate {
        rate_rps: 591_411.0,
        limited_by_service: true,
        disturbed: false,
        given: true,
        never_carried: None,
    });
    let end = Estimate {
        value: 591_411.0,
        low: Some(591_411.0),
        high: None,
    };
    findings.capacity = vec![CapacityFinding {
        status: CapacityStatus::NotReached,
        rate_rps: Some(end),
        cpu_pct: Some(Estimate::alone(94.0)),
        limit_us: Some(2_010.0),
        ..found("p99<2x", 0.0, None)
    }];
    let half = 345_138.0;
    findings.headroom = Headroom::Known(HeadroomIndex {
        max_rate_rps: Estimate::alone(591_411.0),
        nearest_cpu_pct: 50.0,
        nearest_level_ratio: Estimate::alone(0.8568),
        linear_expectation_rps: Estimate::alone(2.0 * half),
        interpolated_ratio: Some(Estimate::alone(0.8568)),
        half_rate_rps: Some(Estimate::alone(half)),
        extra_over_half_ratio: Some(Estimate::alone(0.7136)),
    });
    findings.thresholds_of_rps = Some(Estimate::alone(591_411.0));
    findings.thresholds = vec![single(20.0, 77.2, 17.4), single(50.0, 41.0, 41.6)];
    findings.hints.clear();
    sample
}

/// A threshold of a table of single rows.
fn single(headroom_pct: f64, cpu: f64, left: f64) -> ThresholdFinding {
    ThresholdFinding {
        headroom_pct,
        rate_rps: 591_411.0 * (1.0 - headroom_pct / 100.0),
        cpu_pct: Some(Estimate::alone(cpu)),
        linear_cpu_pct: 100.0 - headroom_pct,
        linear_headroom_pct: Some(Estimate::alone(left)),
        linear_error_points: Some(Estimate::alone(left - headroom_pct)),
    }
}

/// A row of a table as a level.
fn row(rate: f64, cpu: f64, us: f64) -> LevelFinding {
    LevelFinding {
        latency_us: Some(LatencySummary {
            p50: us,
            p90: us,
            p99: us,
            p999: us,
            max: us,
        }),
        cpu_us_per_request: Some(cpu / 100.0 * 8e6 / rate),
        run_delay_us_per_request: None,
        slip_us: None,
        generator_cpu_pct: None,
        trials: 1,
        ..level(100.0 * rate / 591_411.0, rate, cpu, us)
    }
}

/// Nothing found.
pub(super) fn empty() -> Findings {
    Findings {
        rated: None,
        idle_cpu_pct: None,
        light_load: None,
        levels: vec![],
        cpu_pooled: vec![],
        doubts: vec![],
        capacity: vec![],
        headroom: Headroom::Unknown {
            why: NoHeadroom::NoLevel,
        },
        thresholds_of_rps: None,
        thresholds: vec![],
        hints: vec![],
        direction: None,
        copies: vec![],
        smt: SmtFinding::unknown(NoSpeedup::CoresUnknown),
    }
}

/// A sweep of the hash service in which no trial counts.
pub(super) fn nothing_valid() -> Sample {
    let mut sample = sweep();
    sample.findings = Findings {
        levels: vec![disturbed()],
        capacity: vec![CapacityFinding {
            status: CapacityStatus::Undecided,
            rate_rps: None,
            cpu_pct: None,
            limit_us: None,
            note: Some(CapacityNote::NoLightLoad {
                lowest_pct: Some(90.0),
                planned: true,
            }),
            ..found("p99<2x", 0.0, None)
        }],
        headroom: Headroom::Unknown {
            why: NoHeadroom::NoValidTrial,
        },
        ..empty()
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

/// Both threads of a core do more than one, at a lower clock. What four copies
/// come to is not known.
fn two_threads() -> SmtFinding {
    let work = |copies, work_pct| CopiesWork {
        copies,
        work_pct,
        clock_ratio: None,
    };
    SmtFinding {
        speedup: Ok(Speedup {
            ratio: within(1.271, 0.012, 0.014),
            at_equal_clock_ratio: Some(within(1.312, 0.012, 0.014)),
            clock_ratio: Some(within(0.969, 0.001, 0.001)),
        }),
        levels: vec![],
        copies: vec![work(1, 19.67), work(8, 100.0)],
    }
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
        copies: vec![
            row(1, 223.0, 223.0, Some(12.9), Some(1.0)),
            row(4, 262.4, 271.33, None, Some(0.85)),
            row(8, 354.0, 360.1, Some(99.6), Some(0.63)),
        ],
        smt: two_threads(),
        ..empty()
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

/// A capacity within 2 %, at a CPU use within 2 points.
pub(super) fn found(goal: &str, rate: f64, cpu_pct: Option<f64>) -> CapacityFinding {
    CapacityFinding {
        goal: goal.parse().unwrap(),
        status: CapacityStatus::Found,
        rate_rps: Some(within(rate, 0.02 * rate, 0.0225 * rate)),
        cpu_pct: cpu_pct.map(|cpu| within(cpu, 1.9, 2.0)),
        confirmed: None,
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
        restart: None,
        smt: None,
        sideload: None,
        search: Some(SearchPlan {
            precision: share(0.02),
            window: Duration::from_secs(3),
            budget: Duration::from_secs(240),
            confirm: Duration::from_secs(30),
        }),
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
            cores: Vec::new(),
        },
        seed: 42,
        budget: Duration::from_secs(600),
    }
}
