//! The findings as a document.

use super::Rig;
use super::charts;
use super::findings::{
    BreakFinding, BreakStatus, GrainFinding, MetgStatus, PeakFinding, RigFindings,
};
use super::outcome::Direction;
use super::plan::RigPlan;
use super::runs::Series;
use super::tables;
use crate::experiment::ReportOf;
use plimsoll_model::{Estimate, counted};
use plimsoll_report::{Document, Ink, Role, Sentence, estimate, estimate_us, time_us};

pub(super) fn document<'a>(report: &'a ReportOf<'a, Rig>, series: &'a Series) -> Document<'a> {
    let (plan, found) = (report.plan, report.findings);
    let mut out = Document::of_run(report, 1, "settings");
    for chart in charts::all(plan, found, series) {
        out.chart(chart);
    }
    if let Some(svg) = &series.graph_svg {
        out.drawing("graph", &format!("The graph: {}", plan.graph.name), svg);
    }
    tables::add(&mut out, found);
    answers(&mut out, found);
    out.say(Role::Doubt, doubts(plan, found));
    out.say(Role::Note, notes(found));
    out
}

/// One answer for each part, of the first scheduler that has one; the others are in the
/// tables.
fn answers(out: &mut Document<'_>, found: &RigFindings) {
    let mut texts = Vec::new();
    for row in found
        .breaking
        .iter()
        .filter(|row| row.direction == Direction::Below)
    {
        texts.extend(breaking_point(row));
    }
    for row in found.grain.iter().filter(|row| row.dependencies == 0) {
        let name = &row.scheduler;
        match (row.metg50_us, row.metg50_status) {
            (Some(metg), _) => texts.push(format!(
                "METG(50 %) {}: {name} spends half of the time on jobs of this length, without dependencies.",
                estimate_us(Some(metg))
            )),
            (None, MetgStatus::AboveLongest) => texts.push(format!(
                "METG(50 %) of {name} is above the longest jobs that were tried."
            )),
            (None, MetgStatus::BelowShortest) => texts.push(format!(
                "METG(50 %) of {name} is below the shortest jobs that were tried{}.",
                shortest(row)
            )),
            (None, _) => {}
        }
    }
    for row in found
        .peak
        .iter()
        .filter(|row| row.average_concurrency.is_some())
    {
        texts.push(format!(
            "Average concurrency {}: {} in large peaks of {} jobs.",
            estimate(row.average_concurrency, 3),
            row.scheduler,
            time_us(row.grain_us),
        ));
    }
    for row in found
        .steady
        .iter()
        .filter(|row| row.average_concurrency.is_some())
    {
        let concurrency = estimate(row.average_concurrency, 3);
        texts.push(format!(
            "Average concurrency {concurrency}: {} under steady load.",
            row.scheduler
        ));
    }
    if texts.is_empty() {
        out.answer(Ink::Red, "Inconclusive: no figure was found.".to_owned());
    }
    let mut texts = texts.into_iter();
    if let Some(first) = texts.next() {
        out.answer(Ink::Green, first);
    }
    out.say(Role::Answer, texts.map(|text| Ink::Plain.says(text)));
}

/// ` (50ns)`
fn shortest(row: &GrainFinding) -> String {
    let grains = row.efficiency.iter().map(|point| point.grain_us);
    match grains.min_by(f64::total_cmp) {
        Some(us) => format!(" ({})", time_us(us)),
        None => String::new(),
    }
}

fn breaking_point(row: &BreakFinding) -> Option<String> {
    let (name, graph) = (&row.scheduler, &row.graph);
    let share = row.share_of_feasible_bound?;
    let percent = share.map_rising(|share| 100.0 * share);
    Some(format!(
        "Breaking point {} % of the feasible bound: {name} misses deadlines of {graph} in half of all runs.",
        estimate(Some(percent), 1)
    ))
}

