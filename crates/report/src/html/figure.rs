//! Charts on the page: title, picture, what is told of the picked level, and
//! the table behind it.

use super::charts::{View, load_name, svg};
use super::markup::{El, Html, el, section, typeset};
use crate::chart::figures::copies;
use crate::chart::{Chart, Width};
use crate::copies::is_disturbed;
use crate::number::{self, per_second, time_us};
use crate::sweep::capacity::leading;
use crate::table::{Cell, Column};
use plimsoll_model::{CopiesFinding, LevelFinding};
use serde::Serialize;

/// The levels that one can pick, and what each chart tells of them.
#[derive(Serialize)]
pub(crate) struct Levels {
    /// What each is called.
    names: Vec<String>,
    /// What is measured of each, in one line.
    facts: Vec<String>,
    /// What a chart tells of each, by the chart's id.
    details: Vec<(String, Vec<String>)>,
    /// The one that is shown first.
    first: usize,
    /// What it is called to pick one.
    #[serde(skip)]
    words: Words,
}

/// What the bar to pick from is called, and its buttons.
#[derive(Debug, Clone, Copy)]
struct Words {
    bar: &'static str,
    lower: &'static str,
    higher: &'static str,
}

const OF_LEVELS: Words = Words {
    bar: "The level that all charts show",
    lower: "Lower load",
    higher: "Higher load",
};

const OF_ARMS: Words = Words {
    bar: "The arm that all charts show",
    lower: "The arm before",
    higher: "The next arm",
};

impl Levels {
    /// The load levels of a sweep.
    pub(crate) fn of(view: View<'_>, charts: &[&[Chart]]) -> Levels {
        let rows = view.report.findings.levels.iter();
        let imported = view.report.is_imported();
        let (names, facts) = rows
            .map(|l| (load_name(l), level_facts(l, imported)))
            .unzip();
        Levels::new(names, facts, first(view), details(charts))
    }

    /// The numbers of copies of a run of copies.
    pub(crate) fn of_copies(rows: &[CopiesFinding], charts: &[Chart]) -> Levels {
        let facts = rows.iter().map(|r| (copies::name(r), copies_facts(r)));
        let (names, facts) = facts.unzip();
        Levels::new(
            names,
            facts,
            rows.len().saturating_sub(1),
            details(&[charts]),
        )
    }

    fn new(
        names: Vec<String>,
        facts: Vec<String>,
        first: usize,
        details: Vec<(String, Vec<String>)>,
    ) -> Levels {
        Levels {
            first: first.min(names.len().saturating_sub(1)),
            names,
            facts,
            details,
            words: OF_LEVELS,
        }
    }

    /// The arms of a yield run in the place of levels: name and facts of each.
    pub(crate) fn of_arms(
        arms: impl Iterator<Item = (String, String)>,
        first: usize,
        figures: &[Chart],
    ) -> Levels {
        let (names, facts) = arms.unzip();
        Levels {
            first,
            names,
            facts,
            details: details(&[figures]),
            words: OF_ARMS,
        }
    }

    /// The one that is shown first.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// For the script.
    pub(crate) fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// A bar that stays in sight, to pick a level from the keyboard.
    pub(crate) fn picker(&self) -> Option<El> {
        let facts = self.facts.get(self.first)?;
        let options = self.names.iter().enumerate().map(|(i, name)| {
            let option = el("option").attr("value", &i.to_string());
            let option = if i == self.first {
                option.flag("selected")
            } else {
                option
            };
            option.with(name.as_str())
        });
        let button = |id, sign: &'static str, label| {
            el("button")
                .attr("type", "button")
                .attr("id", id)
                .attr("aria-label", label)
                .with(sign)
        };
        let select = el("select").attr("id", "level").with_all(options);
        let facts = el("output")
            .attr("id", "facts")
            .attr("for", "level")
            .with(facts.as_str());
        Some(
            el("nav")
                .class("picker")
                .attr("aria-label", self.words.bar)
                .with(button("lower", "‹", self.words.lower))
                .with(select)
                .with(button("higher", "›", self.words.higher))
                .with(facts),
        )
    }
}

/// What each chart tells of each level.
fn details(charts: &[&[Chart]]) -> Vec<(String, Vec<String>)> {
    let all = charts.iter().flat_map(|charts| charts.iter());
    let tell = all.filter(|chart| !chart.details.is_empty());
    tell.map(|chart| (chart.id.clone(), chart.details.clone()))
        .collect()
}

/// The level that is shown first: the highest at which the load line is kept,
/// else the highest that was measured.
fn first(view: View<'_>) -> usize {
    let findings = view.report.findings;
    let rate = leading(&findings.capacity).and_then(|l| l.finding.rate_rps);
    let measured = |l: &LevelFinding| l.latency_us.is_some();
    let kept = rate.and_then(|rate| {
        let below = |l: &LevelFinding| measured(l) && l.offered_rps <= rate.value * 1.03;
        findings.levels.iter().rposition(below)
    });
    kept.or_else(|| findings.levels.iter().rposition(measured))
        .unwrap_or(0)
}

fn level_facts(level: &LevelFinding, imported: bool) -> String {
    let mut parts = vec![per_second(level.achieved_rps.unwrap_or(level.offered_rps))];
    if let Some(cpu) = level.cpu_pct {
        parts.push(format!("CPU {} %", number::pct(cpu)));
    }
    match &level.latency_us {
        Some(latency) if imported => parts.push(format!("latency {}", time_us(latency.p99))),
        Some(latency) => {
            parts.push(format!("p50 {}", time_us(latency.p50)));
            parts.push(format!("p99 {}", time_us(latency.p99)));
            parts.push(format!("p99.9 {}", time_us(latency.p999)));
        }
        None => parts.push("no trial counts".to_owned()),
    }
    if level.error_pct > Some(0.0) {
        let errors = level.error_pct.map(number::small_pct);
        parts.push(format!("errors {} %", errors.unwrap_or_default()));
    }
    parts.join(" · ")
}

