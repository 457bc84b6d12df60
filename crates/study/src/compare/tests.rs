use super::*;
use plimsoll_model::{
    Arrivals, Bytes, Carried, ComparisonCaution, CpuThreshold, CpuTime, Difference,
    DifferenceVerdict, Estimate, Goal, HashService, HttpService, ImportedTable, LimitOf,
    MachineCpus, Measure, NoIntervalCode, RunToRunFrom, TableRows, WorkUnit, Workload,
};
use std::time::Duration;

fn goal() -> Goal {
    "p99<10ms".parse().unwrap()
}

/// A machine of one run.
fn machine(name: &str, carried: Carried) -> Side {
    Side {
        name: name.to_owned(),
        runs: vec![run(name, carried)],
        price_per_hour: None,
    }
}

/// Compares these runs only, whatever others would say.
fn compare(sides: &[Side]) -> Result<Comparison, CompareError> {
    super::compare(sides, Some(Share::ZERO))
}

fn run(name: &str, carried: Carried) -> Run {
    Run {
        name: name.to_owned(),
        workload: http("http://a:8080/x"),
        arrivals: None,
        connections: Some(8),
        capacities: vec![Capacity {
            goal: goal(),
            carried,
            limit_us: None,
            cpu_pct: None,
            watts: None,
        }],
        thresholds_goal: None,
        thresholds: Vec::new(),
        cpus: None,
    }
}

fn http(url: &str) -> Workload {
    Workload::Http(HttpService::get(url, 64, Duration::from_secs(1)))
}

fn hash_service(block: u64) -> Workload {
    Workload::Hash(HashService {
        mean_block: Bytes(block),
        deviation_share: 0.25,
        request_cpu: CpuTime(Duration::from_millis(1)),
        waiting: None,
        memory: None,
        files: None,
    })
}

fn table(name: &str, rows: TableRows) -> Workload {
    Workload::Imported(ImportedTable {
        name: name.to_owned(),
        rows,
        cpus: Some(8),
        threads_per_core: None,
        note: None,
        latencies: Vec::new(),
    })
}

/// What is said of two single runs that are taken as they are.
fn these_only() -> ComparisonCaution {
    ComparisonCaution::SingleRuns {
        deviation_pct: 0.0,
        stated: true,
    }
}

fn found(value: f64, low: f64, high: f64) -> Carried {
    Carried::Found(Estimate::within(value, low, high))
}

fn of(first: Carried, other: Carried) -> Difference {
    let compared = compare(&[machine("a", first), machine("b", other)]).unwrap();
    assert_eq!(compared.differences.len(), 1, "nothing else is known");
    compared.differences[0].clone()
}

/// Why a machine, changed like this, cannot be compared with another.
fn refused(change: impl Fn(&mut Run)) -> String {
    let mut other = machine("b", Carried::Unknown);
    change(&mut other.runs[0]);
    let both = [machine("a", Carried::Unknown), other];
    compare(&both).unwrap_err().to_string()
}

#[test]
fn a_difference_beyond_chance_has_a_verdict() {
    use DifferenceVerdict::{Better, Inconclusive, Worse};
    let base = found(1000.0, 950.0, 1050.0);
    for (other, verdict) in [
        (found(1200.0, 1150.0, 1250.0), Better),
        (found(800.0, 760.0, 840.0), Worse),
        (found(1030.0, 980.0, 1080.0), Inconclusive),
    ] {
        let found = of(base, other);
        assert_eq!((found.verdict, found.why), (verdict, None), "{other:?}");
    }
}

#[test]
fn the_interval_of_a_quotient_is_squared_and_added_on_the_logarithmic_scale() {
    let both = of(found(100.0, 80.0, 125.0), found(200.0, 160.0, 250.0));
    let ratio = both.ratio.unwrap();
    // Both reach ln 1.25 either way.
    let reach = (1.25f64.ln() * 2.0f64.sqrt()).exp();
    assert!((ratio.value - 2.0).abs() < 1e-12);
    assert!((ratio.low.unwrap() - 2.0 / reach).abs() < 1e-9);
    assert!((ratio.high.unwrap() - 2.0 * reach).abs() < 1e-9);
}

