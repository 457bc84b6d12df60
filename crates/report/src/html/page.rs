//! The page around it all: head, style, script, foot.

use super::markup::{El, Html, el};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Nothing but what stands in the file: no address is fetched, whatever gets
/// into the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// Stands near the beginning of each page: by this a file is known to be one,
/// which a later part of its run may replace.
pub const PAGE_MARK: &str = "Plimsoll report page";

/// A page with all its parts.
pub(super) struct Page {
    pub(super) title: String,
    /// The findings as JSON, to be downloaded.
    pub(super) raw: Option<String>,
    /// What is shown of each level, as JSON.
    pub(super) levels: String,
    /// What the download is called.
    pub(super) file: String,
    pub(super) main: Html,
}

/// A part of the page.
pub(super) fn section(id: &str) -> El {
    el("section").attr("id", id)
}

impl Page {
    pub(super) fn into_string(self) -> String {
        let title = super::markup::beginning(&self.title, 120);
        let head = el("head")
            .with(el("meta").attr("charset", "utf-8"))
            .with(
                el("meta")
                    .attr("http-equiv", "Content-Security-Policy")
                    .attr("content", POLICY),
            )
            .with(
                el("meta")
                    .attr("name", "generator")
                    .attr("content", PAGE_MARK),
            )
            .with(
                el("meta")
                    .attr("name", "viewport")
                    .attr("content", "width=device-width, initial-scale=1"),
            )
            .with(el("link").attr("rel", "icon").attr("href", "data:,"))
            .with(el("title").with(title))
            .with(el("style").with(Html::fixed(STYLE)));
        let download = self.raw.as_ref().map(|_| {
            el("a")
                .class("button")
                .attr("id", "download")
                .attr("download", &self.file)
                .attr("href", "#raw")
                .with("Download the findings (JSON)")
        });
        let raw = self.raw.map(|raw| data("raw", &raw));
        let foot = el("footer").with(download).with(el("p").with(
            "Made by Plimsoll from the record alone. This file fetches nothing and sends \
                 nothing.",
        ));
        let body = el("body")
            .with(hatching())
            .with(self.main)
            .with(foot)
            .with(raw)
            .with(data("levels", &self.levels))
            .with(el("script").with(Html::fixed(SCRIPT)));
        let html = el("html").attr("lang", "en").with(head).with(body);
        format!("<!doctype html>\n{}\n", Html::from(html).into_string())
    }
}

/// Data that the script reads and that is never run.
fn data(id: &'static str, json: &str) -> El {
    el("script")
        .attr("type", "application/json")
        .attr("id", id)
        .with(Html::json(json))
}

/// The pattern of what does not count, for all drawings.
fn hatching() -> El {
    let stroke = el("path").attr("d", "M-1 1 l2 -2 M0 6 l6 -6 M5 7 l2 -2");
    let pattern = el("pattern")
        .attr("id", "hatch")
        .attr("patternUnits", "userSpaceOnUse")
        .attr("width", "6")
        .attr("height", "6")
        .with(stroke);
    el("svg")
        .class("defs")
        .attr("width", "0")
        .attr("height", "0")
        .attr("aria-hidden", "true")
        .with(el("defs").with(pattern))
}
