//! Where the panels of a chart stand, and how much room is around each.

use super::draw::Size;
use super::layout::{Area, BOLD, FONT, Wish, rows, width_of};
use crate::chart::{
    At, Axis, Chart, Datum, Height, Line, Mark, MarkKind, Panel, RowStyle, Series, Width,
};

/// Height of a row of names above the plot.
pub(super) const NAME_ROW: f64 = 15.0;
/// Height of the row of letters under the bars.
const LETTERS: f64 = 16.0;
/// What parts two names of a row.
pub(super) const NAME_GAP: f64 = 10.0;
/// Between two panels side by side, besides the room at their right.
const GAP: f64 = 12.0;
/// Above all panels and below them, for names of axes that all share.
const SHARED: f64 = 18.0;

pub(super) struct Cell<'a> {
    pub(super) panel: &'a Panel,
    pub(super) plot: Area,
    /// Whether the ticks of the x axis are written, and below which free room.
    pub(super) x_ticks: bool,
    pub(super) letters: f64,
    pub(super) x_label: bool,
    pub(super) y_ticks: bool,
    pub(super) y_label: bool,
}

impl Cell<'_> {
    pub(super) fn x(&self, value: f64) -> f64 {
        let Area { left, right, .. } = self.plot;
        left + self.panel.x.scale.share(value) * (right - left)
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        let Area { top, bottom, .. } = self.plot;
        bottom + self.panel.y.scale.share(value) * (top - bottom)
    }

    /// Where a point stands; `None` where a value is not known.
    pub(super) fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        (x.is_finite() && y.is_finite()).then(|| (self.x(x), self.y(y)))
    }

    /// Where a point of a series stands, which may be moved to the side.
    pub(super) fn place(&self, series: &Series, datum: &Datum) -> Option<(f64, f64)> {
        let (x, y) = self.at((datum.x, datum.y))?;
        Some((x + 6.0 * series.aside, y))
    }

    /// The ends of the line through a value of an axis.
    pub(super) fn ends(&self, at: At) -> ((f64, f64), (f64, f64)) {
        let [left, right, top, bottom] = self.plot.edges();
        match at {
            At::X(at) => ((self.x(at), top), (self.x(at), bottom)),
            At::Y(at) => ((left, self.y(at)), (right, self.y(at))),
        }
    }

    /// How far above the plot the name of the y axis stands.
    pub(super) fn label_lift(&self) -> f64 {
        match named_loads(self.panel).next() {
            Some(_) => self.plot.top - FONT,
            None => 34.0 - FONT,
        }
    }
}

pub(super) struct Frame<'a> {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) cells: Vec<Cell<'a>>,
    pub(super) is_shared: bool,
}

pub(super) fn frame(chart: &Chart, size: Size) -> Frame<'_> {
    let width = match chart.width {
        Width::Full => size.pick(900.0, 360.0),
        Width::Half => size.pick(620.0, 360.0),
    };
    let (panels, facets) = (&chart.panels, chart.facets);
    let abreast = size.pick(facets.abreast, facets.abreast_narrow);
    let abreast = abreast.clamp(1, panels.len().max(1));
    let is_shared = abreast > 1 && facets.shares_x;
    let left = panels
        .iter()
        .map(|p| left_room(p, size))
        .fold(0.0, f64::max);
    // Panels with ticks of their own need room for them.
    let gap = if facets.shares_y { GAP } else { GAP.max(left) };
    let columns = abreast as f64;
    let wide = (width - left - gap * (columns - 1.0)) / columns;
    let mut top = if is_shared { SHARED } else { 0.0 };
    let mut cells: Vec<Cell<'_>> = Vec::new();
    for row in panels.chunks(abreast) {
        let head = row.iter().map(|p| head(p, width - 2.0 - left, is_shared));
        let head = head.fold(0.0, f64::max);
        let (mut high, mut foot) = (0.0, 0.0f64);
        let first = cells.len();
        for (column, panel) in row.iter().enumerate() {
            let from = left + (wide + gap) * column as f64;
            let plot_width = wide - right_room(panel, size);
            let is_lowest = first + column + abreast >= panels.len();
            let x_ticks = is_lowest || !facets.shares_x;
            let has_letters = panel.bars.iter().any(|bar| bar.invalid.is_some());
            let cell = Cell {
                panel,
                plot: Area {
                    left: from,
                    right: from + plot_width,
                    top: top + head,
                    bottom: 0.0,
                },
                x_ticks,
                letters: if has_letters { LETTERS } else { 0.0 },
                x_label: x_ticks && !is_shared && !panel.x.label.is_empty(),
                y_ticks: column == 0 || !facets.shares_y,
                y_label: !is_shared && !panel.y.label.is_empty(),
            };
            high = f64::max(high, height(panel, plot_width, size));
            foot = foot.max(foot_of(&cell));
            cells.push(cell);
        }
        top += head + high;
        cells[first..]
            .iter_mut()
            .for_each(|cell| cell.plot.bottom = top);
        // Where no ticks part two panels, the name of the lower one needs room.
        top += f64::max(foot, 6.0);
    }
    Frame {
        width,
        height: top + if is_shared { SHARED + 4.0 } else { 4.0 },
        cells,
        is_shared,
    }
}

