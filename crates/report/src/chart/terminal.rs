//! The terminal backend: a chart as rows of characters.
//!
//! ```text
//! title
//! y label                    mark
//!   100 ┤                    ┊    ⡠ name of a series
//!    50 ┤              ⣀⡠⠤⠒⠉┊⠉⠉⠉
//!     0 ┼───────┬────────┬────────
//!       0       50      100 x label
//! ```

use super::canvas::Canvas;
use super::{At, Charset, Chart, Datum, Line, Mark, MarkKind, Panel, Picture, Series, Tone};
use crate::sentence::words_if;
use crate::table::{Ink, Paint};
use plimsoll_model::sort_by_number;

/// From this width on, two charts stand side by side.
const TWO_ABREAST: usize = 116;
/// Wider charts show no more.
const WIDEST: usize = 84;
/// In less there is nothing to be seen.
const NARROWEST: usize = 40;
const GAP: usize = 4;
const HEIGHT: usize = 17;

/// Charts as lines of text, no wider than `width`; `None` where none has a
/// terminal form, or there is no room.
pub(crate) fn text(
    charts: &[Chart],
    width: usize,
    charset: Charset,
    paint: Paint,
) -> Option<String> {
    if width < NARROWEST {
        return None;
    }
    let abreast = charts.len() > 1 && width >= TWO_ABREAST;
    let each = match abreast {
        true => ((width - GAP) / 2).min(WIDEST),
        false => width.min(WIDEST),
    };
    let pictures = charts.iter();
    let pictures = pictures.filter_map(|chart| chart.draw(each, HEIGHT, charset));
    let pictures: Vec<Picture> = pictures.collect();
    let rows = pictures.chunks(if abreast { 2 } else { 1 });
    let row = |row: &[Picture]| match row {
        [left, right] => left.clone().beside(right, GAP).text(paint),
        row => row.iter().map(|picture| picture.text(paint)).collect(),
    };
    let rows: Vec<String> = rows.map(row).collect();
    (!rows.is_empty()).then(|| rows.join("\n"))
}

/// Rows of a picture that are no plot: title, marks, x axis, its values.
const AROUND: usize = 4;
/// Rows between two ticks of the y axis, at least.
const ROWS_PER_TICK: usize = 3;

#[derive(Debug, Clone, Copy)]
struct Frame {
    /// The first column of the plot, right of the axis.
    left: usize,
    columns: usize,
    top: usize,
    rows: usize,
    charset: Charset,
}

impl Chart {
    /// The picture of this chart, exactly so wide and high; `None` for one that
    /// has no terminal form: of rows, of bars, or with several panels side by
    /// side. Of panels one below the other it is the first, named in the title.
    /// What does not fit is cut; below 20 by 8 there is little to be seen.
    pub fn draw(&self, width: usize, height: usize, charset: Charset) -> Option<Picture> {
        let is_drawn = |panel: &&Panel| panel.bars.is_empty() && panel.y.rows.is_empty();
        let panel = self.panels.first().filter(is_drawn)?;
        if self.facets.abreast > 1 {
            return None;
        }
        let fits = |title: &&String| title.chars().count() <= width;
        let shortest = self.short_titles.last().unwrap_or(&self.title);
        let title = self.short_titles.iter().find(fits).unwrap_or(shortest);
        let title = match self.panels.len() {
            1 => title.clone(),
            n => format!("{title}: {} (1 of {n})", panel.title),
        };
        Some(panel.draw(&title, width, height, charset))
    }
}

impl Panel {
    fn draw(&self, title: &str, width: usize, height: usize, charset: Charset) -> Picture {
        let mut picture = Picture::blank(width, height);
        picture.write(0, 0, title, Ink::Bold);
        let label = usize::from(!self.x.label.is_empty());
        let rows = height.saturating_sub(AROUND + label);
        let ticks = self.y.ticks(rows / ROWS_PER_TICK + 1);
        let lengths = ticks.iter().map(|(_, name)| name.chars().count());
        let left = lengths.max().unwrap_or(0) + 2;
        let frame = Frame {
            left,
            columns: width.saturating_sub(left + self.names_width()),
            top: 2,
            rows,
            charset,
        };
        if frame.columns == 0 || rows == 0 {
            return picture;
        }
        let axis = charset.pick("│", "|");
        for row in 0..rows {
            picture.write(left - 1, frame.top + row, axis, Ink::Dim);
        }
        for (tick, name) in &ticks {
            let row = frame.row(self.y.scale.share(*tick));
            let from = left - 2 - name.chars().count();
            picture.write(from, row, name, Ink::Dim);
            picture.write(left - 1, row, charset.pick("┤", "+"), Ink::Dim);
        }
        self.x_axis(&mut picture, frame);
        let is_told = title.contains("log scale") || self.y.label.is_empty();
        let log = words_if(self.y.scale.is_log() && !is_told, ", log scale");
        picture.write(0, 1, &format!("{}{log}", self.y.label), Ink::Dim);
        self.plot(&mut picture, frame);
        self.names(&mut picture, frame);
        picture
    }