fn doubts(plan: &RigPlan, found: &RigFindings) -> Vec<Sentence> {
    let mut texts: Vec<String> = Vec::new();
    for failed in &found.failed {
        let (name, part) = (&failed.scheduler, failed.part.name());
        texts.push(format!(
            "{name} failed in {part}: {}. It was left out from then on.",
            failed.why
        ));
    }
    for row in &found.breaking {
        let (name, from) = (&row.scheduler, row.direction);
        texts.extend(match row.status {
            BreakStatus::Found => None,
            BreakStatus::Wide => Some(format!(
                "Breaking point of {name} {from}: the interval is wider than 5 % after {}.",
                counted(row.runs, "run", "runs")
            )),
            BreakStatus::HoldsAtHighest => Some(format!(
                "Breaking point of {name} {from}: it holds at the highest feasible stress."
            )),
            BreakStatus::BreaksAtLowest => Some(format!(
                "Breaking point of {name} {from}: it breaks at the lowest stress that is tried; give a longer --grain."
            )),
            BreakStatus::Inconclusive => {
                Some(format!("Breaking point of {name} {from}: no valid trial."))
            }
        });
    }
    texts.extend(of_peaks(found));
    let few = found
        .peak
        .iter()
        .map(|r| r.trials)
        .chain(found.grain.iter().map(|r| r.trials));
    if few.clone().any(|trials| trials < 3) {
        let passes = counted(plan.run.passes, "pass", "passes");
        texts.push(format!(
            "Some settings have fewer than 3 valid trials of {passes}: their means have no interval."
        ));
    }
    texts.extend(unreached(found));
    texts
        .into_iter()
        .map(|text| Ink::Yellow.says(text))
        .collect()
}

fn of_peaks(found: &RigFindings) -> Vec<String> {
    let of = |row: &PeakFinding| {
        let (name, grain) = (&row.scheduler, time_us(row.grain_us));
        let two_kinds = (row.two_populations == Some(true)).then(|| {
            format!(
                "Peaks of {grain} jobs on {name}: run times are of two kinds, which the line hides."
            )
        });
        let too_much = exceeds_one(row.efficiency_ratio).then(|| {
            format!("{name} did more work in peaks of {grain} jobs than its CPUs can: it used others, too, or the calibration was disturbed.")
        });
        [two_kinds, too_much]
    };
    found.peak.iter().flat_map(of).flatten().collect()
}

/// With all of its interval: no error of the calibration by a few percent explains it.
fn exceeds_one(efficiency: Option<Estimate>) -> bool {
    efficiency.and_then(|e| e.low).is_some_and(|low| low > 1.0)
}

fn unreached(found: &RigFindings) -> Option<String> {
    let of = |status: MetgStatus| {
        let rows = found.grain.iter();
        rows.filter(|r| r.metg50_status == status || r.metg95_status == status)
            .count()
    };
    let (below, above) = (of(MetgStatus::BelowShortest), of(MetgStatus::AboveLongest));
    (below + above > 0).then(|| {
        "A METG without a value lies outside of the lengths that were tried; give others with --grain.".to_owned()
    })
}

fn notes(found: &RigFindings) -> Vec<Sentence> {
    let mut texts = vec![format!(
        "{} ran and {} violations were found: each job is checked to run once, after its predecessors and with their values.",
        counted(found.proof.nodes_checked, "job", "jobs"),
        found.proof.violations
    )];
    if let Some(ratio) = found.kernel.all_busy_ratio {
        texts.push(format!(
            "The same work ({}) takes {} times as long with all CPUs busy as on one alone; lengths of jobs are with all busy.",
            found.kernel.name,
            estimate(Some(ratio), 3)
        ));
    }
    for graph in &found.graphs {
        texts.push(format!(
            "Graph {}: {} jobs, {} dependencies; T1 {}, Tinf {}, no schedule below {}, list schedule {} (in jobs of weight 1).",
            graph.name,
            graph.nodes,
            graph.edges,
            graph.total_work,
            graph.critical_path,
            graph.shortest_possible,
            graph.list_schedule
        ));
    }
    for gap in &found.gaps {
        let gap_of = &gap.stress_difference;
        let ends = match gap_of.low.zip(gap_of.high) {
            Some((low, high)) => format!(" ({low:.3} to {high:.3})"),
            None => String::new(),
        };
        let verdict = match gap.is_significant {
            true => "what ran before matters",
            false => "not significantly different from 0",
        };
        texts.push(format!(
            "Gap between the breaking points of {} from above and from below: {:.3}{ends} in stress, {verdict}.",
            gap.scheduler, gap_of.value
        ));
    }
    texts
        .into_iter()
        .map(|text| Ink::Plain.says(text))
        .collect()
}