fn copies_facts(row: &CopiesFinding) -> String {
    let mut parts = vec![format!("{} s each", number::short(row.seconds))];
    if let Some(ratio) = row.efficiency_ratio {
        parts.push(format!("{:.0} % of the speed of one alone", 100.0 * ratio));
    }
    if let Some(cpu) = row.cpu_pct {
        parts.push(format!("CPU {} %", number::pct(cpu)));
    }
    if is_disturbed(row) {
        parts.push("disturbed: no trial counts".to_owned());
    }
    parts.join(" · ")
}

/// A chart of levels without any has no details of the first.
pub(crate) fn one(chart: &Chart, first: usize) -> El {
    let details = chart.details.get(first).map(|detail| {
        el("p")
            .class("details")
            .attr("data-details", &chart.id)
            .with(detail.as_str())
    });
    let behind = table(&chart.table, chart.rows_are_picks);
    chart_part(chart, details, svg(chart))
        .with((!chart.table.is_empty()).then(|| on_demand(behind)))
}

/// A chart with `more` to it, and what is drawn.
pub(super) fn chart_part(chart: &Chart, more: Option<El>, drawings: impl Into<Html>) -> El {
    let is_full = chart.width == Width::Full;
    part(
        &chart.id,
        &chart.title,
        &chart.hint,
        is_full,
        more,
        drawings,
    )
}

/// A chart: what is said of it, with `more` to it, and what is drawn. `across`
/// gives it the whole width of a large screen, where the first stands beside
/// the second.
pub(crate) fn part(
    id: &str,
    title: &str,
    hint: &str,
    across: bool,
    more: Option<El>,
    drawings: impl Into<Html>,
) -> El {
    let said = el("div")
        .class("said")
        .with(el("h2").with(typeset(title)))
        .with(el("p").class("hint").with(typeset(hint)));
    let drawn = el("div").class("drawn").with(drawings);
    let section = section(id).class(if across { "chart across" } else { "chart" });
    match across {
        true => section.with(said.with(more)).with(drawn),
        false => section.with(said).with(drawn).with(more),
    }
}

/// A table that is opened by who wants it.
pub(crate) fn on_demand(table: El) -> El {
    el("details")
        .class("behind")
        .with(el("summary").with("Table"))
        .with(el("div").class("scroll").with(table))
}

/// A table whose first row is its head, and whose first column says what the
/// rows are. It has a column per machine, for which a phone is too narrow: there
/// each row is a card, in which each value has the name of its column.
pub(crate) fn grid(rows: &[Vec<Cell>]) -> El {
    let (head, body) = match rows.split_first() {
        Some((head, body)) => (head.as_slice(), body),
        None => (&[][..], &[][..]),
    };
    let cell = |name: &'static str, i: usize, cell: &Cell| {
        let el = el(name);
        let el = if i == 0 { el.class("words") } else { el };
        el.with(cell.text.trim())
    };
    let names = head.iter().enumerate().map(|(i, name)| cell("th", i, name));
    let row = |row: &Vec<Cell>| {
        let cells = row.iter().zip(head).enumerate();
        let named = |(i, (value, name)): (usize, (&Cell, &Cell))| {
            cell("td", i, value).attr("data-of", name.text.trim())
        };
        el("tr").with_all(cells.map(named))
    };
    el("table")
        .class("cards")
        .with(el("thead").with(el("tr").with_all(names)))
        .with(el("tbody").with_all(body.iter().map(row)))
}

/// A table. Its rows may be levels that can be picked.
pub(crate) fn table(columns: &[Column], rows_are_levels: bool) -> El {
    let columns: Vec<&Column> = columns.iter().filter(|c| !c.is_empty()).collect();
    let count = columns.iter().map(|c| c.cells().len()).max().unwrap_or(0);
    let head = columns.iter().map(|column| {
        let unit = el("small").with(column.unit());
        let th = el("th").attr("scope", "col");
        let th = if is_words(column) {
            th.class("words")
        } else {
            th
        };
        th.with(column.name())
            .with((!column.unit().is_empty()).then_some(unit))
    });
    let words: Vec<bool> = columns.iter().map(|c| is_words(c)).collect();
    let row = |i: usize| {
        let cells = columns.iter().zip(&words);
        let cells = cells.map(|(column, words)| match column.cells().get(i) {
            Some(cell) => table_cell(cell, *words),
            None => el("td"),
        });
        let row = el("tr").with_all(cells);
        if rows_are_levels { row.level(i) } else { row }
    };
    el("table")
        .with(el("thead").with(el("tr").with_all(head)))
        .with(el("tbody").with_all((0..count).map(row)))
}

fn table_cell(cell: &Cell, words: bool) -> El {
    let words = words.then_some("words");
    let classes: Vec<&str> = cell.ink.class().into_iter().chain(words).collect();
    let td = el("td").with(cell.text.as_str());
    match classes.is_empty() {
        true => td,
        false => td.attr("class", &classes.join(" ")),
    }
}

/// Whether a column holds words and not numbers: they are read from the left.
fn is_words(column: &Column) -> bool {
    let letters = |cell: &Cell| cell.text.chars().filter(|c| c.is_alphabetic()).count() > 3;
    column.cells().iter().any(letters)
}
