//! All figures as one long table for spreadsheets and plots. Pure.
//!
//! A row a figure: the part, the scheduler, what the figure was measured at, its name as in
//! JSON (with its unit at the end), its value with the ends of its interval, and the valid
//! trials behind it. What does not apply or is not known is empty; a figure without a value
//! has no row.

use super::findings::{
    AccountFinding, BreakFinding, GrainFinding, IdleFinding, PeakFinding, RigFindings,
    SteadyFinding,
};
use super::outcome::{Direction, Part};
use super::waiting::{GapPattern, WaitingFinding};
use plimsoll_model::Estimate;
use plimsoll_report::Column;

/// What a figure was measured at.
#[derive(Clone, Copy)]
struct At<'f> {
    part: Part,
    scheduler: &'f str,
    grain_us: Option<f64>,
    dependencies: Option<u32>,
    direction: Option<Direction>,
    /// Of waiting: how gaps are spread, and their mean.
    gaps: Option<(GapPattern, f64)>,
    trials: Option<usize>,
}

struct Row<'f> {
    at: At<'f>,
    figure: &'static str,
    value: Estimate,
}

impl<'f> At<'f> {
    fn of(part: Part, scheduler: &'f str, trials: usize) -> At<'f> {
        At {
            part,
            scheduler,
            grain_us: None,
            dependencies: None,
            direction: None,
            gaps: None,
            trials: Some(trials),
        }
    }

    /// The figures that have a value.
    fn rows<const N: usize>(self, figures: [(&'static str, Option<Estimate>); N]) -> Vec<Row<'f>> {
        let row = |(figure, value): (&'static str, Option<Estimate>)| {
            Some(Row {
                at: self,
                figure,
                value: value?,
            })
        };
        figures.into_iter().filter_map(row).collect()
    }
}

pub(super) fn columns(found: &RigFindings) -> Vec<Column> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    rows.extend(found.peak.iter().flat_map(of_peak));
    rows.extend(found.grain.iter().flat_map(of_grain));
    rows.extend(found.breaking.iter().flat_map(of_break));
    rows.extend(found.steady.iter().flat_map(of_steady));
    rows.extend(found.idle.iter().flat_map(of_idle));
    rows.extend(found.accounting.iter().flat_map(of_account));
    rows.extend(found.waiting.iter().flat_map(of_waiting));
    let words =
        |name, of: &dyn Fn(&Row<'_>) -> String| Column::new(name, "", 0, rows.iter().map(of));
    let direction = |row: &Row<'_>| match row.at.direction {
        Some(Direction::Below) => "below".to_owned(),
        Some(Direction::Above) => "above".to_owned(),
        None => String::new(),
    };
    vec![
        words("part", &|row| row.at.part.name().to_owned()),
        words("scheduler", &|row| row.at.scheduler.to_owned()),
        words("grain_us", &|row| known(row.at.grain_us)),
        words("dependencies", &|row| known(row.at.dependencies)),
        words("direction", &direction),
        words("gaps", &|row| known(row.at.gaps.map(|(gaps, _)| gaps))),
        words("mean_gap_us", &|row| known(row.at.gaps.map(|(_, us)| us))),
        words("figure", &|row| row.figure.to_owned()),
        Column::estimates_of("value", "", (0, 3), rows.iter().map(|row| Some(row.value))),
        words("trials", &|row| known(row.at.trials)),
    ]
}

fn known<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn of_peak(row: &PeakFinding) -> Vec<Row<'_>> {
    let at = At {
        grain_us: Some(row.grain_us),
        ..At::of(Part::Peak, &row.scheduler, row.trials)
    };
    at.rows([
        ("average_concurrency", row.average_concurrency),
        ("gradient_ratio", row.gradient_ratio),
        ("startup_us", row.startup_us),
        ("efficiency_ratio", row.efficiency_ratio),
        ("job_inflation_ratio", row.job_inflation_ratio),
        ("all_busy_share", row.all_busy_share.map(Estimate::alone)),
        (
            "impeded_us_per_job",
            row.impeded_us_per_job.map(Estimate::alone),
        ),
        (
            "overlapping_share",
            row.overlapping_share.map(Estimate::alone),
        ),
        (
            "kink_at_jobs",
            row.kink_at_jobs.map(|jobs| Estimate::alone(jobs.into())),
        ),
    ])
}

fn of_grain(row: &GrainFinding) -> Vec<Row<'_>> {
    let at = At {
        dependencies: Some(row.dependencies),
        ..At::of(Part::Grain, &row.scheduler, row.trials)
    };
    let mut rows = at.rows([
        ("metg50_us", row.metg50_us),
        ("metg95_us", row.metg95_us),
        ("floor_ns_per_job", row.floor_ns_per_job),
    ]);
    rows.extend(row.efficiency.iter().flat_map(|point| {
        let at = At {
            grain_us: Some(point.grain_us),
            ..at
        };
        at.rows([("efficiency_ratio", Some(point.efficiency_ratio))])
    }));
    rows
}

fn of_break(row: &BreakFinding) -> Vec<Row<'_>> {
    let at = At {
        direction: Some(row.direction),
        ..At::of(Part::Break, &row.scheduler, row.trials)
    };
    at.rows([
        ("stress", row.stress),
        ("share_of_feasible_bound", row.share_of_feasible_bound),
    ])
}

