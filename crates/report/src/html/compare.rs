//! Machines side by side, as one page: the same charts, overlaid.

mod parts;

use super::charts::Machine;
use super::headline::head;
use super::markup::{El, Html, beginning, el, shortened};
use super::page::Page;
use crate::compare::{compare_json, difference_sentence, doubt, is_news};
use crate::escape::safe;
use crate::number::confidence;
use crate::sentence::Sentence;
use crate::table::Ink;
use crate::{CompareReport, Source};
use plimsoll_model::{ComparedMachine, Difference, Findings, Measure, Picture};

/// All that is shown of a comparison in pictures.
#[derive(Debug, Clone, Copy)]
pub struct CompareHtml<'a> {
    /// What is said in words.
    pub report: &'a CompareReport<'a>,
    /// What is drawn, in the order of the comparison's machines.
    pub runs: &'a [ComparedRun],
}

/// A run that is held against others.
#[derive(Debug, Clone)]
pub struct ComparedRun {
    /// What was concluded from it.
    pub findings: Findings,
    /// What is drawn of it.
    pub picture: Picture,
    /// What its rates are multiplied with, by measure.
    pub factors: Vec<(Measure, f64)>,
}

/// The page.
///
/// # Errors
///
/// None that can occur with these types; the signature is that of
/// `serde_json`.
pub fn compare_html(page: &CompareHtml<'_>) -> serde_json::Result<String> {
    let comparison = page.report.comparison;
    let machines: Vec<Machine<'_>> = comparison
        .machines
        .iter()
        .zip(page.runs)
        .map(|(machine, run)| Machine {
            name: safe(&machine.name),
            findings: &run.findings,
            picture: &run.picture,
            factors: &run.factors,
        })
        .collect();
    let mut main = Html::default();
    main.push(answer(page.report));
    let charts = el("div")
        .class("charts")
        .with(parts::carried(comparison))
        .with(parts::latency(comparison, &machines))
        .with(parts::cpu(&machines))
        .with(parts::work(comparison, &machines))
        .with(parts::thresholds(comparison));
    main.push(charts);
    let names: Vec<String> = machines.iter().map(|m| beginning(&m.name, 40)).collect();
    let page = Page {
        title: format!("{} · Plimsoll", names.join(" and ")),
        raw: Some(compare_json(page.report)?),
        levels: "{}".to_owned(),
        file: "compare.json".to_owned(),
        main,
    };
    Ok(page.into_string())
}

/// The differences in words, the capacity's first.
fn answer(report: &CompareReport<'_>) -> El {
    let comparison = report.comparison;
    let news = |d: &&Difference| is_news(d, comparison);
    let mut sentences = comparison
        .differences
        .iter()
        .filter(news)
        .map(difference_sentence);
    let first = sentences.next();
    let headline = first.map_or_else(|| "Machines side by side".to_owned(), |s| s.text);
    let cautions = comparison.cautions.iter();
    let cautions = cautions.map(|c| Sentence::new(Ink::Yellow, safe(&doubt::sentence(c))));
    let last = format!(
        "In brackets: {} intervals. Several verdicts are not corrected for being several.",
        confidence()
    );
    let last = Sentence::new(Ink::Dim, last);
    let all: Vec<Sentence> = sentences.chain(cautions).chain([last]).collect();
    let rows = comparison.machines.iter().zip(report.sources).enumerate();
    let sources = rows.map(|(i, (machine, source))| source_line(i, machine, source));
    let sources = el("ul").class("machines").with_all(sources);
    head(sources, headline.trim_end_matches('.'), [None, None], &all)
}

fn source_line(i: usize, machine: &ComparedMachine, source: &Source<'_>) -> El {
    let name = el("strong")
        .class(&format!("m{}", i % 6))
        .with(shortened(&machine.name, 60));
    el("li")
        .with(name)
        .with(": ")
        .with(shortened(&source.workload(), 120))
        .with(", from ")
        .with(shortened(&source.file(), 80))
}