fn widest<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    names.map(width_of).fold(0.0, f64::max)
}

fn left_room(panel: &Panel, size: Size) -> f64 {
    let Axis {
        rows, row_style, ..
    } = &panel.y;
    match (rows.is_empty(), row_style) {
        (true, _) => {
            let ticks = panel.y.ticks(6);
            widest(ticks.iter().map(|(_, name)| name.as_str())) + 12.0
        }
        (false, RowStyle::Above) => 12.0,
        (false, RowStyle::Beside) => {
            let names = BOLD * widest(rows.iter().map(|row| row.name.as_str()));
            (names + 14.0).min(size.pick(190.0, 118.0))
        }
    }
}

/// Room for what stands at the right ends of lines and bars.
pub(super) fn right_room(panel: &Panel, size: Size) -> f64 {
    let names = panel.series.iter().filter(|s| is_named(s.line));
    let ends = match has_end_names(panel) {
        true => BOLD * widest(names.map(|s| s.name.as_str())) + 12.0,
        false => 14.0,
    };
    let values = widest(panel.bars.iter().map(|bar| bar.value.as_str()));
    let values = if values > 0.0 {
        BOLD * values + 11.0
    } else {
        0.0
    };
    let mut data = panel.series.iter().flat_map(|series| &series.data);
    let is_open = data.any(|d| d.x_range.is_some_and(|(_, high)| high.is_infinite()));
    let open = if is_open { 24.0 } else { 14.0 };
    ends.min(size.pick(150.0, 84.0)).max(values).max(open)
}

fn is_named(line: Line) -> bool {
    line != Line::Guide
}

/// Whether lines are named at their ends: what is alone is named by the axis.
pub(super) fn has_end_names(panel: &Panel) -> bool {
    let series = panel.series.iter();
    let named = series.filter(|s| is_named(s.line) && !s.name.is_empty());
    named.count() > 1
}

pub(super) fn named_loads(panel: &Panel) -> impl Iterator<Item = &Mark> {
    let is_load = |mark: &&Mark| matches!(mark.kind, MarkKind::Load | MarkKind::OtherLoad);
    let loads = panel.marks.iter().filter(is_load);
    loads.filter(|mark| !mark.name.is_empty())
}

/// What names of loads want, in the rows above the plot.
pub(super) fn name_wishes(panel: &Panel, x: impl Fn(f64) -> f64) -> Vec<Wish> {
    let wish = |mark: &Mark| Wish {
        at: match mark.at {
            At::X(at) | At::Y(at) => x(at),
        },
        // That of the goal that leads is bold.
        size: match mark.kind {
            MarkKind::Load => BOLD * width_of(&mark.name),
            _ => width_of(&mark.name),
        },
        rank: u8::from(mark.kind == MarkKind::OtherLoad),
    };
    named_loads(panel).map(wish).collect()
}

fn head(panel: &Panel, name_room: f64, is_shared: bool) -> f64 {
    let rows = rows(&name_wishes(panel, |at| at), name_room, NAME_GAP);
    let last = rows.into_iter().max();
    let names = last.map_or(0.0, |last| 38.0 + NAME_ROW * last as f64);
    let is_named = !panel.y.label.is_empty() && !is_shared;
    let label = if is_named { 34.0 } else { 10.0 };
    let legend = if panel.legend.is_empty() { 0.0 } else { 24.0 };
    let title = match (panel.title.is_empty(), panel.subtitle.text.is_empty()) {
        (true, _) => 0.0,
        (false, true) => 28.0,
        (false, false) => 44.0,
    };
    [names, label, legend, title]
        .into_iter()
        .fold(0.0, f64::max)
}

fn foot_of(cell: &Cell<'_>) -> f64 {
    let ticks = if cell.x_ticks {
        20.0 + cell.letters
    } else {
        0.0
    };
    let label = if cell.x_label { 18.0 } else { 0.0 };
    ticks + label
}

fn height(panel: &Panel, plot_width: f64, size: Size) -> f64 {
    match panel.height {
        Height::Fixed(pixels) if pixels > 100.0 => size.pick(pixels, 0.82 * pixels),
        Height::Fixed(pixels) => pixels,
        Height::Equal => plot_width * panel.y.scale.span() / panel.x.scale.span(),
        Height::Rows => {
            let each = match panel.y.row_style {
                RowStyle::Beside => 24.0,
                RowStyle::Above => 42.0,
            };
            each * panel.y.rows.len().max(1) as f64
        }
    }
}
