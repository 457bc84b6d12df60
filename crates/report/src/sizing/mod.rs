//! How many instances, and when to add one: for a terminal, for programs
//! (`docs/schema/plan.schema.json`) and for Kubernetes.

mod consumers;
mod doubt;
mod hpa;
mod linear;
mod over_time;

pub use crate::doubts::no_threshold;
pub use hpa::{is_fixed, plan_hpa};

use crate::capacity::{Subject, carries};
use crate::document::json::Json;
use crate::document::{Block, Document, Role, Source};
use crate::doubts;
use crate::number::{self, Written, counted, for_count, grouped, per_second};
use crate::sentence::{Sentence, words_if, words_of};
use crate::table::{Ink, Paint};
use linear::{linear_ink, linear_rule};
use plimsoll_model::{
    Autoscaler, CapacityFinding, Carried, CpuCapacity, Doubt, Estimate, HPA_TOLERANCE, PlannedFrom,
    Rate, Sizing,
};
use schemars::JsonSchema;
use serde::Serialize;

const SCHEMA_VERSION: u32 = 5;

#[derive(Debug, Clone, Copy)]
pub struct PlanReport<'a> {
    pub sizing: &'a Sizing,
    pub asked: PlanAsked,
    pub capacity: &'a CapacityFinding,
    /// How many goals were looked at; of several, `capacity` is the lowest.
    pub goals: usize,
    /// What is odd about the figures of the record.
    pub doubts: &'a [Doubt],
    pub cpus: Option<u32>,
    /// The highest rate at which its CPU use could be read; `None` where it
    /// could be read at none.
    pub cpu_known_to: Option<Rate>,
    pub source: Source<'a>,
}

/// What a plan had to hold for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PlanAsked {
    /// How many instances may be lost at once.
    pub failures: u32,
    /// By which part of itself traffic may grow within a minute, in percent.
    pub growth_pct_per_min: f64,
    /// From the moment that an instance is called for until it carries load, in seconds.
    pub ready_in_s: f64,
    /// Price of an instance per hour.
    pub price_per_hour: Option<f64>,
    /// The smallest fleet that was asked for.
    pub floor_instances: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub struct Body<'a> {
    /// The record, as it was named.
    file: String,
    /// The workload under test, in a few words.
    workload: String,
    /// The CPUs that one instance was measured on.
    #[schemars(range(min = 1))]
    cpus: Option<u32>,
    /// How many of them it could use at once; `None` where that is not known.
    cpu_capacity: Option<CpuCapacity>,
    asked: PlanAsked,
    /// What one instance carries.
    capacity: &'a CapacityFinding,
    /// What is odd about the figures of the record.
    doubts: &'a [Doubt],
    sizing: &'a Sizing,
}

pub fn document<'a>(report: &PlanReport<'a>) -> Document<'a> {
    let sizing = report.sizing;
    let file = report.source.file();
    let subject = [
        Ink::Bold.says(format!("Plan from {file}")),
        Ink::Dim.says(report.source.workload()),
    ];
    let mut out = Document::new(format!("Plan from {file}"), subject.to_vec());
    out.headline = counted(sizing.instances, "instance", "instances");
    if let Some(over_time) = &sizing.over_time {
        out.table(over_time::table(over_time));
        let sentences = over_time::sentences(over_time, sizing.least_instances);
        out.say(Role::Note, sentences);
    }
    if let Some(yaml) = plan_hpa(report) {
        out.blocks.push(Block::Text(Box::new(move |look| {
            let heading = "For Kubernetes (--format hpa prints this alone):";
            let heading = Paint(look.colour).with(Ink::Bold, heading);
            Some(format!("{heading}\n{yaml}"))
        })));
    }
    out.say(Role::Answer, answers(report));
    let body = Body {
        file,
        workload: report.source.workload(),
        cpus: report.cpus,
        cpu_capacity: report.cpu_capacity(),
        asked: report.asked,
        capacity: report.capacity,
        doubts: report.doubts,
        sizing,
    };
    out.json = Some(Json::of(SCHEMA_VERSION, "plan", body));
    out.download = "plan.json".to_owned();
    out
}

fn answers(report: &PlanReport<'_>) -> Vec<Sentence> {
    let sizing = report.sizing;
    let mut out = vec![carries(report.subject(), report.capacity)];
    out.extend(doubts::sentences(report.doubts));
    out.extend([
        Ink::Plain.says(planned(report)),
        Ink::Green.says(instances(report)),
        Ink::Plain.says(at_peak(report)),
        Ink::Green.says(autoscaler(report)),
    ]);
    if is_fixed(sizing) {
        let all = counted(sizing.autoscaler.ceiling_instances, "instance", "instances");
        out.push(Ink::Green.says(format!(
            "An autoscaler has nothing to do here: run {all} all the time."
        )));
    }
    out.extend(consumers::sentences(report));
    let floor = doubt::floor(&sizing.autoscaler);
    out.extend(floor.map(|why| Ink::Plain.says(why)));
    let cautions = doubt::cautions(&sizing.cautions, sizing.least_instances);
    let inks = sizing.cautions.iter().map(doubt::ink);
    out.extend(inks.zip(cautions).map(|(ink, text)| ink.says(text)));
    out.push(match &sizing.linear_rule {
        Some(linear) => linear_ink(sizing, linear).says(linear_rule(sizing, linear)),
        None => {
            let why = no_cpu(report);
            Ink::Yellow.says(format!("The linear rule: not known ({why})."))
        }
    });
    let fleet = counted(sizing.instances, "instance costs", "instances cost");
    let cost = |cost| Ink::Plain.says(format!("{fleet} {} per hour.", money(cost)));
    out.extend(sizing.cost_per_hour.map(cost));
    out
}

