//! Tables of right-aligned columns that fit a width.

use crate::number::{self, MISSING, Written, estimate_us};
use plimsoll_model::{Estimate, safe};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Bold,
    Dim,
    Red,
    /// What was sought, and found.
    Green,
    /// What to be careful about; a line of a chart.
    Yellow,
    Cyan,
    Magenta,
}

impl Ink {
    pub(crate) fn class(self) -> Option<&'static str> {
        match self {
            // Cyan and magenta tell lines apart in charts of characters.
            Ink::Plain | Ink::Cyan | Ink::Magenta => None,
            Ink::Bold => Some("bold"),
            Ink::Dim => Some("dim"),
            Ink::Red => Some("red"),
            Ink::Green => Some("green"),
            Ink::Yellow => Some("yellow"),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    /// The text with its ink, as ECMA-48 (SGR) writes it.
    pub(crate) fn with(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Plain => return text.to_owned(),
            Ink::Bold => 1,
            Ink::Dim => 2,
            Ink::Red => 31,
            Ink::Green => 32,
            Ink::Yellow => 33,
            Ink::Magenta => 35,
            Ink::Cyan => 36,
        };
        if self.0 {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

#[derive(Debug, Clone)]
pub struct Cell {
    pub(crate) text: String,
    pub(crate) ink: Ink,
}

impl Cell {
    /// With text that is safe in a terminal, wherever it comes from.
    pub fn new(ink: Ink, text: impl Into<String>) -> Cell {
        Cell {
            text: safe(&text.into()),
            ink,
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::new(Ink::Plain, text)
    }
}

#[derive(Debug, Clone)]
pub struct Column {
    name: &'static str,
    unit: &'static str,
    /// 0 is never left out; of the others, the highest goes first.
    rank: u8,
    cells: Vec<Cell>,
    /// What the cells show, for spreadsheets; empty where the text is all.
    estimates: Vec<Option<Estimate>>,
    /// The unit of the estimates, at the end of their names in spreadsheets.
    estimates_unit: &'static str,
}

impl Column {
    /// A column of text, of each row what `of` makes of it.
    pub fn words<T>(
        name: &'static str,
        unit: &'static str,
        rank: u8,
        rows: &[T],
        of: impl Fn(&T) -> String,
    ) -> Column {
        Column::new(name, unit, rank, rows.iter().map(of))
    }

    pub fn new<C: Into<Cell>>(
        name: &'static str,
        unit: &'static str,
        rank: u8,
        cells: impl IntoIterator<Item = C>,
    ) -> Column {
        let cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        // A column of dashes says the least.
        let unknown = cells.iter().all(|cell| cell.text == MISSING);
        let rank = if unknown && rank > 0 { u8::MAX } else { rank };
        Column {
            name,
            unit,
            rank,
            cells,
            estimates: Vec::new(),
            estimates_unit: "",
        }
    }

    /// Times in microseconds with their intervals; three columns of a
    /// spreadsheet.
    pub fn times_us(
        name: &'static str,
        rank: u8,
        times: impl IntoIterator<Item = Option<Estimate>>,
    ) -> Column {
        let estimates: Vec<_> = times.into_iter().collect();
        let cells = estimates.iter().copied().map(estimate_us);
        Column {
            estimates: estimates.clone(),
            estimates_unit: "us",
            ..Column::new(name, "", rank, cells)
        }
    }

    /// Times in microseconds, whose intervals are in spreadsheets alone.
    pub fn values_us(
        name: &'static str,
        rank: u8,
        times: impl IntoIterator<Item = Option<Estimate>>,
    ) -> Column {
        let estimates: Vec<_> = times.into_iter().collect();
        let value = |time: &Option<Estimate>| Some(Estimate::alone(time.as_ref()?.value));
        let cells = estimates.iter().map(value).map(estimate_us);
        Column {
            estimates: estimates.clone(),
            estimates_unit: "us",
            ..Column::new(name, "", rank, cells)
        }
    }

    /// Estimates of any unit with their intervals, at most so many decimals; three columns
    /// of a spreadsheet.
    pub fn estimates_of(
        name: &'static str,
        unit: &'static str,
        (rank, decimals): (u8, i32),
        values: impl IntoIterator<Item = Option<Estimate>>,
    ) -> Column {
        let estimates: Vec<_> = values.into_iter().collect();
        let cells = estimates.iter().map(|e| number::estimate(*e, decimals));
        Column {
            estimates: estimates.clone(),
            estimates_unit: unit,
            ..Column::new(name, unit, rank, cells)
        }
    }

    pub(crate) fn estimates_unit(&self) -> &'static str {
        self.estimates_unit
    }

    pub(crate) fn estimates(&self) -> &[Option<Estimate>] {
        &self.estimates
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The text of all its cells, if it is the same.
    pub fn in_common(&self) -> Option<&str> {
        let (first, others) = self.cells.split_first()?;
        let is_same = others.iter().all(|cell| cell.text == first.text);
        is_same.then_some(first.text.as_str())
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn unit(&self) -> &'static str {
        self.unit
    }

    pub(crate) fn rank(&self) -> u8 {
        self.rank
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(crate) fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.text.as_str());
        let texts = [self.name, self.unit].into_iter().chain(cells);
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    }
}

pub(crate) struct ColumnsOf<'a, T>(pub(crate) &'a [T]);

impl<T> ColumnsOf<'_, T> {
    pub(crate) fn column<C: Into<Cell>>(
        &self,
        name: &'static str,
        unit: &'static str,
        cell: impl Fn(&T) -> C,
    ) -> Column {
        self.ranked(name, unit, 0, cell)
    }

    pub(crate) fn ranked<C: Into<Cell>>(
        &self,
        name: &'static str,
        unit: &'static str,
        rank: u8,
        cell: impl Fn(&T) -> C,
    ) -> Column {
        Column::new(name, unit, rank, self.0.iter().map(cell))
    }
}

/// A value, or a dim dash where it is not known.
pub(crate) fn known<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> Cell {
    match value {
        Some(value) => show(value).into(),
        None => Cell::new(Ink::Dim, MISSING),
    }
}

/// A value, or a dash like a value where it is not known.
pub(crate) fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> Cell {
    value.map_or_else(|| MISSING.to_owned(), show).into()
}

pub(crate) fn ends(written: Option<Written>) -> Cell {
    or_dash(written.and_then(|written| written.ends()), |ends| ends)
}

/// `4`, or `4 (1)` where one more is invalid.
pub(crate) fn trials(valid: u32, invalid: u32) -> Cell {
    match invalid {
        0 => valid.to_string().into(),
        _ => Cell::new(Ink::Red, format!("{valid} ({invalid})")),
    }
}

/// `4`, or `5 (1 invalid)`.
pub(crate) fn all_trials(valid: u32, invalid: u32) -> Cell {
    let text = match invalid {
        0 => valid.to_string(),
        bad => format!("{} ({bad} invalid)", valid + bad),
    };
    text.into()
}

pub(crate) fn shown(columns: &[Column], width: usize) -> Vec<&'static str> {
    let (fitting, gap) = fit(columns.to_vec(), width);
    let names = |columns: &[Column]| columns.iter().map(|column| column.name).collect();
    match overflows(&fitting, gap, width) {
        true => names(columns),
        false => names(&fitting),
    }
}

