//! The findings as a document.

use super::Rig;
use super::charts;
use super::findings::{
    BreakFinding, BreakStatus, GrainFinding, MetgStatus, PeakFinding, RigFindings,
};
use super::outcome::Direction;
use super::plan::RigPlan;
use super::runs::Series;
use super::spreadsheet;
use super::tables;
use super::waiting;
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
    out.spreadsheet(&spreadsheet::columns(found));
    answers(&mut out, found);
    out.say(Role::Doubt, doubts(plan, found));
    let undecided = waiting::undecided(&found.waiting);
    out.say(Role::Doubt, undecided.map(|text| Ink::Yellow.says(text)));
    out.say(Role::Note, notes(found));
    if let Some(wait) = &plan.wait {
        let texts = waiting::notes(wait, &found.waiting).into_iter();
        out.say(Role::Note, texts.map(|text| Ink::Plain.says(text)));
    }
    out
}

/// One answer for each part, with all schedulers.
fn answers(out: &mut Document<'_>, found: &RigFindings) {
    let mut texts = Vec::new();
    let below = found.breaking.iter();
    let below = below.filter(|row| row.direction == Direction::Below);
    if let Some(row) = below.clone().next() {
        let graph = &row.graph;
        let what =
            format!("Breaking point of {graph}, as a share of the tightest feasible schedule");
        // The first is the headline of a page: it has to be short.
        let mut each = below.filter_map(breaking_point);
        texts.extend(listed(&what, each.by_ref().take(1)));
        texts.extend(listed("Breaking points of the others", each));
    }
    let independent = found.grain.iter().filter(|row| row.dependencies == 0);
    let what =
        "METG(50 %), the shortest independent jobs of which half of the workers' time is work";
    texts.extend(listed(what, independent.filter_map(shortest_jobs)));
    // The shortest jobs show a scheduler's cost; the table has the others.
    let shortest = found.peak.iter().map(|row| row.grain_us);
    if let Some(grain_us) = shortest.min_by(f64::total_cmp) {
        let rows = found.peak.iter().filter(|row| row.grain_us == grain_us);
        let each = rows.filter_map(|row| named(&row.scheduler, row.average_concurrency));
        let what = format!(
            "Average concurrency in peaks of 100 jobs or more of {}",
            time_us(grain_us)
        );
        texts.extend(listed(&what, each));
    }
    let steady = found.steady.iter();
    let each = steady.filter_map(|row| named(&row.scheduler, row.average_concurrency));
    texts.extend(listed("Average concurrency under steady load", each));
    let waiting = found.waiting_recommended.as_ref().map(waiting::answer);
    if texts.is_empty() && waiting.is_none() {
        out.answer(Ink::Red, "Inconclusive: no figure was found.".to_owned());
    }
    let is_alone = texts.is_empty();
    let mut texts = texts.into_iter();
    if let Some(first) = texts.next() {
        out.answer(Ink::Green, first);
    }
    out.say(Role::Answer, texts.map(|text| Ink::Plain.says(text)));
    match waiting {
        Some((ink, text)) if is_alone => out.answer(ink, text),
        Some((ink, text)) => out.say(Role::Answer, [ink.says(text)]),
        None => {}
    }
}

/// `what: a 1, b 2.`
fn listed(what: &str, each: impl Iterator<Item = String>) -> Option<String> {
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("{what}: {}.", each.join("; ")))
}

fn named(scheduler: &str, concurrency: Option<Estimate>) -> Option<String> {
    concurrency.map(|found| format!("{scheduler} {}", estimate(Some(found), 3)))
}

fn breaking_point(row: &BreakFinding) -> Option<String> {
    let share = row.share_of_feasible_bound?;
    let percent = share.map_rising(|share| 100.0 * share);
    Some(format!(
        "{} {} %",
        row.scheduler,
        estimate(Some(percent), 1)
    ))
}

fn shortest_jobs(row: &GrainFinding) -> Option<String> {
    let name = &row.scheduler;
    match (row.metg50_us, row.metg50_status) {
        (Some(metg), _) => Some(format!("{name} {}", estimate_us(Some(metg)))),
        (None, MetgStatus::AboveLongest) => {
            Some(format!("{name} more than {}", tried(row, f64::max)?))
        }
        (None, MetgStatus::BelowShortest) => {
            Some(format!("{name} less than {}", tried(row, f64::min)?))
        }
        (None, _) => None,
    }
}