#[test]
fn a_lower_bound_can_still_be_better() {
    let base = found(1000.0, 950.0, 1050.0);
    let bound = Carried::AtLeast;
    for (first, other, verdict) in [
        (base, bound(1200.0), DifferenceVerdict::Better),
        (bound(1200.0), base, DifferenceVerdict::Worse),
        (base, bound(900.0), DifferenceVerdict::Inconclusive),
    ] {
        let difference = of(first, other);
        assert_eq!(difference.verdict, verdict, "{first:?} {other:?}");
        if first == base {
            assert_eq!(difference.ratio.unwrap().high, None, "{other:?}");
        }
    }
}

#[test]
fn a_difference_without_an_interval_says_why() {
    let single = Carried::Found(Estimate::alone(500.0));
    let interval = found(500.0, 490.0, 510.0);
    let bound = Carried::AtLeast(400.0);
    let (unknown, open) = (Carried::Unknown, found(5.0, 0.0, f64::INFINITY));
    let why = |first, other| {
        let difference = of(first, other);
        let why = difference.why?;
        assert_eq!(difference.verdict, DifferenceVerdict::Inconclusive);
        Some((why.code, why.machines.join(" ")))
    };
    for (first, other, code, machines) in [
        (bound, bound, NoIntervalCode::LowerBound, "a b"),
        (single, bound, NoIntervalCode::LowerBound, "b"),
        (single, interval, NoIntervalCode::TooFewTrials, "a"),
        (single, unknown, NoIntervalCode::UnknownCapacity, "b"),
        (open, interval, NoIntervalCode::ReachesZero, ""),
    ] {
        let expected = Some((code, machines.to_owned()));
        assert_eq!(why(first, other), expected, "{first:?} {other:?}");
    }
    assert_eq!(why(interval, bound), None, "one end is known");
    assert_eq!(of(bound, bound).ratio, None, "a quotient of two bounds");
    let other = Carried::Found(Estimate::alone(900.0));
    let ratio = of(single, other).ratio.unwrap();
    assert!((ratio.value - 1.8).abs() < 1e-9);
    assert_eq!((ratio.low, ratio.high), (None, None));
}

#[test]
fn price_power_and_cpus_turn_the_verdict() {
    let mut small = machine("small", found(1000.0, 980.0, 1020.0));
    let mut large = machine("large", found(1900.0, 1860.0, 1940.0));
    (small.runs[0].cpus, large.runs[0].cpus) = (Some(4), Some(8));
    (small.price_per_hour, large.price_per_hour) = (Some(0.10), Some(0.40));
    small.runs[0].capacities[0].watts = Some(50.0);
    let compared = compare(&[small, large]).unwrap();
    let verdicts = compared.differences.iter().map(|d| (d.measure, d.verdict));
    // Power is known of one only.
    let expected = [
        (Measure::Capacity, DifferenceVerdict::Better),
        (Measure::PerCpu, DifferenceVerdict::Worse),
        (Measure::PerPrice, DifferenceVerdict::Worse),
    ];
    assert!(verdicts.eq(expected), "{:?}", compared.differences);
    let per_price = compared.machines[0].capacity[0].figures[2].carried;
    assert_eq!(per_price, found(36e6, 35.28e6, 36.72e6));
}

#[test]
fn thresholds_stand_side_by_side_in_points() {
    let with = |name: &str, rows: &[(f64, Estimate)]| {
        let mut machine = machine(name, Carried::Unknown);
        let rows = rows.iter().map(|&(headroom_pct, cpu_pct)| CpuThreshold {
            headroom_pct,
            cpu_pct,
        });
        machine.runs[0].thresholds = rows.collect();
        machine
    };
    // As published, without intervals; then with ones that do not touch.
    let graviton3 = [
        (20.0, Estimate::alone(88.0)),
        (30.0, Estimate::within(81.0, 79.0, 83.0)),
        (40.0, Estimate::alone(71.0)),
    ];
    let intel = [
        (20.0, Estimate::alone(77.0)),
        (30.0, Estimate::within(64.0, 62.0, 66.0)),
    ];
    let both = [with("graviton3", &graviton3), with("intel", &intel)];
    let rows = compare(&both).unwrap().threshold_differences;
    assert_eq!(rows.len(), 2, "headrooms that both have");
    assert_eq!(rows[0].cpu_points, Estimate::alone(-11.0));
    assert_eq!(rows[0].verdict, DifferenceVerdict::Inconclusive);
    let reach = 8.0f64.sqrt();
    assert!((rows[1].cpu_points.low.unwrap() - (-17.0 - reach)).abs() < 1e-9);
    assert_eq!(rows[1].verdict, DifferenceVerdict::Worse);
}