/// Whether not even the columns that are never left out fit beside each other.
fn overflows(columns: &[Column], gap: usize, width: usize) -> bool {
    columns.len() > 1 && needed(columns, gap) > width
}

/// The table, as wide as `width` at most where that can be had.
pub(crate) fn render(columns: Vec<Column>, width: usize, paint: Paint) -> String {
    let (fitting, gap) = fit(columns.clone(), width);
    let rows = columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
    if overflows(&fitting, gap, width) {
        return blocks(&columns, rows, width, paint);
    }
    let columns = fitting;
    let bold = |text: &str| (text.to_owned(), Ink::Bold);
    let mut out = line(&columns, gap, |column| bold(column.name), paint);
    out += &line(&columns, gap, |column| bold(column.unit), paint);
    for row in 0..rows {
        let cell = |column: &Column| match column.cells.get(row) {
            Some(cell) => (cell.text.clone(), cell.ink),
            None => (String::new(), Ink::Plain),
        };
        out += &line(&columns, gap, cell, paint);
    }
    out
}

fn line(
    columns: &[Column],
    gap: usize,
    cell: impl Fn(&Column) -> (String, Ink),
    paint: Paint,
) -> String {
    let mut out = String::new();
    for (i, column) in columns.iter().enumerate() {
        let (text, ink) = cell(column);
        let gap = if i == 0 { 0 } else { gap };
        let blank = gap + column.width().saturating_sub(text.chars().count());
        out.extend(std::iter::repeat_n(' ', blank));
        if !text.is_empty() {
            out += &paint.with(ink, &text);
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn needed(columns: &[Column], gap: usize) -> usize {
    let widths: usize = columns.iter().map(Column::width).sum();
    widths + gap * columns.len().saturating_sub(1)
}

/// The columns that fit, and how far they are apart: two blanks, or one if
/// that saves all columns, else the least important ones are left out.
fn fit(mut columns: Vec<Column>, width: usize) -> (Vec<Column>, usize) {
    if needed(&columns, 1) <= width && needed(&columns, 2) > width {
        return (columns, 1);
    }
    while needed(&columns, 2) > width {
        match columns.iter().map(|c| c.rank).max() {
            Some(highest) if highest > 0 => columns.retain(|c| c.rank < highest),
            _ => return (columns, 1),
        }
    }
    (columns, 2)
}

/// A block for each row, with all columns.
fn blocks(columns: &[Column], rows: usize, width: usize, paint: Paint) -> String {
    let heads: Vec<Cell> = columns
        .iter()
        .map(|column| {
            format!("{} {}", column.name, column.unit)
                .trim()
                .to_owned()
                .into()
        })
        .collect();
    let blank = || Cell::from(String::new());
    let cell = |column: &Column, row| column.cells.get(row).cloned().unwrap_or_else(blank);
    (0..rows)
        .map(|row| columns.iter().map(|column| cell(column, row)).collect())
        .map(|row: Vec<Cell>| block(&heads, &row, width, paint))
        .collect()
}

/// A table whose heads are values, the first column aligned to the left; where
/// its columns do not fit beside each other, a block for each of its rows.
pub(crate) fn grid(rows: &[Vec<Cell>], width: usize, paint: Paint) -> String {
    let columns = columns(rows);
    if needed(&columns, 1) <= width {
        let table = render(columns, width, paint);
        // The names and units that these columns do not have.
        return table.trim_start_matches('\n').to_owned();
    }
    let Some((heads, rows)) = rows.split_first() else {
        return String::new();
    };
    rows.iter()
        .map(|row| block(heads, row, width, paint))
        .collect()
}

fn columns(rows: &[Vec<Cell>]) -> Vec<Column> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let column = |i: usize| {
        let cells = rows.iter().map(|row| row.get(i).cloned());
        let blank = || Cell::from(String::new());
        let mut cells: Vec<Cell> = cells.map(|cell| cell.unwrap_or_else(blank)).collect();
        if i == 0 {
            let widest = widest(&cells);
            cells
                .iter_mut()
                .for_each(|c| c.text = format!("{:widest$}", c.text));
        }
        Column::new("", "", 0, cells)
    };
    (0..columns).map(column).collect()
}

fn widest(cells: &[Cell]) -> usize {
    let lengths = cells.iter().map(|c| c.text.chars().count());
    lengths.max().unwrap_or(0)
}

/// A row as a heading and a line per machine: what is compared stands one below
/// the other. A value that does not fit beside its machine stands below it.
fn block(heads: &[Cell], row: &[Cell], width: usize, paint: Paint) -> String {
    let (Some((kind, names)), Some((label, values))) = (heads.split_first(), row.split_first())
    else {
        return String::new();
    };
    let title = format!("{} {}", label.text, kind.text);
    let mut out = paint.with(Ink::Bold, title.trim()) + "\n";
    let (name_width, value_width) = (widest(names), widest(values));
    let beside = 2 + name_width + 2 + value_width <= width;
    for (name, value) in names.iter().zip(values) {
        let (name, text) = (&name.text, paint.with(value.ink, &value.text));
        let blanks = " ".repeat(value_width.saturating_sub(value.text.chars().count()));
        out += &if beside {
            format!("  {name:name_width$}  {blanks}{text}\n")
        } else {
            format!("  {name}\n    {text}\n")
        };
    }
    out
}

/// A text that begins with a label, such as the name of a row, broken so that
/// its further lines stand below the text and not below the label. The label
/// is painted apart, and is as wide as its characters.
pub(crate) fn hang(
    label: Option<&Cell>,
    text: &str,
    indent: usize,
    width: usize,
    paint: Paint,
) -> String {
    let mut out = String::new();
    let lines = wrap(text, width.saturating_sub(indent).max(MOST_NARROW));
    for (i, line) in lines.iter().enumerate() {
        let label = label.filter(|_| i == 0);
        let taken = label.map_or(0, |label| label.text.chars().count());
        let label = label.map(|label| paint.with(label.ink, &label.text));
        out += &label.unwrap_or_default();
        out.extend(std::iter::repeat_n(' ', indent.saturating_sub(taken)));
        out += &format!("{line}\n");
    }
    out
}

/// Text is not broken into narrower lines than this, however narrow a terminal
/// is: a word a line cannot be read.
const MOST_NARROW: usize = 20;

/// Sentences broken at blanks, as wide as `width` at most where words allow.
/// No line begins with a percent sign, whose number would be hard to find.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match words.last_mut() {
            Some(number) if word.starts_with('%') => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(name: &'static str, rank: u8, cells: &[&str]) -> Column {
        Column::new(name, "u", rank, cells.iter().map(|c| (*c).to_owned()))
    }

    #[test]
    fn the_least_important_columns_are_left_out_first() {
        let columns = || {
            vec![
                column("first", 0, &["1"]),
                column("second", 2, &["2"]),
                column("third", 1, &["3"]),
            ]
        };
        assert_eq!(
            render(columns(), 20, Paint(false)),
            "first  second  third\n    u       u      u\n    1       2      3\n"
        );
        assert_eq!(
            render(columns(), 17, Paint(false)),
            "first  third\n    u      u\n    1      3\n"
        );
        assert_eq!(render(columns(), 0, Paint(false)), "first\n    u\n    1\n");
        // One blank apart rather than a column less.
        assert!(render(columns(), 18, Paint(false)).starts_with("first second third\n"));
    }

    #[test]
    fn where_not_even_the_important_columns_fit_rows_stand_in_blocks() {
        let columns = vec![
            column("name", 0, &["adaptive:50us", "park"]),
            column("p99", 0, &["12 (5 to 27)", "9"]),
            column("more", 1, &["1", "2"]),
        ];
        assert_eq!(shown(&columns, 22), ["name", "p99", "more"]);
        assert_eq!(
            render(columns, 22, Paint(false)),
            "adaptive:50us name u\n  p99 u   12 (5 to 27)\n  more u             1\n\
             park name u\n  p99 u   9\n  more u  2\n"
        );
    }

    #[test]
    fn columns_of_which_nothing_is_known_go_before_all_others() {
        let columns = vec![
            column("first", 0, &["-", "-"]),
            column("second", 1, &["-", "-"]),
            column("third", 9, &["-", "3"]),
        ];
        assert!(render(columns, 12, Paint(false)).starts_with("first  third\n"));
    }

    #[test]
    fn paint_does_not_shift_columns() {
        let bare = |text: &str| {
            let mut out = String::new();
            let mut rest = text;
            while let Some((before, after)) = rest.split_once('\u{1b}') {
                out += before;
                rest = after.split_once('m').unwrap().1;
            }
            out + rest
        };
        let columns = || vec![column("a", 0, &["1", "100"]), column("b", 0, &["", "2"])];
        let painted = render(columns(), 80, Paint(true));
        assert!(painted.contains("\u{1b}[1m"));
        assert_eq!(bare(&painted), render(columns(), 80, Paint(false)));
    }

    #[test]
    fn a_hanging_text_stays_beside_its_label() {
        let label = Cell::new(Ink::Plain, "ok");
        let shown = hang(
            Some(&label),
            "one two three four five six",
            4,
            24,
            Paint(false),
        );
        assert_eq!(shown, "ok  one two three four\n    five six\n");
    }

    #[test]
    fn a_number_and_its_percent_sign_stay_on_one_line() {
        let lines = wrap("at 47.0 %: it is 5 % so", 9);
        assert_eq!(lines, ["at", "47.0 %:", "it is 5 %", "so"]);
    }

    proptest! {
        #[test]
        fn wrapping_loses_no_word_and_keeps_the_width(
            words in prop::collection::vec("[a-z]{1,12}", 0..40), width in 12usize..60,
        ) {
            let text = words.join(" ");
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
            prop_assert_eq!(lines.join(" "), text);
        }
    }
}
