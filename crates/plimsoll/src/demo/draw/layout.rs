//! Where everything stands, and what a click means.

use super::{controls, page};
use crate::demo::pages::PAGES;
use crate::demo::state::{Button, Event, Knob, State};
use ratatui::layout::{Position, Rect};

pub(super) const LEAST_WIDTH: u16 = 40;
pub(super) const LEAST_HEIGHT: u16 = 12;
/// From this size on there is room for charts.
const WIDE: (u16, u16) = (76, 20);
/// Columns of the page: findings take at least the first.
const PAGE: (u16, u16) = (40, 72);
/// Columns between the page and the charts.
const GAP: u16 = 2;
/// Lines of figures.
const FIGURES: u16 = 3;
/// Lines for messages.
const MESSAGES: u16 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(super) header: Rect,
    pub(crate) page: Rect,
    pub(super) controls: Rect,
    /// Empty where there is no room.
    pub(super) charts: Rect,
    pub(super) figures: Rect,
    pub(super) keys: Rect,
}

impl Layout {
    /// `None` where there is too little room for anything.
    pub(crate) fn of(area: Rect) -> Option<Layout> {
        let (width, height) = (area.width, area.height);
        if width < LEAST_WIDTH || height < LEAST_HEIGHT {
            return None;
        }
        let rows = |from: u16, count: u16| Rect::new(area.x, area.y + from, width, count);
        let (header, keys) = (rows(0, 1), rows(height - 1, 1));
        if width < WIDE.0 || height < WIDE.1 {
            let controls = controls::ROWS + 1;
            let below = controls + FIGURES;
            let top = height - 1 - below;
            return Some(Layout {
                header,
                page: rows(1, top - 1),
                figures: rows(top, FIGURES),
                controls: rows(top + FIGURES, controls),
                charts: Rect::ZERO,
                keys,
            });
        }
        let left = (width * 9 / 20).clamp(PAGE.0, PAGE.1);
        let right = width - left - GAP;
        let controls = controls::ROWS + MESSAGES;
        // A blank line below the header.
        let (top, end) = (2, height - 1);
        let part = |x: u16, from: u16, wide: u16, count: u16| {
            Rect::new(area.x + x, area.y + from, wide, count)
        };
        Some(Layout {
            header,
            page: part(0, top, left, end - top - controls - 1),
            controls: part(0, end - controls, left, controls),
            charts: part(left + GAP, top, right, end - top - FIGURES),
            figures: part(left + GAP, end - FIGURES, right, FIGURES),
            keys,
        })
    }

    pub(super) fn is_narrow(&self) -> bool {
        self.charts.is_empty()
    }

    /// Where the log stands: in the place of the charts, else of page and figures.
    pub(super) fn log(&self) -> Rect {
        match self.is_narrow() {
            true => self.page.union(self.figures),
            false => self.charts,
        }
    }
}

/// The buttons that are seen, and where.
pub(super) fn buttons(state: &State, layout: &Layout) -> Vec<(Rect, Button, String)> {
    let mut found = controls::buttons(state, layout.controls);
    if !state.shows_log || !layout.is_narrow() {
        found.extend(page::buttons(state, layout.page));
    }
    found
}

/// Labels in brackets one after another, in as many rows as they need.
pub(super) fn in_rows(
    area: Rect,
    labels: impl Iterator<Item = (Button, String)>,
) -> Vec<(Rect, Button, String)> {
    let (mut x, mut y) = (0, 0);
    let mut placed = Vec::new();
    for (button, label) in labels {
        let label = format!("[{label}]");
        let width = (label.chars().count() as u16).min(area.width);
        if x > 0 && x + width > area.width {
            (x, y) = (0, y + 1);
        }
        if y >= area.height {
            break;
        }
        placed.push((Rect::new(area.x + x, area.y + y, width, 1), button, label));
        x += width + 1;
    }
    placed
}

/// What a click at a place asks for.
pub(crate) fn hit(state: &State, area: Rect, (x, y): (u16, u16)) -> Option<Event> {
    let layout = Layout::of(area)?;
    let at = Position::new(x, y);
    let pressed = buttons(state, &layout).into_iter();
    if let Some((_, button, _)) = pressed.into_iter().find(|(place, ..)| place.contains(at)) {
        return Some(Event::Press(button));
    }
    for knob in Knob::ALL {
        let slider = controls::slider(layout.controls, knob);
        if slider.contains(at) {
            let along = f64::from(x - slider.x) / f64::from(slider.width.max(2) - 1);
            return Some(Event::Set(knob, along));
        }
    }
    let first = layout.header.right().saturating_sub(3 * PAGES.len() as u16);
    let is_tab = layout.header.contains(at) && x >= first;
    is_tab.then(|| Event::Page(usize::from((x - first) / 3)))
}
