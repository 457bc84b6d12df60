//! Sliders, the job, and what there is to tell.

use super::Look;
use super::layout::{Layout, in_rows};
use crate::demo::state::{Button, Care, Knob, State};
use crate::demo::words;
use crate::paint::{put, within};
use plimsoll_report::{Ink, wrap};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Rows of the sliders, of the job and of its buttons.
pub(super) const ROWS: u16 = 5;
const JOB: u16 = 3;
const BUTTONS: u16 = 4;
/// Columns for a mark and the name of a slider.
const NAME: u16 = 11;
/// Columns for its value.
const VALUE: u16 = 6;

pub(super) fn draw(state: &State, look: Look, layout: &Layout, buffer: &mut Buffer) {
    let area = layout.controls;
    for knob in Knob::ALL {
        draw_knob(state, knob, look, area, buffer);
    }
    let cut = look.charset.pick("…", "~");
    let job = within(&words::job(state), area.width.saturating_sub(NAME), cut);
    put(buffer, row(area, JOB), 2, "job", Ink::Plain);
    put(buffer, row(area, JOB), NAME, &job, Ink::Plain);
    for (place, _, label) in buttons(state, area) {
        put(buffer, place, 0, &label, Ink::Cyan);
    }
    let message = state.message().unwrap_or_default();
    let lines = wrap(message, area.width.into());
    for (line, row) in lines.iter().zip(area.rows().skip(ROWS.into())) {
        put(buffer, row, 0, line, Ink::Yellow);
    }
}

fn row(area: Rect, nth: u16) -> Rect {
    let top = (area.y + nth).min(area.bottom());
    Rect::new(area.x, top, area.width, u16::from(nth < area.height))
}

/// The bar of a slider; of the goal, all right of its name.
pub(super) fn slider(area: Rect, knob: Knob) -> Rect {
    let nth = Knob::ALL.iter().position(|other| *other == knob);
    let row = row(area, nth.unwrap_or(0) as u16);
    let value = if knob == Knob::Goal { 0 } else { VALUE };
    let width = row.width.saturating_sub(NAME + value);
    Rect::new(row.x + NAME.min(row.width), row.y, width, row.height)
}

fn draw_knob(state: &State, knob: Knob, look: Look, area: Rect, buffer: &mut Buffer) {
    let bar = slider(area, knob);
    let is_chosen = state.chosen == knob;
    let ink = if is_chosen { Ink::Bold } else { Ink::Plain };
    let whole = Rect::new(area.x, bar.y, area.width, bar.height);
    let mark = if is_chosen { "> " } else { "  " };
    let name = match knob {
        Knob::Load => "load",
        Knob::Headroom => "headroom",
        Knob::Goal => "goal",
    };
    put(buffer, whole, 0, &format!("{mark}{name}"), ink);
    let value = match knob {
        Knob::Load => state.knobs.load_pct,
        Knob::Headroom => state.knobs.headroom_pct,
        Knob::Goal => {
            let mark = if state.knobs.goal { "x" } else { " " };
            put(
                buffer,
                bar,
                0,
                &format!("[{mark}] {}", words::goal(state)),
                ink,
            );
            return;
        }
    };
    // Under a goal the law sets the load.
    let is_used = knob != Knob::Load || !state.knobs.goal;
    let (full, empty, thumb) = look.charset.pick(("━", "─", "●"), ("=", "-", "O"));
    let last = bar.width.saturating_sub(1);
    let at = (state.knobs.share(knob) * f64::from(last)).round() as u16;
    let ink = |ink| if is_used { ink } else { Ink::Dim };
    put(buffer, bar, 0, &full.repeat(at.into()), ink(Ink::Cyan));
    let rest = empty.repeat(last.saturating_sub(at).into());
    put(buffer, bar, at + 1, &rest, Ink::Dim);
    put(buffer, bar, at, thumb, ink(Ink::Bold));
    let text = format!("{value:>4.0} %");
    put(
        buffer,
        whole,
        area.width.saturating_sub(VALUE),
        &text,
        ink(Ink::Plain),
    );
}

/// The buttons of the job.
pub(super) fn buttons(state: &State, area: Rect) -> Vec<(Rect, Button, String)> {
    let row = row(area, BUTTONS);
    let place = Rect::new(row.x + 2, row.y, row.width.saturating_sub(2), row.height);
    let label = |care: Care, key: &str| match state.job.care() == Some(care) {
        true => format!("{key} stop"),
        false => format!("{key} {}", care.name()),
    };
    let labels = [
        (Button::Sideload, label(Care::Sideload, "j")),
        (Button::Sysload, label(Care::Sysload, "J")),
        (Button::OtherJob, "c other".to_owned()),
    ];
    in_rows(place, labels.into_iter())
}
