//! The last second in figures, and the job's work as bars.

use super::Look;
use crate::demo::state::State;
use crate::demo::words;
use crate::paint::put;
use plimsoll_report::Ink;
use plimsoll_report::chart::bar;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// From this width on, words are whole.
const WIDE: u16 = 60;
/// Columns of bars, at most.
const MOST_BARS: usize = 60;

pub(super) fn draw(state: &State, look: Look, area: Rect, buffer: &mut Buffer) {
    let Some(last) = state.last() else {
        put(buffer, area, 0, "waiting for the first second", Ink::Dim);
        return;
    };
    let mut rows = area.rows();
    for line in [words::rates(last), words::latencies(last)] {
        if let Some(row) = rows.next() {
            put(buffer, row, 0, &line, Ink::Plain);
        }
    }
    let Some(row) = rows.next() else { return };
    let pressure = words::pressure(last, row.width >= WIDE);
    let job = words::job_work(last) + " ";
    put(buffer, row, 0, &job, Ink::Plain);
    let from = job.chars().count() as u16;
    let right = row.width.saturating_sub(pressure.chars().count() as u16);
    put(buffer, row, right.max(from), &pressure, Ink::Plain);
    let room = usize::from(right.saturating_sub(from + 1)).min(MOST_BARS);
    put(buffer, row, from, &bars(state, room, look), Ink::Green);
}

/// The job's work of the last seconds, as parts of the most of them.
fn bars(state: &State, room: usize, look: Look) -> String {
    let skipped = state.seconds.len().saturating_sub(room);
    let work = state.seconds.iter().skip(skipped).map(|second| second.job);
    let work: Vec<Option<f64>> = work.map(|job| Some(job?.amount())).collect();
    let most = work.iter().flatten().copied().fold(0.0, f64::max);
    let share = |work: &Option<f64>| work.filter(|_| most > 0.0).map(|work| work / most);
    let bars = work.iter().map(|work| bar(share(work), 0, 1, look.charset));
    bars.collect()
}
