//! A sweep over load levels, or a table that somebody else measured: how much
//! load a service carries within its goals.

mod charts;
mod csv;
mod head;
mod headroom;
mod hints;
mod levels;
mod method;
mod sentences;
mod thresholds;

pub use crate::capacity::way_out;
use crate::document::csv::table as csv_table;
use crate::document::json::Json;
use crate::document::{Block, Document, Role, Run, Table};
use crate::markup::{Html, el, hint_line, section};
use crate::sentence::Sentence;
use crate::{Report, doubts, requests};
use plimsoll_model::Picture;

/// The version of `docs/schema/output.schema.json` that the JSON of a sweep, of
/// an imported table and of copies keeps to.
const SCHEMA_VERSION: u32 = 5;

pub fn document<'a>(report: &'a Report<'a>, picture: Option<&'a Picture>) -> Document<'a> {
    let findings = report.findings;
    let mut out = Document::of_workload(report);
    out.run = Some(match report.is_imported() {
        true => Run::imported(report),
        false => Run::of(report, "levels"),
    });
    out.json = Some(Json::of_run(SCHEMA_VERSION, report, None));
    out.terminal_charts(|| charts::terminal(report));
    out.headline = head::headline(report);
    out.tiles = head::tiles(report);
    out.method = match report.is_imported() {
        true => Vec::new(),
        false => method::facts(report.plan, report.findings.rated.as_ref()),
    };
    let view = picture.map(|picture| charts::View { report, picture });
    let figures = view.map(charts::figures).unwrap_or_default();
    out.picker = view.map(|view| charts::picker(view, &figures));
    let [before, after] = figures;
    out.blocks.extend(no_latency(report).map(Block::Html));
    out.charts(before);
    let columns = levels::columns(&findings.levels, report.is_imported());
    out.table(Table::of(columns));
    out.say(Role::Note, levels::reasons(&findings.levels));
    if let Some(found) = &findings.requests {
        let heading = format!("Each request at {} of all", requests::rates(found));
        out.table(requests::table(&heading, &found.requests));
        out.say(Role::Note, requests::notes(found, &findings.capacity));
    }
    out.say(Role::Note, sentences::notes(report));
    out.say(Role::Note, growing(report));
    if findings.thresholds.iter().any(|row| row.cpu_pct.is_some()) {
        out.table(thresholds::table(findings));
    }
    out.charts(after);
    out.say(Role::Answer, sentences::answers(report));
    out.say(Role::Doubt, doubts::sentences(&findings.doubts));
    out.csv = Some(csv_table(&csv::LEVELS, &findings.levels));
    out
}

fn growing(report: &Report<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let mut sentences = hints::sentences(&findings.hints);
    // Of a table's rows it is not known which came after which.
    let direction = findings.direction.as_ref();
    let direction = direction.filter(|_| !report.is_imported());
    sentences.extend(direction.map(hints::direction));
    let restarts = direction.and_then(|found| found.restarts.as_ref());
    sentences.extend(restarts.map(hints::restarts));
    sentences
}

/// In the place of the chart of latency, why there is none: an empty one would
/// look as if latency were nothing.
fn no_latency(report: &Report<'_>) -> Option<Html> {
    let levels = &report.findings.levels;
    let drawn = levels.iter().any(|level| level.latency_us.is_some());
    if levels.is_empty() || drawn {
        return None;
    }
    let why = match levels.iter().any(|level| level.trials > 0) {
        true => "no request was answered",
        false => "no level has a valid trial",
    };
    let hint = "Latency against load is drawn from valid trials. The trials below say why they \
                are invalid.";
    let section = section("no-latency")
        .with(el("h2").with(format!("No chart of latency: {why}")))
        .with(hint_line(hint));
    Some(section.into())
}
