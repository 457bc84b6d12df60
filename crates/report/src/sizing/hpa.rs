//! A HorizontalPodAutoscaler for Kubernetes (API autoscaling/v2).

use super::{PlanReport, cpu_use, doubt};
use crate::capacity::note_sentence;
use crate::doubts;
use crate::escape::safe;
use crate::number::{self, Written, counted, per_second};
use crate::sentence::{words_if, words_of};
use crate::table::wrap;
use plimsoll_model::{CapacityNote, Carried, Estimate, HPA_TOLERANCE, PlannedFrom};

/// Comments are broken to fit into this many columns, so that they read in any
/// editor.
const WIDTH: usize = 80;

/// The manifest, with comments that say what its numbers come from. `None`
/// where there is no CPU target.
///
/// What comes from outside stands in comments only, on one line each.
pub fn plan_hpa(report: &PlanReport<'_>) -> Option<String> {
    let auto = &report.sizing.autoscaler;
    let target = auto.hpa_target_pct?;
    let cpu = auto.cpu_pct?;
    let comments: Vec<String> = comments(report, cpu)
        .iter()
        .flat_map(|sentence| wrap(sentence, WIDTH - 2))
        .map(|line| format!("# {line}\n"))
        .collect();
    let (floor, ceiling) = (auto.floor_instances, auto.ceiling_instances);
    let never = words_if(
        floor == ceiling,
        " # as minReplicas: the peak takes no more than these",
    );
    Some(format!(
        "{comments}\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: my-service
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: my-service # put the name of yours here and above
  minReplicas: {floor} # the target is right for this many and more
  maxReplicas: {ceiling}{never}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {target}
",
        comments = comments.concat()
    ))
}

fn comments(report: &PlanReport<'_>, cpu: Estimate) -> Vec<String> {
    let (sizing, asked) = (report.sizing, report.asked);
    let auto = &sizing.autoscaler;
    let percent = |share: f64| number::trimmed_pct(100.0 * share);
    let cpus = match report.cpus {
        Some(n) => format!("the {} that it was measured on", counted(n, "CPU", "CPUs")),
        None => "as many CPUs as it was measured on".to_owned(),
    };
    let end = match cpu.low {
        Some(_) => ", taken at its lower end",
        None => "",
    };
    let mut out = vec![
        format!(
            "Made by plimsoll plan from {}.",
            safe(&report.source.file())
        ),
        capacity(report),
        format!(
            "Peak {}; {} may be lost at once; traffic may grow by {} % per minute, an instance is \
             ready in {} s.",
            per_second(sizing.peak_rps),
            asked.failures,
            number::trimmed(asked.growth_pct_per_min),
            number::trimmed(asked.ready_in_s),
        ),
        format!(
            "So the load of each may be {}: times {} % for failures, times {} % for growth.",
            per_second(auto.rate_rps),
            percent(auto.left_after_failures_share),
            percent(auto.left_for_growth_share),
        ),
        format!(
            "CPU use at that rate is {}{end}; the target is below it by the tolerance of {} % \
             within which the autoscaler does nothing.",
            cpu_use(report, cpu),
            percent(HPA_TOLERANCE)
        ),
        format!("Utilization is a share of the pod's CPU request: it must be {cpus}."),
    ];
    out.extend(doubt::floor(auto).map(|why| format!("minReplicas: {why}")));
    let cautions = doubt::cautions(&sizing.cautions, sizing.least_instances).into_iter();
    out.extend(cautions.map(|caution| format!("Caution: {caution}")));
    let note = report.capacity.note;
    let missed = note.filter(|note| matches!(note, CapacityNote::MissedOverall { .. }));
    let missed = missed.map(|note| note_sentence(report.subject(), note));
    out.extend(missed.map(|note| format!("Caution: {note}")));
    let doubts = doubts::sentences(report.doubts).into_iter();
    out.extend(doubts.map(|doubt| format!("Caution: {}", doubt.text)));
    out
}

fn capacity(report: &PlanReport<'_>) -> String {
    let sizing = report.sizing;
    let planned = per_second(sizing.planned_rps);
    let goal = report.capacity.goal;
    let carried = words_of(Carried::from(report.capacity).estimate(), |carried| {
        Written::rate(carried).with_ends("/s")
    });
    match sizing.planned_from {
        PlannedFrom::LowerEnd => format!(
            "One instance carries {carried} within {goal}; planned with the lower end, {planned}."
        ),
        PlannedFrom::HighestTried => format!(
            "One instance carries at least {planned} within {goal}, {}; planned with that.",
            report.subject().limited_by(report.capacity)
        ),
        PlannedFrom::Value => format!(
            "One instance carries {carried} within {goal}, without an interval: this is a guess."
        ),
    }
}
