//! From a chart to its picture.
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
use super::{At, Charset, Chart, Line, Picture, Series};
use crate::table::Ink;

/// Rows of a picture that are no plot: title, marks, x axis, its values.
const AROUND: usize = 4;
/// Rows between two ticks of the y axis, at least.
const ROWS_PER_TICK: usize = 3;

/// Where the parts of a picture are.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// The first column of the plot, right of the axis.
    left: usize,
    columns: usize,
    /// The first row of the plot.
    top: usize,
    rows: usize,
    charset: Charset,
}

impl Chart {
    /// The picture of this chart, exactly so wide and high. What does not fit
    /// is cut; below 20 by 8 there is little to be seen.
    pub fn draw(&self, width: usize, height: usize, charset: Charset) -> Picture {
        let mut picture = Picture::blank(width, height);
        picture.write(0, 0, &self.title, Ink::Bold);
        let label = usize::from(!self.x.label.is_empty());
        let rows = height.saturating_sub(AROUND + label);
        let ticks = self.y.scale.ticks(rows / ROWS_PER_TICK + 1);
        let values: Vec<String> = ticks.iter().map(|tick| (self.y.show)(*tick)).collect();
        let left = values.iter().map(|v| v.chars().count()).max().unwrap_or(0) + 2;
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
        for (tick, value) in ticks.iter().zip(&values) {
            let Some(up) = self.y.scale.place(*tick) else {
                continue;
            };
            let row = frame.row(up);
            let from = left - 2 - value.chars().count();
            picture.write(from, row, value, Ink::Dim);
            picture.write(left - 1, row, charset.pick("┤", "+"), Ink::Dim);
        }
        self.x_axis(&mut picture, frame);
        picture.write(0, 1, &self.y.label, Ink::Dim);
        self.plot(&mut picture, frame);
        self.names(&mut picture, frame);
        picture
    }

    /// Room at the right for the names of series and of level marks.
    fn names_width(&self) -> usize {
        let level = self.marks.iter().filter(|m| matches!(m.at, At::Y(_)));
        let names = level
            .map(|m| &m.name)
            .chain(self.series.iter().map(|s| &s.name));
        names.map(|n| n.chars().count() + 1).max().unwrap_or(0)
    }

    fn x_axis(&self, picture: &mut Picture, frame: Frame) {
        let row = frame.top + frame.rows;
        let charset = frame.charset;
        let line: String = std::iter::repeat_n(charset.pick('─', '-'), frame.columns).collect();
        picture.write(frame.left - 1, row, charset.pick("└", "+"), Ink::Dim);
        picture.write(frame.left, row, &line, Ink::Dim);
        let widest = (self.x.show)(self.x.scale.ticks(2).last().copied().unwrap_or(0.0));
        let most = frame.columns / (widest.chars().count() + 4);
        for tick in self.x.scale.ticks(most.max(1)) {
            let Some(across) = self.x.scale.place(tick) else {
                continue;
            };
            let column = frame.column(across);
            let value = (self.x.show)(tick);
            if value.is_empty() {
                continue;
            }
            picture.write(column, row, charset.pick("┬", "+"), Ink::Dim);
            let wide = value.chars().count();
            let from = column.saturating_sub(wide / 2);
            let from = from.min((frame.left + frame.columns).saturating_sub(wide));
            if picture.is_blank(row + 1, from.saturating_sub(1), from + wide + 1) {
                picture.write(from, row + 1, &value, Ink::Dim);
            }
        }
        let label = self.x.label.chars().count();
        let end = frame.left + frame.columns;
        picture.write(end.saturating_sub(label), row + 2, &self.x.label, Ink::Dim);
    }

