//! The last second in figures, and the job's work as bars.

use super::Look;
use crate::demo::state::{JobWork, Second, State};
use crate::paint::put;
use plimsoll_model::{Rate, human_duration};
use plimsoll_report::Ink;
use plimsoll_report::chart::bar;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::time::Duration;

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
    for line in [rates(last), latencies(last)] {
        if let Some(row) = rows.next() {
            put(buffer, row, 0, &line, Ink::Plain);
        }
    }
    let Some(row) = rows.next() else { return };
    let pressure = pressure(last, row.width);
    let job = match last.job {
        Some(JobWork::Hashed(mib)) if mib < 10.0 => format!("job {mib:.1} MiB/s "),
        Some(JobWork::Hashed(mib)) => format!("job {mib:.0} MiB/s "),
        Some(JobWork::CpuTime(pct)) => format!("job {pct:.0} % of a CPU "),
        None => "job - ".to_owned(),
    };
    put(buffer, row, 0, &job, Ink::Plain);
    let from = job.chars().count() as u16;
    let right = row.width.saturating_sub(pressure.chars().count() as u16);
    put(buffer, row, right.max(from), &pressure, Ink::Plain);
    let room = usize::from(right.saturating_sub(from + 1)).min(MOST_BARS);
    put(buffer, row, from, &bars(state, room, look), Ink::Green);
}

fn rates(last: &Second) -> String {
    let rate = |n: f64| Rate::per_second(n).map_or("-".to_owned(), |rate| rate.to_string());
    format!(
        "{} of {}  load {:.0} %  CPU {}",
        rate(last.served_rps).trim_end_matches("/s"),
        rate(last.asked_rps),
        last.load_pct,
        percent(last.cpu_pct)
    )
}

fn latencies(last: &Second) -> String {
    let time = |us: Option<f64>| match us {
        Some(us) => human_duration(Duration::from_secs_f64((us / 1e6).clamp(0.0, 1e6))),
        None => "-".to_owned(),
    };
    let [p50, p95, p99] = last.us.map(time);
    format!("p50 {p50}  p95 {p95}  p99 {p99}  open {}", last.in_flight)
}

fn pressure(last: &Second, width: u16) -> String {
    let (delay, pressure) = (percent(last.run_delay_pct), percent(last.pressure_pct));
    match width < WIDE {
        true => format!("delay {delay}  PSI {pressure}"),
        false => format!("run delay {delay}  CPU pressure (PSI) {pressure}"),
    }
}

fn percent(pct: Option<f64>) -> String {
    pct.map_or("-".to_owned(), |pct| format!("{pct:.0} %"))
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
