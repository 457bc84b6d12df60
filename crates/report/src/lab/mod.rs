//! The page of the live lab: a frame that is sent once, and regions that are sent when they change.
//!
//! The page fetches nothing but its own event stream. Without what it is sent it is empty.

use crate::chart::Chart;
use crate::html::{STYLE, one_chart};
use crate::markup::{El, Html, el};

const OWN_STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// What the page may load: itself. No other address, whatever gets into it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// A slider of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct Slider {
    /// Its name in messages: `load`.
    pub name: &'static str,
    pub most: f64,
    pub step: f64,
}

/// What can be pressed.
#[derive(Debug, Clone, PartialEq)]
pub struct LabButton {
    /// The message that it sends, as JSON.
    pub message: String,
    pub label: String,
    pub is_on: bool,
}

/// What the page shows now.
#[derive(Debug, Clone)]
pub struct LabView<'a> {
    pub rating: &'a str,
    /// The pages: what each sends, its letter, and whether it is open.
    pub pages: Vec<LabButton>,
    pub question: &'a str,
    /// Paragraphs, or the findings in place of them.
    pub text: Vec<&'a str>,
    pub findings: Option<&'a [String]>,
    pub buttons: Vec<LabButton>,
    /// Where the sliders stand.
    pub values: Vec<(&'static str, f64)>,
    /// The latency goal, with what the law has reached.
    pub goal: LabButton,
    pub job: String,
    pub message: String,
    /// The last second in figures.
    pub figures: Vec<String>,
    pub charts: Vec<Chart>,
    pub log: Vec<&'a str>,
}

/// A part of the page, by its id.
pub type Region = (&'static str, String);

/// The frame, with sliders and empty regions.
pub fn page(sliders: &[Slider]) -> String {
    let head = el("head")
        .with(el("meta").attr("charset", "utf-8"))
        .with(el("meta").attr("http-equiv", "Content-Security-Policy").attr("content", POLICY))
        .with(el("meta").attr("name", "referrer").attr("content", "no-referrer"))
        .with(Html::fixed(
            r#"<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">"#,
        ))
        .with(el("title").with("Plimsoll lab"))
        .with(el("style").with(Html::fixed(STYLE)).with(Html::fixed(OWN_STYLE)));
    let region = |name: &'static str, id: &str| el(name).attr("id", id);
    let guide = el("section")
        .class("guide")
        .with(region("nav", "pages").attr("aria-label", "Pages"))
        .with(region("div", "text"))
        .with(region("div", "buttons"))
        .with(
            el("div")
                .attr("id", "sliders")
                .with_all(sliders.iter().map(slider)),
        )
        .with(region("div", "goal"))
        .with(region("p", "job"))
        .with(region("p", "message").attr("role", "status"));
    let live = el("section")
        .class("live")
        .with(region("div", "figures"))
        .with(region("div", "charts").class("lab-charts"))
        .with(el("h2").with("Log"))
        .with(region("pre", "log").attr("tabindex", "0"));
    let top = el("header")
        .class("top")
        .with(el("strong").with("plimsoll demo"))
        .with(region("span", "rating"))
        .with(
            region("span", "state")
                .attr("role", "status")
                .with("connecting"),
        );
    let body = el("body")
        .with(top)
        .with(el("main").class("lab").with(guide).with(live))
        .with(el("script").with(Html::fixed(SCRIPT)));
    let html = el("html").attr("lang", "en").with(head).with(body);
    format!("<!doctype html>\n{}\n", Html::from(html).into_string())
}

fn slider(slider: &Slider) -> El {
    let input = el("input")
        .attr("type", "range")
        .attr("id", slider.name)
        .attr("min", "0")
        .attr("max", &slider.most.to_string())
        .attr("step", &slider.step.to_string());
    let output = el("output").attr("for", slider.name);
    el("label")
        .with(el("span").with(slider.name))
        .with(input)
        .with(output)
}

/// The regions as they are now. The values of sliders are JSON.
pub fn regions(view: &LabView<'_>) -> Vec<Region> {
    let markup = |html: Html| html.into_string();
    let text = match view.findings {
        Some(lines) => el("pre").with(lines.join("\n")).into(),
        None => view.text.iter().map(|text| el("p").with(*text)).collect(),
    };
    let question = el("h1").with(view.question);
    let values = view.values.iter();
    let values = values.map(|(name, value)| ((*name).to_owned(), serde_json::json!(value)));
    vec![
        (
            "values",
            serde_json::Value::Object(values.collect()).to_string(),
        ),
        ("rating", markup(view.rating.into())),
        ("pages", markup(view.pages.iter().map(button).collect())),
        (
            "text",
            markup([Html::from(question), text].into_iter().collect()),
        ),
        ("buttons", markup(view.buttons.iter().map(button).collect())),
        ("goal", markup(button(&view.goal).into())),
        ("job", markup(view.job.as_str().into())),
        ("message", markup(view.message.as_str().into())),
        (
            "figures",
            markup(
                view.figures
                    .iter()
                    .map(|line| el("p").with(line.as_str()))
                    .collect(),
            ),
        ),
        (
            "charts",
            markup(
                view.charts
                    .iter()
                    .map(|chart| one_chart(chart, 0))
                    .collect(),
            ),
        ),
        (
            "log",
            markup(view.log.iter().map(|line| el("span").with(*line)).collect()),
        ),
    ]
}

fn button(button: &LabButton) -> El {
    el("button")
        .attr("type", "button")
        .attr("data-send", &button.message)
        .attr("aria-pressed", if button.is_on { "true" } else { "false" })
        .with(button.label.as_str())
}

#[cfg(test)]
mod tests;
