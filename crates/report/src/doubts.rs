//! What is odd about the figures themselves, in a sentence each with the way out.

use crate::number::{self, per_second, time_us};
use crate::sentence::Sentence;
use crate::table::Ink;
use plimsoll_model::Doubt;

/// More loads than these are for programs.
const MOST_SCATTERED_SHOWN: usize = 3;

/// A sentence for each; of scattered rows for the first few.
pub(crate) fn sentences(doubts: &[Doubt]) -> Vec<Sentence> {
    let is_scattered = |doubt: &&Doubt| matches!(doubt, Doubt::ScatteredRows { .. });
    let scattered = doubts
        .iter()
        .filter(is_scattered)
        .take(MOST_SCATTERED_SHOWN);
    let others = doubts.iter().filter(|doubt| !is_scattered(doubt));
    let each = scattered.chain(others);
    each.map(|doubt| Sentence::new(Ink::Yellow, sentence(doubt)))
        .collect()
}

fn sentence(doubt: &Doubt) -> String {
    match *doubt {
        Doubt::ShortLatencies { most_us } => format!(
            "No latency is above {}, which no answer over a network is: if the table gives \
             milliseconds, multiply them by 1000 and import it again.",
            time_us(most_us)
        ),
        Doubt::ScatteredRows {
            rate_rps,
            least_us,
            most_us,
        } => format!(
            "At {} the rows say {} and {}, too far apart for chance: look whether one of them is \
             broken.",
            per_second(rate_rps),
            time_us(least_us),
            time_us(most_us)
        ),
        Doubt::KeptBeyond {
            goal,
            broken_rps,
            kept_rps,
        } => format!(
            "The rows contradict each other: {goal} is broken at {} but kept at {}; look at them \
             again before acting on either.",
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
                "p99 is {} at {slow_at} % load and {} at {} %: no service gets that much faster by \
                 more load, so something else was in the way at {slow_at} %; sweep again before \
                 acting on either.",
                time_us(slow_p99_us),
                time_us(fast_p99_us),
                number::trimmed_pct(fast_load_pct)
            )
        }
        Doubt::FlatCpu { cpu_pct } => format!(
            "There is no CPU use at which to add an instance: CPU use does not rise with the load \
             here, it is {} % at any headroom; look whether the column is what it should be.",
            number::pct(cpu_pct)
        ),
    }
}
