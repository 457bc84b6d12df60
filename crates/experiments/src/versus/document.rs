//! The findings as a document.

use super::experiment::Versus;
use super::findings::{ComparedFigure, FigureFound, RequestsFound, VersusFindings};
use super::{charts, sentences};
use crate::experiment::ReportOf;
use plimsoll_model::Estimate;
use plimsoll_report::{Column, Document, Ink, Role, Table, estimate};

pub(super) fn document<'a>(report: &'a ReportOf<'a, Versus>) -> Document<'a> {
    let found = report.findings;
    let mut out = Document::of_run(report, 1, "services");
    out.charts(charts::all(found));
    out.table(figures(&found.figures));
    out.table(requests(&found.requests));
    answers(&mut out, found);
    let doubts = found.doubts.iter().map(sentences::sentence);
    let small = found.figures.iter().any(is_small).then(|| {
        "Two processes of one program can differ by 3 %, for as long as they run: a smaller change may not be that of the program. Two processes of the base show how much it is here.".to_owned()
    });
    let doubts = doubts.chain(small.filter(|_| !found.is_itself));
    out.say(Role::Doubt, doubts.map(|text| Ink::Yellow.says(text)));
    out.say(
        Role::Note,
        notes(found).into_iter().map(|text| Ink::Plain.says(text)),
    );
    out
}

/// What CPU time shows first, and then latencies.
fn answers(out: &mut Document<'_>, found: &VersusFindings) {
    let mut figures = found.figures.iter();
    let Some(first) = figures.next() else {
        let text = "Inconclusive: no pass has a valid trial of both services.";
        out.answer(Ink::Red, text.to_owned());
        return;
    };
    out.answer(ink(found, first), sentence(first));
    let others = figures.map(|figure| ink(found, figure).says(sentence(figure)));
    out.say(Role::Answer, others);
}

/// What a change of a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    More,
    Less,
    /// The interval allows both.
    Inconclusive,
    /// Too few passes for an interval.
    Unknown,
}

impl Verdict {
    fn of(change: Estimate) -> Verdict {
        match change.interval() {
            None => Verdict::Unknown,
            Some((low, _)) if low > 0.0 => Verdict::More,
            Some((_, high)) if high < 0.0 => Verdict::Less,
            Some(_) => Verdict::Inconclusive,
        }
    }
}

/// A figure in doubt has no colour of an answer.
fn ink(found: &VersusFindings, figure: &FigureFound) -> Ink {
    let mut doubts = found.doubts.iter();
    let is_doubted = doubts.any(|doubt| doubt.is_about(figure.figure));
    match Verdict::of(figure.change_pct) {
        _ if is_doubted || is_small(figure) => Ink::Yellow,
        Verdict::More => Ink::Red,
        Verdict::Less => Ink::Green,
        Verdict::Inconclusive | Verdict::Unknown => Ink::Plain,
    }
}

/// Two processes of one program differ by so much, by memory layout or hash seeds: of 40 pairs of equal
/// servers three had an interval without 0 (docs/benchmarks.md).
const OF_PROCESSES_PCT: f64 = 3.0;

/// Whether a change is shown, and may be that of the processes and not of what they run.
fn is_small(figure: &FigureFound) -> bool {
    match figure.change_pct.interval() {
        Some((low, _)) if low > 0.0 => low < OF_PROCESSES_PCT,
        Some((_, high)) if high < 0.0 => high > -OF_PROCESSES_PCT,
        _ => false,
    }
}

/// `The new service takes 10.8 % (9.4 to 12.2) more CPU time per request.`
fn sentence(found: &FigureFound) -> String {
    let (change, of) = (found.change_pct, words(found.figure));
    let by = written(change);
    let less = written(change.negated());
    match (Verdict::of(change), found.figure) {
        (Verdict::More, ComparedFigure::Cpu) => format!("The new service takes {by} more {of}."),
        (Verdict::Less, ComparedFigure::Cpu) => format!("The new service takes {less} less {of}."),
        (Verdict::More, _) => format!("{of} is {by} longer."),
        (Verdict::Less, _) => format!("{of} is {less} shorter."),
        (Verdict::Inconclusive, _) => format!("No difference of {of} is shown: {by}."),
        (Verdict::Unknown, _) => {
            format!("The difference of {of} is {by}; fewer than 3 passes have no interval.")
        }
    }
}

