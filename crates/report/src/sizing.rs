//! How many instances, and when to add one: for a terminal, for programs
//! (`docs/schema/plan.schema.json`) and for Kubernetes.

mod doubt;
mod hpa;
mod linear;
mod over_time;

pub use hpa::plan_hpa;

use crate::capacity::{Subject, carries};
use crate::compare::{Source, put};
use crate::escape::safe;
use crate::json::escape;
use crate::number::{self, Written, counted, for_count, grouped, per_second};
use crate::sentence::Sentence;
use crate::table::{Ink, Paint};
use linear::{linear_ink, linear_rule};
use over_time::over_time_text;
use plimsoll_model::{
    Autoscaler, CapacityFinding, Carried, Estimate, HPA_TOLERANCE, PlannedFrom, Rate, Sizing,
};
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
    /// The highest rate at which its CPU use could be read; `None` where it
    /// could be read at none.
    pub cpu_known_to: Option<Rate>,
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
    say(Ink::Plain, at_peak(report));
    say(Ink::Green, autoscaler(report));
    if let Some(why) = doubt::floor(&sizing.autoscaler) {
        say(Ink::Plain, why.to_owned());
    }
    let said = doubt::cautions(&sizing.cautions, sizing.least_instances);
    for (caution, text) in sizing.cautions.iter().zip(said) {
        say(doubt::ink(caution), text);
    }
    match &sizing.linear_rule {
        Some(linear) => say(linear_ink(linear), linear_rule(sizing, linear)),
        None => say(
            Ink::Yellow,
            format!(
                "What the linear rule would do is not known: {}.",
                no_cpu(report.cpu_known_to)
            ),
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
        out += &over_time_text(over_time, sizing.least_instances, width, paint);
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
        PlannedFrom::LowerEnd => {
            let rounded = match is_rounded(report) {
                true => " (in the interval it stands rounded down)",
                false => "",
            };
            format!("The plan takes {rate} per instance, the lower end{rounded}.")
        }
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

/// Whether the lower end stands in the interval with fewer digits than in the
/// plan.
fn is_rounded(report: &PlanReport<'_>) -> bool {
    let carried = Carried::from(report.capacity).estimate();
    let low = carried.and_then(|carried| Written::rate(carried).low);
    low.is_some_and(|low| low != number::rate(report.sizing.planned_rps))
}

fn instances(report: &PlanReport<'_>) -> String {
    let (sizing, asked) = (report.sizing, report.asked);
    let (n, least) = (sizing.instances, sizing.least_instances);
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
    let fewest = match least < n {
        true => format!(
            " The fewest that do are {}; the autoscaler below acts so early that it holds {}.",
            grouped(f64::from(least), 0),
            grouped(f64::from(n), 0)
        ),
        false => String::new(),
    };
    format!(
        "{} {} the peak of {} while {lost}{growth}.{fewest}",
        grouped(f64::from(n), 0),
        for_count(n, "instance carries", "instances carry"),
        per_second(sizing.peak_rps)
    )
}

fn at_peak(report: &PlanReport<'_>) -> String {
    let sizing = report.sizing;
    let cpu = sizing.cpu_at_peak_pct.map_or_else(String::new, |cpu| {
        format!(", at a CPU use of {}", cpu_use(report, cpu))
    });
    let rate = per_second(sizing.rate_at_peak_rps);
    match sizing.instances {
        1 => format!("It then carries {rate}{cpu}."),
        _ => format!("With all of them there, each then carries {rate}{cpu}."),
    }
}

/// CPU use in percent with its interval, or why it has none. All that a plan
/// says of CPU use is written here, so that it says the same everywhere.
fn cpu_use(report: &PlanReport<'_>, cpu: Estimate) -> String {
    let written = Written::to_act_at(cpu);
    match written.ends() {
        Some(_) => written.with_ends(" %"),
        None => format!("{} % ({})", written.value, no_interval(report)),
    }
}

fn no_interval(report: &PlanReport<'_>) -> String {
    let subject = Subject::of(&report.source.plan.workload);
    format!("no interval: too few {}", subject.trials)
}

/// Why a CPU use is not known, as a part of a sentence.
fn no_cpu(known_to: Option<Rate>) -> String {
    match known_to {
        Some(most) => format!(
            "CPU use could be read up to {} only",
            per_second(most.get())
        ),
        None => "CPU use could be read in no trial that counts".to_owned(),
    }
}

fn autoscaler(report: &PlanReport<'_>) -> String {
    let auto = &report.sizing.autoscaler;
    let rate = per_second(auto.rate_rps);
    let Some(cpu) = auto.cpu_pct else {
        let why = no_cpu(report.cpu_known_to);
        let sign = format!("an instance is asked for more than {rate}");
        return format!("{}; there is no CPU target: {why}.", act(auto, &sign));
    };
    if auto.target_cpu_pct.is_none() {
        let sign = format!("an instance is asked for more than {rate}");
        return format!(
            "{}; there is no CPU target: CPU use is {} at that rate, and no load is low enough \
             for it to be surely lower.",
            act(auto, &sign),
            cpu_use(report, cpu)
        );
    }
    let least = Written::to_act_at(cpu).least().to_owned();
    let of = match cpu.low {
        Some(_) => format!(
            "the lower end of {} at {rate} per instance",
            cpu_use(report, cpu)
        ),
        None => format!("CPU use at {rate} per instance ({})", no_interval(report)),
    };
    let sign = format!("CPU use is above {least} %, {of}");
    format!("{}.{}", act(auto, &sign), tolerance(report))
}

/// Between which fleets to act, and when; where there is nothing between them,
/// what the sign for it then means.
fn act(auto: &Autoscaler, sign: &str) -> String {
    let (floor, ceiling) = (auto.floor_instances, auto.ceiling_instances);
    if floor < ceiling {
        return format!("Autoscaler: {floor} to {ceiling} instances; add one when {sign}");
    }
    format!(
        "Autoscaler: it has nothing to do, for {} {} the peak with its growth; there is more \
         traffic than was planned for when {sign}",
        counted(floor, "instance", "instances"),
        for_count(floor, "carries", "carry")
    )
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
