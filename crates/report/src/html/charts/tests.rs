//! For tests: which texts of a page's drawings stand on each other, on a mark,
//! or beyond the edge, reckoned as [`super::layout`] does.

use super::layout::{Area, BOLD, width_of};
use crate::tests::shown::between;

fn number(text: &str, name: &str) -> Option<f64> {
    between(text, &format!(" {name}=\""), "\"")?.parse().ok()
}

fn unescaped(text: &str) -> String {
    let plain = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#39;", "'"),
        ("&quot;", "\""),
        ("&amp;", "&"),
    ];
    plain
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn texts(svg: &str) -> Vec<(String, String, Area)> {
    let one = |part: &str| {
        let class = between(part, "class=\"", "\"")?.to_owned();
        let words = unescaped(between(part, ">", "</text>")?);
        let mut bold = "name value counter reason bold load-name mark-name".split(' ');
        let has = |name: &str| class.split(' ').any(|c| c == name);
        // Names of axes, goals and diagonals are not.
        let is_bold = bold.any(has) && !has("other");
        let width = width_of(&words) * if is_bold { BOLD } else { 1.0 };
        let left = match class.split(' ').find(|c| ["mid", "end"].contains(c)) {
            Some("mid") => number(part, "x")? - width / 2.0,
            Some(_) => number(part, "x")? - width,
            None => number(part, "x")?,
        };
        let area = Area::of_text((left, number(part, "y")?), width);
        Some((class, words, area))
    };
    let parts = svg.split("<text ").skip(1);
    let seen = parts
        .filter_map(one)
        .filter(|(_, words, _)| !words.is_empty());
    seen.collect()
}

/// The rings of marks, which the names of goals and marks must leave free.
fn rings(svg: &str) -> Vec<Area> {
    let middle = |part: &str| Some((number(part, "cx")?, number(part, "cy")?));
    let rings = svg.split("<circle class=\"ring\"").skip(1);
    let middles = rings.filter_map(middle);
    middles.map(|at| Area::around(at, 8.0, 8.0)).collect()
}

/// What is wrong with the labels of a page, in words.
pub(crate) fn overlapping(page: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for svg in page.split("<svg ").skip(1) {
        let svg = svg.split("</svg>").next().unwrap_or_default();
        let Some(id) = between(svg, "data-chart=\"", "\"") else {
            continue;
        };
        let size = between(svg, "class=\"", "\"").unwrap_or_default();
        let id = format!("{id} {size}");
        let edge = between(svg, "viewBox=\"0 0 ", "\"").unwrap_or_default();
        let edge: Vec<f64> = edge.split(' ').filter_map(|n| n.parse().ok()).collect();
        let texts = texts(svg);
        for (i, (class, words, area)) in texts.iter().enumerate() {
            let others = texts[..i].iter().filter(|(.., other)| area.meets(other));
            wrong.extend(others.map(|(_, other, _)| format!("{id}: {words} on {other}")));
            if area.left < -0.5 || area.right > edge[0] + 0.5 || area.bottom > edge[1] {
                wrong.push(format!("{id}: {words} over the edge"));
            }
            let shy = class.contains("goal-name") || class.contains("mark-name");
            if shy && rings(svg).iter().any(|ring| area.meets(ring)) {
                wrong.push(format!("{id}: {words} on a mark"));
            }
        }
    }
    wrong
}
