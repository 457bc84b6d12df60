//! Charts as data, with two backends: SVG for pages (`html::charts`) and
//! characters for terminals, which the live view shows too.
//!
//! Each chart is a function from findings to a [`Chart`] (in the folders of the
//! experiments). A backend
//! is a pure function of the chart and of the room there is; nothing is found
//! out here.
//!
//! ```
//! use plimsoll_report::chart::{Axis, Chart, Charset, Datum, Line, Panel, Scale, Series, Unit};
//!
//! let percent = |label| Axis::new(label, Scale::up_to([100.0]), Unit::Number);
//! let data = [(0.0, 0.0), (50.0, 60.0), (100.0, 100.0)];
//! let mut chart = Chart::default();
//! chart.panels.push(Panel {
//!     x: percent("load, %"),
//!     y: percent("CPU use, %"),
//!     series: vec![Series {
//!         line: Line::Solid,
//!         data: data.map(|(x, y)| Datum::at(x, y, None)).to_vec(),
//!         ..Series::default()
//!     }],
//!     ..Panel::default()
//! });
//! let picture = chart.draw(60, 16, Charset::Unicode).unwrap();
//! assert_eq!(picture.rows().len(), 16);
//! ```

mod axis;
mod canvas;
mod model;
mod picture;
mod plots;
mod progress;
mod scale;
mod spark;
mod terminal;
pub(crate) mod time_line;
mod tone;

pub use axis::{Axis, Row, RowStyle, Unit};
pub use model::{
    At, Bar, Chart, Datum, Facets, Height, Key, Line, Mark, MarkKind, Panel, Ranges, Ring, Series,
    Shape, Subtitle, Width,
};
pub use picture::{Cell, Picture};
pub use plots::PlotFile;
pub(crate) use plots::files as plot_files;
pub use progress::{LiveCharts, Progress, TrialPoint, progress};
pub use scale::Scale;
pub use spark::bar;
pub(crate) use terminal::text;
pub use tone::Tone;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    Unicode,
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

#[cfg(test)]
mod tests;