    fn names_width(&self) -> usize {
        let series = self.series.iter().map(|s| &s.name);
        let names = self.level_marks().map(|(m, _)| &m.short_name).chain(series);
        let lengths = names
            .filter(|n| !n.is_empty())
            .map(|n| n.chars().count() + 1);
        lengths.max().unwrap_or(0)
    }

    /// The named marks on the y axis, each with its place.
    fn level_marks(&self) -> impl Iterator<Item = (&Mark, f64)> {
        let named = self.marks.iter().filter(|m| !m.short_name.is_empty());
        named.filter_map(|mark| match mark.at {
            At::Y(at) => Some((mark, self.y.scale.place(at)?)),
            At::X(_) => None,
        })
    }

    fn x_axis(&self, picture: &mut Picture, frame: Frame) {
        let row = frame.top + frame.rows;
        let charset = frame.charset;
        let line: String = std::iter::repeat_n(charset.pick('─', '-'), frame.columns).collect();
        picture.write(frame.left - 1, row, charset.pick("└", "+"), Ink::Dim);
        picture.write(frame.left, row, &line, Ink::Dim);
        let few = self.x.ticks(2);
        let widest = few.last().map_or(0, |(_, name)| name.chars().count());
        let most = frame.columns / (widest + 3);
        for (tick, name) in self.x.ticks(most.max(1)) {
            let column = frame.column(self.x.scale.share(tick));
            picture.write(column, row, charset.pick("┬", "+"), Ink::Dim);
            let wide = name.chars().count();
            let from = column.saturating_sub(wide / 2);
            let from = from.min((frame.left + frame.columns).saturating_sub(wide));
            if picture.is_blank(row + 1, from.saturating_sub(1), from + wide + 1) {
                picture.write(from, row + 1, &name, Ink::Dim);
            }
        }
        let end = frame.left + frame.columns;
        let label = match self.x.label.chars().count() <= frame.columns {
            true => &self.x.label,
            false => &self.x.short_label,
        };
        let from = end.saturating_sub(label.chars().count());
        picture.write(from, row + 2, label, Ink::Dim);
    }

    fn plot(&self, picture: &mut Picture, frame: Frame) {
        let mut canvas = Canvas::new(frame.columns, frame.rows, frame.charset);
        let (width, height) = canvas.dots();
        for mark in self.marks.iter().filter(|m| !m.short_name.is_empty()) {
            let (ink, _) = look(mark.tone);
            if let At::X(at) = mark.at
                && let Some(across) = self.x.scale.place(at)
            {
                let (x, _) = canvas.dot_at(across, 0.0);
                let begins = mark.kind == MarkKind::Guide;
                // Solid lines are data, or a load that is not to be exceeded.
                let stride = if begins { 3 } else { 1 };
                canvas.line((x, 0), (x, height - 1), stride, '|', ink);
                frame.write_mark(picture, across, (&mark.short_name, begins), ink);
            }
        }
        for (mark, up) in self.level_marks() {
            let (_, y) = canvas.dot_at(0.0, up);
            canvas.line((0, y), (width - 1, y), 3, '-', look(mark.tone).0);
        }
        for series in &self.series {
            self.series(&mut canvas, series);
        }
        picture.put(frame.left, frame.top, &canvas.cells());
    }

    /// Where a point is, as shares of the width and of the height; `None` outside.
    fn place(&self, datum: &Datum) -> Option<(f64, f64)> {
        let across = self.x.scale.place(datum.x)?;
        Some((across, self.y.scale.place(datum.y)?))
    }

