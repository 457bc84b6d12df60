//! How a yield run reads, and the schema that its JSON promises to keep.

use super::*;
use crate::TrialTally;
use plimsoll_model::{
    Arm, ArmFinding, BesideRate, BudgetVerdict, Bytes, Cause, CpuTime, Estimate, HashService,
    Invalid, Job, LatencyChange, LatencyUs, LoadLevel, MissingArm, RatedRate, Recommended, RunEnd,
    Share, SideloadPlan, Verdict, Workload,
};
use std::path::Path;
use std::time::Duration;

/// An arm that changes p99 by `change` percent, within `reach` either way.
fn arm(arm: Arm, gained: f64, change: f64, reach: f64, verdict: BudgetVerdict) -> ArmFinding {
    let around = |value: f64, by: f64| Estimate::within(value, value - by, value + by);
    let times = 1.0 + change / 100.0;
    ArmFinding {
        arm,
        work_gained_share: Some(around(gained, 0.02)),
        total_work_share: Some(around(gained + 0.6, 0.02)),
        latency_us: Some(LatencyUs {
            p50: 1_100.0 * times,
            p95: 3_000.0 * times,
            p99: 5_000.0 * times,
            p999: 9_000.0 * times,
        }),
        latency_change_pct: Some(LatencyChange {
            p50: around(change / 2.0, reach),
            p95: around(change, reach),
            p99: around(change, reach),
            p999: around(change, reach * 3.0),
        }),
        price_us_per_pct: Some(around(change * 50.0 / (gained * 100.0), 3.0)),
        run_delay_us_per_request: Some(40.0 * times),
        cpu_us_per_request: Some(1_010.0),
        cause: None,
        verdict: Some(verdict),
        passes_to_tell: None,
        trials: 8,
        invalid_trials: 0,
    }
}

struct Sample {
    findings: YieldFindings,
    plan: Plan,
    trials: TrialTally,
}

/// One arm within the budget, one beyond it, one of which it cannot be told,
/// and one that cannot be had.
fn sample() -> Sample {
    let missing = MissingArm {
        arm: Arm::CpuIdle,
        reason: "/sys/fs/cgroup/cpu has no cpu.idle (Linux 5.15)".to_owned(),
    };
    Sample {
        plan: plan(&missing),
        findings: YieldFindings {
            rated: Some(RatedRate {
                rate_rps: 2_000.0,
                limited_by_service: true,
                given: false,
                disturbed: false,
                never_carried: None,
            }),
            rate_rps: Some(1_200.0),
            budget: "p99+5%".parse().unwrap(),
            passes: 7,
            noise_floor_pct: Some(3.4),
            arms: arms(),
            missing_arms: vec![missing],
            recommended: Recommended {
                arm: Some(Arm::SchedIdle),
                headroom_pct: None,
                within_budget: Some(true),
                undecided: vec![Arm::Nice],
            },
        },
        trials: trials(),
    }
}

/// Those that were tried.
fn arms() -> Vec<ArmFinding> {
    let beyond = ArmFinding {
        cause: Some(Cause::Waiting),
        ..arm(Arm::None, 0.47, 310.0, 40.0, BudgetVerdict::Beyond)
    };
    let open = ArmFinding {
        passes_to_tell: Some(21),
        trials: 7,
        invalid_trials: 2,
        ..arm(Arm::Nice, 0.41, 4.0, 9.0, BudgetVerdict::CannotTell)
    };
    let alone = ArmFinding {
        work_gained_share: Some(Estimate::within(0.0, 0.0, 0.0)),
        total_work_share: Some(Estimate::within(0.6, 0.59, 0.61)),
        latency_change_pct: None,
        price_us_per_pct: None,
        verdict: None,
        ..arm(Arm::ServiceAlone, 1.0, 0.0, 0.0, BudgetVerdict::Within)
    };
    let job = ArmFinding {
        work_gained_share: Some(Estimate::within(1.0, 1.0, 1.0)),
        total_work_share: Some(Estimate::within(1.0, 1.0, 1.0)),
        latency_us: None,
        run_delay_us_per_request: None,
        cpu_us_per_request: None,
        arm: Arm::JobAlone,
        ..alone.clone()
    };
    vec![
        alone,
        job,
        beyond,
        open,
        arm(Arm::SchedIdle, 0.385, 2.1, 1.4, BudgetVerdict::Within),
        arm(Arm::Quota10ms, 0.19, 0.8, 1.5, BudgetVerdict::Within),
    ]
}

