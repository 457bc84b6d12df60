//! Markup that cannot be broken by what stands in it.
//!
//! [`Html`] is made only from text, which is escaped here and nowhere else,
//! from words that stand in this program, and from elements made of those. So
//! a name with `<script>` in it is a name, from any source.

use crate::sentence::Sentence;
use plimsoll_model::safe;
use std::fmt::Write;

#[derive(Debug, Clone, Default)]
pub(crate) struct Html(String);

impl Html {
    /// Any text, as it reads. The quotes are escaped too, so that the same
    /// holds within an attribute.
    pub(crate) fn text(text: &str) -> Html {
        let mut out = String::with_capacity(text.len());
        for c in safe(text).chars() {
            match c {
                '&' => out += "&amp;",
                '<' => out += "&lt;",
                '>' => out += "&gt;",
                '"' => out += "&quot;",
                '\'' => out += "&#39;",
                c => out.push(c),
            }
        }
        Html(out)
    }

    pub(crate) fn fixed(markup: &'static str) -> Html {
        Html(markup.to_owned())
    }

    /// JSON for a script element, within which nothing is an escape but what
    /// JSON has: these characters stand within its strings only, where
    /// `\u003c` says the same.
    pub(crate) fn json(json: &str) -> Html {
        let mut out = String::with_capacity(json.len());
        for c in json.chars() {
            match c {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    let _ = write!(out, "\\u{:04x}", u32::from(c));
                }
                c => out.push(c),
            }
        }
        Html(out)
    }

    pub(crate) fn push(&mut self, more: impl Into<Html>) {
        self.0 += &more.into().0;
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

impl From<El> for Html {
    fn from(element: El) -> Html {
        let El {
            name,
            attributes,
            inner,
        } = element;
        Html(match name {
            // Those of HTML that have no end.
            "meta" | "link" | "input" => format!("<{name}{attributes}>"),
            // Those whose end goes without saying (HTML, 13.1.2.4).
            "td" | "th" | "tr" => format!("<{name}{attributes}>{inner}"),
            // Those of SVG that hold nothing here; there may be thousands.
            "circle" | "line" | "rect" | "path" => format!("<{name}{attributes}/>"),
            _ => format!("<{name}{attributes}>{inner}</{name}>"),
        })
    }
}

impl From<&str> for Html {
    fn from(text: &str) -> Html {
        Html::text(text)
    }
}

impl From<String> for Html {
    fn from(text: String) -> Html {
        Html::text(&text)
    }
}

impl<T: Into<Html>> From<Option<T>> for Html {
    fn from(some: Option<T>) -> Html {
        some.map_or_else(Html::default, Into::into)
    }
}

impl<T: Into<Html>> FromIterator<T> for Html {
    fn from_iter<I: IntoIterator<Item = T>>(parts: I) -> Html {
        let mut out = Html::default();
        parts.into_iter().for_each(|part| out.push(part));
        out
    }
}

/// An element, which has an end by its nature.
#[derive(Debug, Clone)]
pub(crate) struct El {
    name: &'static str,
    attributes: String,
    inner: String,
}

pub(crate) fn el(name: &'static str) -> El {
    El {
        name,
        attributes: String::new(),
        inner: String::new(),
    }
}

impl El {
    pub(crate) fn attr(mut self, name: &'static str, value: &str) -> El {
        let value = Html::text(value).0;
        let _ = write!(self.attributes, " {name}=\"{value}\"");
        self
    }

    pub(crate) fn flag_if(mut self, name: &'static str, is: bool) -> El {
        if is {
            let _ = write!(self.attributes, " {name}");
        }
        self
    }

    pub(crate) fn class(self, class: &str) -> El {
        self.attr("class", class)
    }

    pub(crate) fn class_if(self, class: &str, is: bool) -> El {
        if is { self.class(class) } else { self }
    }

    /// A number, to a tenth: less than a pixel shows.
    pub(crate) fn num(self, name: &'static str, value: f64) -> El {
        let value = pixels(value);
        self.attr(name, &value)
    }

    /// The level that this stands for, so that all that belongs to it can be
    /// found.
    pub(crate) fn level(self, level: usize) -> El {
        self.attr("data-l", &level.to_string())
    }

    pub(crate) fn with(mut self, inner: impl Into<Html>) -> El {
        self.inner += &inner.into().0;
        self
    }

    pub(crate) fn with_all<T: Into<Html>>(self, parts: impl IntoIterator<Item = T>) -> El {
        parts.into_iter().fold(self, |el, part| el.with(part))
    }
}

/// A length to a tenth of a pixel. What is no number is drawn nowhere: at the
/// edge, where it is seen that something is wrong.
pub(crate) fn pixels(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    ((value * 10.0).round() / 10.0 + 0.0).to_string()
}

/// A text that may be very long: its beginning, and the rest on demand.
pub(crate) fn shortened(text: &str, most: usize) -> Html {
    let Some((cut, _)) = text.char_indices().nth(most) else {
        return Html::text(text);
    };
    let summary = el("summary").with(format!("{}…", &text[..cut]));
    let whole = el("details").class("long").with(summary);
    whole.with(el("span").with(text)).into()
}

/// The same where only its beginning is wanted.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// A sentence as it is set: no line ends between a number and its percent sign, nor
/// within a flag.
pub(crate) fn typeset(text: &str) -> Html {
    let text = with_percent_signs(text);
    let mut out = Html::default();
    for (i, word) in text.split(' ').enumerate() {
        if i > 0 {
            out.push(" ");
        }
        let is_flag = word.trim_start_matches('(').starts_with("--");
        match is_flag && word.len() <= LONGEST_FLAG {
            true => out.push(el("span").class("flag").with(word)),
            false => out.push(word),
        }
    }
    out
}

/// What is longer must break somewhere.
const LONGEST_FLAG: usize = 24;

fn with_percent_signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for (i, part) in text.split(" %").enumerate() {
        if i > 0 {
            let is_number = out.ends_with(|c: char| c.is_ascii_digit());
            out += if is_number { "\u{a0}%" } else { " %" };
        }
        out += part;
    }
    out
}

