//! What is odd about the figures themselves, in a sentence each with the way out.

use crate::number::{self, per_second, time_us};
use crate::sentence::Sentence;
use crate::table::Ink;
use plimsoll_model::Doubt;

/// More loads than these are for programs.
const MOST_SCATTERED_SHOWN: usize = 3;

/// A sentence for each; of scattered rows for the first few.
pub(super) fn sentences(doubts: &[Doubt]) -> Vec<Sentence> {
    let is_scattered = |doubt: &&Doubt| matches!(doubt, Doubt::ScatteredRows { .. });
    let scattered = doubts
        .iter()
        .filter(is_scattered)
        .take(MOST_SCATTERED_SHOWN);
    let others = doubts.iter().filter(|doubt| !is_scattered(doubt));
    let each = scattered.chain(others);
    each.map(|doubt| Ink::Yellow.says(sentence(doubt)))
        .collect()
}

fn sentence(doubt: &Doubt) -> String {
    match *doubt {
        Doubt::ShortLatencies { most_us } => format!(
            "No latency is above {}, too short for answers over a network: if the table is in \
             milliseconds, multiply by 1000 and import it again.",
            time_us(most_us)
        ),
        Doubt::ScatteredRows {
            rate_rps,
            least_us,
            most_us,
        } => format!(
            "At {} the rows say {} and {}, too far apart for chance: check them.",
            per_second(rate_rps),
            time_us(least_us),
            time_us(most_us)
        ),
        Doubt::KeptBeyond {
            goal,
            broken_rps,
            kept_rps,
        } => format!(
            "The rows contradict each other: {goal} is missed at {} but met at {}; check them \
             before acting on either.",
            per_second(broken_rps),
            per_second(kept_rps)
        ),
        Doubt::FasterBeyond {
            slow_load_pct,
            slow_p99_us,
            fast_load_pct,
            fast_p99_us,
        } => {
            let slow_at = number::trimmed_pct(slow_load_pct);
            format!(
                "p99 is {} at {slow_at} % load and {} at {} %: something disturbed the trials at \
                 {slow_at} %; sweep again before acting on either.",
                time_us(slow_p99_us),
                time_us(fast_p99_us),
                number::trimmed_pct(fast_load_pct)
            )
        }
        Doubt::Connections {
            connections,
            latency_us,
            most_rps,
        } => format!(
            "The client's {connections} connections may be the limit, not the service: at a mean \
             latency of {} they carry {} at most. Sweep again with more of them (-c).",
            time_us(latency_us),
            number::per_second(most_rps)
        ),
        Doubt::FlatCpu { cpu_pct } => format!(
            "There is no scale-out threshold: CPU use hardly depends on the load, it is {} % at \
             any headroom. The service polls, or the figure is of something else.",
            number::pct(cpu_pct)
        ),
    }
}
