//! What was drawn: rows of characters with their colours.

use crate::table::{Ink, Paint};
use plimsoll_model::safe;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub symbol: char,
    pub ink: Ink,
}

impl Cell {
    const BLANK: Cell = Cell {
        symbol: ' ',
        ink: Ink::Plain,
    };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    rows: Vec<Vec<Cell>>,
}

impl Picture {
    pub(super) fn blank(width: usize, height: usize) -> Picture {
        Picture {
            width,
            rows: vec![vec![Cell::BLANK; width]; height],
        }
    }

    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Writes from a place to the right, as far as there is room.
    pub(super) fn write(&mut self, column: usize, row: usize, text: &str, ink: Ink) {
        let Some(cells) = self.rows.get_mut(row) else {
            return;
        };
        for (cell, symbol) in cells.iter_mut().skip(column).zip(safe(text).chars()) {
            *cell = Cell { symbol, ink };
        }
    }

    /// Puts cells that are not blank over those at a place.
    pub(super) fn put(&mut self, column: usize, row: usize, cells: &[Vec<Cell>]) {
        for (target, source) in self.rows.iter_mut().skip(row).zip(cells) {
            for (target, source) in target.iter_mut().skip(column).zip(source) {
                if source.symbol != ' ' {
                    *target = *source;
                }
            }
        }
    }

    /// Whether a row has blanks alone between two columns.
    pub(super) fn is_blank(&self, row: usize, from: usize, to: usize) -> bool {
        let cells = self.rows.get(row).into_iter().flatten();
        let mut between = cells.take(to).skip(from);
        between.all(|cell| cell.symbol == ' ')
    }

    /// This and another to its right, their tops on one line.
    pub(super) fn beside(mut self, other: &Picture, gap: usize) -> Picture {
        let height = self.rows.len().max(other.rows.len());
        self.rows.resize(height, vec![Cell::BLANK; self.width]);
        for (row, cells) in self.rows.iter_mut().enumerate() {
            cells.extend(std::iter::repeat_n(Cell::BLANK, gap));
            match other.rows.get(row) {
                Some(more) => cells.extend(more),
                None => cells.extend(std::iter::repeat_n(Cell::BLANK, other.width)),
            }
        }
        self.width += gap + other.width;
        self
    }

    pub(super) fn text(&self, paint: Paint) -> String {
        let mut out = String::new();
        for row in &self.rows {
            let end = row.iter().rposition(|cell| cell.symbol != ' ');
            let row = &row[..end.map_or(0, |last| last + 1)];
            for run in row.chunk_by(|a, b| a.ink == b.ink) {
                let text: String = run.iter().map(|cell| cell.symbol).collect();
                out += &paint.with(run[0].ink, &text);
            }
            out.push('\n');
        }
        out
    }
}
