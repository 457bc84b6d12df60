//! What a command has to say, as blocks, and its five backends: text, page,
//! Markdown, JSON and CSV.
//!
//! An experiment returns a [`Document`]; [`render`] draws it. The order of
//! blocks is the backend's: a terminal shows its end, so charts and tables come
//! first there and the answers last; a page begins with the answers. What holds
//! for any run (how it ended, what the host lacks, invalid trials, where the
//! record is) is added here, once for all experiments.

mod again;
pub(crate) mod csv;
mod frame;
mod host;
pub(crate) mod json;
mod markdown;
mod page;
pub(crate) mod run;
mod tally;
mod text;

pub(crate) use frame::remedy;
pub use json::{Envelope, RunBody};
pub(crate) use markdown::{escaped, markdown_table};
pub use page::PAGE_MARK;
pub use run::{RecordFacts, Report, Source};
pub(crate) use run::{Run, file_name};
pub use tally::{TrialTally, reason, retry_when};

use crate::chart::{Charset, Chart, PlotFile, plot_files};
use crate::html::Picker;
use crate::markup::{Html, el, section};
use crate::sentence::Sentence;
use crate::table::{Cell, Column, Ink, Paint};
use json::Json;
use serde::Serialize;
use std::fmt;

#[derive(Default)]
pub struct Document<'a> {
    pub(crate) title: String,
    /// What it is about: the first lines of the text.
    pub(crate) subject: Vec<Sentence>,
    /// The same above the headline of the page.
    pub(crate) subject_html: Html,
    pub(crate) headline: String,
    pub(crate) tiles: Vec<Fact>,
    pub(crate) blocks: Vec<Block<'a>>,
    /// What can be picked on the page, and is then shown by all charts.
    pub(crate) picker: Option<Picker>,
    pub(crate) method: Vec<Fact>,
    pub(crate) run: Option<Run<'a>>,
    pub(crate) json: Option<Json<'a>>,
    pub(crate) csv: Option<String>,
    /// What the JSON is called when it is downloaded from the page.
    pub(crate) download: String,
}

pub(crate) enum Block<'a> {
    Sentences(Role, Vec<Sentence>),
    Facts(Facts),
    Table(Table),
    Chart(Box<Chart>),
    /// Text of its own; `None` where it does not fit.
    Text(OwnText<'a>),
    Html(Html),
}

pub(crate) type OwnText<'a> = Box<dyn Fn(Look) -> Option<String> + 'a>;

/// What a sentence is for, which decides where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Answer,
    /// What limits the answer: beside it.
    Doubt,
    /// How to read tables, and what else is known.
    Note,
}

#[derive(Debug, Clone, Default)]
pub struct Fact {
    /// Such as `ok`, before the name.
    pub(crate) mark: Option<Cell>,
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) unit: &'static str,
    /// The interval of the value, as large as it.
    pub(crate) ends: Option<String>,
    pub(crate) detail: String,
}

impl Fact {
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Fact {
        Fact {
            name: name.into(),
            value: value.into(),
            ..Fact::default()
        }
    }

    pub(crate) fn tile(name: &str, value: String, unit: &'static str, detail: String) -> Fact {
        Fact {
            unit,
            detail,
            ..Fact::new(name, value)
        }
    }

    /// With the interval of the value; where there is none, the detail says so.
    pub(crate) fn ending(mut self, ends: Option<String>, none: &str) -> Fact {
        if ends.is_none() {
            let mark = if self.detail.is_empty() { "" } else { "; " };
            self.detail += &format!("{mark}{none}");
        }
        self.ends = ends;
        self
    }

    pub fn known<const N: usize>(facts: [(&str, Option<String>); N]) -> Vec<Fact> {
        let known = facts.into_iter();
        known
            .filter_map(|(name, value)| Some(Fact::new(name, value?)))
            .collect()
    }
}

pub(crate) struct Facts {
    pub(crate) id: &'static str,
    pub(crate) title: String,
    pub(crate) facts: Vec<Fact>,
}

