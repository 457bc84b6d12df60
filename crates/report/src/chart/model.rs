//! A chart as data: what is on its axes, what is drawn between them, what each
//! part is called. How it looks is up to a backend.

use super::axis::{Axis, Unit};
use super::scale::Scale;
use super::tone::Tone;
use crate::table::Column;
use plimsoll_model::Estimate;

#[derive(Debug, Clone, Default)]
pub struct Chart {
    pub id: String,
    /// What it shows, as a sentence without a full stop.
    pub title: String,
    /// Titles for a terminal, the longest first; empty where the title does.
    pub short_titles: Vec<String>,
    pub hint: String,
    /// What is drawn, for those who do not see it; the title follows.
    pub description: String,
    pub panels: Vec<Panel>,
    pub facets: Facets,
    pub width: Width,
    /// Where on the x axis each item stands that can be picked by pointing.
    pub picks: Vec<Option<f64>>,
    /// Shown of each item when it is picked.
    pub details: Vec<String>,
    pub(crate) table: Vec<Column>,
    /// Whether a row of the table is an item that can be picked.
    pub rows_are_picks: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Width {
    #[default]
    Half,
    Full,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Facets {
    /// How many stand side by side, at most; 0 is 1.
    pub abreast: usize,
    pub abreast_narrow: usize,
    /// Only the lowest panels have the ticks and the name of the x axis.
    pub shares_x: bool,
    /// Only the panels at the left have the ticks of the y axis.
    pub shares_y: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Panel {
    pub title: String,
    pub subtitle: Subtitle,
    pub x: Axis,
    pub y: Axis,
    pub height: Height,
    pub marks: Vec<Mark>,
    pub series: Vec<Series>,
    pub bars: Vec<Bar>,
    pub rings: Vec<Ring>,
    pub legend: Vec<Key>,
}

#[derive(Debug, Clone, Default)]
pub struct Subtitle {
    pub text: String,
    pub short: String,
    pub tone: Tone,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Height {
    /// In pixels of the wide drawing.
    Fixed(f64),
    /// A unit upwards is as long as a unit sideways.
    Equal,
    /// The rows of the y axis decide.
    Rows,
}

impl Default for Height {
    fn default() -> Height {
        Height::Fixed(240.0)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Line {
    #[default]
    None,
    /// By straight lines; a value that is not finite is a gap.
    Solid,
    /// What others are compared with.
    Thin,
    /// A guide to the eye, not a measurement.
    Guide,
}

/// The shape of a point: another for each line, for those who do not see its
/// colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Square,
    Diamond,
    Triangle,
    /// A small dot: a single trial.
    Speck,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ranges {
    /// A bar through each point.
    #[default]
    Bars,
    /// An area along the line.
    Band,
}

#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Stands at its end; on a page only where there are several.
    pub name: String,
    pub tone: Tone,
    pub line: Line,
    /// How a point looks; `None` for no points.
    pub marker: Option<Shape>,
    pub ranges: Ranges,
    pub data: Vec<Datum>,
    pub pick: Option<usize>,
    /// How far it is moved to the side, in widths of a point, so that it does
    /// not cover another with the same x.
    pub aside: f64,
}

#[derive(Debug, Clone, Default)]
pub struct Datum {
    pub x: f64,
    pub y: f64,
    /// Its range along the x axis; one that ends in infinity is open.
    pub x_range: Option<(f64, f64)>,
    pub y_range: Option<(f64, f64)>,
    pub pick: Option<usize>,
    /// Rests on invalid trials, or is inconclusive.
    pub hollow: bool,
    /// Where it differs from that of the series.
    pub shape: Option<Shape>,
    /// Where it differs from that of the series.
    pub tone: Option<Tone>,
    pub name: String,
    pub is_best: bool,
}

impl Chart {
    pub fn of(panel: Panel, id: &str, title: impl Into<String>, hint: impl Into<String>) -> Chart {
        let hint = hint.into();
        Chart {
            id: id.to_owned(),
            title: title.into(),
            description: hint.clone(),
            hint,
            panels: vec![panel],
            ..Chart::default()
        }
    }

    pub(crate) fn described(self, description: impl Into<String>) -> Chart {
        Chart {
            description: description.into(),
            ..self
        }
    }
}

impl Panel {
    pub fn of(x: Axis, y: Axis, series: Vec<Series>) -> Panel {
        Panel {
            x,
            y,
            series,
            ..Panel::default()
        }
    }

    pub(crate) fn of_rows(x: Axis, y: Axis, bars: Vec<Bar>) -> Panel {
        Panel {
            x,
            y,
            height: Height::Rows,
            bars,
            ..Panel::default()
        }
    }

    pub(crate) fn of_cpu(x: Axis, diagonal: Series) -> Panel {
        let y = Axis::new("CPU use, %", Scale::linear(0.0, 100.0), Unit::Number);
        Panel::of(x, y, vec![diagonal])
    }
}

impl Series {
    pub fn line(name: &str, tone: Tone, data: Vec<Datum>) -> Series {
        Series {
            name: name.to_owned(),
            line: Line::Solid,
            ..Series::points(tone, Shape::Circle, data)
        }
    }

    /// Points joined by a line, in a shape of its own.
    pub(crate) fn joined(name: &str, tone: Tone, shape: Shape, data: Vec<Datum>) -> Series {
        Series {
            marker: Some(shape),
            ..Series::line(name, tone, data)
        }
    }

    pub(crate) fn points(tone: Tone, shape: Shape, data: Vec<Datum>) -> Series {
        Series {
            tone,
            marker: Some(shape),
            data,
            ..Series::default()
        }
    }

    pub(crate) fn specks(tone: Tone, points: impl Iterator<Item = (f64, f64)>) -> Series {
        let data = points.map(|(x, y)| Datum::at(x, y, None)).collect();
        Series::points(tone, Shape::Speck, data)
    }

    pub(crate) fn diagonal(name: &str, most: f64) -> Series {
        Series {
            name: name.to_owned(),
            tone: Tone::Dim,
            line: Line::Guide,
            data: [0.0, most].map(|x| Datum::at(x, x, None)).to_vec(),
            ..Series::default()
        }
    }
}

impl Datum {
    pub fn estimate(x: f64, y: Estimate) -> Datum {
        Datum {
            y_range: y.interval(),
            ..Datum::at(x, y.value, None)
        }
    }

    /// What it takes of the y axis: its value, or the ends of its interval.
    pub fn y_extent(&self) -> [f64; 2] {
        self.y_range.map_or([self.y; 2], |(low, high)| [low, high])
    }

    pub fn at(x: f64, y: f64, pick: Option<usize>) -> Datum {
        Datum {
            x,
            y,
            pick,
            ..Datum::default()
        }
    }
}

/// A rectangle: a share, or a trial over time.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    pub x: (f64, f64),
    pub y: (f64, f64),
    /// The part of `x` that was measured, of a trial.
    pub window: Option<(f64, f64)>,
    pub tone: Tone,
    pub value: String,
    pub interval: Option<(f64, f64)>,
    /// A letter for the reason if it is invalid: it is hatched then.
    pub invalid: Option<char>,
    pub tooltip: String,
    pub pick: Option<usize>,
}

/// On which axis a mark is, and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum At {
    X(f64),
    Y(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// A load not to be exceeded, named above the plot.
    Load,
    /// The same of a goal that another outranks.
    OtherLoad,
    /// The limit of a goal, named beside its line.
    Goal,
    /// What others are compared with, or where a part begins, which is named beside its line.
    Guide,
    Zero,
    /// All between the ends of its range, named at the lower end.
    Area,
    Knee,
    /// A moment, such as when something ends; its interval is a stroke on the axis.
    Moment,
}

#[derive(Debug, Clone)]
pub struct Mark {
    pub at: At,
    pub kind: MarkKind,
    pub range: Option<(f64, f64)>,
    /// Its name on a page.
    pub name: String,
    /// Its name in a terminal, which leaves out marks that have none.
    pub short_name: String,
    pub tone: Tone,
}

impl Mark {
    pub fn new(kind: MarkKind, at: At) -> Mark {
        Mark {
            at,
            kind,
            range: None,
            name: String::new(),
            short_name: String::new(),
            tone: Tone::Plain,
        }
    }
}

/// A place where a line meets its goal: the ship's mark.
#[derive(Debug, Clone, Default)]
pub struct Ring {
    pub at: (f64, f64),
    pub x_range: Option<(f64, f64)>,
    pub tone: Tone,
    /// Whether another goal outranks it.
    pub is_other: bool,
    /// Which line it is; empty where there is but one.
    pub name: String,
}

#[derive(Debug, Clone)]
pub struct Key {
    pub name: String,
    pub tone: Tone,
    /// Above which x it stands; `None` for as far left as there is room.
    pub at: Option<f64>,
}
