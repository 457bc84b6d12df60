//! The report as one page: a file that opens from disk, fetches nothing, and
//! says with pictures what the text says with words.
//!
//! Drawings are made here, in pure functions; `script.js` only links them (a
//! level that is picked anywhere is shown everywhere), switches between light
//! and dark, and hands out the findings as a file. Without it everything can
//! still be read. What comes from outside goes through [`markup::Html`].

mod charts;
mod compare;
mod facts;
mod figure;
mod headline;
mod markup;
mod page;
mod yields;

use crate::{Report, json, number, secrets, thresholds};
use charts::View;
use markup::{Html, el, shortened};
use page::{Page, section};

#[cfg(test)]
pub(crate) use charts::overlapping;
pub use compare::{CompareHtml, ComparedRun, compare_html};
pub use page::PAGE_MARK;
pub use yields::{YieldHtml, yield_html};

use plimsoll_model::Picture;
use std::path::Path;

/// All that is shown of a run in pictures.
#[derive(Debug, Clone, Copy)]
pub struct HtmlReport<'a> {
    /// What is said in words.
    pub report: &'a Report<'a>,
    /// What is drawn.
    pub picture: &'a Picture,
    /// What was typed when the run was made.
    pub command_line: &'a [String],
}

/// The page. What looks like a secret in the plan or the command is hidden.
///
/// # Errors
///
/// None that can occur with these types; the signature is that of
/// `serde_json`.
pub fn html(page: &HtmlReport<'_>) -> serde_json::Result<String> {
    let report = page.report;
    let view = View {
        report,
        picture: page.picture,
    };
    let workload = secrets::hide(report.plan).workload.to_string();
    let (before, after) = charts::figures(view);
    let mut main = Html::default();
    main.push(headline::answer(report, &workload));
    let levels = figure::Levels::of(view, &[&before, &after]);
    main.push(levels.picker());
    main.push(
        el("div")
            .class("charts")
            .with(no_latency(report))
            .with(figure::sections(&before, &levels))
            .with(threshold_section(report))
            .with(figure::sections(&after, &levels)),
    );
    main.push(facts::machine(report.provenance));
    main.push(facts::method(report, page.command_line));
    let page = Page {
        title: format!("{workload} · Plimsoll"),
        raw: Some(json::compact(report)?),
        levels: levels.json()?,
        file: file_name(report.record.file),
        main,
    };
    Ok(page.into_string())
}

/// What the download is called.
fn file_name(record: &Path) -> String {
    let stem = record.file_stem();
    let stem = stem.map_or_else(|| "findings".into(), |stem| stem.to_string_lossy());
    format!("{stem}.json")
}

/// In the place of the chart of latency, why there is none: an empty one would
/// look as if latency were nothing.
fn no_latency(report: &Report<'_>) -> Option<markup::El> {
    let levels = &report.findings.levels;
    let drawn = levels.iter().any(|level| level.latency_us.is_some());
    if levels.is_empty() || drawn {
        return None;
    }
    let why = match levels.iter().any(|level| level.trials > 0) {
        true => "none had an answer",
        false => "no level has a trial that counts",
    };
    let hint = "Latency against load is drawn from trials that count. Why the others do not, stands \
                with each trial below.";
    Some(
        section("no-latency")
            .with(el("h2").with(format!("No chart of latency: {why}")))
            .with(el("p").class("hint").with(hint)),
    )
}

/// The threshold table, with what it comes to as its title.
fn threshold_section(report: &Report<'_>) -> Option<markup::El> {
    let findings = report.findings;
    let subject = crate::capacity::Subject::of(&report.plan.workload);
    let sentence = thresholds::sentence(subject, findings)?;
    let title = sentence.text.trim_end_matches('.').to_owned();
    let known = findings.thresholds.iter().any(|row| row.cpu_pct.is_some());
    let hint = known.then(|| {
        el("p").class("hint").with(
            "Act at: below this CPU use so much of the load line is surely free. Linear: what the \
             rule \"80 % CPU use leaves 20 %\" says instead, and what it really leaves.",
        )
    });
    let table = known.then(|| {
        let columns = thresholds::columns(&findings.thresholds);
        figure::table(&columns, false).class("plain")
    });
    Some(
        section("thresholds")
            .with(el("h2").with(markup::typeset(&title)))
            .with(hint)
            .with(table.map(|table| el("div").class("scroll").with(table))),
    )
}

/// A text from outside that may be as long as it likes.
fn outside(text: &str) -> Html {
    shortened(text, 160)
}

/// A number of bytes or the like, or that it is not known.
fn or_unknown(text: Option<String>) -> String {
    text.unwrap_or_else(|| number::MISSING.to_owned())
}