#[test]
fn hashing_is_compared_by_the_byte() {
    let hashing = |name: &str, block: u64| {
        let mut machine = machine(name, found(1000.0, 990.0, 1010.0));
        machine.runs[0].workload = hash_service(block);
        machine
    };
    let compared = compare(&[hashing("slow", 1 << 20), hashing("fast", 2 << 20)]).unwrap();
    assert_eq!(compared.work_unit, WorkUnit::HashedBytes);
    assert!((compared.differences[0].ratio.unwrap().value - 2.0).abs() < 1e-9);
    assert_eq!(compared.differences[0].verdict, DifferenceVerdict::Better);
}

#[test]
fn other_workloads_and_goals_are_refused() {
    let another = refused(|m| m.workload = http("http://b/y?token=secret"));
    assert!(another.contains("another path"), "{another}");
    assert!(!another.contains("secret"), "{another}");
    assert!(refused(|m| m.workload = http("https://b/x")).contains("https"));
    assert!(refused(|m| m.workload = hash_service(1)).contains("the hash service"));
    let goals = refused(|m| m.capacities[0].goal = "p99<2x".parse().unwrap());
    assert!(goals.contains("p99<10ms") && goals.contains("p99<2x") && goals.contains("--goal"));
    let first = machine("a", Carried::Unknown);
    let mut elsewhere = machine("b", Carried::Unknown);
    elsewhere.runs[0].workload = http("HTTP://b:9000/x");
    // The host is what is compared.
    assert!(compare(&[first, elsewhere]).is_ok());
}

#[test]
fn imported_tables_are_compared_with_a_caution() {
    let imported = |name: &str| {
        let mut machine = machine(name, Carried::AtLeast(1.0));
        machine.runs[0].workload = table(name, TableRows::Rates);
        machine
    };
    let compared = compare(&[imported("a"), imported("b")]).unwrap();
    assert_eq!(compared.cautions, [ComparisonCaution::OnTrust]);
}

#[test]
fn figures_that_make_no_sense_are_refused_by_name() {
    for price in [0.0, -0.34, f64::NAN, f64::INFINITY] {
        let mut priced = machine("b", Carried::Unknown);
        priced.price_per_hour = Some(price);
        let error = compare(&[machine("a", Carried::Unknown), priced]).unwrap_err();
        assert!(error.to_string().contains("--price b=0.34"));
        assert!(refused(|m| m.capacities[0].watts = Some(price)).contains("'b'"));
    }
    assert!(refused(|m| m.cpus = Some(0)).contains("'b'"));
    let alike = ["a", "a"].map(|name| machine(name, Carried::Unknown));
    assert!(
        compare(&alike)
            .unwrap_err()
            .to_string()
            .contains("called 'a'")
    );
    assert!(refused(|m| m.capacities.clear()).contains("--goal"));
    let alone = [machine("a", Carried::Unknown)];
    assert_eq!(compare(&alone), Err(CompareError::TooFew));
    assert_eq!(compare(&[]), Err(CompareError::TooFew));
}

