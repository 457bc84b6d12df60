//! The SVG backend: a [`Chart`] as two drawings, one for a phone and one for
//! the rest, with the same measurements in both.

mod draw;
mod file;
mod frame;
mod label;
mod layout;
mod panel;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::overlapping;

use crate::chart::Chart;
use crate::markup::{El, Html, el, pixels};
use draw::{Drawing, Size, line, text};
use frame::{Frame, frame};

pub(crate) fn svg(chart: &Chart) -> Html {
    let sizes = [Size::Wide, Size::Narrow];
    sizes.into_iter().map(|size| drawing(chart, size)).collect()
}

fn drawing(chart: &Chart, size: Size) -> El {
    placed(chart, size, &frame(chart, size))
}

fn placed(chart: &Chart, size: Size, frame: &Frame<'_>) -> El {
    let mut out = Drawing {
        size,
        width: frame.width,
        taken: Vec::new(),
        crossed: Vec::new(),
        body: Html::default(),
    };
    for cell in &frame.cells {
        panel::draw(&mut out, cell);
    }
    if let Some(panel) = chart.panels.first().filter(|_| frame.is_shared) {
        out.put(text((2.0, layout::FONT), "axis-name", &panel.y.label));
        let (middle, below) = (frame.width / 2.0, frame.height - 6.0);
        panel::axis_name(&mut out, &panel.x.label, middle, below);
    }
    let size = size.pick("wide", "narrow");
    let described = format!("{}-{size}-desc", chart.id);
    let (width, height) = (pixels(frame.width), pixels(frame.height));
    // Points of many levels touch; without an edge they make a line.
    let class = match chart.picks.len() {
        0..=60 => size.to_owned(),
        _ => format!("{size} dense"),
    };
    let description = format!("{} {}.", chart.description, chart.title);
    let mut svg = el("svg")
        .class(&class)
        .attr("data-chart", &chart.id)
        .attr("viewBox", &format!("0 0 {width} {height}"))
        .attr("role", "img")
        .attr("aria-label", &chart.title)
        .attr("aria-describedby", &described)
        .with(el("desc").attr("id", &described).with(description));
    let is_picked = !chart.picks.is_empty();
    let ends = frame.cells.first().zip(frame.cells.last());
    if let Some((first, last)) = ends.filter(|_| is_picked) {
        let place = |x: &Option<f64>| x.map_or_else(|| "-".to_owned(), |x| pixels(first.x(x)));
        let places: Vec<String> = chart.picks.iter().map(place).collect();
        let (top, bottom) = (first.plot.top, last.plot.bottom);
        svg = svg
            .attr("data-xs", &places.join(" "))
            .attr("tabindex", "0")
            .with(line((0.0, top), (0.0, bottom), "cursor"));
    }
    svg.with(out.body)
}