/// `10.8 % (9.4 to 12.2)`
fn written(change: Estimate) -> String {
    let text = estimate(Some(change), 1);
    match text.split_once(' ') {
        Some((value, interval)) => format!("{value} % {interval}"),
        None => format!("{text} %"),
    }
}

pub(super) fn words(of: ComparedFigure) -> &'static str {
    match of {
        ComparedFigure::Cpu => "CPU time per request",
        ComparedFigure::P50 => "p50",
        ComparedFigure::P90 => "p90",
        ComparedFigure::P99 => "p99",
    }
}

fn notes(found: &VersusFindings) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(us) = found.outside_us {
        notes.push(format!(
            "Change of CPU time per request outside of the service and the generator: {} us.",
            estimate(Some(us), 1)
        ));
    }
    if found.is_itself {
        notes.push("Both URLs are the same: what differs is the noise of this machine.".to_owned());
    }
    let has = |figure| found.figures.iter().any(|f| f.figure == figure);
    if !has(ComparedFigure::Cpu) && !found.figures.is_empty() {
        notes.push("The CPU time of the services is not seen; run plimsoll on their machine, as root, or name them with --service-pid and --against-pid.".to_owned());
    }
    if !has(ComparedFigure::P99) && has(ComparedFigure::P50) {
        notes.push(
            "p99 takes 299 requests in each trial: a higher --rate, or a longer -z, shows it."
                .to_owned(),
        );
    }
    if has(ComparedFigure::Cpu) {
        notes.push("CPU time is that of the service's tasks, without interrupts of the network. It is the same for any rate only where requests do not wait for each other.".to_owned());
    }
    notes
}

fn figures(found: &[FigureFound]) -> Table {
    let time = |name, of: fn(&FigureFound) -> Estimate| {
        Column::values_us(name, 0, found.iter().map(|f| Some(of(f))))
    };
    let verdict = |f: &FigureFound| match Verdict::of(f.change_pct) {
        Verdict::More => "more",
        Verdict::Less => "less",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Unknown => "-",
    };
    let change = found.iter().map(|f| Some(f.change_pct));
    let columns = vec![
        Column::words("figure", "", 0, found, |f| words(f.figure).to_owned()),
        time("base", |f| f.base_us),
        time("new", |f| f.new_us),
        Column::estimates_of("change", "%", (0, 1), change),
        Column::words("verdict", "", 1, found, |f| verdict(f).to_owned()),
        Column::words("passes", "", 2, found, |f| f.passes.to_string()),
    ];
    let explained = [
        ("base, new", "geometric means over the passes"),
        (
            "change",
            "by how much the new service takes longer: the mean of the ratios of the passes, with its 95 % interval",
        ),
    ];
    Table::of(columns)
        .explained("New against base", &explained)
        .on_page("figures")
        .wide()
}

fn requests(found: &[RequestsFound]) -> Table {
    let known = |value: Option<f64>, decimals: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
    };
    let columns = vec![
        Column::words("service", "", 0, found, |r| r.side.to_string()),
        Column::words("requests", "", 0, found, |r| r.intended.to_string()),
        Column::words("answers", "", 1, found, |r| r.completed.to_string()),
        Column::words("failed", "", 0, found, |r| r.failed.to_string()),
        Column::words("no answer", "", 1, found, |r| r.unfinished.to_string()),
        Column::words("body", "B", 2, found, |r| known(r.body_bytes, 0)),
        Column::words("CPU use", "%", 1, found, |r| known(r.cpu_pct, 1)),
        Column::words("background", "%", 2, found, |r| known(r.background_pct, 1)),
        Column::words("trials", "", 2, found, |r| r.trials.to_string()),
    ];
    let explained = [
        ("CPU use", "of the service's CPUs, in its own trials"),
        (
            "background",
            "its CPU time while only the other one is loaded, in percent of that under load",
        ),
    ];
    Table::of(columns)
        .explained("Requests", &explained)
        .on_page("requests")
        .wide()
}
