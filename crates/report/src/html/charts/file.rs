//! A chart as a file of its own, for a document that shows it as an image. It is light or dark as
//! its reader's screen is, and has a background, so that it can be read on any page.

use super::draw::{Size, text};
use super::frame::frame;
use super::{layout, placed};
use crate::chart::Chart;
use crate::markup::{Html, el, pixels};

const THEME: &str = include_str!("../theme.css");
const STYLE: &str = include_str!("../charts.css");
const FONT: &str = "svg { font-family: system-ui, Segoe UI, Roboto, Noto Sans, Liberation Sans, sans-serif; }\n\
                    .said { font-weight: 600; }\n.back { fill: var(--page); }\n";

/// Around the drawing.
const MARGIN: f64 = 14.0;
/// Of the title.
const TITLE: f64 = 26.0;

impl Chart {
    /// The wide drawing with the title, as the text of an SVG file.
    pub fn svg_file(&self) -> String {
        let frame = frame(self, Size::Wide);
        let (width, height) = (
            frame.width + 2.0 * MARGIN,
            frame.height + TITLE + 2.0 * MARGIN,
        );
        let back = el("rect")
            .class("back")
            .num("width", width)
            .num("height", height);
        let title = text(
            (MARGIN, MARGIN + layout::FONT),
            "said axis-name",
            &self.title,
        );
        let drawing = placed(self, Size::Wide, &frame)
            .num("x", MARGIN)
            .num("y", MARGIN + TITLE)
            .num("width", frame.width)
            .num("height", frame.height);
        let file = el("svg")
            .attr("xmlns", "http://www.w3.org/2000/svg")
            .num("width", width)
            .num("height", height)
            .attr(
                "viewBox",
                &format!("0 0 {} {}", pixels(width), pixels(height)),
            )
            .with(el("style").with(style()))
            .with(back)
            .with(title)
            .with(drawing);
        Html::from(file).into_string() + "\n"
    }
}

/// Not every program that shows SVG knows light-dark().
fn style() -> Html {
    let (light, dark) = (colours(|(light, _)| light), colours(|(_, dark)| dark));
    let mut out = Html::fixed(":root {\n");
    out.push(light);
    out.push(Html::fixed(
        "}\n@media (prefers-color-scheme: dark) { :root {\n",
    ));
    out.push(dark);
    out.push(Html::fixed("} }\n"));
    out.push(Html::fixed(FONT));
    out.push(Html::fixed(STYLE));
    out
}

fn colours(of: impl Fn((&'static str, &'static str)) -> &'static str) -> Html {
    let pair = |line: &'static str| {
        let (name, rest) = line.split_once(": light-dark(")?;
        Some((name, rest.strip_suffix(");")?.split_once(", ")?))
    };
    let named = THEME.lines().filter_map(pair);
    named
        .map(|(name, both)| format!("{name}: {}; ", of(both)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Datum, Panel, Scale, Series, Tone, Unit};

    #[test]
    fn a_file_is_one_drawing_with_both_palettes_and_no_more() {
        let axis = |label| Axis::new(label, Scale::up_to([10.0]), Unit::Number);
        let data = vec![Datum::at(1.0, 2.0, None), Datum::at(3.0, 4.0, None)];
        let series = Series::line("<one>", Tone::Nth(0), data);
        let panel = Panel::of(axis("time"), axis("CPU use"), vec![series]);
        let file = Chart::of(panel, "time", "CPU use & time", "").svg_file();
        assert!(file.starts_with("<svg xmlns="), "{file}");
        assert_eq!(file.matches("</svg>").count(), 2, "{file}");
        assert!(file.contains("--page: #ffffff;") && file.contains("--page: #14181d;"));
        assert!(!file.contains("\\u{"), "{file}");
        assert!(
            !file.contains("light-dark(") && !file.contains("<one>"),
            "{file}"
        );
        assert!(file.contains("CPU use &amp; time"), "{file}");
    }
}