fn of_steady(row: &SteadyFinding) -> Vec<Row<'_>> {
    let grew = row.memory_growth_bytes;
    At::of(Part::Steady, &row.scheduler, row.trials).rows([
        ("average_concurrency", row.average_concurrency),
        ("drift_ratio", row.drift_ratio),
        (
            "memory_growth_bytes",
            grew.map(|bytes| Estimate::alone(bytes as f64)),
        ),
    ])
}

fn of_idle(row: &IdleFinding) -> Vec<Row<'_>> {
    let at = At::of(Part::Steady, &row.scheduler, row.trials);
    at.rows([("cpu_ratio", row.cpu_ratio)])
}

fn of_waiting(row: &WaitingFinding) -> Vec<Row<'_>> {
    let at = At {
        gaps: Some((row.gaps, row.mean_gap_us)),
        ..At::of(Part::Wait, &row.policy, row.trials)
    };
    at.rows([
        ("latency_p50_us", row.latency_us.p50),
        ("latency_p99_us", row.latency_us.p99),
        ("latency_p999_us", row.latency_us.p999),
        ("burn_pct", row.burn_pct),
        ("parked_pct", row.parked_pct),
        ("competitive_ratio", row.competitive_ratio),
    ])
}

fn of_account(row: &AccountFinding) -> Vec<Row<'_>> {
    let at = At {
        trials: None,
        ..At::of(row.part, &row.scheduler, 0)
    };
    let share = |of: f64| Some(Estimate::alone(of));
    at.rows([
        ("work_share", share(row.work_share)),
        ("dispatch_share", share(row.dispatch_share)),
        ("steal_share", share(row.steal_share)),
        ("spin_share", share(row.spin_share)),
        ("parked_share", share(row.parked_share)),
        ("unexplained_share", share(row.unexplained_share)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::findings::{EfficiencyPoint, MetgStatus};
    use crate::rig::waiting::WaitingLatency;
    use plimsoll_report::{Document, Format, Look, render};

    #[test]
    fn every_part_has_its_rows_in_one_form() {
        let scheduler = || "a,b".to_owned();
        let found = RigFindings {
            grain: vec![GrainFinding {
                scheduler: scheduler(),
                dependencies: 3,
                metg50_us: Some(Estimate::within(0.5, 0.25, 1.0)),
                metg50_status: MetgStatus::Found,
                metg95_us: None,
                metg95_status: MetgStatus::AboveLongest,
                floor_ns_per_job: None,
                efficiency: vec![EfficiencyPoint {
                    grain_us: 0.05,
                    efficiency_ratio: Estimate::alone(0.25),
                }],
                trials: 4,
            }],
            idle: vec![IdleFinding {
                scheduler: scheduler(),
                cpu_ratio: Some(Estimate::alone(0.001)),
                trials: 2,
            }],
            waiting: vec![WaitingFinding {
                policy: "park".to_owned(),
                gaps: GapPattern::Bursty,
                mean_gap_us: 5_000.0,
                latency_us: WaitingLatency {
                    p99: Some(Estimate::within(120.0, 104.0, 138.0)),
                    ..WaitingLatency::default()
                },
                burn_pct: Some(Estimate::alone(0.42)),
                parked_pct: None,
                competitive_ratio: None,
                on_front: true,
                dominated_by: Vec::new(),
                lower_within_noise: Vec::new(),
                wakeups: 1_140,
                trials: 3,
            }],
            ..RigFindings::default()
        };
        let mut document = Document::default();
        document.spreadsheet(&columns(&found));
        let look = Look {
            width: 80,
            colour: false,
            charts: None,
        };
        let text = render(&document, Format::Csv, look).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "part,scheduler,grain_us,dependencies,direction,gaps,mean_gap_us,figure,value,value_low,value_high,trials",
                "grain,\"a,b\",,3,,,,metg50_us,0.5,0.25,1,4",
                "grain,\"a,b\",0.05,3,,,,efficiency_ratio,0.25,,,4",
                "steady,\"a,b\",,,,,,cpu_ratio,0.001,,,2",
                "wait,park,,,,bursty,5000,latency_p99_us,120,104,138,3",
                "wait,park,,,,bursty,5000,burn_pct,0.42,,,3",
            ]
        );
    }
}
