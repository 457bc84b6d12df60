//! Comparisons and plans: the schemas that their JSON promises to keep, and
//! how they read.

use super::sample::{Sample, sweep, within};
use super::shown::{Schema, as_text, has, has_not, shown as form};
use crate::Format;
use crate::compare::{self, CompareReport, Source};
use crate::sizing::{self, PlanAsked, PlanReport, plan_hpa};
use plimsoll_model::{
    Autoscaler, Carried, ComparedCapacity, ComparedMachine, Comparison, ComparisonCaution,
    CpuFigure, CpuThreshold, Difference, DifferenceVerdict, Estimate, Figure, FigureUnit,
    FleetOverTime, FleetStep, FloorFrom, LinearRule, Measure, NoInterval, NoIntervalCode,
    PlannedFrom, Sizing, SizingCaution, ThresholdDifference, WorkUnit, Workload,
};
use std::path::Path;

const COMPARE: &str = include_str!("../../../../docs/schema/compare.schema.json");
const PLAN: &str = include_str!("../../../../docs/schema/plan.schema.json");

const MEASURES: [Measure; 4] = [
    Measure::Capacity,
    Measure::PerCpu,
    Measure::PerPrice,
    Measure::PerWatt,
];

#[track_caller]
fn keeps_to(schema: &str, output: &str) {
    Schema::of(schema).accepts(&serde_json::from_str(output).unwrap());
}

fn machine(name: &str, unit: WorkUnit, carried: Carried) -> ComparedMachine {
    let figure = |measure| Figure {
        measure,
        unit: FigureUnit::of(unit, measure),
        carried,
    };
    ComparedMachine {
        name: name.to_owned(),
        cpus: Some(8),
        price_per_hour: None,
        capacity: vec![ComparedCapacity {
            goal: "p99<10ms".parse().unwrap(),
            limit_us: Some(10_000.0),
            cpu_pct: Some(within(81.0, 2.0, 3.0)),
            power_watts: Some(120.0),
            figures: MEASURES.map(figure).to_vec(),
        }],
        thresholds_goal: Some("p99<10ms".parse().unwrap()),
        thresholds: vec![CpuThreshold {
            headroom_pct: 20.0,
            cpu_pct: within(70.0, 1.0, 1.0),
        }],
    }
}

/// A comparison in which each verdict is given.
fn comparison(unit: WorkUnit, carried: Carried) -> Comparison {
    let difference = |(measure, verdict): (Measure, DifferenceVerdict)| Difference {
        name: "b".to_owned(),
        against: "a".to_owned(),
        goal: "p99<10ms".parse().unwrap(),
        measure,
        ratio: (measure != Measure::PerWatt).then(|| within(1.2, 0.04, 0.05)),
        verdict,
        why: (measure == Measure::PerWatt).then(|| NoInterval {
            code: NoIntervalCode::UnknownCapacity,
            machines: vec!["b".to_owned()],
        }),
    };
    let verdicts = [
        DifferenceVerdict::Better,
        DifferenceVerdict::Worse,
        DifferenceVerdict::Inconclusive,
        DifferenceVerdict::Inconclusive,
    ];
    Comparison {
        work_unit: unit,
        machines: vec![
            machine("a", unit, Carried::Found(within(9_550.0, 140.0, 140.0))),
            machine("b", unit, carried),
        ],
        differences: MEASURES.into_iter().zip(verdicts).map(difference).collect(),
        threshold_differences: vec![ThresholdDifference {
            name: "b".to_owned(),
            against: "a".to_owned(),
            headroom_pct: 20.0,
            cpu_points: Estimate::alone(-3.0),
            verdict: DifferenceVerdict::Inconclusive,
        }],
        cautions: vec![ComparisonCaution::Connections],
    }
}

