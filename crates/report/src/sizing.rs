//! How many instances, and when to add one: for a terminal, for programs
//! (`docs/schema/plan.schema.json`) and for Kubernetes.

mod doubt;
mod hpa;
mod over_time;

pub use hpa::plan_hpa;

use crate::capacity::{Subject, carries};
use crate::compare::{Source, put};
use crate::escape::safe;
use crate::json::escape;
use crate::number::{self, Written, for_count, grouped, per_second};
use crate::sentence::Sentence;
use crate::table::{Ink, Paint};
use over_time::over_time_text;
use plimsoll_model::{CapacityFinding, HPA_TOLERANCE, LinearRule, PlannedFrom, Sizing};
use serde::Serialize;

const SCHEMA_VERSION: u32 = 1;

/// All that is shown of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanReport<'a> {
    /// What was concluded.
    pub sizing: &'a Sizing,
    /// What it had to hold for.
    pub asked: PlanAsked,
    /// What one instance carries.
    pub capacity: &'a CapacityFinding,
    /// How many goals were looked at; of several, `capacity` is the lowest.
    pub goals: usize,
    /// The CPUs that one instance was measured on.
    pub cpus: Option<u32>,
    /// Where the capacity comes from.
    pub source: Source<'a>,
}

/// What a plan had to hold for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlanAsked {
    /// How many instances may be lost at once.
    pub failures: u32,
    /// By which part of itself traffic may grow within a minute, in percent.
    pub growth_pct_per_min: f64,
    /// From the moment that an instance is called for until it carries load.
    pub ready_in_s: f64,
    /// Price of an instance per hour.
    pub price_per_hour: Option<f64>,
    /// The smallest fleet that was asked for.
    pub floor_instances: Option<u32>,
}

#[derive(Serialize)]
struct Output<'a> {
    schema_version: u32,
    kind: &'static str,
    file: String,
    workload: String,
    cpus: Option<u32>,
    asked: PlanAsked,
    capacity: &'a CapacityFinding,
    sizing: &'a Sizing,
}

/// One JSON object with a line per value. What is not known is `null`.
///
/// # Errors
///
/// None that can occur with these types; the signature is that of
/// `serde_json`.
pub fn plan_json(report: &PlanReport<'_>) -> serde_json::Result<String> {
    let output = Output {
        schema_version: SCHEMA_VERSION,
        kind: "plan",
        file: report.source.file(),
        workload: report.source.workload(),
        cpus: report.cpus,
        asked: report.asked,
        capacity: report.capacity,
        sizing: report.sizing,
    };
    serde_json::to_string_pretty(&output).map(|json| escape(&json) + "\n")
}

/// The instances, the target, the error of the linear rule and the cost, in
/// sentences; then the snippet for Kubernetes.
pub fn plan_text(report: &PlanReport<'_>, width: usize, colour: bool) -> String {
    let paint = Paint(colour);
    let sizing = report.sizing;
    let mut out = String::new();
    let file = safe(&report.source.file());
    let title = Sentence::new(Ink::Bold, format!("Plan from {file}"));
    put(&mut out, &title, width, paint);
    let workload = Sentence::new(Ink::Dim, safe(&report.source.workload()));
    put(&mut out, &workload, width, paint);
    out.push('\n');
    let mut say = |ink: Ink, text: String| {
        put(&mut out, &Sentence::new(ink, text), width, paint);
    };
    let subject = Subject::of(&report.source.plan.workload);
    let carried = carries(subject, report.capacity);
    say(carried.ink, carried.text);
    say(Ink::Plain, planned(report));
    say(Ink::Green, instances(report));
    say(Ink::Plain, at_peak(sizing));
    say(Ink::Green, autoscaler(report));
    if let Some(why) = doubt::floor(&sizing.autoscaler) {
        say(Ink::Plain, why.to_owned());
    }
    for caution in &sizing.cautions {
        say(Ink::Yellow, doubt::caution(caution));
    }
    match &sizing.linear_rule {
        Some(linear) => say(linear_ink(linear), linear_rule(sizing, linear)),
        None => say(
            Ink::Yellow,
            "What the linear rule would do is not known, for CPU use at that rate was not \
             measured."
                .to_owned(),
        ),
    }
    if let Some(cost) = sizing.cost_per_hour {
        say(
            Ink::Plain,
            format!("That fleet costs {} per hour.", money(cost)),
        );
    }
    if let Some(over_time) = &sizing.over_time {
        out.push('\n');
        out += &over_time_text(over_time, width, paint);
    }
    if let Some(yaml) = plan_hpa(report) {
        out.push('\n');
        put(
            &mut out,
            &Sentence::new(
                Ink::Bold,
                "For Kubernetes (--format hpa prints this alone):",
            ),
            width,
            paint,
        );
        out += &yaml;
    }
    out
}

