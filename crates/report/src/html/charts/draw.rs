//! The parts of a chart: its frame, axes, lines, bands and marks.

use super::layout::{Area, thinned, width_of};
use super::scale::Scale;
use crate::html::markup::{El, Html, el, pixels};

/// Which screen or sheet a chart is drawn for. Each is drawn twice, because a
/// drawing made for one is unreadable on the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// From a small window up, and on paper.
    Wide,
    /// A phone.
    Narrow,
}

impl Size {
    /// One of two values.
    pub(super) fn pick<T>(self, wide: T, narrow: T) -> T {
        match self {
            Size::Wide => wide,
            Size::Narrow => narrow,
        }
    }
}

/// Height of the characters of a chart, in its own pixels.
pub(super) const FONT: f64 = 12.0;

/// The edges of what is drawn in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plot {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Plot {
    /// From left to right.
    pub(super) fn x(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    /// From bottom to top, as values rise.
    pub(super) fn y(&self) -> (f64, f64) {
        (self.bottom, self.top)
    }
}

/// A chart on its way.
pub(super) struct Drawing {
    size: Size,
    pub(super) width: f64,
    height: f64,
    pub(super) plot: Plot,
    levels: Vec<Option<f64>>,
    /// Where labels stand that others must not stand on.
    pub(super) taken: Vec<Area>,
    /// Height that is left free between the plot and the ticks of its x axis.
    pub(super) below: f64,
    body: Html,
}

impl Drawing {
    /// An empty drawing of this height, with room for labels at its sides.
    pub(super) fn new(size: Size, width: f64, height: f64, margins: [f64; 4]) -> Drawing {
        let [top, right, bottom, left] = margins;
        Drawing {
            size,
            width,
            height,
            plot: Plot {
                left,
                right: width - right,
                top,
                bottom: height - bottom,
            },
            levels: Vec::new(),
            taken: Vec::new(),
            below: 0.0,
            body: Html::default(),
        }
    }

    /// Adds a part.
    pub(super) fn put(&mut self, part: impl Into<Html>) {
        self.body.push(part);
    }

    /// Where each level stands from left to right, so that one can be picked
    /// by pointing.
    pub(super) fn levels_at(&mut self, levels: Vec<Option<f64>>) {
        self.levels = levels;
    }

    /// The finished picture. `id` names it together with its size.
    pub(super) fn finish(self, id: &str, title: &str, description: &str) -> El {
        let size = self.size.pick("wide", "narrow");
        let told = format!("{id}-{size}-told");
        let (width, height) = (pixels(self.width), pixels(self.height));
        // Points of many levels touch; without an edge they make a line.
        let class = match self.levels.len() {
            0..=60 => size.to_owned(),
            _ => format!("{size} dense"),
        };
        let mut svg = el("svg")
            .class(&class)
            .attr("data-chart", id)
            .attr("viewBox", &format!("0 0 {width} {height}"))
            .attr("role", "img")
            .attr("aria-label", title)
            .attr("aria-describedby", &told)
            .with(el("desc").attr("id", &told).with(description));
        if !self.levels.is_empty() {
            let places = self.levels.iter();
            let places: Vec<String> = places
                .map(|x| x.map_or_else(|| "-".to_owned(), pixels))
                .collect();
            let Plot { top, bottom, .. } = self.plot;
            let cursor = line((0.0, top), (0.0, bottom), "cursor");
            svg = svg
                .attr("data-xs", &places.join(" "))
                .attr("tabindex", "0")
                .with(cursor);
        }
        svg.with(self.body)
    }

    /// Ticks and their labels below, what it is and its unit under them.
    pub(super) fn x_axis(&mut self, scale: &Scale, label: &str, show: impl Fn(f64) -> String) {
        let ticks = scale.ticks(self.size.pick(7, 4));
        let named: Vec<(f64, String)> = ticks.iter().map(|t| (*t, show(*t))).collect();
        self.x_axis_at(scale, label, &named);
    }

    /// The same with given ticks.
    pub(super) fn x_axis_at(&mut self, scale: &Scale, label: &str, ticks: &[(f64, String)]) {
        let Plot { top, bottom, .. } = self.plot;
        let edge = self.width - 1.0;
        let place = |(value, name): &(f64, String)| {
            let size = width_of(name, FONT);
            (scale.at(*value).min(edge - size / 2.0), size)
        };
        let places: Vec<(f64, f64)> = ticks.iter().map(place).collect();
        let row = bottom + self.below;
        for (((value, name), (at, _)), shown) in
            ticks.iter().zip(&places).zip(thinned(&places, 8.0))
        {
            let x = scale.at(*value);
            self.put(line((x, top), (x, bottom), "grid"));
            if shown {
                self.put(text((*at, row + 16.0), "tick mid", name));
            }
        }
        self.put(line(
            (self.plot.left, bottom),
            (self.plot.right, bottom),
            "axis",
        ));
        if label.is_empty() {
            return;
        }
        // In the middle of the plot, as far as it has room there.
        let half = width_of(label, FONT) / 2.0;
        let middle = (self.plot.left + self.plot.right) / 2.0;
        let middle = middle.min(self.width - 2.0 - half).max(2.0 + half);
        self.put(text((middle, row + 34.0), "axis-name mid", label));
    }

