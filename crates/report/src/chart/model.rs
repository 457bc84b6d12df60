//! A chart as data: what is on its axes, what is drawn between them, what each
//! part is called. How it looks is up to a backend.

#![allow(missing_docs, reason = "most names of fields and variants say it all")]

use super::axis::Axis;
use crate::table::Column;
use plimsoll_model::Estimate;

/// A chart with its title, its panels and the numbers behind it.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    /// Names it within a page.
    pub id: String,
    /// What it shows, as a sentence without a full stop.
    pub title: String,
    /// Titles for a terminal, the longest first; empty where the title does.
    pub short_titles: Vec<String>,
    /// How to read it.
    pub hint: String,
    /// What is drawn, for those who do not see it; the title follows.
    pub description: String,
    /// One, or several on a grid.
    pub panels: Vec<Panel>,
    pub facets: Facets,
    pub width: Width,
    /// Where on the x axis each item stands that can be picked by pointing.
    pub picks: Vec<Option<f64>>,
    /// What is told of each item when it is picked.
    pub details: Vec<String>,
    /// The numbers behind it.
    pub(crate) table: Vec<Column>,
    /// Whether a row of the table is an item that can be picked.
    pub rows_are_picks: bool,
}

/// How much of a page a chart takes from left to right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Width {
    /// One of two columns.
    #[default]
    Half,
    /// All of it.
    Full,
}

/// How panels are arranged: row by row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facets {
    /// How many stand side by side, at most; 0 is 1.
    pub abreast: usize,
    /// The same on a phone.
    pub abreast_narrow: usize,
    /// Only the lowest panels have the ticks and the name of the x axis.
    pub shares_x: bool,
    /// Only the panels at the left have the ticks of the y axis.
    pub shares_y: bool,
}

/// Two axes and what is between them.
#[derive(Debug, Clone, Default)]
pub struct Panel {
    /// Stands above it.
    pub title: String,
    /// What was found of it, below the title.
    pub subtitle: Subtitle,
    pub x: Axis,
    pub y: Axis,
    pub height: Height,
    /// Values that stand out on an axis.
    pub marks: Vec<Mark>,
    pub series: Vec<Series>,
    pub bars: Vec<Bar>,
    /// Places where a line meets its goal.
    pub rings: Vec<Ring>,
    /// Names of colours, above the plot.
    pub legend: Vec<Key>,
}

/// A line of text below the title of a panel.
#[derive(Debug, Clone, Default)]
pub struct Subtitle {
    pub text: String,
    pub short: String,
    pub tone: Tone,
}

/// How high the plot of a panel is.
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

/// What a colour stands for. Each backend has its own palette.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Dim,
    P50,
    P95,
    P99,
    P999,
    Cpu,
    Rate,
    /// The send delay of the load generator.
    Slip,
    Work,
    Growth,
    /// One of several runs or arms, by its place.
    Nth(usize),
    Within,
    Beyond,
    Open,
    Best,
    Budget,
    Noise,
    Service,
    Job,
    CpuTime,
    Wait,
    /// What needs attention.
    Late,
    /// What joins the marks of a row.
    Span,
}

/// How the points of a series are joined.
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

/// How the ranges of a series' data are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ranges {
    /// A bar through each point.
    #[default]
    Bars,
    /// An area along the line.
    Band,
}

/// Data that belong together.
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
    /// The item that all of it belongs to.
    pub pick: Option<usize>,
    /// How far it is moved to the side, in widths of a point, so that it does
    /// not cover another with the same x.
    pub aside: f64,
}

/// A point with its intervals.
#[derive(Debug, Clone, Default)]
pub struct Datum {
    pub x: f64,
    pub y: f64,
    /// Its range along the x axis; one that ends in infinity is open.
    pub x_range: Option<(f64, f64)>,
    /// Its range along the y axis.
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
    /// A chart of one panel.
    pub fn of(panel: Panel, id: &str, title: &str, hint: &str) -> Chart {
        Chart {
            id: id.to_owned(),
            title: title.to_owned(),
            hint: hint.to_owned(),
            description: hint.to_owned(),
            panels: vec![panel],
            ..Chart::default()
        }
    }
}

impl Panel {
    /// Lines between two axes.
    pub fn of(x: Axis, y: Axis, series: Vec<Series>) -> Panel {
        Panel {
            x,
            y,
            series,
            ..Panel::default()
        }
    }
}

impl Series {
    /// Points joined by a line.
    pub fn line(name: &str, tone: Tone, data: Vec<Datum>) -> Series {
        Series {
            name: name.to_owned(),
            tone,
            line: Line::Solid,
            marker: Some(Shape::Circle),
            data,
            ..Series::default()
        }
    }
}

impl Datum {
    /// An estimate with its interval.
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

    /// A point, and the item that it belongs to.
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
    /// What is told where one points at it.
    pub tooltip: String,
    pub pick: Option<usize>,
}

/// On which axis a mark is, and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum At {
    X(f64),
    Y(f64),
}

/// What a mark is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// A load not to be exceeded, named above the plot.
    Load,
    /// The same of a goal that another outranks.
    OtherLoad,
    /// The limit of a goal, named beside its line.
    Goal,
    /// What others are compared with.
    Guide,
    /// Where nothing changes.
    Zero,
    /// All between the ends of its range, named at the lower end.
    Area,
    /// Where a curve begins to rise.
    Knee,
    /// When something ends; its interval is a stroke on the axis.
    Moment,
}

/// A value that stands out on an axis.
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
    /// A mark without a name.
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
    /// Its interval along the x axis.
    pub x_range: Option<(f64, f64)>,
    /// The colour of its line.
    pub tone: Tone,
    /// Whether another goal outranks it.
    pub is_other: bool,
    /// Which line it is; empty where there is but one.
    pub name: String,
}

/// The name of a colour.
#[derive(Debug, Clone)]
pub struct Key {
    pub name: String,
    pub tone: Tone,
    /// Above which x it stands; `None` for as far left as there is room.
    pub at: Option<f64>,
}