/// Which part of the capacity is planned with, and what that means.
fn planned(report: &PlanReport<'_>) -> String {
    let rate = per_second(report.sizing.planned_rps);
    let of_goals = match report.goals {
        0 | 1 => String::new(),
        n => format!(" Of the {n} goals this one allows the least."),
    };
    let text = match report.sizing.planned_from {
        PlannedFrom::LowerEnd => format!("The plan takes {rate} per instance, the lower end."),
        PlannedFrom::HighestTried => format!(
            "The plan takes {rate} per instance, the highest rate tried. An instance carries at \
             least that, so this may be more instances than it takes; measure higher loads to \
             know."
        ),
        PlannedFrom::Value => format!(
            "The plan takes {rate} per instance. That has no interval, so the plan is a guess; \
             measure more trials to know."
        ),
    };
    text + &of_goals
}

fn instances(report: &PlanReport<'_>) -> String {
    let (sizing, asked) = (report.sizing, report.asked);
    let n = sizing.instances;
    let growth = if asked.growth_pct_per_min > 0.0 && asked.ready_in_s > 0.0 {
        format!(
            " and traffic grows beyond it by {} % of it per minute for the {} that a new one takes",
            number::trimmed(asked.growth_pct_per_min),
            seconds(asked.ready_in_s)
        )
    } else {
        String::new()
    };
    let lost = match asked.failures {
        0 => "none of them is lost".to_owned(),
        k => format!("{k} of them {} lost", for_count(k, "is", "are")),
    };
    format!(
        "{} {} the peak of {} while {lost}{growth}.",
        grouped(f64::from(n), 0),
        for_count(n, "instance carries", "instances carry"),
        per_second(sizing.peak_rps)
    )
}

fn at_peak(sizing: &Sizing) -> String {
    let cpu = sizing.cpu_at_peak_pct.map_or_else(String::new, |cpu| {
        format!(", at {} CPU use", Written::pct(cpu).with_ends(" %"))
    });
    let rate = per_second(sizing.rate_at_peak_rps);
    format!("With all of them there, each then carries {rate}{cpu}.")
}

fn autoscaler(report: &PlanReport<'_>) -> String {
    let auto = &report.sizing.autoscaler;
    let (floor, ceiling) = (auto.floor_instances, auto.ceiling_instances);
    let rate = per_second(auto.rate_rps);
    let fleet = format!("Autoscaler: {floor} to {ceiling} instances");
    match (auto.cpu_pct, auto.target_cpu_pct) {
        (Some(cpu), Some(target)) => {
            let end = match cpu.low {
                Some(_) => format!(
                    ", the lower end of {} at {rate} per instance",
                    Written::pct(cpu).with_ends(" %")
                ),
                None => format!(", CPU use at {rate} per instance (no interval: too few trials)"),
            };
            format!(
                "{fleet}; add one when CPU use is above {:.1} %{end}.",
                // Down, because acting too late is what costs.
                (target * 10.0 + 1e-6).floor() / 10.0
            ) + &tolerance(report)
        }
        _ => format!(
            "{fleet}; add one when an instance is asked for more than {rate}. The CPU use at that \
             rate was not measured, so there is no CPU target."
        ),
    }
}

fn tolerance(report: &PlanReport<'_>) -> String {
    let percent = number::trimmed_pct(100.0 * HPA_TOLERANCE);
    match report.sizing.autoscaler.hpa_target_pct {
        Some(target) => format!(
            " A HorizontalPodAutoscaler waits until it is {percent} % above its target, so its \
             target is {target} %."
        ),
        None => " That is too little for a target in whole percent.".to_owned(),
    }
}

fn linear_ink(linear: &LinearRule) -> Ink {
    if linear.load_ratio > 1.0 {
        Ink::Red
    } else {
        Ink::Yellow
    }
}

/// What comes of taking CPU use for work.
fn linear_rule(sizing: &Sizing, linear: &LinearRule) -> String {
    let target = number::pct(linear.target_cpu_pct);
    if linear.runs_away {
        return format!(
            "The linear rule, which takes CPU use for work, would set {target} %; CPU use stays \
             above that however many instances there are, so it would add them without end."
        );
    }
    let n = linear.instances;
    let end = if linear.settled {
        format!("ends at {n} {}", for_count(n, "instance", "instances"))
    } else {
        format!("never comes to rest and falls to {n}")
    };
    let load = number::trimmed((1000.0 * linear.load_ratio).round() / 10.0);
    let carried = format!(
        "with the failures and the growth that are planned for, each would have to carry {load} % \
         of what the plan takes it to carry"
    );
    let verdict = match linear.missing_instances {
        0 => format!("as many as it takes: {carried}"),
        missing if missing > 0 => format!("{missing} too few for the goal: {carried}"),
        more => format!("{} more than it takes: {carried}", -more),
    };
    format!(
        "The linear rule, which takes CPU use for work, would set {target} %; at {} that {end}, \
         {verdict}.",
        per_second(sizing.peak_rps)
    )
}

fn money(amount: f64) -> String {
    grouped(amount, 2)
}

/// `3 min`, `90 s`.
fn seconds(seconds: f64) -> String {
    if seconds >= 60.0 && seconds % 60.0 == 0.0 {
        format!("{} min", number::trimmed(seconds / 60.0))
    } else {
        format!("{} s", number::trimmed(seconds))
    }
}
