//! The form for a terminal.
//!
//! A terminal shows the end of it, so charts and tables come first and what one
//! wanted to know last: the answers, and where the record is.

use super::{Block, Document, Fact, Facts, Look, Role, Rows, Table, frame};
use crate::sentence::Sentence;
use crate::table::{Ink, Paint, grid, hang, render, shown, wrap};
use plimsoll_model::safe;
use std::borrow::Borrow;

/// Longer lines are hard to read; tables may be wider.
const WIDEST_SENTENCE: usize = 100;

/// Where a fact begins beside its mark, and where what else there is to know of
/// it begins.
const INDENT: usize = 8;
const DETAIL_INDENT: usize = 10;

pub(super) fn text(document: &Document<'_>, look: Look) -> String {
    let mut out = Lines {
        text: String::new(),
        width: look.width.clamp(20, WIDEST_SENTENCE),
        paint: Paint(look.colour),
        look,
    };
    out.sentences(&document.subject);
    if let Some(run) = &document.run {
        let service = frame::service(run).map(|found| format!("service: {}", safe(&found)));
        let facts = [Some(frame::machine(run.provenance)), service];
        out.sentences(facts.into_iter().flatten().map(|fact| Ink::Dim.says(fact)));
    }
    for block in &document.blocks {
        out.block(block);
    }
    if let Some(run) = &document.run {
        out.facts(&frame::lacking(run));
        let sentences = [
            frame::trials(run),
            frame::unseen(run),
            frame::view(run),
            frame::ended(run),
        ];
        out.paragraph(sentences.into_iter().flatten().chain(frame::figures(run)));
    }
    let answers = document.sentences(Role::Answer);
    out.paragraph(answers.chain(document.sentences(Role::Doubt)));
    if let Some(run) = &document.run {
        let file = safe(&run.record.file.to_string_lossy());
        out.paragraph([Ink::Dim.says(format!("Record: {file}"))]);
    }
    out.text
}

struct Lines {
    text: String,
    width: usize,
    paint: Paint,
    look: Look,
}

impl Lines {
    fn block(&mut self, block: &Block<'_>) {
        match block {
            Block::Sentences(Role::Note, sentences) => self.paragraph(sentences),
            Block::Facts(facts) => self.facts(facts),
            Block::Table(table) => self.table(table),
            Block::Text(own) => {
                if let Some(own) = own(self.look) {
                    self.blank_line();
                    self.text += &own;
                }
            }
            Block::Sentences(..) | Block::Chart(_) | Block::Html(_) => {}
        }
    }

    fn blank_line(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    fn heading(&mut self, heading: &str) {
        let heading = format!("{}:", safe(heading));
        self.sentence(&Ink::Bold.says(heading));
    }

    fn table(&mut self, table: &Table) {
        self.blank_line();
        if let Some(heading) = &table.heading {
            self.heading(heading);
        }
        let width = self.look.width;
        match &table.rows {
            Rows::Columns(columns) => {
                self.text += &render(columns.clone(), width, self.paint);
                let shown = shown(columns, width);
                self.paragraph(table.left_out(&shown));
                self.paragraph(table.legend(&shown));
            }
            Rows::Grid(rows) => self.text += &grid(rows, width, self.paint),
        }
        self.sentences(&table.below);
    }

    fn facts(&mut self, facts: &Facts) {
        if facts.facts.is_empty() {
            return;
        }
        self.blank_line();
        if !facts.title.is_empty() {
            self.heading(&facts.title);
        }
        for fact in &facts.facts {
            self.fact(fact);
        }
    }

    fn fact(&mut self, fact: &Fact) {
        let text = format!("{}: {}", safe(&fact.name), safe(&fact.value));
        let mark = fact.mark.as_ref();
        let indent = mark.map_or(2, |_| INDENT);
        self.text += &hang(mark, &text, indent, self.width, self.paint);
        self.text += &hang(
            None,
            &safe(&fact.detail),
            DETAIL_INDENT,
            self.width,
            self.paint,
        );
    }

    /// Sentences after a blank line, unless there are none.
    fn paragraph<S: Borrow<Sentence>>(&mut self, sentences: impl IntoIterator<Item = S>) {
        let mut sentences = sentences.into_iter().peekable();
        if sentences.peek().is_some() {
            self.blank_line();
            self.sentences(sentences);
        }
    }

    fn sentences<S: Borrow<Sentence>>(&mut self, sentences: impl IntoIterator<Item = S>) {
        sentences
            .into_iter()
            .for_each(|s| self.sentence(s.borrow()));
    }

    fn sentence(&mut self, sentence: &Sentence) {
        for line in wrap(&safe(&sentence.text), self.width) {
            self.text += &self.paint.with(sentence.ink, &line);
            self.text.push('\n');
        }
    }
}