fn planned(report: &PlanReport<'_>) -> String {
    let rate = per_second(report.sizing.planned_rps);
    let of_goals = match report.goals {
        0 | 1 => String::new(),
        n => format!(" Of the {n} goals this one allows the least."),
    };
    let text = match report.sizing.planned_from {
        PlannedFrom::LowerEnd => {
            let rounded = words_if(is_rounded(report), " (rounded down in the interval)");
            format!("The plan takes {rate} per instance, the lower end{rounded}.")
        }
        PlannedFrom::HighestTried => format!(
            "The plan takes {rate} per instance, {}: a lower bound, so fewer instances may do; \
             measure higher loads to know.",
            report.subject().limited_by(report.capacity)
        ),
        PlannedFrom::Value => format!(
            "The plan takes {rate} per instance, which has no interval: the plan is a guess; \
             measure more trials."
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
    let n = sizing.instances;
    let growth = format!(
        " and traffic grows beyond it by {} % of it per minute for the {} that a new one takes",
        number::trimmed(asked.growth_pct_per_min),
        seconds(asked.ready_in_s)
    );
    let grows = asked.growth_pct_per_min > 0.0 && asked.ready_in_s > 0.0;
    let growth = words_if(grows, &growth);
    let lost = match asked.failures {
        0 => "none of them is lost".to_owned(),
        k => format!("{k} of them {} lost", for_count(k, "is", "are")),
    };
    format!(
        "{} {} the peak of {} while {lost}{growth}.{}",
        grouped(f64::from(n), 0),
        for_count(n, "instance carries", "instances carry"),
        per_second(sizing.peak_rps),
        reserves(sizing, asked.failures)
    )
}

/// What the instances beyond those that carry the peak are for; nothing where there are none.
fn reserves(sizing: &Sizing, failures: u32) -> String {
    let grown = sizing.least_instances.saturating_sub(failures);
    // It cannot be more than that: a peak that is grown is no smaller.
    let carry = ((sizing.peak_rps / sizing.planned_rps).ceil() as u32).min(grown);
    let early = sizing.instances.saturating_sub(sizing.least_instances);
    let others: Vec<String> = [
        (grown - carry, "for growth"),
        (failures, "for the loss"),
        (early, "because the autoscaler below scales out early"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!(", {} {what}", grouped(f64::from(n), 0)))
    .collect();
    let at_rest = grouped(f64::from(carry), 0);
    let of = format!(" Of these, {at_rest} are for the peak{}.", others.concat());
    words_if(!others.is_empty(), &of).to_owned()
}

fn at_peak(report: &PlanReport<'_>) -> String {
    let sizing = report.sizing;
    let cpu = words_of(sizing.cpu_at_peak_pct, |cpu| {
        format!(", at a CPU use of {}", cpu_use(report, cpu))
    });
    let rate = per_second(sizing.rate_at_peak_rps);
    match sizing.instances {
        1 => format!("It carries {rate}{cpu}."),
        _ => format!("With all of them, each carries {rate}{cpu}."),
    }
}

impl PlanReport<'_> {
    fn subject(&self) -> Subject {
        Subject::of(&self.source.plan.workload)
    }

    fn cpu_capacity(&self) -> Option<CpuCapacity> {
        self.source.plan.run.cpus.capacity
    }
}

/// All that a plan says of CPU use is written here, so that it says the same everywhere.
fn cpu_use(report: &PlanReport<'_>, cpu: Estimate) -> String {
    report.subject().shows(&Written::to_act_at(cpu), " %")
}

fn no_cpu(report: &PlanReport<'_>) -> String {
    let leaves_none = |doubt: &&Doubt| doubt.leaves_no_threshold();
    if let Some(doubt) = report.doubts.iter().find(leaves_none) {
        return doubts::no_threshold(doubt).to_owned();
    }
    match report.cpu_known_to {
        Some(most) => format!("CPU use is known up to {} only", per_second(most.get())),
        None => "no valid trial has CPU use".to_owned(),
    }
}

fn autoscaler(report: &PlanReport<'_>) -> String {
    let auto = &report.sizing.autoscaler;
    let rate = per_second(auto.rate_rps);
    let by_load = |why: &str| {
        let sign = format!("the load of an instance is above {rate}");
        format!("{}; there is no CPU target: {why}.", act(auto, &sign))
    };
    let Some(cpu) = auto.cpu_pct else {
        return by_load(&no_cpu(report));
    };
    if auto.target_cpu_pct.is_none() {
        let cpu = cpu_use(report, cpu);
        return by_load(&format!(
            "CPU use is {cpu} at that rate, and at no load certainly lower"
        ));
    }
    let least = Written::to_act_at(cpu).least().to_owned();
    let of = match cpu.low {
        Some(_) => format!(
            "the lower end of {} at {rate} per instance",
            cpu_use(report, cpu)
        ),
        None => format!(
            "CPU use at {rate} per instance ({})",
            report.subject().no_interval()
        ),
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
        "Autoscaler: nothing to do, {} {} the peak with its growth; traffic exceeds the plan when \
         {sign}",
        counted(floor, "instance", "instances"),
        for_count(floor, "carries", "carry")
    )
}

fn tolerance(report: &PlanReport<'_>) -> String {
    let percent = number::trimmed_pct(100.0 * HPA_TOLERANCE);
    match report.sizing.autoscaler.hpa_target {
        Some(target) => format!(
            " A HorizontalPodAutoscaler acts {percent} % above its target, so its target is {}.",
            consumers::target(target)
        ),
        None => " That is too little for a target.".to_owned(),
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