/// The shortest or longest jobs that were tried.
fn tried(row: &GrainFinding, of: fn(f64, f64) -> f64) -> Option<String> {
    let grains = row.efficiency.iter().map(|point| point.grain_us);
    grains.reduce(of).map(time_us)
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
                "Breaking point of {name} {from}: it breaks at the lowest stress that is tried; give a longer --grain, on a machine that does nothing else."
            )),
            BreakStatus::Inconclusive => {
                Some(format!("Breaking point of {name} {from}: no valid trial."))
            }
        });
    }
    texts.extend(of_peaks(found));
    for row in &found.grain {
        if row.metg50_status == MetgStatus::Disturbed {
            texts.push(format!(
                "{}, {}: the efficiency exceeds 100 % by more than 5 %, so the calibration was disturbed; there is no METG. Run again on a machine that does nothing else.",
                row.scheduler,
                counted(row.dependencies, "dependency", "dependencies")
            ));
        }
    }
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
    let is_relative = !found.peak.is_empty() || !found.grain.is_empty();
    let is_known =
        found.kernel.interruption_ratio.is_some() || found.kernel.all_busy_ratio.is_none();
    if is_relative && !is_known {
        texts.push("This record does not tell interruptions by the machine from losses of a scheduler: efficiency is too low by both, gradient and inflation too high.".to_owned());
    }
    texts
        .into_iter()
        .map(|text| Ink::Yellow.says(text))
        .collect()
}

fn of_peaks(found: &RigFindings) -> Vec<String> {
    found.peak.iter().flat_map(of_peak).collect()
}

fn of_peak(row: &PeakFinding) -> Vec<String> {
    let (name, grain) = (&row.scheduler, time_us(row.grain_us));
    let mut texts = Vec::new();
    if row.two_populations == Some(true) {
        texts.push("run times are of two kinds, which the line hides".to_owned());
    }
    if let Some(jobs) = row.kink_at_jobs {
        texts.push(format!(
            "the gradient changes at about {jobs} jobs; the line is wrong on both sides"
        ));
    }
    if row.two_wake_ups == Some(true) {
        texts.push(
            "in some peaks the workers start more than twice as late as in others, as workers do that poll in their sleep"
                .to_owned(),
        );
    }
    if row
        .startup_us
        .and_then(|e| e.high)
        .is_some_and(|high| high < 0.0)
    {
        texts.push("the start-up is below 0; the line does not hold for small peaks".to_owned());
    }
    if exceeds_one(row.efficiency_ratio) {
        texts.push(
            "more work was done than the CPUs can do; it used other CPUs, too, or the calibration was disturbed"
                .to_owned(),
        );
    }
    if let Some(share) = row.overlapping_share.filter(|share| *share > OVERLAPPING) {
        texts.push(format!(
            "{:.0} % of the jobs began on a worker that ran another; inflation includes the time of the other",
            100.0 * share
        ));
    }
    let say = |text: String| format!("{name}, peaks of {grain} jobs: {text}.");
    texts.into_iter().map(say).collect()
}

/// A smaller part of jobs that overlap moves no figure by more than that.
const OVERLAPPING: f64 = 0.01;

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
        "A METG of - lies outside of the lengths that were tried; give others with --grain."
            .to_owned()
    })
}

fn notes(found: &RigFindings) -> Vec<Sentence> {
    let has_jobs = found.proof.nodes_checked > 0;
    let mut texts = vec![format!(
        "{} ran; violations found: {}. Each job is checked to run once, after its predecessors and with their values.",
        counted(found.proof.nodes_checked, "job", "jobs"),
        found.proof.violations
    )];
    texts.retain(|_| has_jobs);
    if let Some(ratio) = found.kernel.all_busy_ratio {
        texts.push(format!(
            "The same work ({}) takes {} times as long with all CPUs busy as on one alone; lengths of jobs are with all busy.",
            found.kernel.name,
            estimate(Some(ratio), 3)
        ));
    }
    if let Some(ratio) = found.kernel.interruption_ratio {
        texts.push(format!(
            "Interruptions by the kernel, the hypervisor and other processes, or by workers of the scheduler that spin while idle, make the same work in plain threads take {} times as long. Efficiency, gradient and inflation are relative to plain threads, with interruptions.",
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
            false if gap_of.interval().is_some() && !gap_of.holds(0.0) => {
                "inconclusive, because a breaking point has a wide interval"
            }
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
