//! The parts of a drawing: lines, points, text, and how each tone looks.

use super::layout::Area;
use crate::chart::{Shape, Tone};
use crate::markup::{El, Html, el, pixels};

/// Which screen or sheet a chart is drawn for. Each is drawn twice, because a
/// drawing made for one is unreadable on the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Wide,
    Narrow,
}

impl Size {
    pub(super) fn pick<T>(self, wide: T, narrow: T) -> T {
        match self {
            Size::Wide => wide,
            Size::Narrow => narrow,
        }
    }
}

pub(super) struct Drawing {
    pub(super) size: Size,
    pub(super) width: f64,
    /// Where labels and marks stand that others must not stand on.
    pub(super) taken: Vec<Area>,
    /// Where lines run that names had better leave free.
    pub(super) crossed: Vec<Area>,
    pub(super) body: Html,
}

impl Drawing {
    pub(super) fn put(&mut self, part: impl Into<Html>) {
        self.body.push(part);
    }
}

/// What charts.css calls a tone; empty for none.
pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Dim => "dim",
        Tone::P50 => "p50",
        Tone::P95 => "p95",
        Tone::P99 => "p99",
        Tone::P999 => "p999",
        Tone::Cpu => "cpu",
        Tone::Rate => "rate",
        Tone::Slip => "slip",
        Tone::Work => "work",
        Tone::Growth => "growth",
        Tone::Nth(n) => ["m0", "m1", "m2", "m3", "m4", "m5"][n % 6],
        Tone::Within => "within",
        Tone::Beyond => "beyond",
        Tone::Open => "untold",
        Tone::Best => "best",
        Tone::Budget => "budget",
        Tone::Noise => "noise-name",
        Tone::Service => "of-service",
        Tone::Job => "of-job",
        Tone::CpuTime => "of-cpu",
        Tone::Wait => "of-wait",
        Tone::Late => "late",
        Tone::Span => "of-span",
    }
}

pub(super) fn toned(name: &str, tone: Tone) -> String {
    match class(tone) {
        "" => name.to_owned(),
        tone => format!("{name} {tone}"),
    }
}

pub(super) fn picked(element: El, pick: Option<usize>) -> El {
    match pick {
        Some(item) => element.level(item),
        None => element,
    }
}

pub(super) fn line(from: (f64, f64), to: (f64, f64), class: &str) -> El {
    el("line")
        .class(class)
        .num("x1", from.0)
        .num("y1", from.1)
        .num("x2", to.0)
        .num("y2", to.1)
}

/// A rectangle between two opposite corners, which is never so thin that it is
/// not seen.
pub(super) fn rect(a: (f64, f64), b: (f64, f64), class: &str) -> El {
    el("rect")
        .class(class)
        .num("x", a.0.min(b.0))
        .num("y", a.1.min(b.1))
        .num("width", (a.0 - b.0).abs().max(0.5))
        .num("height", (a.1 - b.1).abs().max(0.5))
}

pub(super) fn text(at: (f64, f64), class: &str, words: &str) -> El {
    el("text")
        .class(class)
        .num("x", at.0)
        .num("y", at.1)
        .with(words)
}

pub(super) fn path(points: &[Option<(f64, f64)>], class: &str) -> El {
    let runs = points.split(Option::is_none);
    let runs = runs.map(|run| run.iter().flatten().copied().collect::<Vec<_>>());
    let route: String = runs.map(|run| route(&run)).collect();
    el("path").class(class).attr("d", &route)
}

pub(super) fn band(edges: &[Option<[(f64, f64); 2]>], class: &str) -> El {
    let runs = edges.split(Option::is_none);
    let around = runs.map(|run| {
        let run: Vec<[(f64, f64); 2]> = run.iter().flatten().copied().collect();
        let upper = run.iter().map(|[_, upper]| *upper);
        let lower = run.iter().rev().map(|[lower, _]| *lower);
        upper.chain(lower).collect::<Vec<_>>()
    });
    let closed = around.filter(|around| !around.is_empty());
    let route: String = closed.map(|around| route(&around) + "Z").collect();
    el("path").class(class).attr("d", &route)
}

fn route(points: &[(f64, f64)]) -> String {
    let mut out = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        out.push(if i == 0 { 'M' } else { 'L' });
        out += &pixels(*x);
        out.push(' ');
        out += &pixels(*y);
    }
    out
}

pub(super) fn point((x, y): (f64, f64), shape: Shape, class: &str) -> El {
    let circle = |r| {
        el("circle")
            .class(class)
            .num("cx", x)
            .num("cy", y)
            .num("r", r)
    };
    let closed =
        |corners: &[(f64, f64)]| el("path").class(class).attr("d", &(route(corners) + "Z"));
    match shape {
        Shape::Circle => circle(3.2),
        Shape::Speck => circle(1.8),
        Shape::Square => rect((x - 3.0, y - 3.0), (x + 3.0, y + 3.0), class),
        Shape::Diamond => closed(&[(x, y - 4.4), (x + 4.4, y), (x, y + 4.4), (x - 4.4, y)]),
        Shape::Triangle => closed(&[(x, y - 4.2), (x + 4.2, y + 3.2), (x - 4.2, y + 3.2)]),
    }
}

/// The ship's mark: a circle with a level line through it.
pub(super) fn load_mark((x, y): (f64, f64), class: &str) -> El {
    let ring = el("circle").class("ring").num("cx", x).num("cy", y);
    el("g")
        .class(&format!("load-mark {class}"))
        .with(ring.num("r", 8.0))
        .with(line((x - 14.0, y), (x + 14.0, y), "bar"))
}
