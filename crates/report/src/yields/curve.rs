//! Arms over headrooms: a row for each, and where latency begins to rise.

use super::table::columns;
use crate::number::{MISSING, Written, trimmed_pct};
use crate::sentence::Sentence;
use crate::table::{Column, Ink, or_dash};
use plimsoll_model::{ArmFinding, HeadroomCurve, KneeStatus, YieldFindings};

pub(crate) fn table(findings: &YieldFindings) -> Vec<Column> {
    let tried: Vec<(Option<f64>, &ArmFinding)> = findings.tried().collect();
    let arms: Vec<ArmFinding> = tried.iter().map(|(_, found)| (*found).clone()).collect();
    let mut table = columns(&arms, &findings.budget);
    if findings.curve.is_empty() {
        return table;
    }
    let points = || findings.curve.iter().flat_map(|curve| &curve.points);
    let headrooms = tried.iter().map(|(headroom, _)| *headroom);
    let allowed = findings
        .arms
        .iter()
        .map(|_| None)
        .chain(points().map(|point| point.allowed_share.map(|share| share * 100.0)));
    let headrooms = headrooms.map(|pct| or_dash(pct, trimmed_pct));
    let allowed = allowed.map(|pct| or_dash(pct, trimmed_pct));
    table.insert(1, Column::new("headroom", "%", 0, headrooms));
    table.insert(2, Column::new("allowed", "% CPU", 3, allowed));
    table
}

pub(super) fn sentences(findings: &YieldFindings) -> Vec<Sentence> {
    let of = |curve: &HeadroomCurve| {
        let ink = match curve.knee.status {
            KneeStatus::Inconclusive => Ink::Yellow,
            KneeStatus::Found | KneeStatus::None => Ink::Plain,
        };
        ink.says(format!(
            "{} {}{}",
            knee(curve, findings),
            within(curve, findings),
            least(curve)
        ))
    };
    findings.curve.iter().map(of).collect()
}

fn knee(curve: &HeadroomCurve, findings: &YieldFindings) -> String {
    let (arm, quantile) = (curve.arm, findings.budget.quantile);
    let end = |at: Option<&plimsoll_model::CurvePoint>| {
        at.map(|p| trimmed_pct(p.headroom_pct)).unwrap_or_default()
    };
    let (least, most) = (end(curve.points.first()), end(curve.points.last()));
    let knee = &curve.knee;
    let rise = knee.rise_pct.map(Written::pct);
    match (knee.status, knee.headroom_pct.map(Written::pct), rise) {
        (KneeStatus::Found, Some(at), Some(rise)) => format!(
            "{arm}: {quantile} begins to rise below a headroom of {}; with {least} % it is {} \
             above that with {most} %.",
            at.with_ends(" %"),
            rise.with_ends(" %")
        ),
        (KneeStatus::None, _, Some(rise)) => format!(
            "{arm}: no knee; from {most} % headroom down to {least} % {quantile} rises by {} %, \
             within the noise floor ({} %).",
            rise.value,
            findings
                .noise_floor_pct
                .map_or_else(|| MISSING.to_owned(), trimmed_pct)
        ),
        (_, Some(at), _) => format!(
            "{arm}: knee of {quantile} inconclusive (perhaps below {} headroom).",
            at.with_ends(" %")
        ),
        _ => format!(
            "{arm}: knee of {quantile} inconclusive; it takes at least 5 passes and 4 headrooms."
        ),
    }
}

fn within(curve: &HeadroomCurve, findings: &YieldFindings) -> String {
    let budget = findings.budget;
    match curve.recommended_headroom_pct {
        Some(headroom) => format!(
            "Most work within {budget}: {} % headroom.",
            trimmed_pct(headroom)
        ),
        None => format!("No headroom is within {budget} for certain."),
    }
}

/// What asks for more than the service alone leaves idle is all the same.
fn least(curve: &HeadroomCurve) -> String {
    let least = curve.points.last().and_then(|point| point.allowed_share);
    let alike: Vec<f64> = curve
        .points
        .iter()
        .filter(|point| point.allowed_share == least)
        .map(|point| point.headroom_pct)
        .collect();
    match (least, alike.as_slice()) {
        (Some(least), [first, _, ..]) => format!(
            " {} the job is allowed the same {} % of its CPUs: with the service alone, too little \
             was idle for more headroom.",
            match alike.len() == curve.points.len() {
                true => "With each of them".to_owned(),
                false => format!("From a headroom of {} % on", trimmed_pct(*first)),
            },
            trimmed_pct(least * 100.0)
        ),
        _ => String::new(),
    }
}