    /// Ticks and their labels at the left, what it is and its unit above them,
    /// where it reads without turning the head.
    pub(super) fn y_axis(&mut self, scale: &Scale, label: &str, show: impl Fn(f64) -> String) {
        let room = (self.plot.bottom - self.plot.top) / 30.0;
        self.y_ticks(scale, (room as usize).clamp(2, 6), show);
        self.put(text((2.0, FONT), "axis-name", label));
    }

    /// Ticks and their labels at the left, as many as have room.
    pub(super) fn y_ticks(&mut self, scale: &Scale, about: usize, show: impl Fn(f64) -> String) {
        let ticks = scale.ticks(about);
        // Upwards, as the ticks rise.
        let places: Vec<(f64, f64)> = ticks.iter().map(|t| (-scale.at(*t), FONT)).collect();
        for (tick, shown) in ticks.iter().zip(thinned(&places, 4.0)) {
            let y = scale.at(*tick);
            self.put(line((self.plot.left, y), (self.plot.right, y), "grid"));
            if shown {
                self.put(text(
                    (self.plot.left - 6.0, y + 4.0),
                    "tick end",
                    &show(*tick),
                ));
            }
        }
    }
}

/// A straight line.
pub(super) fn line(from: (f64, f64), to: (f64, f64), class: &str) -> El {
    el("line")
        .class(class)
        .num("x1", from.0)
        .num("y1", from.1)
        .num("x2", to.0)
        .num("y2", to.1)
}

/// A line of text.
pub(super) fn text(at: (f64, f64), class: &str, words: &str) -> El {
    el("text")
        .class(class)
        .num("x", at.0)
        .num("y", at.1)
        .with(words)
}

/// A line through points.
pub(super) fn path(points: &[(f64, f64)], class: &str) -> El {
    el("path").class(class).attr("d", &route(points))
}

/// The area between a lower and an upper edge, both from left to right.
pub(super) fn band(lower: &[(f64, f64)], upper: &[(f64, f64)], class: &str) -> El {
    let around: Vec<(f64, f64)> = upper.iter().chain(lower.iter().rev()).copied().collect();
    el("path").class(class).attr("d", &(route(&around) + "Z"))
}

fn route(points: &[(f64, f64)]) -> String {
    let mut out = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        out.push(command);
        out += &pixels(*x);
        out.push(' ');
        out += &pixels(*y);
    }
    out
}

/// How a point looks: another shape for each line, for those who do not see
/// its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Diamond,
    Triangle,
}

/// A measured point.
pub(super) fn point(at: (f64, f64), shape: Shape, class: &str) -> El {
    let (x, y) = at;
    match shape {
        Shape::Circle => el("circle")
            .class(class)
            .num("cx", x)
            .num("cy", y)
            .num("r", 3.2),
        Shape::Square => el("rect")
            .class(class)
            .num("x", x - 3.0)
            .num("y", y - 3.0)
            .num("width", 6.0)
            .num("height", 6.0),
        Shape::Diamond => {
            let corners = [(x, y - 4.4), (x + 4.4, y), (x, y + 4.4), (x - 4.4, y)];
            el("path").class(class).attr("d", &(route(&corners) + "Z"))
        }
        Shape::Triangle => {
            let corners = [(x, y - 4.2), (x + 4.2, y + 3.2), (x - 4.2, y + 3.2)];
            el("path").class(class).attr("d", &(route(&corners) + "Z"))
        }
    }
}

/// A single trial.
pub(super) fn speck(at: (f64, f64), class: &str) -> El {
    el("circle")
        .class(class)
        .num("cx", at.0)
        .num("cy", at.1)
        .num("r", 1.8)
}

/// The ship's mark: a circle with a level line through it. `class` gives it
/// another colour than the load line's.
pub(super) fn load_mark(at: (f64, f64), class: &str) -> El {
    let (x, y) = at;
    let ring = el("circle")
        .class("ring")
        .num("cx", x)
        .num("cy", y)
        .num("r", 8.0);
    el("g")
        .class(&format!("load-mark {class}"))
        .with(ring)
        .with(line((x - 14.0, y), (x + 14.0, y), "bar"))
}
