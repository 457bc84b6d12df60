//! How a curve over headrooms reads.

use super::sample::arm;
use super::*;
use plimsoll_model::{
    BudgetVerdict, CurvePoint, Estimate, HeadroomCurve, Knee, KneeStatus, Recommended,
};

/// A quota over four headrooms, which costs latency below 15 %.
fn curve() -> Sample {
    let mut sample = sample();
    let side = sample.plan.sideload.as_mut().unwrap();
    side.headrooms = [0.0, 0.1, 0.2, 0.4, 0.5]
        .map(|h| Share::new(h).unwrap())
        .to_vec();
    side.arms.retain(|arm| !arm.is_beside());
    side.arms.push(Arm::Quota10ms);
    let quota = |gained, change, verdict| arm(Arm::Quota10ms, gained, change, 1.5, verdict);
    let point = |headroom_pct, allowed, found| CurvePoint {
        headroom_pct,
        allowed_share: Some(allowed),
        found,
    };
    let found = &mut sample.findings;
    found.arms.truncate(2);
    found.curve = vec![HeadroomCurve {
        arm: Arm::Quota10ms,
        points: vec![
            point(0.0, 0.39, quota(0.38, 62.0, BudgetVerdict::Beyond)),
            point(10.0, 0.29, quota(0.29, 18.0, BudgetVerdict::Beyond)),
            point(20.0, 0.19, quota(0.19, 0.8, BudgetVerdict::Within)),
            point(40.0, 0.05, quota(0.05, 0.3, BudgetVerdict::Within)),
            point(50.0, 0.05, quota(0.05, 0.2, BudgetVerdict::Within)),
        ],
        knee: Knee {
            status: KneeStatus::Found,
            headroom_pct: Some(Estimate::within(14.6, 12.0, 17.0)),
            rise_pct: Some(Estimate::within(61.0, 55.0, 68.0)),
        },
        recommended_headroom_pct: Some(20.0),
    }];
    found.recommended = Recommended {
        arm: Some(Arm::Quota10ms),
        headroom_pct: Some(20.0),
        within_budget: Some(true),
        undecided: Vec::new(),
    };
    sample
}

fn with_knee(knee: Knee) -> Sample {
    let mut sample = curve();
    sample.findings.curve[0].knee = knee;
    sample
}

const NONE: Knee = Knee {
    status: KneeStatus::None,
    headroom_pct: None,
    rise_pct: None,
};

#[test]
fn a_curve_reads_as_it_should() {
    let text = curve().text(80);
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/src/yields/tests/yield-curve-80.txt"
    );
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    let expected = std::fs::read_to_string(path).unwrap();
    assert!(text == expected, "got\n{text}\ninstead of\n{expected}");
}

#[test]
fn the_knee_and_the_headroom_to_take_are_said() {
    for (sample, part) in [
        (curve(), "rise below a headroom of 14.6 % (12.0 to 17.0)"),
        (curve(), "the job does the most with a headroom of 20 %."),
        (
            curve(),
            "Hold the job by quota-10ms with a headroom of 20 %: it does 19.0 %",
        ),
        (
            curve(),
            "From a headroom of 40 % on it is allowed the same 5 %",
        ),
        (
            with_knee(Knee {
                rise_pct: Some(Estimate::within(1.2, 0.0, 3.0)),
                ..NONE
            }),
            "no knee is seen; from 50 % of headroom down to 0 % p99 rises by 1.2 %, which is no more than noise (3.4 %).",
        ),
        (
            with_knee(Knee {
                status: KneeStatus::CannotTell,
                headroom_pct: Some(Estimate::within(20.0, 2.0, 48.0)),
                rise_pct: None,
            }),
            "it cannot be told where p99 begins to rise (perhaps below 20 % (2 to 48)).",
        ),
        (
            with_knee(Knee {
                status: KneeStatus::CannotTell,
                ..NONE
            }),
            "it takes 5 passes and 4 headrooms at least.",
        ),
    ] {
        let text = sample.flat();
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
}

#[test]
fn where_no_headroom_is_enough_the_nearest_is_named_with_it() {
    let mut sample = curve();
    let found = &mut sample.findings;
    found.recommended = Recommended {
        arm: None,
        headroom_pct: None,
        within_budget: Some(false),
        undecided: Vec::new(),
    };
    found.curve[0].recommended_headroom_pct = None;
    let text = sample.flat();
    for part in [
        "quota-10ms with a headroom of 50 % comes nearest",
        "With none of these headrooms is it sure to be within p99+5%.",
    ] {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
}

#[test]
fn a_curve_in_json_keeps_to_the_schema_which_lets_nothing_else_through() {
    let validator = validator();
    for sample in [curve(), with_knee(NONE)] {
        let output = sample.json();
        let wrong: Vec<String> = validator
            .iter_errors(&output)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{output:#}");
    }
    let good = curve().json();
    let points = &good["findings"]["curve"][0]["points"];
    assert_eq!(points[2]["headroom_pct"], 20.0);
    assert_eq!(points[2]["work_gained_share"]["value"], 0.19);
    assert_eq!(good["plan"]["sideload"]["headrooms_share"][1], 0.1);
    for (at, name) in [
        ("/findings", "curve"),
        ("/findings/curve/0", "knee"),
        ("/findings/curve/0/points/1", "headroom_pct"),
        ("/findings/curve/0/points/1", "latency_us"),
        ("/findings/curve/0/knee", "rise_pct"),
    ] {
        let mut bad = good.clone();
        let object = bad.pointer_mut(at).unwrap().as_object_mut().unwrap();
        let value = object.remove(name).unwrap();
        assert!(!validator.is_valid(&bad), "{at} without {name}");
        let object = bad.pointer_mut(at).unwrap().as_object_mut().unwrap();
        object.insert(name.to_owned(), value);
        object.insert("another".to_owned(), serde_json::Value::Null);
        assert!(!validator.is_valid(&bad), "{at} with more");
    }
}