pub(crate) fn section(id: &str) -> El {
    el("section").attr("id", id)
}

pub(crate) fn hint_line(hint: &str) -> El {
    el("p").class("hint").with(typeset(hint))
}

pub(crate) fn paragraph(sentence: &Sentence) -> El {
    // Green is the colour of all that is well, and needs none here.
    let class = sentence.ink.class().filter(|class| *class != "green");
    let p = el("p").class_if(class.unwrap_or_default(), class.is_some());
    p.with(typeset(&sentence.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_from_outside_is_text() {
        let hostile = "</script><img src=x onerror='a()' title=\"b\">&amp;\u{1b}[31m";
        let html = Html::from(el("p").attr("title", hostile).with(hostile)).into_string();
        assert_eq!(html.matches('<').count(), 2, "{html}");
        let line = Html::from(el("line").num("x1", f64::NAN).num("y1", 1.26));
        assert_eq!(line.into_string(), "<line x1=\"0\" y1=\"1.3\"/>");
        assert_eq!(html.matches('"').count(), 2, "{html}");
        assert!(!html.contains('\u{1b}'), "{html}");
        assert!(html.contains("&amp;amp;"), "{html}");
    }

    #[test]
    fn a_percent_sign_stays_with_its_number() {
        assert_eq!(
            typeset("at 5 % and 98.1 %.").into_string(),
            "at 5\u{a0}% and 98.1\u{a0}%."
        );
        assert_eq!(typeset(" % of it").into_string(), " % of it");
    }

    #[test]
    fn a_flag_is_kept_in_one_piece_and_one_without_end_is_not() {
        let html = typeset("measure (--passes 5, or a -- b).").into_string();
        assert_eq!(html.matches("<span class=\"flag\">").count(), 2, "{html}");
        assert!(
            html.contains("<span class=\"flag\">(--passes</span> 5"),
            "{html}"
        );
        let long = format!("--{}", "<".repeat(1000));
        assert!(!typeset(&long).into_string().contains("<span"));
    }

    #[test]
    fn json_cannot_end_its_script() {
        let json = serde_json::to_string("</script><!--&\u{2028}").unwrap();
        let inside = Html::json(&json).into_string();
        assert!(!inside.contains(['<', '>', '&', '\u{2028}']), "{inside}");
        let back: String = serde_json::from_str(&inside).unwrap();
        assert_eq!(back, "</script><!--&\u{2028}");
    }

    #[test]
    fn a_long_text_is_there_and_not_in_the_way() {
        let long = "ä".repeat(10_000);
        let html = shortened(&long, 80).into_string();
        assert!(html.starts_with("<details class=\"long\"><summary>ä"));
        assert!(html.contains(&long));
        assert_eq!(shortened("short", 80).into_string(), "short");
        assert_eq!(beginning(&long, 3), "äää…");
    }

    proptest! {
        #[test]
        fn no_text_makes_markup(text in any::<String>()) {
            let html = Html::text(&text).into_string();
            prop_assert!(!html.contains(['<', '>', '"', '\'']));
        }
    }
}
