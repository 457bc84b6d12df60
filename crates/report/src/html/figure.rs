//! Charts on the page: title, picture, the details of the picked item, and
//! the table behind it.

use super::charts::svg;
use crate::chart::{Chart, Width};
use crate::markup::{El, Html, el, hint_line, section, typeset};
use crate::table::{Cell, Column};
use serde::Serialize;

/// The load levels or arms that one can pick, with the details that each chart has.
#[derive(Serialize)]
pub(crate) struct Picker {
    names: Vec<String>,
    facts: Vec<String>,
    /// The details of each in a chart, by the chart's id.
    details: Vec<(String, Vec<String>)>,
    first: usize,
    /// What the bar to pick from is called, and its two buttons.
    #[serde(skip)]
    labels: [&'static str; 3],
}

impl Picker {
    pub(crate) const LEVELS: [&'static str; 3] = [
        "The level that all charts show",
        "Lower load",
        "Higher load",
    ];
    pub(crate) const ARMS: [&'static str; 3] = [
        "The arm that all charts show",
        "The arm before",
        "The next arm",
    ];

    /// `items` are the name and the facts of each.
    pub(crate) fn of<'a>(
        labels: [&'static str; 3],
        items: impl Iterator<Item = (String, String)>,
        first: usize,
        charts: impl IntoIterator<Item = &'a Chart>,
    ) -> Picker {
        let (names, facts) = items.unzip();
        let tell = charts.into_iter().filter(|chart| !chart.details.is_empty());
        Picker {
            names,
            facts,
            details: tell.map(|c| (c.id.clone(), c.details.clone())).collect(),
            first,
            labels,
        }
    }

    pub(crate) fn first(&self) -> usize {
        self.first
    }

    pub(crate) fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// A bar that stays in sight, to pick a level from the keyboard.
    pub(crate) fn bar(&self) -> Option<El> {
        let facts = self.facts.get(self.first)?;
        let options = self.names.iter().enumerate().map(|(i, name)| {
            let option = el("option").attr("value", &i.to_string());
            option
                .flag_if("selected", i == self.first)
                .with(name.as_str())
        });
        let button = |id, sign: &'static str, label| {
            let button = el("button").attr("type", "button").attr("id", id);
            button.attr("aria-label", label).with(sign)
        };
        let select = el("select").attr("id", "level").with_all(options);
        let facts = el("output")
            .attr("id", "facts")
            .attr("for", "level")
            .with(facts.as_str());
        let [bar, lower, higher] = self.labels;
        let nav = el("nav").class("picker").attr("aria-label", bar);
        Some(
            nav.with(button("lower", "‹", lower))
                .with(select)
                .with(button("higher", "›", higher))
                .with(facts),
        )
    }
}

/// A chart of levels without any has no details of the first.
pub(crate) fn one_chart(chart: &Chart, first: usize) -> El {
    let details = chart.details.get(first).map(|detail| {
        let details = el("p").class("details").attr("data-details", &chart.id);
        details.with(detail.as_str())
    });
    let behind = table(&chart.table, chart.rows_are_picks);
    part(chart, details, svg(chart)).with((!chart.table.is_empty()).then(|| on_demand(behind)))
}

/// What is said of a chart, with `more` to it, and what is drawn. One that takes
/// the whole width has both side by side on a large screen.
pub(crate) fn part(chart: &Chart, more: Option<El>, drawings: impl Into<Html>) -> El {
    let said = el("div")
        .class("said")
        .with(el("h2").with(typeset(&chart.title)))
        .with(hint_line(&chart.hint));
    let drawn = el("div").class("drawn").with(drawings);
    let section = section(&chart.id);
    match chart.width {
        Width::Full => section
            .class("chart across")
            .with(said.with(more))
            .with(drawn),
        Width::Half => section.class("chart").with(said).with(drawn).with(more),
    }
}

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
    let (head, body) = rows.split_at(rows.len().min(1));
    let head = head.first().map_or(&[][..], Vec::as_slice);
    let cell = |name: &'static str, i: usize, cell: &Cell| {
        let el = el(name).class_if(PROSE, i == 0);
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

pub(crate) fn table(columns: &[Column], rows_are_levels: bool) -> El {
    let columns: Vec<&Column> = columns.iter().filter(|c| !c.is_empty()).collect();
    let count = columns.iter().map(|c| c.cells().len()).max().unwrap_or(0);
    let head = columns.iter().map(|column| {
        let unit = el("small").with(column.unit());
        let class = column_class(column);
        let th = el("th").attr("scope", "col");
        th.class_if(&class, !class.is_empty())
            .with(column.name())
            .with((!column.unit().is_empty()).then_some(unit))
    });
    let classes: Vec<_> = columns.iter().map(|c| column_class(c)).collect();
    let row = |i: usize| {
        let cells = columns.iter().zip(&classes);
        let cells = cells.map(|(column, class)| match column.cells().get(i) {
            Some(cell) => table_cell(cell, class),
            None => el("td"),
        });
        let row = el("tr").with_all(cells);
        if rows_are_levels { row.level(i) } else { row }
    };
    el("table")
        .with(el("thead").with(el("tr").with_all(head)))
        .with(el("tbody").with_all((0..count).map(row)))
}

fn table_cell(cell: &Cell, class: &str) -> El {
    let class = Some(class).filter(|class| !class.is_empty());
    let classes: Vec<&str> = cell.ink.class().into_iter().chain(class).collect();
    let td = el("td").class_if(&classes.join(" "), !classes.is_empty());
    td.with(cell.text.as_str())
}

/// How a column is read, and where it may be left out for want of room.
fn column_class(column: &Column) -> String {
    let rank = match column.rank() {
        5.. => Some("rank-5"),
        4 => Some("rank-4"),
        _ => None,
    };
    let classes: Vec<&str> = text_class(column).into_iter().chain(rank).collect();
    classes.join(" ")
}

/// Text that may take several lines.
const PROSE: &str = "prose";
/// Longer text is prose: as wide as the 14 rem that it has at least.
const WORDS_AT_MOST: usize = 28;

/// The class of a column that holds text and not numbers: it is read from the left.
fn text_class(column: &Column) -> Option<&'static str> {
    let letters = |cell: &Cell| cell.text.chars().filter(|c| c.is_alphabetic()).count() > 3;
    let is_text = column.estimates().is_empty() && column.cells().iter().any(letters);
    is_text.then_some(match column.width() > WORDS_AT_MOST {
        true => PROSE,
        false => "words",
    })
}
