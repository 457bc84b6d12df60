//! A grid of dots that becomes characters.

use super::{Cell, Charset};
use crate::table::Ink;

/// The bit of each dot of a cell in U+2800 to U+28FF, by column and row
/// (Unicode, chapter 21.1: braille patterns).
const BRAILLE: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Dots in the cells of a rectangle: 2 by 4 in each with braille, else 1.
#[derive(Debug, Clone)]
pub(super) struct Canvas {
    columns: usize,
    rows: usize,
    charset: Charset,
    cells: Vec<(u8, char, Ink)>,
}

/// A dot's column and row, from the upper left corner.
pub(super) type Dot = (usize, usize);

impl Canvas {
    pub(super) fn new(columns: usize, rows: usize, charset: Charset) -> Canvas {
        Canvas {
            columns,
            rows,
            charset,
            cells: vec![(0, ' ', Ink::Plain); columns * rows],
        }
    }

    fn grain(&self) -> (usize, usize) {
        match self.charset {
            Charset::Unicode => (2, 4),
            Charset::Ascii => (1, 1),
        }
    }

    pub(super) fn dots(&self) -> (usize, usize) {
        let (across, down) = self.grain();
        (self.columns * across, self.rows * down)
    }

    /// The dot at shares of the width from the left and of the height from
    /// the bottom, both 0 to 1.
    pub(super) fn dot_at(&self, across: f64, up: f64) -> Dot {
        let (width, height) = self.dots();
        let on = |share: f64, dots: usize| (share * dots.saturating_sub(1) as f64).round() as usize;
        (on(across, width), on(1.0 - up, height))
    }

    /// One dot; `glyph` stands for it where there is no braille. Dots outside
    /// are left out.
    pub(super) fn set(&mut self, (x, y): Dot, glyph: char, ink: Ink) {
        let (across, down) = self.grain();
        let (column, row) = (x / across, y / down);
        if column >= self.columns || row >= self.rows {
            return;
        }
        let cell = &mut self.cells[row * self.columns + column];
        *cell = (cell.0 | BRAILLE[x % across][y % down], glyph, ink);
    }

    pub(super) fn point(&mut self, (x, y): Dot, glyph: char, ink: Ink) {
        self.set((x, y), glyph, ink);
        if self.charset == Charset::Unicode {
            // A square of four, away from the edges where it would be cut.
            let (right, lower) = (x ^ 1, if y % 4 == 3 { y - 1 } else { y + 1 });
            for dot in [(right, y), (x, lower), (right, lower)] {
                self.set(dot, glyph, ink);
            }
        }
    }

    /// The dots on the way from one to another, both included; every
    /// `stride`th of them.
    pub(super) fn line(&mut self, from: Dot, to: Dot, stride: usize, glyph: char, ink: Ink) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1));
        let on = |a: usize, b: usize, share: f64| {
            (a as f64 + (b as f64 - a as f64) * share).round() as usize
        };
        for step in (0..=steps).step_by(stride.max(1)) {
            let share = step as f64 / steps.max(1) as f64;
            let dot = (on(from.0, to.0, share), on(from.1, to.1, share));
            self.set(dot, glyph, ink);
        }
    }

    pub(super) fn cells(&self) -> Vec<Vec<Cell>> {
        let show = |&(mask, glyph, ink): &(u8, char, Ink)| {
            let symbol = match (mask, self.charset) {
                (0, _) => ' ',
                (_, Charset::Ascii) => glyph,
                (_, Charset::Unicode) => char::from_u32(0x2800 + u32::from(mask)).unwrap_or(glyph),
            };
            Cell { symbol, ink }
        };
        let rows = self.cells.chunks(self.columns.max(1));
        rows.map(|row| row.iter().map(show).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(canvas: &Canvas) -> Vec<String> {
        let row = |row: Vec<Cell>| row.iter().map(|cell| cell.symbol).collect();
        canvas.cells().into_iter().map(row).collect()
    }

    #[test]
    fn dots_become_the_braille_patterns_of_their_cell() {
        let mut canvas = Canvas::new(2, 1, Charset::Unicode);
        assert_eq!(canvas.dots(), (4, 4));
        canvas.set(canvas.dot_at(0.0, 0.0), 'o', Ink::Plain);
        canvas.set(canvas.dot_at(1.0, 1.0), 'o', Ink::Plain);
        assert_eq!(text(&canvas), ["\u{2840}\u{2808}"]);
        canvas.line((0, 0), (3, 0), 1, '.', Ink::Plain);
        assert_eq!(text(&canvas), ["\u{2849}\u{2809}"]);
        // Outside is nothing, and no panic.
        canvas.set((4, 0), 'o', Ink::Plain);
        canvas.set((0, 4), 'o', Ink::Plain);
        assert_eq!(text(&canvas), ["\u{2849}\u{2809}"]);
    }

    #[test]
    fn without_braille_a_dot_is_a_letter() {
        let mut canvas = Canvas::new(3, 3, Charset::Ascii);
        canvas.line((0, 2), (2, 0), 1, '.', Ink::Plain);
        canvas.point((1, 1), 'o', Ink::Plain);
        assert_eq!(text(&canvas), ["  .", " o ", ".  "]);
    }

    #[test]
    fn a_point_stays_within_its_cell() {
        for x in 0..2 {
            for y in 0..4 {
                let mut canvas = Canvas::new(1, 1, Charset::Unicode);
                canvas.point((x, y), 'o', Ink::Plain);
                let dots: u32 = canvas.cells.iter().map(|cell| cell.0.count_ones()).sum();
                assert_eq!(dots, 4, "{x}, {y}");
            }
        }
    }
}
