//! What views draw with: text and pictures in a buffer of cells.

use plimsoll_model::safe;
use plimsoll_report::Ink;
use plimsoll_report::chart::{Charset, Picture};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// Writes into the first row of an area, from a column to its end: all text of a view
/// but that of charts.
pub(crate) fn put(buffer: &mut Buffer, area: Rect, from: u16, text: &str, ink: Ink) {
    if area.height == 0 || from >= area.width {
        return;
    }
    let room = usize::from(area.width - from);
    buffer.set_stringn(area.x + from, area.y, safe(text), room, style(ink));
}

pub(crate) fn style(ink: Ink) -> Style {
    let plain = Style::new();
    match ink {
        Ink::Plain => plain,
        Ink::Bold => plain.add_modifier(Modifier::BOLD),
        Ink::Dim => plain.add_modifier(Modifier::DIM),
        Ink::Red => plain.fg(Color::Red),
        Ink::Green => plain.fg(Color::Green),
        Ink::Yellow => plain.fg(Color::Yellow),
        Ink::Cyan => plain.fg(Color::Cyan),
        Ink::Magenta => plain.fg(Color::Magenta),
    }
}

/// Puts a picture over what is there.
pub(crate) fn put_picture(picture: &Picture, (left, top): (u16, u16), buffer: &mut Buffer) {
    for (row, y) in picture.rows().iter().zip(top..) {
        for (cell, x) in row.iter().zip(left..) {
            if cell.symbol != ' ' {
                buffer[(x, y)]
                    .set_char(cell.symbol)
                    .set_style(style(cell.ink));
            }
        }
    }
}

/// Takes out what the terminal or its user does not have.
pub(crate) fn reduce(buffer: &mut Buffer, colour: bool, charset: Charset) {
    for cell in &mut buffer.content {
        if !colour {
            cell.fg = Color::Reset;
            cell.bg = Color::Reset;
        }
        if charset == Charset::Ascii && !cell.symbol().is_ascii() {
            cell.set_symbol(if cell.symbol() == "·" { "-" } else { "?" });
        }
    }
}

/// Text that is seen to be cut where it is.
pub(crate) fn within(text: &str, width: u16, cut: &str) -> String {
    let width = usize::from(width);
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept + cut
}

#[cfg(test)]
pub(crate) mod snapshot {
    use ratatui::buffer::{Buffer, Cell};

    /// The rows of a screen as lines, without spaces at their ends.
    pub(crate) fn lines(buffer: &Buffer) -> String {
        let rows = buffer.content.chunks(buffer.area.width.into());
        let line = |row: &[Cell]| {
            let line: String = row.iter().map(Cell::symbol).collect();
            line.trim_end().to_owned() + "\n"
        };
        rows.map(line).collect()
    }

    /// Fails unless a screen looks as its file in `folder` of this crate; `BLESS=1` writes the file anew.
    #[track_caller]
    pub(crate) fn is_as_in(folder: &str, name: &str, got: &str) {
        let file = format!("{}/{folder}/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&file, got).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap();
        assert!(
            got == expected,
            "{name}: got\n{got}\ninstead of\n{expected}"
        );
    }

    /// Width and height, from the end of the name of a screen: `busy-80x24`.
    pub(crate) fn size(name: &str) -> (u16, u16) {
        let (_, size) = name.rsplit_once('-').unwrap();
        let (width, height) = size.split_once('x').unwrap();
        (width.parse().unwrap(), height.parse().unwrap())
    }
}
