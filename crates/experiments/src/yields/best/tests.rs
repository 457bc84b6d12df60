//! What is kept, and what becomes of it on this machine and on others.

use super::*;
use crate::yields::tests::plan_of;
use plimsoll_model::{BudgetVerdict, Estimate, LatencyChange};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

fn here() -> Provenance {
    Provenance {
        kernel: Some("6.18.5".to_owned()),
        cpu_model: Some("AMD EPYC".to_owned()),
        ..Provenance::default()
    }
}

fn best(arm: Arm) -> Best {
    Best {
        version: VERSION,
        arm,
        headroom_pct: None,
        found_unix_ms: 1_795_305_600_000,
        kernel: "6.18.5".to_owned(),
        cpu_model: "AMD EPYC".to_owned(),
        record: "/runs/run.plimsoll".to_owned(),
        budget: "p99+5%".parse().unwrap(),
        gained_share: 0.386,
        change_pct: 2.9,
    }
}

fn findings(arm: Arm, verdict: BudgetVerdict) -> YieldFindings {
    let around = |value| Estimate::within(value, value - 1.0, value + 1.0);
    let mut found = plimsoll_study::yields::findings(&plan_of(vec![arm]), &[]);
    found.arms[0].work_gained_share = Some(Estimate::within(0.386, 0.38, 0.39));
    found.arms[0].latency_change_pct = Some(LatencyChange {
        p50: Some(around(0.0)),
        p95: Some(around(1.0)),
        p99: Some(around(2.9)),
        p999: Some(around(4.0)),
    });
    found.recommended.arm = Some(arm);
    found.recommended.verdict = verdict;
    found
}

#[test]
fn an_arm_within_the_budget_is_stored_and_read_again() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_305_600_000);
    let of = |verdict| {
        let findings = findings(Arm::SchedIdle, verdict);
        Best::of(&findings, &here(), Path::new("/runs/run.plimsoll"), now)
    };
    let kept = of(BudgetVerdict::Within).unwrap();
    assert_eq!(kept, best(Arm::SchedIdle));
    for verdict in [BudgetVerdict::Beyond, BudgetVerdict::Inconclusive] {
        assert_eq!(of(verdict), None);
    }
    let open = not_kept(&findings(Arm::SchedIdle, BudgetVerdict::Inconclusive)).unwrap();
    assert!(open.contains("does not use sched-idle"), "{open}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/below/best.json");
    state_file::write(&kept, &file).unwrap();
    assert_eq!(read(&file), Ok(Some(kept)));
    assert_eq!(read(&folder.path().join("none")), Ok(None));
}

#[test]
fn nothing_is_stored_for_an_unknown_machine() {
    let nobody = Provenance::default();
    let findings = findings(Arm::Weight, BudgetVerdict::Within);
    let kept = Best::of(&findings, &nobody, Path::new("r"), SystemTime::now());
    assert_eq!(kept, None);
}

#[test]
fn each_arm_becomes_the_mechanism_that_it_was() {
    let of = |arm| best(arm).advice(&here());
    for (arm, mechanism, in_group) in [
        (Arm::Weight, CpuMechanism::Weight, true),
        (Arm::CpuIdle, CpuMechanism::Idle, true),
        (Arm::SchedIdle, CpuMechanism::Idle, false),
        (Arm::Quota10ms, CpuMechanism::Quota, true),
        (Arm::CpuSet, CpuMechanism::CpuSet, false),
    ] {
        let because =
            "which `plimsoll yield` found best here on 2026-11-22 (39 % gained, p99 +3 %)";
        let take = Advice::Take {
            mechanism,
            in_group,
            because: because.to_owned(),
        };
        assert_eq!(of(arm), take);
    }
    for arm in [Arm::None, Arm::Nice, Arm::Quota100ms] {
        assert!(
            matches!(of(arm), Advice::Leave { why } if why.contains("not among what")),
            "{arm}"
        );
    }
}

#[test]
fn advice_is_left_on_another_or_an_unknown_kernel_or_cpu() {
    let why = |change: fn(&mut Provenance)| {
        let mut there = here();
        change(&mut there);
        match best(Arm::Weight).advice(&there) {
            Advice::Leave { why } => why,
            other => panic!("{other:?}"),
        }
    };
    let kernel = why(|p| p.kernel = Some("6.19.0".to_owned()));
    assert!(
        kernel.starts_with("weight, which `plimsoll yield` found"),
        "{kernel}"
    );
    assert!(kernel.ends_with("under another kernel"), "{kernel}");
    assert!(why(|p| p.kernel = None).ends_with("under another kernel"));
    assert!(why(|p| p.cpu_model = Some("Intel".to_owned())).ends_with("on another CPU"));
    assert!(why(|p| p.cpu_model = None).ends_with("on another CPU"));
}

#[test]
fn a_change_that_rounds_to_zero_has_no_minus_sign() {
    let mut best = best(Arm::Weight);
    best.change_pct = -0.3;
    assert!(best.found().contains("p99 +0 %"), "{}", best.found());
}

#[test]
fn a_broken_file_is_one_warning_that_does_not_quote_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("best.json");
    let good = serde_json::to_string(&best(Arm::Weight)).unwrap();
    let cases = [
        String::new(),
        "\u{1b}[2J".to_owned(),
        good[..good.len() / 2].to_owned(),
        good.replace("\"weight\"", "\"\u{1b}magic\""),
        good.replace("\"version\":1", "\"version\":2"),
        good.replace("0.386", "1e300"),
        good.replace("0.386", "null"),
        good.replace("1795305600000", "18446744073709551615"),
    ];
    for text in cases {
        assert_ne!(text, good);
        fs::write(&file, &text).unwrap();
        let warning = advice(&file, &Root::machine()).unwrap_err();
        assert!(warning.contains("best.json"), "{warning}");
        assert!(!warning.contains('\u{1b}'), "{warning}");
    }
    fs::write(&file, &good).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(advice(&file, &Root::machine()).is_ok());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let warning = advice(&file, &Root::machine()).unwrap_err();
    assert!(warning.contains("others can write to it"), "{warning}");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(advice(&file, &Root::machine()).is_err());
}