fn trials() -> TrialTally {
    let mut trials = TrialTally::default();
    for _ in 0..54 {
        trials.add(&Verdict::Valid);
    }
    for _ in 0..2 {
        trials.add(&Verdict::Invalid(vec![Invalid::Steal {
            stolen: Share::ONE,
            bound: Share::ZERO,
        }]));
    }
    trials
}

fn plan(missing: &MissingArm) -> Plan {
    let mut plan = Plan::blank(Workload::Hash(HashService {
        mean_block: Bytes(1 << 20),
        deviation_share: 0.25,
        request_cpu: CpuTime(Duration::from_millis(1)),
    }));
    plan.window = Duration::from_secs(5);
    plan.passes = 8;
    plan.sideload = Some(SideloadPlan {
        job: Job::Burn,
        service: BesideRate::Load(LoadLevel::percent(60.0).unwrap()),
        arms: vec![
            Arm::ServiceAlone,
            Arm::ServiceAgain,
            Arm::JobAlone,
            Arm::None,
            Arm::Nice,
            Arm::SchedIdle,
            Arm::Quota10ms,
            Arm::CpuSet,
        ],
        missing_arms: vec![missing.clone()],
        headroom: Share::new(0.2).unwrap(),
        budget: "p99+5%".parse().unwrap(),
        cpus: "0-1".parse().unwrap(),
        timeout: Duration::from_secs(600),
    });
    plan
}

/// Nothing is known yet.
fn nothing() -> Sample {
    let mut sample = sample();
    sample.trials = TrialTally::default();
    let found = &mut sample.findings;
    found.rated = None;
    found.rate_rps = None;
    found.noise_floor_pct = None;
    found.passes = 0;
    found.recommended = Recommended {
        arm: None,
        headroom_pct: None,
        within_budget: None,
        undecided: Vec::new(),
    };
    for arm in &mut found.arms {
        *arm = ArmFinding {
            arm: arm.arm,
            work_gained_share: None,
            total_work_share: None,
            latency_us: None,
            latency_change_pct: None,
            price_us_per_pct: None,
            run_delay_us_per_request: None,
            cpu_us_per_request: None,
            cause: None,
            verdict: arm.verdict.map(|_| BudgetVerdict::CannotTell),
            passes_to_tell: None,
            trials: 0,
            invalid_trials: 0,
        };
    }
    let side = sample.plan.sideload.as_mut().unwrap();
    side.job = Job::Command("make -j2".to_owned());
    sample
}

/// All that was tried is beyond the budget.
fn all_beyond() -> Sample {
    let mut sample = sample();
    sample.findings.arms.truncate(3);
    sample.findings.recommended = Recommended {
        arm: None,
        headroom_pct: None,
        within_budget: Some(false),
        undecided: Vec::new(),
    };
    sample
}

impl Sample {
    fn text(&self, width: usize) -> String {
        with(self, |report| yield_text(report, width, false))
    }

    fn json(&self) -> serde_json::Value {
        let json = with(self, |report| yield_json(report).unwrap());
        serde_json::from_str(&json).unwrap()
    }

    /// In one line, so that sentences are found wherever they are broken.
    fn flat(&self) -> String {
        self.text(160).replace('\n', " ")
    }
}

fn with<T>(sample: &Sample, shown: impl FnOnce(&YieldReport<'_>) -> T) -> T {
    shown(&YieldReport {
        findings: &sample.findings,
        plan: &sample.plan,
        provenance: &Provenance::default(),
        requirements: &[],
        record: RecordFacts {
            file: Path::new("run.plimsoll"),
            created_unix_ms: 1_700_000_000_000,
            ended: Some(&RunEnd::Complete),
            trials: sample.trials.clone(),
        },
    })
}

/// Name, what is shown, at which width, and the text that it should give.
type Snapshot = (&'static str, fn() -> Sample, usize, &'static str);

const EXPECTED: [Snapshot; 3] = [
    ("yield-80", sample, 80, include_str!("tests/yield-80.txt")),
    (
        "yield-200",
        sample,
        200,
        include_str!("tests/yield-200.txt"),
    ),
    (
        "yield-nothing-80",
        nothing,
        80,
        include_str!("tests/yield-nothing-80.txt"),
    ),
];

#[test]
fn reports_read_as_they_should() {
    for (name, sample, width, expected) in EXPECTED {
        let text = sample().text(width);
        assert!(text.lines().all(|l| l.chars().count() <= width), "{text}");
        if std::env::var_os("BLESS").is_some() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/yields/tests");
            std::fs::write(format!("{folder}/{name}.txt"), &text).unwrap();
            continue;
        }
        assert!(
            text == expected,
            "{name}: got\n{text}\ninstead of\n{expected}"
        );
    }
}