/// Something made of a comparison of runs of a sample.
fn shown<T>(
    sample: &Sample,
    comparison: &Comparison,
    show: impl FnOnce(&CompareReport<'_>) -> T,
) -> T {
    let source = Source {
        file: Path::new("runs/a.plimsoll"),
        plan: &sample.plan,
    };
    show(&CompareReport {
        comparison,
        sources: &[source; 3],
    })
}

fn an_hour() -> FleetOverTime {
    FleetOverTime {
        steps: vec![FleetStep {
            at_s: 0.0,
            rate_rps: 100_000.0,
            instances: 18,
        }],
        instance_hours: 18.0,
        fixed_instance_hours: 18.0,
        cost: Some(6.12),
        fixed_cost: Some(6.12),
        worst_load_ratio: 1.357,
    }
}

fn sized(planned_from: PlannedFrom, cpu: Option<Estimate>) -> Sizing {
    let target = cpu.map(|cpu| cpu.low.unwrap_or(cpu.value));
    Sizing {
        peak_rps: 100_000.0,
        planned_rps: 8_000.0,
        planned_from,
        growth_ratio: 1.3,
        least_instances: 18,
        instances: 18,
        rate_at_peak_rps: 100_000.0 / 18.0,
        cpu_at_peak_pct: cpu,
        autoscaler: Autoscaler {
            floor_instances: 18,
            floor_from: FloorFrom::Peak,
            ceiling_instances: 23,
            left_after_failures_share: 17.0 / 18.0,
            left_for_growth_share: 1.0 / 1.3,
            rate_rps: 5811.97,
            cpu_pct: cpu,
            target_cpu_pct: target,
            hpa_target_pct: target.map(|pct| (pct / 1.1) as u32),
        },
        linear_rule: cpu.map(|_| LinearRule {
            target_cpu_pct: 72.6,
            cpu_at_planned_pct: 90.0,
            rounds_instances: vec![2, 10, 14],
            instances: 14,
            settled: true,
            runs_away: false,
            load_ratio: 1.25,
            missing_instances: 4,
        }),
        cost_per_hour: Some(6.12),
        over_time: cpu.map(|_| an_hour()),
        cautions: vec![
            SizingCaution::TooSteep {
                worst_load_ratio: 1.357,
            },
            SizingCaution::BelowMeasured {
                figure: CpuFigure::Target,
                rate_rps: 5811.97,
                lowest_measured_rps: 6_500.0,
            },
            SizingCaution::BelowMeasured {
                figure: CpuFigure::AtPeak,
                rate_rps: 100_000.0 / 18.0,
                lowest_measured_rps: 6_500.0,
            },
            SizingCaution::WideCapacity {
                half_width_pct: 24.6,
                instances_at_high_end: 13,
            },
        ],
    }
}

/// Something made of a plan from a sample.
fn planned<T>(sample: &Sample, sizing: &Sizing, show: impl FnOnce(&PlanReport<'_>) -> T) -> T {
    show(&PlanReport {
        sizing,
        asked: PlanAsked {
            failures: 1,
            growth_pct_per_min: 10.0,
            ready_in_s: 180.0,
            price_per_hour: Some(0.34),
            floor_instances: None,
        },
        capacity: &sample.findings.capacity[0],
        goals: 1,
        cpus: Some(4),
        cpu_known_to: None,
        source: Source {
            file: Path::new("runs/web\nkind: Secret.plimsoll"),
            plan: &sample.plan,
        },
    })
}

fn compare_in(sample: &Sample, comparison: &Comparison, format: Format) -> String {
    shown(sample, comparison, |r| {
        form(&compare::document(r, None), format)
    })
}

fn plan_in(sample: &Sample, sizing: &Sizing, format: Format) -> String {
    planned(sample, sizing, |r| form(&sizing::document(r), format))
}

/// A comparison of two runs of a sweep, on one line.
fn compared(comparison: &Comparison) -> String {
    flat(&compare_in(&sweep(), comparison, Format::Text))
}

/// A plan from a sweep, on one line.
fn plan_text(sizing: &Sizing) -> String {
    flat(&plan_in(&sweep(), sizing, Format::Text))
}

/// One line of blanks and words.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn comparisons_and_plans_keep_to_their_schemas() {
    let sample = sweep();
    let carried = [
        Carried::Found(Estimate::alone(1.0)),
        Carried::AtLeast(9e3),
        Carried::Unknown,
    ];
    for unit in [WorkUnit::Requests, WorkUnit::HashedBytes] {
        for carried in carried {
            let comparison = comparison(unit, carried);
            keeps_to(COMPARE, &compare_in(&sample, &comparison, Format::Json));
        }
    }
    for from in [
        PlannedFrom::LowerEnd,
        PlannedFrom::HighestTried,
        PlannedFrom::Value,
    ] {
        for cpu in [None, Some(within(60.0, 2.0, 3.0))] {
            let sizing = sized(from, cpu);
            keeps_to(PLAN, &plan_in(&sample, &sizing, Format::Json));
        }
    }
}

#[test]
fn machines_stand_in_columns_and_each_difference_in_a_sentence() {
    let comparison = comparison(WorkUnit::Requests, Carried::AtLeast(11_400.0));
    let text = compared(&comparison);
    has(
        &text,
        &[
            "capacity, requests/s 9,550 (9,410 to 9,690) at least 11,400",
            "b carries 1.200 times (1.160 to 1.250) as much as a within p99<10ms: better.",
            "as much per CPU as a within p99<10ms: worse.",
            "b against a for the same money within p99<10ms: inconclusive (ratio 1.200",
            "for the same energy within p99<10ms: inconclusive: the capacity of b is not known",
            "headroom a b 20 % 70.0 (69.0 to 71.0)",
            "different numbers of connections",
            "95 % intervals",
        ],
    );
}

/// A comparison of three machines that have intervals and long names.
fn three(sample: &Sample, width: usize) -> String {
    let mut comparison = comparison(WorkUnit::Requests, Carried::AtLeast(11_400.0));
    let found = Carried::Found(within(12_100.0, 340.0, 410.0));
    let third = machine("web3", WorkUnit::Requests, found);
    comparison.machines.push(third);
    for (machine, name) in comparison.machines.iter_mut().zip(["a", "b", "c"]) {
        machine.name = format!("web-{name}.example.net");
    }
    shown(sample, &comparison, |r| {
        as_text(&compare::document(r, None), width)
    })
}

#[test]
fn three_machines_stand_side_by_side_where_they_fit_and_else_one_below_the_other() {
    let sample = sweep();
    let wide = three(&sample, 200);
    let row = wide.lines().find(|l| l.starts_with("capacity")).unwrap();
    assert_eq!(
        flat(row),
        "capacity, requests/s 9,550 (9,410 to 9,690) at least 11,400 12,100 (11,760 to 12,510)"
    );
    let narrow = three(&sample, 80);
    let narrower = three(&sample, 64);
    for (text, block) in [
        (
            &narrow,
            "capacity, requests/s\n  \
             web-a.example.net     9,550 (9,410 to 9,690)\n  \
             web-b.example.net            at least 11,400\n  \
             web-c.example.net  12,100 (11,760 to 12,510)\n",
        ),
        (
            &narrower,
            "20 % headroom\n  web-a.example.net  70.0 (69.0 to 71.0)\n",
        ),
    ] {
        has(text, &[block]);
    }
    assert!(narrow.contains("\nheadroom    web-a"), "it fits: {narrow}");
    for (width, text) in [(80, narrow), (200, wide), (36, three(&sample, 36))] {
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn hashing_is_shown_in_megabytes() {
    let mut comparison = comparison(WorkUnit::HashedBytes, Carried::Unknown);
    comparison.machines[0].capacity[0].figures[0].carried =
        Carried::Found(Estimate::within(900e6, 890e6, 910e6));
    let text = compared(&comparison);
    assert!(text.contains("capacity, MB/s 900 (890 to 910) -"), "{text}");
}

#[test]
fn a_first_machine_without_thresholds_is_the_one_that_is_named() {
    let mut comparison = comparison(WorkUnit::Requests, Carried::Unknown);
    comparison.machines[0].thresholds.clear();
    comparison.threshold_differences.clear();
    let text = compared(&comparison);
    has(&text, &["No threshold of a is known"]);
    has_not(&text, "threshold of b");
}

#[test]
fn the_threshold_table_says_which_goal_it_is_of() {
    let title = |comparison: &Comparison| {
        let text = compared(comparison);
        let at = text.find("Scale-out threshold").unwrap();
        let end = text[at..].find(": headroom a b").unwrap();
        text[at..at + end].to_owned()
    };
    let mut comparison = comparison(WorkUnit::Requests, Carried::Unknown);
    assert_eq!(
        title(&comparison),
        "Scale-out threshold (CPU %) by headroom, the part of the capacity within p99<10ms left free"
    );
    for machine in &mut comparison.machines {
        let mut other = machine.capacity[0].clone();
        other.goal = "errors<1%".parse().unwrap();
        machine.capacity.push(other);
    }
    assert!(title(&comparison).contains("the lowest of the goals"));
    comparison.machines[1].thresholds_goal = None;
    let apart = title(&comparison);
    has(
        &apart,
        &[
            "a of the capacity within p99<10ms",
            "b of the highest rate measured",
            "not a part of the same",
        ],
    );
}

#[test]
fn a_threshold_without_an_interval_is_inconclusive_and_all_headrooms_are_not_listed() {
    let mut comparison = comparison(WorkUnit::Requests, Carried::Unknown);
    let words = "the threshold of b is inconclusive at 20 % headroom: too little was measured for \
                 an interval.";
    has(&compared(&comparison), &[words]);
    comparison.threshold_differences[0].cpu_points = within(-3.0, 4.0, 4.0);
    let mut other = comparison.threshold_differences[0].clone();
    other.headroom_pct = 30.0;
    comparison.threshold_differences.push(other);
    let words = "the threshold of b is not significantly different at every headroom.";
    has(&compared(&comparison), &[words]);
    comparison.threshold_differences[1].verdict = DifferenceVerdict::Worse;
    let words = "must be lower (worse) at 30 % headroom; is not significantly different at 20 %";
    has(&compared(&comparison), &[words]);
    comparison.threshold_differences[1].cpu_points = Estimate::alone(-3.0);
    comparison.threshold_differences[1].verdict = DifferenceVerdict::Inconclusive;
    let words = "different at 20 % headroom; is inconclusive at 30 % headroom: too little";
    has(&compared(&comparison), &[words]);
}

#[test]
fn a_fleet_that_never_changes_is_not_said_to_go_from_and_to() {
    let mut sizing = sized(PlannedFrom::LowerEnd, Some(Estimate::alone(56.78)));
    sizing.autoscaler.ceiling_instances = 18;
    let text = plan_text(&sizing);
    has(
        &text,
        &[
            "nothing to do, 18 instances carry the peak",
            "CPU use is above 56.7 %",
            "CPU use at that rate is 56.7 % (no interval: too few trials)",
            "maxReplicas: 18 # as minReplicas",
        ],
    );
    assert!(
        !text.contains("18 to 18") && !text.contains("56.8"),
        "{text}"
    );
}

#[test]
fn a_reason_that_holds_for_every_measure_is_said_once() {
    let mut comparison = comparison(WorkUnit::Requests, Carried::Unknown);
    for difference in &mut comparison.differences {
        difference.ratio = None;
        difference.verdict = DifferenceVerdict::Inconclusive;
        difference.why = Some(NoInterval {
            code: NoIntervalCode::UnknownCapacity,
            machines: vec![difference.name.clone()],
        });
    }
    let text = compared(&comparison);
    assert_eq!(
        text.matches("the capacity of b is not known").count(),
        1,
        "{text}"
    );
}

#[test]
fn a_plan_says_what_it_takes_when_to_act_and_how_wrong_the_linear_rule_is() {
    let sizing = sized(PlannedFrom::LowerEnd, Some(within(60.0, 2.0, 3.0)));
    let text = plan_text(&sizing);
    has(
        &text,
        &[
            "8,000/s per instance, the lower end",
            "18 instances carry the peak of 100,000/s while 1 of them is lost and traffic grows beyond it by 10 % of it per minute for the 3 min",
            "18 to 23 instances; add one when CPU use is above 58.0 %, the lower end",
            "target is 52 %",
            "The linear rule (CPU use equals work) would set 72.6 %",
            "ends at 14 instances, 4 too few for the SLO",
            "125 % of its planned capacity",
            "18 instances cost 6.12 per hour",
            "averageUtilization: 52",
        ],
    );
    let linear = |change: fn(&mut LinearRule)| {
        let mut sizing = sizing.clone();
        sizing.linear_rule.iter_mut().for_each(change);
        plan_text(&sizing)
    };
    has(&linear(|l| l.runs_away = true), &["add them without end"]);
    let enough = linear(|l| l.missing_instances = 0);
    has(
        &enough,
        &["ends at 14 instances, as many as needed: with the planned"],
    );
    let guess = |from| plan_text(&sized(from, None));
    assert!(guess(PlannedFrom::HighestTried).contains("a lower bound, so fewer"));
    assert!(guess(PlannedFrom::Value).contains("the plan is a guess"));
    assert!(guess(PlannedFrom::Value).contains("there is no CPU target"));
}

#[test]
fn a_plan_says_what_is_in_doubt_and_why_its_smallest_fleet_is_no_smaller() {
    let sample = sweep();
    let sizing = sized(PlannedFrom::LowerEnd, Some(within(60.0, 2.0, 3.0)));
    let text = plan_text(&sizing);
    let yaml = planned(&sample, &sizing, |r| plan_hpa(r).unwrap());
    let comments = flat(&yaml.replace("\n# ", " "));
    for words in [
        "The smallest fleet is that for the peak",
        "--traffic",
        "The CPU target is not measured: 5,812/s per instance is below 6,500/s",
        "Nor is the CPU use at the peak, at 5,556/s",
        "at the worst moment one runs at 135.7 % of its planned capacity",
        "known to ±25 %",
        "13 instances are enough",
    ] {
        assert!(text.contains(words), "'{words}' is missing: {text}");
        assert!(comments.contains(words), "'{words}' is missing: {comments}");
    }
    for line in yaml.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn the_manifest_holds_nothing_from_outside_but_in_comments() {
    let sample = sweep();
    let sizing = sized(PlannedFrom::LowerEnd, Some(within(60.0, 2.0, 3.0)));
    let yaml = planned(&sample, &sizing, |r| plan_hpa(r).unwrap());
    let kinds: Vec<&str> = yaml.lines().filter(|l| l.starts_with("kind:")).collect();
    assert_eq!(kinds, ["kind: HorizontalPodAutoscaler"], "{yaml}");
    for line in [
        "apiVersion: autoscaling/v2",
        "  minReplicas: 18 # the target is right for this many and more",
        "  maxReplicas: 23",
        "          averageUtilization: 52",
    ] {
        assert!(yaml.lines().any(|l| l == line), "'{line}': {yaml}");
    }
    let comments = flat(&yaml.replace("\n# ", " "));
    assert!(
        comments.contains("planned with the lower end, 8,000/s"),
        "{yaml}"
    );
    let unknown = sized(PlannedFrom::LowerEnd, None);
    assert_eq!(planned(&sample, &unknown, plan_hpa), None);
}

#[test]
fn secrets_are_in_no_comparison_and_no_plan() {
    let mut sample = sweep();
    if let Workload::Http(http) = &mut sample.plan.workload {
        http.url = "http://me:swordfish@localhost/".to_owned();
    }
    let comparison = comparison(WorkUnit::Requests, Carried::Unknown);
    let sizing = sized(PlannedFrom::Value, Some(Estimate::alone(50.0)));
    let forms = [Format::Json, Format::Text];
    let compared = forms.map(|format| compare_in(&sample, &comparison, format));
    let planned = forms.map(|format| plan_in(&sample, &sizing, format));
    for output in compared.into_iter().chain(planned) {
        has(&output, &["(hidden)"]);
        has_not(&output, "swordfish");
    }
}
