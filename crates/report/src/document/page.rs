//! The page: a file that opens from disk, fetches nothing, and begins with the
//! answers. Without its script everything can still be read.

use super::again::again;
use super::{Block, Document, Fact, RenderError, Role, Rows, Run, Table, frame, host};
use crate::html::{Picker, STYLE, grid, one_chart, table as columns_table};
use crate::markup::{El, Html, beginning, el, hint_line, paragraph, section, shortened, typeset};
use crate::number::confidence;
use crate::sentence::Sentence;

const SCRIPT: &str = include_str!("../html/script.js");

const SHIPS_MARK: &str = concat!(
    r#"<svg class="mark" viewBox="0 0 40 32" aria-hidden="true">"#,
    r#"<circle cx="20" cy="16" r="11"/><path d="M2 16H38"/></svg>"#,
);

const THEME_BUTTON: &str = concat!(
    r#"<button type="button" id="theme" "#,
    r#"aria-label="Switch between light and dark">◐</button>"#,
);

/// The pattern of invalid trials, for all drawings.
const HATCHING: &str = concat!(
    r#"<svg class="defs" width="0" height="0" aria-hidden="true"><defs>"#,
    r#"<pattern id="hatch" patternUnits="userSpaceOnUse" width="6" height="6">"#,
    r#"<path d="M-1 1 l2 -2 M0 6 l6 -6 M5 7 l2 -2"/></pattern></defs></svg>"#,
);

const VIEWPORT_AND_ICON: &str = concat!(
    r#"<meta name="viewport" content="width=device-width, initial-scale=1">"#,
    r#"<link rel="icon" href="data:,">"#,
);

/// Nothing but what stands in the file: no address is fetched, whatever gets
/// into the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// Stands near the beginning of each page: by this a file is known to be one,
/// which a later part of its run may replace.
pub const PAGE_MARK: &str = "Plimsoll report page";

pub(super) fn page(document: &Document<'_>) -> Result<String, RenderError> {
    let levels = match &document.picker {
        Some(picker) => picker.json()?,
        None => "{}".to_owned(),
    };
    let raw = document.json.as_ref().map(|json| json.compact());
    let raw = raw.transpose()?;
    let download = raw.as_ref().map(|_| {
        el("a")
            .class("button")
            .attr("id", "download")
            .attr("download", &document.download)
            .attr("href", "#raw")
            .with("Download the findings (JSON)")
    });
    let foot = el("footer").with(download).with(el("p").with(
        "Made by Plimsoll from the record alone. This file fetches nothing and sends nothing.",
    ));
    let body = el("body")
        .with(Html::fixed(HATCHING))
        .with(main(document))
        .with(foot)
        .with(raw.map(|raw| data("raw", &raw)))
        .with(data("levels", &levels))
        .with(el("script").with(Html::fixed(SCRIPT)));
    let html = el("html")
        .attr("lang", "en")
        .with(page_head(&document.title))
        .with(body);
    Ok(format!(
        "<!doctype html>\n{}\n",
        Html::from(html).into_string()
    ))
}

fn page_head(title: &str) -> El {
    let title = beginning(&format!("{title} · Plimsoll"), 120);
    let policy = el("meta").attr("http-equiv", "Content-Security-Policy");
    let generator = el("meta").attr("name", "generator");
    el("head")
        .with(el("meta").attr("charset", "utf-8"))
        .with(policy.attr("content", POLICY))
        .with(generator.attr("content", PAGE_MARK))
        .with(Html::fixed(VIEWPORT_AND_ICON))
        .with(el("title").with(title))
        .with(el("style").with(Html::fixed(STYLE)))
}

fn main(document: &Document<'_>) -> Html {
    let first = document.picker.as_ref().map_or(0, Picker::first);
    let sections = document.blocks.iter().map(|block| part(block, first));
    let mut main = Html::default();
    main.push(answer(document));
    main.push(document.picker.as_ref().and_then(Picker::bar));
    main.push(el("div").class("charts").with_all(sections));
    if let Some(run) = &document.run {
        main.push(machine(run));
    }
    main.push(method(document));
    main
}

fn answer(document: &Document<'_>) -> El {
    let subject = el("div")
        .class("workload")
        .with(document.subject_html.clone());
    let line = el("span").with(typeset(&document.headline));
    let limits = document.run.as_ref().map(limits);
    let tiles = el("div").class("tiles");
    let tiles = tiles.with_all(document.tiles.iter().map(tile));
    let tiles = (!document.tiles.is_empty()).then_some(tiles);
    // What the headline says is not repeated.
    let is_headline = |s: &&Sentence| s.text.trim_end_matches('.') == document.headline;
    let answers = document.sentences(Role::Answer);
    let sentences = answers
        .filter(|sentence| !is_headline(sentence))
        .chain(document.sentences(Role::Doubt))
        .map(paragraph);
    section("answer")
        .with(
            el("div")
                .class("top")
                .with(subject)
                .with(Html::fixed(THEME_BUTTON)),
        )
        .with(el("h1").with(Html::fixed(SHIPS_MARK)).with(line))
        .with(limits.into_iter().flatten().collect::<Html>())
        .with(tiles)
        .with(el("div").class("sentences answer").with_all(sentences))
}

