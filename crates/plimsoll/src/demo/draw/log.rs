//! The last lines of the job and of a measurement.

use crate::demo::state::{Source, State};
use crate::paint::put;
use plimsoll_report::{Ink, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let mut rows = area.rows();
    let Some(title) = rows.next() else { return };
    put(buffer, title, 0, "Log (l hides it)", Ink::Bold);
    let room = usize::from(area.height - 1);
    let mut lines: Vec<(Source, String)> = Vec::new();
    // From the last: as many as there is room for.
    for (source, line) in state.log.iter().rev() {
        let pieces = pieces(line, usize::from(area.width));
        lines.extend(pieces.into_iter().rev().map(|piece| (*source, piece)));
        if lines.len() >= room {
            break;
        }
    }
    if lines.is_empty() {
        let first = Rect::new(area.x, area.y + 1, area.width, u16::from(room > 0));
        put(buffer, first, 0, "no line yet", Ink::Dim);
    }
    lines.truncate(room);
    for ((source, line), row) in lines.iter().rev().zip(rows) {
        let ink = match source {
            Source::Job => Ink::Plain,
            Source::Measurement => Ink::Cyan,
        };
        put(buffer, row, 0, line, ink);
    }
}

/// A line as it is, or broken at blanks, and within words that are longer than a row.
fn pieces(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.to_owned()];
    }
    let mut pieces = Vec::new();
    for part in wrap(line, width) {
        let letters: Vec<char> = part.chars().collect();
        let chunks = letters.chunks(width.max(1));
        pieces.extend(chunks.map(|chunk| chunk.iter().collect::<String>()));
    }
    pieces
}