#[test]
fn differences_between_runs_give_cautions() {
    let cautions = |change: &dyn Fn(&mut [Side; 2])| {
        let mut two = ["a", "b"].map(|name| machine(name, Carried::Unknown));
        change(&mut two);
        compare(&two).unwrap().cautions
    };
    assert_eq!(cautions(&|_| ()), []);
    let arrivals = cautions(&|two| {
        two[0].runs[0].arrivals = Some(Arrivals::Poisson);
        two[1].runs[0].arrivals = Some(Arrivals::Constant);
    });
    assert_eq!(arrivals, [ComparisonCaution::Arrivals]);
    let relative = cautions(&|two| {
        for (machine, limit) in two.iter_mut().zip([2000.0, 2362.0]) {
            machine.runs[0].capacities[0].goal = "p99<2x".parse().unwrap();
            machine.runs[0].capacities[0].limit_us = Some(limit);
        }
    });
    let limits = [("a", 2000.0), ("b", 2362.0)];
    let limits = limits.map(|(name, limit_us)| LimitOf {
        name: name.to_owned(),
        limit_us,
    });
    let expected = ComparisonCaution::RelativeGoal {
        goal: "p99<2x".parse().unwrap(),
        limits: limits.to_vec(),
    };
    assert_eq!(relative, [expected]);
    let drawn = |m: &mut Side| m.runs[0].capacities[0].watts = Some(5.0);
    let power = cautions(&|two| two.iter_mut().for_each(drawn));
    assert_eq!(power, [ComparisonCaution::ExactPower]);
    let cpus = cautions(&|two| (two[0].runs[0].cpus, two[1].runs[0].cpus) = (Some(2), Some(8)));
    let each = [("a", 2), ("b", 8)].map(|(name, cpus)| MachineCpus {
        name: name.to_owned(),
        cpus,
    });
    let each = each.to_vec();
    assert_eq!(cpus, [ComparisonCaution::Cpus { cpus: each }]);
    let same = cautions(&|two| (two[0].runs[0].cpus, two[1].runs[0].cpus) = (Some(8), Some(8)));
    assert_eq!(same, []);
    let wide = cautions(&|two| {
        two[0].runs[0].capacities[0].carried = found(100.0, 81.0, 119.0);
        two[1].runs[0].capacities[0].carried = found(100.0, 75.0, 125.0);
    });
    let expected = ComparisonCaution::WideCapacity {
        name: "b".to_owned(),
        goal: goal(),
        half_width_pct: 25.0,
    };
    assert_eq!(wide, [these_only(), expected]);
}

/// A machine of runs with these capacities, each with an interval of 4 % either way.
fn runs(name: &str, values: &[f64]) -> Side {
    let one = |(nth, value): (usize, &f64)| {
        let carried = found(*value, 0.96 * value, 1.04 * value);
        run(&format!("{name}{}", nth + 1), carried)
    };
    Side {
        runs: values.iter().enumerate().map(one).collect(),
        ..machine(name, Carried::Unknown)
    }
}

fn first_difference(sides: &[Side]) -> Difference {
    super::compare(sides, None).unwrap().differences.remove(0)
}

#[test]
fn single_runs_allow_for_a_drift_between_them() {
    use DifferenceVerdict::{Better, Inconclusive};
    let tight = |name: &str, value: f64| machine(name, found(value, 0.999 * value, 1.001 * value));
    for (value, verdict) in [(1040.0, Inconclusive), (1300.0, Better)] {
        let sides = [tight("a", 1000.0), tight("b", value)];
        assert_eq!(first_difference(&sides).verdict, verdict, "{value}");
        assert_eq!(compare(&sides).unwrap().differences[0].verdict, Better);
        let cautions = super::compare(&sides, None).unwrap().cautions;
        let expected = ComparisonCaution::SingleRuns {
            deviation_pct: 3.0,
            stated: false,
        };
        assert_eq!(cautions, [expected]);
    }
}

#[test]
fn several_runs_show_by_how_much_they_differ() {
    let sides = [
        runs("a", &[990.0, 1000.0, 1010.0]),
        runs("b", &[1040.0, 1050.0, 1060.0]),
    ];
    let difference = first_difference(&sides);
    let run_to_run = difference.run_to_run.unwrap();
    assert_eq!(difference.verdict, DifferenceVerdict::Better);
    assert_eq!(run_to_run.from, RunToRunFrom::Measured);
    assert!(
        (run_to_run.deviation_pct - 0.977).abs() < 0.01,
        "{run_to_run:?}"
    );
    let compared = super::compare(&sides, None).unwrap();
    assert_eq!(compared.cautions, []);
    let capacity = &compared.machines[0].capacity[0];
    assert_eq!(capacity.runs.len(), 3);
    // The mean of logarithms, and Student's t of three runs.
    let Carried::Found(mean) = capacity.figures[0].carried else {
        panic!("{capacity:?}");
    };
    assert!((mean.value - 999.967).abs() < 0.01, "{mean:?}");
    assert!(
        (mean.relative_half_width().unwrap() - 0.02485).abs() < 1e-4,
        "{mean:?}"
    );
}

