//! What a run shows in a terminal and in a spreadsheet.

use super::document::fill;
use super::findings::{
    BurstFindings, Difference, MeanLine, PhaseFinding, PhaseKind, PhaseLatency, TargetFinding,
};
use super::plan::BurstPlan;
use super::tests::plan;
use plimsoll_model::Estimate;
use plimsoll_report::chart::Charset;
use plimsoll_report::{Document, Format, Look, render};

/// With figures as wide as they get.
fn target() -> TargetFinding {
    let wide = || Some(Estimate::within(8_577.25, 7_590.125, 9_569.875));
    let phase = |phase, rate_rps: f64| PhaseFinding {
        phase,
        seconds: 60.0,
        rate_rps,
        cpu_pct: Some(Estimate::within(186.331, 177.825, 194.875)),
        latency_us: PhaseLatency {
            p50: wide().filter(|_| rate_rps > 0.0),
            p99: wide().filter(|_| rate_rps > 0.0),
        },
    };
    TargetFinding {
        target: "GET http://a-host-with-a-long-name.example:8080/a/path".to_owned(),
        phases: vec![
            phase(PhaseKind::Burst, 12_345.5),
            phase(PhaseKind::Break, 0.0),
        ],
        before_load_pct: Some(0.25),
        idle_burn_pct: wide(),
        burn_us_per_request: wide(),
        first_after_break_us: wide(),
        steady_us: wide(),
        quiet_after_ms: wide(),
        never_quiet: 1,
        fast_after_requests: wide(),
        not_fast: 2,
        breaks: 3,
        failed: 7,
        failed_first: 1,
        late_bursts: 2,
        late_ms: Some(1234.5),
        others_more_in_bursts_pct: wide(),
        part_outside: true,
        cycles: 3,
    }
}

fn found() -> BurstFindings {
    let target = target();
    BurstFindings {
        against: Some(target.clone()),
        difference: Some(Difference {
            idle_burn_pct: target.idle_burn_pct,
            burn_us_per_request: None,
            first_after_break_us: target.first_after_break_us,
        }),
        of: target,
        step_ms: 50.0,
        counter: Some("schedstat of each thread".to_owned()),
    }
}

fn shown(plan: &BurstPlan, format: Format, width: usize) -> String {
    let (mut document, found) = (Document::default(), found());
    let line = MeanLine {
        target: "A".to_owned(),
        points: (0..200u32)
            .map(|at| (f64::from(at) / 10.0, f64::from(at % 90)))
            .collect(),
    };
    let lines = [line.clone(), line];
    fill(&mut document, plan, &found, &lines);
    let look = Look {
        width,
        colour: false,
        charts: Some(Charset::Unicode),
    };
    render(&document, format, look).unwrap()
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let plan = plan(3, 10, 10, 100.0, 2);
    for width in [60, 80, 200] {
        let text = shown(&plan, Format::Text, width);
        let widest = text.lines().max_by_key(|line| line.chars().count());
        let widest = widest.unwrap();
        assert!(widest.chars().count() <= width, "{width}: {widest}\n{text}");
        for column in ["phase", "length", "rate", "CPU", "p50", "p99"] {
            assert!(text.contains(column), "{column} at {width}: {text}");
        }
        assert!(!text.contains("Left out"), "{text}");
    }
}

#[test]
fn a_spreadsheet_has_a_row_for_each_figure() {
    let text = shown(&plan(3, 10, 10, 100.0, 2), Format::Csv, 80);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "target,phase,phase_number,seconds,rate_rps,figure,value,value_low,value_high,cycles",
            "first,burst,1,60,12345.5,cpu_pct,186.331,177.825,194.875,3",
            "first,burst,1,60,12345.5,latency_p50_us,8577.25,7590.125,9569.875,3",
        ]
    );
    for row in [
        "first,break,2,60,0,cpu_pct,186.331,177.825,194.875,3",
        "first,,,,,before_load_pct,0.25,,,3",
        "against,,,,,quiet_after_ms,8577.25,7590.125,9569.875,3",
        "difference,,,,,first_after_break_us,8577.25,7590.125,9569.875,",
    ] {
        assert!(lines.contains(&row), "{row}: {text}");
    }
}