    /// Marks, then series.
    fn plot(&self, picture: &mut Picture, frame: Frame) {
        let mut canvas = Canvas::new(frame.columns, frame.rows, frame.charset);
        let (width, height) = canvas.dots();
        for mark in &self.marks {
            match mark.at {
                At::X(at) => {
                    let Some(across) = self.x.scale.place(at) else {
                        continue;
                    };
                    let (x, _) = canvas.dot_at(across, 0.0);
                    canvas.line((x, 0), (x, height - 1), 1, '|', mark.ink);
                    frame.write_mark(picture, across, &mark.name, mark.ink);
                }
                At::Y(at) => {
                    let Some(up) = self.y.scale.place(at) else {
                        continue;
                    };
                    let (_, y) = canvas.dot_at(0.0, up);
                    canvas.line((0, y), (width - 1, y), 3, '-', mark.ink);
                }
            }
        }
        for series in &self.series {
            self.series(&mut canvas, series);
        }
        picture.put(frame.left, frame.top, &canvas.cells());
    }

    fn series(&self, canvas: &mut Canvas, series: &Series) {
        let dot = |&(x, y): &(f64, f64)| {
            let place = self.x.scale.place(x).zip(self.y.scale.place(y));
            place.map(|(across, up)| canvas.dot_at(across, up))
        };
        let dots: Vec<_> = series.points.iter().map(dot).collect();
        let stride = match series.line {
            Line::None => None,
            Line::Solid => Some(1),
            Line::Guide => Some(3),
        };
        if let Some(stride) = stride {
            for pair in dots.windows(2) {
                if let (Some(from), Some(to)) = (pair[0], pair[1]) {
                    canvas.line(from, to, stride, '.', series.ink);
                }
            }
        }
        if series.line != Line::Guide {
            for dot in dots.into_iter().flatten() {
                canvas.point(dot, series.glyph, series.ink);
            }
        }
    }

    /// Names at the right: of a series where its last point is, of a level
    /// mark where it is. Where two would be on one row, the later one goes to
    /// the next free row.
    fn names(&self, picture: &mut Picture, frame: Frame) {
        let series = self.series.iter().filter_map(|s| {
            let on = |(x, y): &(f64, f64)| {
                let up = self.y.scale.place(*y)?;
                self.x.scale.place(*x).map(|_| up)
            };
            let up = s.points.iter().rev().find_map(on)?;
            Some((up, &s.name, s.ink))
        });
        let level = self.marks.iter().filter_map(|m| match m.at {
            At::Y(at) => Some((self.y.scale.place(at)?, &m.name, m.ink)),
            At::X(_) => None,
        });
        let mut names: Vec<_> = series.chain(level).collect();
        names.sort_by(|a, b| b.0.total_cmp(&a.0));
        let column = frame.left + frame.columns + 1;
        let last = frame.top + frame.rows;
        for (up, name, ink) in names {
            let wanted = frame.row(up);
            let free = |row: &usize| picture.is_blank(*row, column, usize::MAX);
            let below = (wanted..last).find(free);
            let row = below.or_else(|| (frame.top..wanted).rev().find(free));
            if let Some(row) = row {
                picture.write(column, row, name, ink);
            }
        }
    }
}

impl Frame {
    /// The row of the picture at a share of the plot's height.
    fn row(self, up: f64) -> usize {
        let canvas = Canvas::new(0, self.rows, self.charset);
        let (_, dots) = canvas.dots();
        let (_, dot) = canvas.dot_at(0.0, up);
        self.top + dot * self.rows / dots.max(1)
    }

    /// The column of the picture at a share of the plot's width.
    fn column(self, across: f64) -> usize {
        let canvas = Canvas::new(self.columns, 0, self.charset);
        let (dots, _) = canvas.dots();
        let (dot, _) = canvas.dot_at(across, 0.0);
        self.left + dot * self.columns / dots.max(1)
    }

    /// The name of an upright mark above the plot, as near to it as the room
    /// allows.
    fn write_mark(self, picture: &mut Picture, across: f64, name: &str, ink: Ink) {
        let wide = name.chars().count();
        let end = self.left + self.columns;
        let centred = self.column(across).saturating_sub(wide / 2);
        let last = end.saturating_sub(wide);
        let free = |from: &usize| picture.is_blank(1, from.saturating_sub(1), from + wide + 1);
        if let Some(from) = (centred.min(last)..=last).find(free) {
            picture.write(from, 1, name, ink);
        }
    }
}