#[test]
fn the_last_sentences_say_what_to_do() {
    let text = sample().flat();
    for part in [
        "Hold the job by sched-idle: it does 38.5 % (36.5 to 40.5) of its work",
        "p99 changes by 2.1 % (0.7 to 3.5), within p99+5%.",
        "Of nice it cannot be told, and it gains more. About 21 passes might tell",
        "cpu-idle was left out: /sys/fs/cgroup/cpu has no cpu.idle",
        "Two equal measurements of p99 differ by up to 3.4 % here",
        "2 of 56 trials do not count, mostly because the hypervisor took CPU time.",
    ] {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
    let text = all_beyond().flat();
    for part in [
        "No way to hold the job keeps the service within p99+5%.",
        "none comes nearest, with 310 % more, 330us of p99 for each percent of work.",
        "What is paid is waiting for a CPU.",
    ] {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
    let text = nothing().flat();
    assert!(text.contains("It cannot be told whether any arm"), "{text}");
    assert!(text.contains("give --rated"), "{text}");
}

#[test]
fn the_headroom_is_named_where_the_arm_leaves_one() {
    let mut sample = sample();
    sample.findings.recommended.arm = Some(Arm::Quota10ms);
    sample.findings.recommended.headroom_pct = Some(20.0);
    let text = sample.flat();
    assert!(
        text.contains("Hold the job by quota-10ms with a headroom of 20 %"),
        "{text}"
    );
}

#[test]
fn a_command_and_a_reason_cannot_drive_the_terminal() {
    let mut sample = sample();
    let side = sample.plan.sideload.as_mut().unwrap();
    side.job = Job::Command("echo \u{1b}[2J".to_owned());
    sample.findings.missing_arms[0].reason = "\u{1b}[2J".to_owned();
    assert!(!sample.text(80).contains('\u{1b}'));
    let json = with(&sample, |report| yield_json(report).unwrap());
    assert!(!json.contains('\u{1b}'));
}

const SCHEMA: &str = include_str!("../../../../docs/schema/yield.schema.json");

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap()
}

#[test]
fn the_json_keeps_to_its_schema() {
    for sample in [sample(), nothing(), all_beyond()] {
        let output = sample.json();
        let wrong: Vec<String> = validator()
            .iter_errors(&output)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{output:#}");
    }
}

#[test]
fn the_schema_lets_nothing_else_through() {
    let validator = validator();
    let good = sample().json();
    for (at, wrong) in [
        ("/schema_version", serde_json::json!(2)),
        ("/kind", serde_json::json!("sweep")),
        ("/findings/arms/0/arm", serde_json::json!("service-again")),
        ("/findings/arms/0/verdict", serde_json::json!("maybe")),
        ("/findings/arms/2/cause", serde_json::json!("magic")),
        (
            "/findings/recommended/within_budget",
            serde_json::json!("yes"),
        ),
        ("/findings/missing_arms/0/reason", serde_json::Value::Null),
        ("/plan/sideload", serde_json::Value::Null),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(at).unwrap() = wrong;
        assert!(!validator.is_valid(&bad), "{at}");
    }
    let mut bad = good.clone();
    let found = bad.pointer_mut("/findings/arms/0").unwrap();
    found.as_object_mut().unwrap().remove("price_us_per_pct");
    assert!(!validator.is_valid(&bad), "a value is left out");
}

#[test]
fn programs_find_what_was_promised_to_them() {
    let value = sample().json();
    assert_eq!(value["kind"], "yield");
    let arms = &value["findings"]["arms"];
    assert_eq!(arms[4]["arm"], "sched-idle");
    assert_eq!(arms[4]["work_gained_share"]["value"], 0.385);
    assert_eq!(arms[4]["latency_change_pct"]["p99"]["value"], 2.1);
    assert_eq!(arms[2]["cause"], "waiting");
    assert_eq!(arms[3]["verdict"], "cannot_tell");
    assert_eq!(arms[1]["latency_us"], serde_json::Value::Null);
    assert_eq!(value["findings"]["recommended"]["arm"], "sched-idle");
    assert_eq!(value["findings"]["noise_floor_pct"], 3.4);
    assert_eq!(value["plan"]["sideload"]["arms"][1], "service-again");
}