pub struct Table {
    /// Names the section of the page; `None` if the page shows it elsewhere,
    /// such as behind a chart.
    pub(crate) id: Option<&'static str>,
    pub(crate) heading: Option<String>,
    /// How to read it, for the page.
    pub(crate) hint: Option<&'static str>,
    pub(crate) rows: Rows,
    /// What columns stand for, by name. A terminal shows it of the columns that
    /// fit.
    pub(crate) legend: Vec<(&'static str, String)>,
    pub(crate) below: Vec<Sentence>,
    pub(crate) is_wide: bool,
}

pub(crate) enum Rows {
    /// Columns with a name, a unit and a rank.
    Columns(Vec<Column>),
    /// Rows of which the first is the head, and the first cell of each its name.
    Grid(Vec<Vec<Cell>>),
}

impl Table {
    pub fn of(columns: Vec<Column>) -> Table {
        Table {
            id: None,
            heading: None,
            hint: None,
            rows: Rows::Columns(columns),
            legend: Vec::new(),
            below: Vec::new(),
            is_wide: false,
        }
    }

    /// Of many columns: across the page, and a narrow terminal names those that it leaves out.
    pub fn wide(self) -> Table {
        Table {
            is_wide: true,
            ..self
        }
    }

    pub(crate) fn left_out(&self, shown: &[&str]) -> Option<Sentence> {
        let Rows::Columns(columns) = &self.rows else {
            return None;
        };
        let names = columns.iter().map(Column::name);
        let names: Vec<&str> = names.filter(|name| !shown.contains(name)).collect();
        (self.is_wide && !names.is_empty()).then(|| {
            let text = format!(
                "Left out for want of width: {}. The page and --format csv have all columns.",
                names.join(", ")
            );
            Ink::Dim.says(text)
        })
    }

    pub(crate) fn legend(&self, shown: &[&str]) -> Option<Sentence> {
        let entries = self.legend.iter().filter(|(name, _)| shown.contains(name));
        let entries: Vec<String> = entries.map(|(name, is)| format!("{name}: {is}.")).collect();
        (!entries.is_empty()).then(|| Ink::Dim.says(entries.join(" ")))
    }

    pub(crate) fn whole_legend(&self) -> Option<Sentence> {
        match &self.rows {
            Rows::Columns(columns) => {
                self.legend(&columns.iter().map(Column::name).collect::<Vec<_>>())
            }
            Rows::Grid(_) => None,
        }
    }

