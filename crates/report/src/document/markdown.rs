//! The form for pull requests and summaries of CI: Markdown as GitHub and GitLab render it.

use super::{Block, Document, Role, Rows, Table, frame};
use crate::sentence::Sentence;
use crate::table::Cell;
use plimsoll_model::safe;
use std::borrow::Borrow;

pub(super) fn markdown(document: &Document<'_>) -> String {
    let mut out = Vec::new();
    let mut subject = document.subject.iter();
    out.extend(subject.next().map(|first| format!("### {}", of(first))));
    out.extend(subject.map(of));
    out.extend(list("- ", document.sentences(Role::Answer)));
    out.extend(list("> ", document.sentences(Role::Doubt)));
    if let Some(run) = &document.run {
        out.extend(list(
            "> ",
            [frame::trials(run), frame::unseen(run), frame::ended(run)]
                .into_iter()
                .flatten(),
        ));
    }
    for block in &document.blocks {
        if let Block::Table(table) = block {
            out.extend(
                table
                    .heading
                    .as_ref()
                    .map(|heading| format!("**{}**", escaped(heading))),
            );
            out.push(rows(table));
            out.extend(table.whole_legend().map(|legend| of(&legend)));
            out.extend(list("- ", &table.below));
        }
    }
    out.extend(list("- ", document.sentences(Role::Note)));
    if let Some(run) = &document.run {
        let file = run.record.file.to_string_lossy();
        let machine = frame::machine(run.provenance);
        out.push(format!("Record: {}, {}", escaped(&file), escaped(&machine)));
    }
    out.join("\n\n") + "\n"
}

fn of(sentence: &Sentence) -> String {
    escaped(&sentence.text)
}

fn list<S: Borrow<Sentence>>(mark: &str, sentences: impl IntoIterator<Item = S>) -> Option<String> {
    let lines = sentences
        .into_iter()
        .map(|sentence| format!("{mark}{}", of(sentence.borrow())));
    // A quote's lines are one paragraph unless an empty one lies between them.
    let between = match mark {
        "> " => "\n>\n",
        _ => "\n",
    };
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join(between))
}

fn rows(table: &Table) -> String {
    let grid: Vec<Vec<String>> = match &table.rows {
        Rows::Grid(rows) => rows.iter().map(|row| cells(row)).collect(),
        Rows::Columns(columns) => {
            let names = columns.iter().map(|column| match column.unit() {
                "" => escaped(column.name()),
                unit => format!("{} ({})", escaped(column.name()), escaped(unit)),
            });
            let lines = columns.iter().map(|column| column.cells().len());
            let row = |nth: usize| {
                let cell = |column: &crate::table::Column| {
                    let cell = column.cells().get(nth);
                    cell.map_or_else(String::new, |cell| escaped(&cell.text))
                };
                columns.iter().map(cell).collect()
            };
            let rows = (0..lines.max().unwrap_or(0)).map(row);
            std::iter::once(names.collect()).chain(rows).collect()
        }
    };
    markdown_table(&grid)
}

fn cells(row: &[Cell]) -> Vec<String> {
    row.iter().map(|cell| escaped(&cell.text)).collect()
}

/// A table whose first row is its head; the cells are escaped.
pub(crate) fn markdown_table(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| format!("| {} |", row.join(" | "));
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    if let Some(head) = rows.first() {
        let rule: Vec<&str> = head.iter().map(|_| "---:").collect();
        lines.insert(1, format!("| {} |", rule.join(" | ")));
    }
    lines.join("\n")
}

/// A text that is neither markup nor a mention of a user.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in safe(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '<' | '[' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '&' => out += "&amp;",
            '@' => out += "&#64;",
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_no_markup() {
        assert_eq!(
            escaped("<b>|[x](y) @all\n# `a`"),
            r"\<b>\|\[x](y) &#64;all\\u{a}# \`a\`"
        );
    }

    #[test]
    fn a_table_has_a_rule_below_its_head() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = markdown_table(&[row(["a", "b"]), row(["1", "2"])]);
        assert_eq!(table, "| a | b |\n| ---: | ---: |\n| 1 | 2 |");
    }
}