#[test]
fn runs_that_scatter_hide_a_difference_that_each_pair_of_runs_would_show() {
    let sides = [
        runs("a", &[800.0, 1000.0, 1200.0]),
        runs("b", &[900.0, 1150.0, 1350.0]),
    ];
    assert_eq!(
        first_difference(&sides).verdict,
        DifferenceVerdict::Inconclusive
    );
}

#[test]
fn a_single_run_is_held_against_how_several_of_the_other_differ() {
    let several = runs("a", &[990.0, 1000.0, 1010.0]);
    let difference = first_difference(&[several, runs("b", &[1100.0])]);
    assert_eq!(difference.run_to_run.unwrap().degrees_of_freedom, Some(2.0));
    assert_eq!(difference.verdict, DifferenceVerdict::Better);
}

#[test]
fn too_few_runs_are_taken_to_differ_as_assumed_and_at_least_as_seen() {
    for (values, deviation_pct) in [([995.0, 1000.0], 3.0), ([800.0, 1200.0], 28.7)] {
        let sides = [runs("a", &values), runs("b", &[1100.0])];
        let cautions = super::compare(&sides, None).unwrap().cautions;
        let few = cautions.iter().find_map(|caution| match caution {
            ComparisonCaution::FewRuns { deviation_pct } => Some(*deviation_pct),
            _ => None,
        });
        assert!((few.unwrap() - deviation_pct).abs() < 0.1, "{cautions:?}");
    }
}

#[test]
fn runs_that_agree_to_the_last_digit_do_not_show_that_none_differ() {
    let rounded = [1001.0, 1001.0 + 1e-9, 1001.0];
    let sides = [runs("a", &[1000.0; 3]), runs("b", &rounded)];
    let difference = first_difference(&sides);
    assert_eq!(difference.run_to_run.unwrap().from, RunToRunFrom::Assumed);
    assert_eq!(difference.verdict, DifferenceVerdict::Inconclusive);
}

#[test]
fn a_run_without_a_capacity_leaves_the_machine_without_one() {
    let mut sides = [
        runs("a", &[990.0, 1000.0, 1010.0]),
        runs("b", &[1500.0, 1510.0, 1520.0]),
    ];
    sides[1].runs[1].capacities[0].carried = Carried::Unknown;
    let difference = first_difference(&sides);
    let why = difference.why.unwrap();
    assert_eq!(why.code, NoIntervalCode::UnknownCapacity);
    assert_eq!(
        (difference.ratio, why.machines),
        (None, vec!["b2".to_owned()])
    );
}

#[test]
fn a_lower_bound_among_runs_makes_the_least_of_them_a_bound() {
    let mut sides = [
        runs("a", &[990.0, 1000.0, 1010.0]),
        runs("b", &[1500.0, 1510.0, 1520.0]),
    ];
    sides[1].runs[1].capacities[0].carried = Carried::AtLeast(1300.0);
    let compared = super::compare(&sides, None).unwrap();
    let Carried::AtLeast(bound) = compared.machines[1].capacity[0].figures[0].carried else {
        panic!("{compared:?}");
    };
    assert!((bound - 1300.0).abs() < 1e-9);
    let difference = &compared.differences[0];
    assert_eq!(difference.verdict, DifferenceVerdict::Better);
    assert_eq!(difference.ratio.unwrap().high, None);
}

#[test]
fn runs_that_do_not_repeat_each_other_are_refused() {
    let refused = |change: &dyn Fn(&mut Run)| {
        let mut sides = [runs("a", &[1000.0; 3]), runs("b", &[1000.0; 3])];
        change(&mut sides[1].runs[2]);
        compare(&sides).unwrap_err().to_string()
    };
    let elsewhere = refused(&|run| run.workload = http("http://b:8080/x"));
    assert!(
        elsewhere.contains("'b1' and 'b3'") && elsewhere.contains("server"),
        "{elsewhere}"
    );
    assert!(refused(&|run| run.cpus = Some(2)).contains("number of CPUs"));
    assert!(refused(&|run| run.arrivals = Some(Arrivals::Constant)).contains("arrivals"));
    assert!(refused(&|run| run.workload = http("http://a:8080/y")).contains("another path"));
    let goals = refused(&|run| run.capacities[0].goal = "p99<2x".parse().unwrap());
    assert!(goals.contains("p99<2x"), "{goals}");
    assert!(refused(&|run| run.name = "a1".to_owned()).contains("called 'a1'"));
}
