//! What a run was required to do and whether it does, for pipelines.

use crate::document::{escaped, markdown_table};
use crate::markup::{Html, el};
use plimsoll_model::{Holds, Judgement, safe};

/// A condition in words, and whether it holds.
pub type Verdict = (String, Judgement);

/// What a run was required to do.
#[derive(Debug, Clone, Default)]
pub struct Verdicts {
    /// The command and what it had under test.
    pub subject: String,
    pub all: Vec<Verdict>,
}

/// In a word.
pub fn word(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => "kept",
        Holds::Undecided => "undecided",
        Holds::No => "broken",
    }
}

impl Verdicts {
    /// A report as Jenkins, GitLab and others read it, after the schema of JUnit's Ant task: a broken
    /// condition is a failure, an undecided one an error, because neither shows that it holds.
    pub fn junit(&self) -> String {
        let Verdicts {
            subject: suite,
            all,
        } = self;
        let count = |holds| all.iter().filter(|(_, j)| j.holds == holds).count();
        let case = |(condition, Judgement { holds, why }): &Verdict| {
            let element = match holds {
                Holds::Yes => None,
                Holds::Undecided => Some("error"),
                Holds::No => Some("failure"),
            };
            let fault = element.map(|name| {
                let fault = el(name).attr("type", word(*holds));
                fault.attr("message", why).with(why.as_str())
            });
            let shown = match holds {
                Holds::Yes => Some(el("system-out").with(why.as_str())),
                _ => None,
            };
            el("testcase")
                .attr("classname", suite)
                .attr("name", condition)
                .with(fault)
                .with(shown)
        };
        let suite = el("testsuite")
            .attr("name", suite)
            .attr("tests", &all.len().to_string())
            .attr("failures", &count(Holds::No).to_string())
            .attr("errors", &count(Holds::Undecided).to_string())
            .with_all(all.iter().map(case));
        let xml = Html::from(el("testsuites").with(suite)).into_string();
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{xml}\n")
    }

    /// Workflow commands of GitHub Actions: an annotation for each condition.
    pub fn github(&self) -> String {
        let Verdicts {
            subject: suite,
            all,
        } = self;
        let line = |(condition, Judgement { holds, why }): &Verdict| {
            let command = match holds {
                Holds::Yes => "notice",
                Holds::Undecided => "warning",
                Holds::No => "error",
            };
            let title = property(&format!("{suite}: {condition}"));
            format!(
                "::{command} title={title}::{}; {}\n",
                word(*holds),
                data(why)
            )
        };
        all.iter().map(line).collect()
    }

    /// A table for a summary in Markdown; empty without conditions.
    pub fn markdown(&self) -> String {
        let all = &self.all;
        if all.is_empty() {
            return String::new();
        }
        let head = ["required", "", "figures"].map(str::to_owned).to_vec();
        let row = |(condition, judged): &Verdict| {
            vec![
                escaped(condition),
                word(judged.holds).to_owned(),
                escaped(&judged.why),
            ]
        };
        let rows: Vec<_> = std::iter::once(head).chain(all.iter().map(row)).collect();
        markdown_table(&rows) + "\n\n"
    }
}

fn data(text: &str) -> String {
    safe(text).replace('%', "%25")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(subject: &str) -> Verdicts {
        let of = |condition: &str, holds, why: &str| {
            let why = why.to_owned();
            (condition.to_owned(), Judgement { holds, why })
        };
        Verdicts {
            subject: subject.to_owned(),
            all: vec![
                of("p99<10ms", Holds::Yes, "0 of 500 requests"),
                of("capacity>5", Holds::Undecided, "its 100 % <b>"),
                of("errors<1%", Holds::No, "5 of 9\n::error::x"),
            ],
        }
    }

    #[test]
    fn junit_counts_what_does_not_hold() {
        let xml = verdicts("run of \"x\"").junit();
        for part in [
            r#"<testsuite name="run of &quot;x&quot;" tests="3" failures="1" errors="1">"#,
            r#"name="p99&lt;10ms"><system-out>0 of 500 requests</system-out></testcase>"#,
            r#"<error type="undecided" message="its 100 % &lt;b&gt;">"#,
            r#"<failure type="broken""#,
        ] {
            assert!(xml.contains(part), "{part} in {xml}");
        }
    }

    #[test]
    fn text_of_others_is_no_command_of_a_workflow() {
        let text = verdicts("run").github();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[0],
            "::notice title=run%3A p99<10ms::kept; 0 of 500 requests"
        );
        assert_eq!(
            lines[1],
            "::warning title=run%3A capacity>5::undecided; its 100 %25 <b>"
        );
        assert!(lines[2].starts_with("::error title=run%3A errors<1%25::broken; 5 of 9"));
    }

    #[test]
    fn a_summary_has_a_row_for_each() {
        let text = verdicts("").markdown();
        assert!(
            text.contains("| p99\\<10ms | kept | 0 of 500 requests |"),
            "{text}"
        );
        assert_eq!(Verdicts::default().markdown(), "");
    }
}
