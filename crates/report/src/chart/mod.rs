//! Charts made of characters: a canvas of dots, scales, axes.
//!
//! The terminal report draws with them, and so does the view of a run that
//! goes on. A chart is plain data and its picture a pure function of it, of a
//! width, a height and a character set; this room knows no terminal, and it
//! finds nothing out: the points are given.
//!
//! ```
//! use plimsoll_report::Ink;
//! use plimsoll_report::chart::{Axis, Chart, Charset, Line, Scale, Series};
//!
//! let points = vec![(0.0, 0.0), (50.0, 60.0), (100.0, 100.0)];
//! let axis = |label: &str| Axis {
//!     label: label.to_owned(),
//!     scale: Scale::from_zero([100.0].into_iter()),
//!     show: |value| value.to_string(),
//! };
//! let chart = Chart {
//!     title: "CPU use against load".to_owned(),
//!     x: axis("load, %"),
//!     y: axis("CPU, %"),
//!     series: vec![Series {
//!         name: "CPU".to_owned(),
//!         ink: Ink::Cyan,
//!         glyph: '*',
//!         line: Line::Solid,
//!         points,
//!     }],
//!     marks: vec![],
//! };
//! let picture = chart.draw(60, 16, Charset::Unicode);
//! assert_eq!(picture.rows().len(), 16);
//! ```

mod canvas;
mod draw;
mod of_copies;
mod of_cpu;
mod of_run;
mod parts;
mod picture;
mod scale;
mod spark;

pub(crate) use of_run::charts;
pub use picture::{Cell, Picture};
pub use scale::Scale;
pub use spark::{bar, sparkline};

use crate::number;
use crate::table::Ink;

/// Which characters a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// Braille patterns, blocks, box drawing.
    Unicode,
    /// ASCII alone.
    Ascii,
}

impl Charset {
    /// One or the other of two ways to show the same.
    pub fn pick<T>(self, unicode: T, ascii: T) -> T {
        match self {
            Charset::Unicode => unicode,
            Charset::Ascii => ascii,
        }
    }
}

/// A value on an axis: thousands apart, no more decimals than it has.
pub fn tick(value: f64) -> String {
    number::tick(value)
}

/// A number of things on an axis, where there is nothing between two.
pub fn whole_tick(value: f64) -> String {
    if value.fract() == 0.0 {
        number::tick(value)
    } else {
        String::new()
    }
}

/// Microseconds on an axis, in the unit that is short.
pub fn time_tick(us: f64) -> String {
    number::time_us(us)
}

/// An axis with its unit.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What is on it, and in which unit; empty where the title says that.
    pub label: String,
    /// Which value is where.
    pub scale: Scale,
    /// How a value at a tick is written; empty for one that has no tick.
    pub show: fn(f64) -> String,
}

/// How the points of a series are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Not at all.
    None,
    /// By straight lines.
    Solid,
    /// By every second dot of them, and no points: a guide, not a measurement.
    Guide,
}

/// Points that belong together.
#[derive(Debug, Clone)]
pub struct Series {
    /// Written at its last point.
    pub name: String,
    /// Its colour, where there are colours.
    pub ink: Ink,
    /// Stands for a point where there is no braille.
    pub glyph: char,
    /// How the points are joined.
    pub line: Line,
    /// Along x and y. Those that are not on both axes are left out, as NaN is,
    /// and the line has a gap there.
    pub points: Vec<(f64, f64)>,
}

/// A value that stands out on an axis.
#[derive(Debug, Clone)]
pub struct Mark {
    /// Written beside it.
    pub name: String,
    /// Its colour, where there are colours.
    pub ink: Ink,
    /// Where it is.
    pub at: At,
}

/// On which axis a mark is, and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum At {
    /// On the x axis: an upright line.
    X(f64),
    /// On the y axis: a level line.
    Y(f64),
}

/// A chart with one title, two axes, and what is between them.
#[derive(Debug, Clone)]
pub struct Chart {
    /// What it says.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From the bottom to the top.
    pub y: Axis,
    /// Later ones are drawn over earlier ones.
    pub series: Vec<Series>,
    /// Drawn before all series.
    pub marks: Vec<Mark>,
}

#[cfg(test)]
mod tests;
