//! The charts, one above the other.

use super::Look;
use crate::demo::charts::{latencies, loads};
use crate::demo::state::State;
use crate::paint::{put, put_picture};
use plimsoll_report::Ink;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(super) fn draw(state: &State, look: Look, area: Rect, buffer: &mut Buffer) {
    if state.seconds.is_empty() {
        put(
            buffer,
            area,
            0,
            "Charts begin with the first second.",
            Ink::Dim,
        );
        return;
    }
    let upper = area.height / 2;
    let (width, rest) = (usize::from(area.width), area.height - upper);
    let below = latencies(state);
    if below.is_none() {
        let line = Rect::new(area.x, area.y + upper, area.width, 1);
        put(buffer, line, 0, "Latency: no request was served.", Ink::Dim);
    }
    for (chart, top, height) in [
        (Some(loads(state)), area.y, upper),
        (below, area.y + upper, rest),
    ] {
        let picture = chart.and_then(|chart| chart.draw(width, height.into(), look.charset));
        if let Some(picture) = picture {
            put_picture(&picture, (area.x, top), buffer);
        }
    }
}
