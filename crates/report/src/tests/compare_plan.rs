//! Comparisons and plans: the schemas that their JSON promises to keep, and
//! how they read.

use super::sample::{Sample, sweep, within};
use super::shown::{Schema, as_text, has, has_not, is_snapshot, shown as form};
use crate::Format;
use crate::compare::{self, CompareReport, Source};
use crate::sizing::{self, PlanAsked, PlanReport, plan_hpa};
use plimsoll_model::{
    Autoscaler, Carried, ComparedCapacity, ComparedMachine, Comparison, ComparisonCaution,
    CpuCapacity, CpuFigure, CpuGauge, CpuThreshold, Difference, DifferenceVerdict, Doubt, Estimate,
    Figure, FigureUnit, FleetOverTime, FleetStep, FloorFrom, HpaBehavior, HpaTarget, LinearRule,
    Measure, Millicores, NoInterval, NoIntervalCode, PlannedFrom, RunToRun, RunToRunFrom, Sizing,
    SizingCaution, ThresholdDifference, WorkUnit, Workload,
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
        runs: vec![name.to_owned()],
        cpus: Some(8),
        price_per_hour: None,
        capacity: vec![ComparedCapacity {
            goal: "p99<10ms".parse().unwrap(),
            limit_us: Some(10_000.0),
            cpu_pct: Some(within(81.0, 2.0, 3.0)),
            power_watts: Some(120.0),
            runs: vec![carried],
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
        run_to_run: (measure != Measure::PerWatt).then_some(RunToRun {
            from: RunToRunFrom::Assumed,
            deviation_pct: 3.0,
            degrees_of_freedom: None,
        }),
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
        sources: &[vec![source], vec![source], vec![source]],
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

const BEHAVIOR: HpaBehavior = HpaBehavior {
    scale_up_pct_per_min: 100,
    scale_down_window_s: 300,
};

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
        cpu_of: CpuGauge::OwnTime,
        own_of: Some(Millicores(4000)),
        behavior: BEHAVIOR,
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
            hpa_target: target.map(|pct| HpaTarget::AverageValue {
                millicores: Millicores((40.0 * pct / 1.1) as u32),
            }),
            host_cpu_pct: cpu.map(|cpu| cpu.map_rising(|pct| 1.1 * pct)),
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
        doubts: &sample.findings.doubts,
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

/// One line of blanks and words.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name, and what is changed.
type Case<T> = (&'static str, fn(&mut T));

/// What becomes of a comparison in which each verdict is given.
const COMPARISONS: [Case<Comparison>; 14] = [
    ("each verdict", |_| {}),
    ("hashing is in megabytes", |comparison| {
        *comparison = self::comparison(WorkUnit::HashedBytes, Carried::Unknown);
        let found = Carried::Found(Estimate::within(900e6, 890e6, 910e6));
        comparison.machines[0].capacity[0].figures[0].carried = found;
    }),
    ("no thresholds of the first", |comparison| {
        comparison.machines[0].thresholds.clear();
        comparison.threshold_differences.clear();
    }),
    ("several runs of each", several_runs),
    ("a run of several without a capacity", |comparison| {
        several_runs(comparison);
        comparison.differences.truncate(1);
        comparison.differences[0].ratio = None;
        comparison.differences[0].verdict = DifferenceVerdict::Inconclusive;
        comparison.differences[0].why = Some(NoInterval {
            code: NoIntervalCode::UnknownCapacity,
            machines: vec!["b2".to_owned()],
        });
    }),
    ("single runs as they are", |comparison| {
        comparison.cautions = vec![ComparisonCaution::SingleRuns {
            deviation_pct: 0.0,
            stated: true,
        }];
    }),
    ("single runs with a stated deviation", |comparison| {
        comparison.cautions = vec![ComparisonCaution::SingleRuns {
            deviation_pct: 1.5,
            stated: true,
        }];
    }),
    ("single runs, and two of one", |comparison| {
        comparison.cautions = vec![
            ComparisonCaution::SingleRuns {
                deviation_pct: 3.0,
                stated: false,
            },
            ComparisonCaution::FewRuns { deviation_pct: 3.0 },
        ];
    }),
    ("thresholds of the lowest of the goals", several_goals),
    ("thresholds of different rates", |comparison| {
        several_goals(comparison);
        comparison.machines[1].thresholds_goal = None;
    }),
    ("thresholds with intervals", |comparison| {
        thresholds(
            comparison,
            DifferenceVerdict::Inconclusive,
            within(-3.0, 4.0, 4.0),
        );
    }),
    ("a threshold that is worse", |comparison| {
        thresholds(comparison, DifferenceVerdict::Worse, within(-3.0, 1.0, 1.0));
    }),
    ("a threshold without an interval", |comparison| {
        thresholds(
            comparison,
            DifferenceVerdict::Inconclusive,
            Estimate::alone(-3.0),
        );
    }),
    (
        "a reason that holds for every measure is said once",
        |comparison| {
            for difference in &mut comparison.differences {
                difference.ratio = None;
                difference.verdict = DifferenceVerdict::Inconclusive;
                difference.why = Some(NoInterval {
                    code: NoIntervalCode::UnknownCapacity,
                    machines: vec![difference.name.clone()],
                });
            }
        },
    ),
];

fn several_runs(comparison: &mut Comparison) {
    let runs = [9_400.0, 9_550.0, 9_710.0].map(|rate| Carried::Found(Estimate::alone(rate)));
    for machine in &mut comparison.machines {
        let name = |nth: usize| format!("{}{nth}", machine.name);
        machine.runs = (1..=3).map(name).collect();
        machine.capacity[0].runs = runs.to_vec();
    }
    comparison.machines[1].capacity[0].runs[1] = Carried::AtLeast(11_400.0);
    for difference in &mut comparison.differences {
        difference.run_to_run = Some(RunToRun {
            from: RunToRunFrom::Measured,
            deviation_pct: 1.24,
            degrees_of_freedom: Some(3.4),
        });
    }
    comparison.cautions = vec![ComparisonCaution::NotAlternated {
        first: "a".to_owned(),
        then: "b".to_owned(),
    }];
}

fn several_goals(comparison: &mut Comparison) {
    for machine in &mut comparison.machines {
        let mut other = machine.capacity[0].clone();
        other.goal = "errors<1%".parse().unwrap();
        machine.capacity.push(other);
    }
}

/// Two thresholds: one not significantly different, and this one.
fn thresholds(comparison: &mut Comparison, verdict: DifferenceVerdict, cpu_points: Estimate) {
    let all = &mut comparison.threshold_differences;
    all[0].cpu_points = within(-3.0, 4.0, 4.0);
    all.push(ThresholdDifference {
        headroom_pct: 30.0,
        verdict,
        cpu_points,
        ..all[0].clone()
    });
}

/// What becomes of a plan with the lower end of a capacity.
const PLANS: [Case<Sizing>; 7] = [
    ("with an interval", |_| {}),
    ("the service's own CPU time is not known", |sizing| {
        sizing.cpu_of = CpuGauge::ServiceCpus;
        sizing.own_of = None;
        sizing.autoscaler.hpa_target = Some(HpaTarget::AverageUtilization { pct: 52 });
    }),
    (
        "a fleet that never changes, CPU use without an interval",
        |sizing| {
            *sizing = sized(PlannedFrom::LowerEnd, Some(Estimate::alone(56.78)));
            sizing.autoscaler.ceiling_instances = 18;
        },
    ),
    ("the linear rule runs away", |sizing| {
        sizing.linear_rule.as_mut().unwrap().runs_away = true;
    }),
    ("the linear rule is right", |sizing| {
        sizing.linear_rule.as_mut().unwrap().missing_instances = 0;
    }),
    ("a lower bound", |sizing| {
        *sizing = sized(PlannedFrom::HighestTried, None)
    }),
    ("a guess", |sizing| {
        *sizing = sized(PlannedFrom::Value, None)
    }),
];

#[test]
fn comparisons_and_plans_read_as_in_the_files() {
    let (mut compared, mut planned) = (String::new(), String::new());
    for (name, change) in COMPARISONS {
        let mut comparison = comparison(WorkUnit::Requests, Carried::AtLeast(11_400.0));
        change(&mut comparison);
        let text = compare_in(&sweep(), &comparison, Format::Text);
        compared += &format!("# {name}\n{text}\n");
    }
    for (name, change) in PLANS {
        let mut sizing = sized(PlannedFrom::LowerEnd, Some(within(60.0, 2.0, 3.0)));
        change(&mut sizing);
        let text = plan_in(&sweep(), &sizing, Format::Text);
        planned += &format!("# {name}\n{text}\n");
    }
    is_snapshot("tests/compare", 80, &compared);
    is_snapshot("tests/plan", 100, &planned);
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
fn the_manifest_holds_nothing_from_outside_but_in_comments() {
    let sizing = sized(PlannedFrom::LowerEnd, Some(within(60.0, 2.0, 3.0)));
    let yaml = planned(&sweep(), &sizing, |r| plan_hpa(r).unwrap());
    let kinds: Vec<&str> = yaml.lines().filter(|l| l.starts_with("kind:")).collect();
    assert_eq!(kinds, ["kind: HorizontalPodAutoscaler"], "{yaml}");
    assert!(
        yaml.lines().all(|line| line.chars().count() <= 80),
        "{yaml}"
    );
    let unknown = sized(PlannedFrom::LowerEnd, None);
    assert_eq!(planned(&sweep(), &unknown, plan_hpa), None);
}

#[test]
fn a_manifest_asks_for_the_quota_that_was_measured_with() {
    let mut sample = sweep();
    let cpus = &mut sample.plan.run.cpus;
    cpus.capacity = CpuCapacity::least(Some(Millicores(500)), &cpus.service, &cpus.service);
    let mut sizing = sized(PlannedFrom::LowerEnd, Some(within(60.0, 2.0, 3.0)));
    sizing.own_of = Some(Millicores(500));
    let target = HpaTarget::AverageValue {
        millicores: Millicores(263),
    };
    sizing.autoscaler.hpa_target = Some(target);
    let yaml = planned(&sample, &sizing, |r| plan_hpa(r).unwrap());
    for words in [
        "0.5 CPUs\n# by the quota of its cgroup:\n#   resources:\n",
        "#       cpu: 500m\n#     limits:\n#       cpu: 500m\n",
        "averageValue: 263m # 52.6 % of 0.5 CPUs\n",
    ] {
        has(&yaml, &[words]);
    }
    has_not(&yaml, "A CPU limit throttles");
}

#[test]
fn a_plan_carries_what_is_in_doubt_about_its_record() {
    let mut sample = sweep();
    sample.findings.doubts = vec![Doubt::Trend { change_pct: 12.0 }];
    let sizing = sized(PlannedFrom::LowerEnd, Some(within(60.0, 2.0, 3.0)));
    let said = "Mean latency at equal loads rose by 12.0 %";
    let text = plan_in(&sample, &sizing, Format::Text);
    has(&text.replace('\n', " "), &[said]);
    let yaml = planned(&sample, &sizing, |r| plan_hpa(r).unwrap());
    has(&yaml.replace("\n#", "").replace("  ", " "), &[said]);
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