    fn series(&self, canvas: &mut Canvas, series: &Series) {
        let places = series.data.iter().map(|d| self.place(d));
        let dot = |place: Option<(f64, f64)>| place.map(|(across, up)| canvas.dot_at(across, up));
        let dots: Vec<_> = places.map(dot).collect();
        let stride = match series.line {
            Line::None => None,
            Line::Solid | Line::Thin => Some(1),
            Line::Guide => Some(3),
        };
        let (ink, _) = look(series.tone);
        for pair in dots.windows(2) {
            if let (Some(stride), Some(from), Some(to)) = (stride, pair[0], pair[1]) {
                canvas.line(from, to, stride, '.', ink);
            }
        }
        for (dot, datum) in dots.into_iter().zip(&series.data) {
            if let (Some(dot), Some(_)) = (dot, series.marker) {
                let (ink, glyph) = look(datum.tone.unwrap_or(series.tone));
                canvas.point(dot, glyph, ink);
            }
        }
    }

    /// Names at the right: of a series where its last point is, of a level
    /// mark where it is. Where two would be on one row, the later one goes to
    /// the next free row.
    fn names(&self, picture: &mut Picture, frame: Frame) {
        let series = self.series.iter().filter_map(|s| {
            let (_, up) = s.data.iter().rev().find_map(|d| self.place(d))?;
            Some((up, &s.name, s.tone))
        });
        let level = self
            .level_marks()
            .map(|(m, up)| (up, &m.short_name, m.tone));
        let mut names: Vec<_> = series.chain(level).filter(|n| !n.1.is_empty()).collect();
        sort_by_number(&mut names, |one| -one.0);
        let column = frame.left + frame.columns + 1;
        let last = frame.top + frame.rows;
        for (up, name, tone) in names {
            let wanted = frame.row(up);
            let free = |row: &usize| picture.is_blank(*row, column, usize::MAX);
            let below = (wanted..last).find(free);
            let row = below.or_else(|| (frame.top..wanted).rev().find(free));
            if let Some(row) = row {
                picture.write(column, row, name, look(tone).0);
            }
        }
    }
}

/// The colour that stands for something, and the letter of its points where
/// there is no braille.
fn look(tone: Tone) -> (Ink, char) {
    const NTH: [(Ink, char); 4] = [
        (Ink::Cyan, 'o'),
        (Ink::Magenta, '+'),
        (Ink::Yellow, '*'),
        (Ink::Green, '#'),
    ];
    match tone {
        Tone::P50 => (Ink::Cyan, 'o'),
        Tone::P95 | Tone::Work | Tone::Cpu | Tone::Rate => (Ink::Cyan, '*'),
        Tone::P99 | Tone::Wait | Tone::Late | Tone::Growth => (Ink::Yellow, '*'),
        Tone::P999 | Tone::Slip => (Ink::Magenta, '+'),
        Tone::Nth(n) => NTH[n % NTH.len()],
        Tone::Best | Tone::Budget | Tone::Within => (Ink::Green, 'o'),
        Tone::Beyond => (Ink::Red, 'x'),
        Tone::Dim | Tone::Open | Tone::Noise | Tone::Span => (Ink::Dim, 'x'),
        Tone::Plain | Tone::Service | Tone::Job | Tone::CpuTime => (Ink::Plain, '*'),
    }
}

impl Frame {
    fn row(self, up: f64) -> usize {
        let canvas = Canvas::new(0, self.rows, self.charset);
        let (_, dots) = canvas.dots();
        let (_, dot) = canvas.dot_at(0.0, up);
        self.top + dot * self.rows / dots.max(1)
    }

    fn column(self, across: f64) -> usize {
        let canvas = Canvas::new(self.columns, 0, self.charset);
        let (dots, _) = canvas.dots();
        let (dot, _) = canvas.dot_at(across, 0.0);
        self.left + dot * self.columns / dots.max(1)
    }

    /// The name of an upright mark above the plot, as near to it as the room
    /// allows: above its middle, or of what begins there, right of it.
    fn write_mark(
        self,
        picture: &mut Picture,
        across: f64,
        (name, begins): (&str, bool),
        ink: Ink,
    ) {
        let wide = name.chars().count();
        let end = self.left + self.columns;
        let before = if begins { 0 } else { wide / 2 };
        let wanted = self.column(across).saturating_sub(before);
        let last = end.saturating_sub(wide);
        let free = |from: &usize| picture.is_blank(1, from.saturating_sub(1), from + wide + 1);
        if let Some(from) = (wanted.min(last)..=last).find(free) {
            picture.write(from, 1, name, ink);
        }
    }
}