    /// With a heading, and with what its columns stand for, by name.
    pub fn explained(self, heading: &str, columns: &[(&'static str, &str)]) -> Table {
        let entry = |(name, is): &(&'static str, &str)| (*name, (*is).to_owned());
        Table {
            heading: Some(heading.to_owned()),
            legend: columns.iter().map(entry).collect(),
            ..self
        }
    }

    pub fn on_page(self, id: &'static str) -> Table {
        Table {
            id: Some(id),
            ..self
        }
    }
}

impl<'a> Document<'a> {
    pub(crate) fn new(title: String, subject: Vec<Sentence>) -> Document<'a> {
        let first = subject.first().map_or("", |first| first.text.as_str());
        Document {
            subject_html: crate::markup::shortened(first, 160),
            title,
            subject,
            download: "findings.json".to_owned(),
            ..Document::default()
        }
    }

    /// A document about what a run has under test.
    pub(crate) fn of_workload<P, F>(report: &Report<'a, P, F>) -> Document<'a> {
        let workload = report.workload.clone();
        let subject = Ink::Bold.says(workload.clone());
        Document {
            download: file_name(report.record.file),
            ..Document::new(workload, vec![subject])
        }
    }

    /// A document of a run, in which `order_of` are visited in an order that
    /// the seed decides: with its workload, its JSON, and all that the frame says
    /// of any run.
    pub fn of_run<P: Serialize, F: Serialize>(
        report: &'a Report<'a, P, F>,
        schema_version: u32,
        order_of: &'static str,
    ) -> Document<'a> {
        Document {
            run: Some(Run::of(report, order_of)),
            json: Some(Json::of_run(schema_version, report, None)),
            ..Document::of_workload(report)
        }
    }

    pub fn answer(&mut self, ink: Ink, text: String) {
        self.headline = text.trim_end_matches('.').to_owned();
        self.say(Role::Answer, [ink.says(text)]);
    }

    /// A form for spreadsheets of its own, where the first table is not all.
    pub fn spreadsheet(&mut self, columns: &[Column]) {
        self.csv = Some(csv::of_columns(columns));
    }

    /// The form for spreadsheets: its own, or else that of its first table.
    fn csv(&self) -> Option<String> {
        let columns = self.blocks.iter().find_map(|block| match block {
            Block::Table(Table {
                rows: Rows::Columns(columns),
                ..
            }) => Some(columns),
            _ => None,
        });
        self.csv.clone().or_else(|| Some(csv::of_columns(columns?)))
    }

    pub fn say(&mut self, role: Role, sentences: impl IntoIterator<Item = Sentence>) {
        let sentences: Vec<Sentence> = sentences.into_iter().collect();
        if !sentences.is_empty() {
            self.blocks.push(Block::Sentences(role, sentences));
        }
    }

    pub fn table(&mut self, table: Table) {
        let is_empty = match &table.rows {
            Rows::Columns(columns) => columns.iter().all(Column::is_empty),
            Rows::Grid(rows) => rows.len() < 2,
        };
        if !is_empty {
            self.blocks.push(Block::Table(table));
        }
    }

    pub(crate) fn facts(&mut self, facts: Facts) {
        if !facts.facts.is_empty() {
            self.blocks.push(Block::Facts(facts));
        }
    }

    /// Adds a chart of the page that a terminal shows, too.
    pub fn chart(&mut self, chart: Chart) {
        let in_text = chart.clone();
        self.terminal_charts(move || vec![in_text.clone()]);
        self.charts([chart]);
    }

    pub fn charts(&mut self, charts: impl IntoIterator<Item = Chart>) {
        let charts = charts
            .into_iter()
            .map(|chart| Block::Chart(Box::new(chart)));
        self.blocks.extend(charts);
    }

    /// Adds charts for a terminal, made when they are drawn.
    pub fn terminal_charts(&mut self, charts: impl Fn() -> Vec<Chart> + 'a) {
        self.blocks.push(Block::Text(Box::new(move |look| {
            let charset = look.charts?;
            crate::chart::text(&charts(), look.width, charset, Paint(look.colour))
        })));
    }

    /// Adds a drawing of one's own to the page, as an image: nothing in it is run.
    pub fn drawing(&mut self, id: &'static str, title: &str, svg: &str) {
        let encoded: String = svg.bytes().map(percent_encoded).collect();
        let image = el("img")
            .attr("src", &format!("data:image/svg+xml,{encoded}"))
            .attr("alt", title);
        let part = section(id).with(el("h2").with(title)).with(image);
        self.blocks.push(Block::Html(part.into()));
    }

    /// Each chart as a script for gnuplot, with the CSV files that it draws.
    pub fn plots(&self) -> Vec<PlotFile> {
        let charts = self.blocks.iter().filter_map(|block| match block {
            Block::Chart(chart) => Some(chart),
            _ => None,
        });
        charts.flat_map(|chart| plot_files(chart)).collect()
    }

    pub(crate) fn sentences(&self, role: Role) -> impl Iterator<Item = &Sentence> {
        let own = self.blocks.iter().filter_map(move |block| match block {
            Block::Sentences(of, sentences) if *of == role => Some(sentences),
            _ => None,
        });
        own.flatten()
    }
}

/// A byte of a data URL (RFC 3986, section 2.1).
fn percent_encoded(byte: u8) -> String {
    match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Csv,
    Html,
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal. The less important columns of tables are left
    /// out where they do not fit.
    pub width: usize,
    pub colour: bool,
    /// What charts are drawn with; `None` for no charts.
    pub charts: Option<Charset>,
}

#[derive(Debug)]
pub enum RenderError {
    NoForm(Format),
    Json(serde_json::Error),
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RenderError::NoForm(format) => write!(f, "it has no {format:?} form"),
            RenderError::Json(error) => write!(f, "it cannot be put into JSON: {error}"),
        }
    }
}

impl std::error::Error for RenderError {}

impl From<serde_json::Error> for RenderError {
    fn from(error: serde_json::Error) -> RenderError {
        RenderError::Json(error)
    }
}

/// The document in a format; `look` is that of text.
///
/// # Errors
///
/// [`RenderError::NoForm`] if it has no such form: not every document has a
/// table for spreadsheets.
pub fn render(document: &Document<'_>, format: Format, look: Look) -> Result<String, RenderError> {
    let none = RenderError::NoForm(format);
    match format {
        Format::Text => Ok(text::text(document, look)),
        Format::Json => Ok(document.json.as_ref().ok_or(none)?.pretty()?),
        Format::Csv => document.csv().ok_or(none),
        Format::Html => page::page(document),
        Format::Markdown => Ok(markdown::markdown(document)),
    }
}