fn limits(run: &Run<'_>) -> Vec<El> {
    let trials = &run.record.trials;
    let many = run.resume.is_some() && trials.are_many_invalid();
    let many = many.then(|| format!("{}.", trials.in_words()));
    let ended = frame::ended(run).map(|sentence| sentence.text);
    let doubt = |text: String| el("p").class("doubt yellow").with(typeset(&text));
    let unseen = frame::unseen(run).map(|sentence| sentence.text);
    let figures = frame::figures(run).into_iter().map(|one| one.text);
    [ended, many, unseen]
        .into_iter()
        .flatten()
        .chain(figures)
        .map(doubt)
        .collect()
}

fn tile(fact: &Fact) -> El {
    let value = el("strong")
        .with(fact.value.as_str())
        .with(el("small").with(fact.unit));
    let ends = fact.ends.as_ref().map(|ends| {
        el("strong")
            .class("ends")
            .with(ends.as_str())
            .with(el("small").with(format!("{} interval", confidence())))
    });
    el("div")
        .class("tile")
        .with(el("span").with(fact.name.as_str()))
        .with(value)
        .with(ends)
        .with(el("em").with(typeset(&fact.detail)))
}

fn part(block: &Block<'_>, first: usize) -> Html {
    match block {
        Block::Chart(figure) => one_chart(figure, first).into(),
        Block::Html(html) => html.clone(),
        Block::Facts(facts) => section(facts.id)
            .with((!facts.title.is_empty()).then(|| el("h2").with(typeset(&facts.title))))
            .with(list(&facts.facts))
            .into(),
        Block::Table(table) => table.id.map(|id| table_section(id, table)).into(),
        Block::Sentences(..) | Block::Text(_) => Html::default(),
    }
}

fn table_section(id: &'static str, table: &Table) -> El {
    let rows = match &table.rows {
        Rows::Columns(columns) => columns_table(columns, false).class("plain"),
        Rows::Grid(rows) => grid(rows),
    };
    let below: Vec<El> = table
        .whole_legend()
        .iter()
        .chain(&table.below)
        .map(paragraph)
        .collect();
    let below = (!below.is_empty()).then(|| el("div").class("sentences").with_all(below));
    section(id)
        .class_if("wide", table.is_wide)
        .with(table.heading.as_ref().map(|h| el("h2").with(typeset(h))))
        .with(table.hint.map(hint_line))
        .with(el("div").class("scroll").with(rows))
        .with(below)
}

/// The host: what it is, and what it lacks.
fn machine(run: &Run<'_>) -> El {
    let facts = host::facts(run.provenance);
    let mitigations = host::mitigations(run.provenance).map(|list| {
        let row = el("div").with(el("dt").with("CPU mitigations"));
        el("dl").with(row.with(el("dd").with(list)))
    });
    let is_unknown = facts.is_empty();
    let none = is_unknown.then(|| el("p").with("Nothing is known of it."));
    let lacking = frame::lacking(run);
    let lacking = (!lacking.facts.is_empty()).then(|| {
        let title = el("h3").with(lacking.title);
        el("div").with(title).with(list(&lacking.facts))
    });
    section("machine")
        .with(el("h2").with("Host"))
        .with(none)
        .with((!is_unknown).then(|| list(&facts)))
        .with(mitigations)
        .with(lacking)
}

fn list(facts: &[Fact]) -> El {
    let row = |fact: &Fact| {
        let mark = fact.mark.as_ref().map(|mark| format!("{} ", mark.text));
        let detail = (!fact.detail.is_empty()).then(|| hint_line(&fact.detail));
        el("div")
            .with(el("dt").with(mark).with(fact.name.as_str()))
            .with(el("dd").with(shortened(&fact.value, 160)).with(detail))
    };
    el("dl").with_all(facts.iter().map(row))
}

fn method(document: &Document<'_>) -> Option<El> {
    let run = document.run.as_ref();
    let mut facts = document.method.clone();
    facts.extend(run.into_iter().flat_map(of_record));
    let of_frame = run.map(|run| [frame::trials(run), frame::view(run)]);
    // A table that the page shows behind a chart alone has its legend here.
    let legends = document.blocks.iter().map(|block| match block {
        Block::Table(table) if table.id.is_none() => table.whole_legend(),
        _ => None,
    });
    let own = of_frame.into_iter().flatten().chain(legends);
    let own: Vec<Sentence> = own.flatten().collect();
    let notes = own.iter().chain(document.sentences(Role::Note));
    let notes: Vec<El> = notes.map(paragraph).collect();
    (!facts.is_empty() || !notes.is_empty()).then(|| {
        section("method")
            .with(el("h2").with("How it was measured"))
            .with(el("div").class("sentences").with_all(notes))
            .with(list(&facts))
            .with(run.and_then(again))
    })
}

fn of_record(run: &Run<'_>) -> Vec<Fact> {
    let file = run.record.file.to_string_lossy().into_owned();
    Fact::known([
        ("Record", Some(file)),
        ("Plimsoll", Some(run.provenance.plimsoll_version.clone())),
        ("Service", frame::service(run)),
    ])
}

/// Data that the script reads and that is never run.
fn data(id: &'static str, json: &str) -> El {
    el("script")
        .attr("type", "application/json")
        .attr("id", id)
        .with(Html::json(json))
}
