//! The report for a terminal.

use crate::capacity::Subject;
use crate::chart::{self, Charset};
use crate::escape::safe;
use crate::number::counted;
use crate::sentence::Sentence;
use crate::sentences::{answers, asks_for_quiet, notes, record};
use crate::table::{Column, Ink, Paint, render, wrap};
use crate::{Report, copies, hints, levels, shown_workload, thresholds};
use plimsoll_model::{Outcome, Provenance, Requirement};

/// Longer lines are hard to read; tables may be wider.
const WIDEST_SENTENCE: usize = 100;

/// How a text may look where it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal. The less important columns of tables are left
    /// out where they do not fit.
    pub width: usize,
    /// Whether ANSI colours may be used.
    pub colour: bool,
    /// What charts are drawn with; `None` for no charts.
    pub charts: Option<Charset>,
}

/// Charts and a table of what was measured, then what follows from it in
/// sentences.
///
/// A terminal shows the end of it, so the charts come first and what one
/// wanted to know last: how much is carried, and where the record is.
pub fn text(report: &Report<'_>, look: Look) -> String {
    let Look { width, colour, .. } = look;
    let paint = Paint(colour);
    let mut out = Lines {
        text: String::new(),
        width: width.clamp(20, WIDEST_SENTENCE),
        paint,
    };
    out.sentence(&Sentence::new(Ink::Bold, shown_workload(report.plan)));
    out.sentence(&Sentence::new(Ink::Dim, machine(report.provenance)));
    out.sentences(&service(report.requirements));
    out.text.push('\n');
    let drawn = look
        .charts
        .and_then(|charset| chart::text(&chart::figures::terminal(report), width, charset, paint));
    if let Some(drawn) = drawn {
        out.text += &drawn;
        out.text.push('\n');
    }
    let findings = report.findings;
    if report.is_copies() {
        out.table(copies::columns(&findings.copies, &findings.smt), width);
        out.paragraph(&notes(report));
        let mut said = copies::sentences(&findings.copies);
        let remedy = copies::remedy(&findings.copies, &report.record.trials);
        said.extend(remedy.filter(|_| !asks_for_quiet(report)));
        out.paragraph(&said);
    } else {
        let table = levels::columns(&findings.levels, report.is_imported());
        out.table(table, width);
        out.paragraph(&levels::reasons(&findings.levels));
        out.paragraph(&notes(report));
        out.paragraph(&growing(report));
        out.thresholds(report, width);
        let mut carried = answers(report);
        if !findings.thresholds.is_empty() {
            let subject = Subject::of(&report.plan.workload);
            carried.extend(thresholds::sentence(subject, findings));
        }
        out.paragraph(&carried);
    }
    out.sentence(&record(report));
    out.text
}

/// What grows faster than the load, and whether the load before matters.
fn growing(report: &Report<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let mut sentences = hints::sentences(&findings.hints);
    // Of a table's rows it is not known which came after which.
    let direction = findings.direction.as_ref();
    let direction = direction.filter(|_| !report.is_imported());
    sentences.extend(direction.map(hints::direction));
    let restarts = direction.and_then(|found| found.restarts.as_ref());
    sentences.extend(restarts.map(hints::restarts));
    sentences
}

struct Lines {
    text: String,
    width: usize,
    paint: Paint,
}

impl Lines {
    /// A table, unless it has no rows.
    fn table(&mut self, columns: Vec<Column>, width: usize) {
        if columns.iter().any(|column| !column.is_empty()) {
            self.text += &render(columns, width, self.paint);
            self.text.push('\n');
        }
    }

    /// When to act.
    fn thresholds(&mut self, report: &Report<'_>, width: usize) {
        let findings = report.findings;
        if findings.thresholds.iter().any(|row| row.cpu_pct.is_some()) {
            self.sentence(&thresholds::heading(findings));
            self.table(thresholds::columns(&findings.thresholds), width);
        }
    }

    /// Sentences with a blank line after them, unless there are none.
    fn paragraph(&mut self, sentences: &[Sentence]) {
        if !sentences.is_empty() {
            self.sentences(sentences);
            self.text.push('\n');
        }
    }

    fn sentences<'a>(&mut self, sentences: impl IntoIterator<Item = &'a Sentence>) {
        sentences.into_iter().for_each(|s| self.sentence(s));
    }

    fn sentence(&mut self, sentence: &Sentence) {
        for line in wrap(&sentence.text, self.width) {
            self.text += &self.paint.with(sentence.ink, &line);
            self.text.push('\n');
        }
    }
}

/// Who was measured, so that a mistaken address is seen.
fn service(requirements: &[Requirement]) -> Option<Sentence> {
    let known = requirements.iter().find_map(|r| match &r.outcome {
        Outcome::Met { found } if r.name == Requirement::SERVICE => Some(found),
        _ => None,
    });
    known.map(|found| Sentence::new(Ink::Dim, format!("service: {}", safe(found))))
}

/// `on web1: AMD EPYC 9B14, 4 CPUs, kvm, kernel 6.1.0`, as far as it is known.
pub(crate) fn machine(provenance: &Provenance) -> String {
    let host = provenance
        .hostname
        .as_deref()
        .unwrap_or("a machine without a name");
    let cpus = match provenance.topology.online.len() {
        0 => None,
        n => Some(counted(n, "CPU", "CPUs")),
    };
    let facts = [
        provenance.cpu_model.clone(),
        cpus,
        provenance.virtualisation.clone(),
        provenance.kernel.as_ref().map(|k| format!("kernel {k}")),
    ];
    let facts: Vec<String> = facts
        .into_iter()
        .flatten()
        .map(|fact| safe(&fact))
        .collect();
    let colon = if facts.is_empty() { "" } else { ": " };
    format!("on {}{colon}{}", safe(host), facts.join(", "))
}
