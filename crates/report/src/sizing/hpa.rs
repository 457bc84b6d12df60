//! A HorizontalPodAutoscaler for Kubernetes (API autoscaling/v2).

use super::{PlanReport, consumers, cpu_use, doubt};
use crate::capacity::note_sentence;
use crate::number::{self, Written, per_second};
use crate::sentence::words_of;
use crate::table::wrap;
use crate::{doubts, method};
use plimsoll_model::safe;
use plimsoll_model::{
    CapacityNote, Carried, CpuCapacity, CpuGauge, CpuLimit, Estimate, HPA_TOLERANCE, HpaBehavior,
    HpaTarget, PlannedFrom, Sizing,
};

/// Comments are broken to fit into this many columns, so that they read in any
/// editor.
const WIDTH: usize = 80;

/// What the figures of one instance alone cannot show.
const NOTES: [&str; 3] = [
    "Sidecars: Resource counts all containers of a pod. With any, use type ContainerResource \
     (containerResource, with the container's name).",
    "Lag: metrics are up to a minute old when the autoscaler acts; --ready-in must include that.",
    "Balancing: the target is the mean over pods. If one gets more than the mean, lower the target \
     by as much.",
];

/// The manifest, with comments that say what its numbers come from. `None`
/// where there is no CPU target, or nothing to scale.
///
/// What comes from outside stands in comments only, on one line each.
pub fn plan_hpa(report: &PlanReport<'_>) -> Option<String> {
    let auto = &report.sizing.autoscaler;
    if is_fixed(report.sizing) {
        return None;
    }
    let target = auto.hpa_target?;
    let cpu = auto.cpu_pct?;
    let (before, after) = comments(report, cpu);
    let comments = [before, resources(report), after].map(|lines| commented(&lines));
    let (floor, ceiling) = (auto.floor_instances, auto.ceiling_instances);
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
  maxReplicas: {ceiling}
{behavior}  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          {target}
",
        comments = comments.concat(),
        behavior = behavior(report),
        target = metric_target(report, target),
    ))
}

/// Whether the peak takes no more instances than the target is right for at least: an autoscaler has
/// nothing to do.
pub fn is_fixed(sizing: &Sizing) -> bool {
    sizing.autoscaler.floor_instances >= sizing.autoscaler.ceiling_instances
}

fn commented(sentences: &[String]) -> String {
    // A line of a manifest keeps its blanks.
    let lines = sentences.iter().flat_map(|sentence| match sentence {
        line if line.starts_with(' ') => vec![line.clone()],
        sentence => wrap(sentence, WIDTH - 2),
    });
    lines.map(|line| format!("# {line}\n")).collect()
}

fn metric_target(report: &PlanReport<'_>, target: HpaTarget) -> String {
    match target {
        HpaTarget::AverageValue { millicores } => {
            let whole = consumers::usable(report).map(|whole| (whole, whole.pct_of(millicores)));
            let share = words_of(whole, |(whole, pct)| {
                format!(" # {} % of {}", number::pct(pct), method::amount(whole))
            });
            format!("type: AverageValue\n          averageValue: {millicores}{share}")
        }
        HpaTarget::AverageUtilization { pct } => {
            format!("type: Utilization\n          averageUtilization: {pct}")
        }
    }
}

fn behavior(report: &PlanReport<'_>) -> String {
    let HpaBehavior {
        scale_up_pct_per_min: up,
        scale_down_window_s: down,
    } = report.sizing.behavior;
    let growth = number::trimmed(report.asked.growth_pct_per_min);
    let ready = number::trimmed(report.asked.ready_in_s);
    format!(
        "  behavior:
    scaleUp:
      stabilizationWindowSeconds: 0
      policies:
        - type: Percent
          value: {up} # in a minute; traffic may grow by {growth} %
          periodSeconds: 60
    scaleDown:
      stabilizationWindowSeconds: {down} # no dip shorter than a start ({ready} s)
"
    )
}

/// What the pod should have, as lines of its manifest.
fn resources(report: &PlanReport<'_>) -> Vec<String> {
    let Some(usable) = consumers::usable(report) else {
        return Vec::new();
    };
    let is_quota = |capacity: CpuCapacity| capacity.limited_by == CpuLimit::Quota;
    let limits = report.cpu_capacity().is_some_and(is_quota);
    let mut lines = vec![
        "  resources:".to_owned(),
        "    requests:".to_owned(),
        format!("      cpu: {usable}"),
    ];
    match limits {
        true => lines.extend(["    limits:".to_owned(), format!("      cpu: {usable}")]),
        false => lines.push(
            "A CPU limit throttles, and none was measured: set none, or sweep again under it."
                .to_owned(),
        ),
    }
    lines
}

/// What stands before and after the resources of the pod.
fn comments(report: &PlanReport<'_>, cpu: Estimate) -> (Vec<String>, Vec<String>) {
    let (sizing, asked) = (report.sizing, report.asked);
    let auto = &sizing.autoscaler;
    let percent = |share: f64| number::trimmed_pct(100.0 * share);
    let end = match cpu.low {
        Some(_) => ", taken at its lower end",
        None => "",
    };
    let before = vec![
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
        gauge(report),
    ];
    let mut out: Vec<String> = NOTES.map(str::to_owned).into();
    out.extend(doubt::floor(auto).map(|why| format!("minReplicas: {why}")));
    let cautions = doubt::cautions(&sizing.cautions, sizing.least_instances).into_iter();
    out.extend(cautions.map(|caution| format!("Caution: {caution}")));
    let unmeasured = consumers::unmeasured(report);
    out.extend(unmeasured.map(|why| format!("Caution: {why}")));
    let note = report.capacity.note;
    let missed = note.filter(|note| matches!(note, CapacityNote::MissedOverall { .. }));
    let missed = missed.map(|note| note_sentence(report.subject(), note));
    out.extend(missed.map(|note| format!("Caution: {note}")));
    let doubts = doubts::sentences(report.doubts).into_iter();
    out.extend(doubts.map(|doubt| format!("Caution: {}", doubt.text)));
    (before, out)
}

fn gauge(report: &PlanReport<'_>) -> String {
    let could_use = consumers::what_it_could_use(report);
    match report.sizing.cpu_of {
        CpuGauge::OwnTime => format!(
            "The target is of a container's own CPU time, whatever it requests. The container must \
             get what the service could use when it was measured, {could_use}:"
        ),
        CpuGauge::ServiceCpus => {
            format!(
                "Utilization is a share of the pod's CPU request: it must be what the service could \
                 use when it was measured, {could_use}."
            )
        }
    }
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
