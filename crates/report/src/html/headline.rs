//! The sentence: what this machine carries, at which CPU use, how sure.

use super::charts::kept;
use super::figure::class;
use super::markup::{El, Html, el, shortened, typeset};
use super::page::section;
use crate::capacity::{Rank, Subject, before_gap, leading};
use crate::number::{self, Written, confidence, per_second};
use crate::sentence::Sentence;
use crate::sentences::answers;
use crate::{Report, copies, thresholds};
use plimsoll_model::{CapacityFinding, CapacityStatus, Estimate};

/// The head of any page: what it is of, the answer in one line, what stands
/// below that, and the sentences in full.
pub(super) fn head(
    what: impl Into<Html>,
    line: &str,
    below: [Option<El>; 2],
    sentences: &[Sentence],
) -> El {
    let line = el("span").with(typeset(line));
    let sentences = sentences.iter().map(paragraph);
    section("answer")
        .with(top(what))
        .with(el("h1").with(ships_mark()).with(line))
        .with_all(below.into_iter().flatten())
        .with(el("div").class("sentences answer").with_all(sentences))
}

/// The head of a sweep's page.
pub(super) fn answer(report: &Report<'_>, workload: &str) -> El {
    let sentences: Vec<Sentence> = match report.is_copies() {
        // The first of them is the headline.
        true => copies::sentences(&report.findings.copies)
            .into_iter()
            .skip(1)
            .chain(copies::remedy(
                &report.findings.copies,
                &report.record.trials,
            ))
            .collect(),
        false => answers(report),
    };
    let below = [doubt(report), tiles(report)];
    head(
        shortened(workload, 120),
        &headline(report),
        below,
        &sentences,
    )
}

/// Under the headline, when it rests on only a part of the trials.
fn doubt(report: &Report<'_>) -> Option<El> {
    let trials = &report.record.trials;
    let many = !report.is_imported() && trials.are_many_invalid();
    let words = || format!("{}.", trials.in_words());
    many.then(|| el("p").class("doubt yellow").with(typeset(&words())))
}

/// The line above the headline: what was measured, and light or dark.
fn top(what: impl Into<Html>) -> El {
    let button = el("button")
        .attr("type", "button")
        .attr("id", "theme")
        .attr("aria-label", "Switch between light and dark")
        .with("◐");
    let what = el("div").class("workload").with(what);
    el("div").class("top").with(what).with(button)
}

/// The ship's mark.
fn ships_mark() -> El {
    let ring = el("circle")
        .attr("cx", "20")
        .attr("cy", "16")
        .attr("r", "11");
    let bar = el("path").attr("d", "M2 16H38");
    el("svg")
        .class("mark")
        .attr("viewBox", "0 0 40 32")
        .attr("aria-hidden", "true")
        .with(ring)
        .with(bar)
}

pub(super) fn paragraph(sentence: &Sentence) -> El {
    let p = el("p");
    let p = match class(sentence.ink) {
        // Green is the colour of all that is well, and needs none here.
        Some("green") | None => p,
        Some(class) => p.class(class),
    };
    p.with(typeset(&sentence.text))
}

/// The answer in one line.
fn headline(report: &Report<'_>) -> String {
    let findings = report.findings;
    if report.is_copies() {
        return copies::sentences(&findings.copies)
            .first()
            .map_or_else(String::new, |s| s.text.trim_end_matches('.').to_owned());
    }
    let who = Subject::of(&report.plan.workload).who;
    let Some(leading) = leading(&findings.capacity) else {
        return format!("How much {} carries: no goal was given", who.to_lowercase());
    };
    let first = leading.finding;
    let within = match leading.rank {
        Rank::Only => String::new(),
        Rank::BreaksFirst => format!(" within all goals; {} breaks first", first.goal),
        Rank::NoneBroken => " within all goals".to_owned(),
        Rank::OthersOpen => format!(" within {}", first.goal),
    };
    let at = match (first.cpu_pct, first.status) {
        (_, CapacityStatus::Undecided) | (None, _) => String::new(),
        (Some(cpu), _) => format!(" at {} % CPU use", Written::pct(cpu).value),
    };
    let at = at + &within;
    match (first.status, first.rate_rps) {
        (CapacityStatus::Found, Some(rate)) => {
            let least = before_gap(first).map_or("", |_| "at least ");
            format!("{who} carries {least}{}/s{at}", Written::rate(rate).value)
        }
        (CapacityStatus::Cliff, Some(rate)) => format!(
            "{who} carries {}{at}, {}",
            per_second(rate.low.unwrap_or(rate.value)),
            match leading.rank {
                Rank::BreaksFirst => "at a cliff",
                Rank::Only | Rank::NoneBroken | Rank::OthersOpen => "then falls off a cliff",
            }
        ),
        (CapacityStatus::NotReached, Some(rate)) => {
            format!("{who} carries at least {}/s{at}", Written::rate(rate).value)
        }
        _ => format!("How much {} carries cannot be told", who.to_lowercase()),
    }
}

/// The figures to act on.
fn tiles(report: &Report<'_>) -> Option<El> {
    let first = leading(&report.findings.capacity)?.finding;
    let rate = first.rate_rps?;
    let tiles = [
        Some(load_tile(first, rate, report.is_imported())),
        first.cpu_pct.map(cpu_tile),
        act_tile(report),
    ];
    let tiles = tiles.into_iter().flatten();
    Some(el("div").class("tiles").with_all(tiles))
}

pub(super) fn tile(name: &str, value: &str, unit: &str, more: &str) -> El {
    let value = el("strong").with(value).with(el("small").with(unit));
    el("div")
        .class("tile")
        .with(el("span").with(name))
        .with(value)
        .with(el("em").with(typeset(more)))
}

fn load_tile(first: &CapacityFinding, rate: Estimate, is_table: bool) -> El {
    let written = Written::rate(rate);
    let sure = match (first.status, before_gap(first), written.ends()) {
        (CapacityStatus::NotReached, _, _) => "or more: the end was not seen".to_owned(),
        (CapacityStatus::Found, Some(high), _) => format!("below {}", per_second(high)),
        (_, _, Some(ends)) => format!("{} interval {ends}", confidence()),
        (_, _, None) => "no interval".to_owned(),
    };
    let goal = kept(first, is_table);
    tile(
        "Load line",
        &written.value,
        "/s",
        &format!("{goal}; {sure}"),
    )
}

fn cpu_tile(cpu: Estimate) -> El {
    let written = Written::pct(cpu);
    let sure = match written.ends() {
        Some(ends) => format!("{} interval {ends}", confidence()),
        None => "no interval".to_owned(),
    };
    tile("CPU use there", &written.value, "%", &sure)
}

/// At which CPU use to act, for a usual headroom.
fn act_tile(report: &Report<'_>) -> Option<El> {
    let row = thresholds::usual(&report.findings.thresholds)?;
    let cpu = row.cpu_pct?;
    let at = cpu.low.unwrap_or(cpu.value).floor();
    let more = format!(
        "CPU use, to keep {} % free; the linear rule says {} %",
        number::trimmed_pct(row.headroom_pct),
        number::trimmed_pct(row.linear_cpu_pct)
    );
    Some(tile(
        "Add an instance at",
        &number::trimmed_pct(at),
        "%",
        &more,
    ))
}
