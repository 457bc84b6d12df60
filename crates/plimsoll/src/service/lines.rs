//! What `plimsoll service` prints: a line per second, and a summary.

use plimsoll_lab::{Rating, Second, Target, Totals};
use plimsoll_law::{LatencyGoal, SettlePhase};
use plimsoll_model::{Histogram, Rate, human_duration, human_minutes, utc_date};
use std::time::Duration;

pub(super) const HEADER: &str =
    "  time  asked served  load   CPU      p50      p95      p99 in flight\n";

/// More of the CPUs than this that others use is mentioned: as in a trial.
const MOST_OTHERS: f64 = 0.05;

/// A second as a line of JSON.
pub(super) fn json(second: &Second) -> String {
    serde_json::to_string(second).unwrap_or_default() + "\n"
}

/// A second as a line of the table.
pub(super) fn text(second: &Second) -> String {
    let time = |us: Option<f64>| match us {
        Some(us) => human_duration(Duration::from_secs_f64(us / 1e6)),
        None => "-".to_owned(),
    };
    let cpu = second.cpu_pct.map(|pct| format!("{pct:.0}%"));
    let mut line = format!(
        "{:5.0}s {:6.0} {:6.0} {:4.0}% {:>5} {:>8} {:>8} {:>8} {:>9}",
        second.at_s,
        second.asked_rps,
        second.served_rps,
        second.load_pct,
        cpu.unwrap_or("-".to_owned()),
        time(second.p50_us),
        time(second.p95_us),
        time(second.p99_us),
        second.in_flight,
    );
    if let Some(decision) = &second.decision {
        line += &format!("  {}", phase(decision.phase));
    }
    line + "\n"
}

fn phase(phase: SettlePhase) -> &'static str {
    match phase {
        SettlePhase::Settling => "settling",
        SettlePhase::Settled => "settled",
        SettlePhase::Unreachable => "missed",
    }
}

/// `rated 1,952/s on CPUs 0-1 (1,940 to 1,960/s in 5 rounds, 2026-11-25)`
pub(crate) fn rating(rating: &Rating) -> String {
    if !rating.is_measured() {
        return format!("rated {} on CPUs {}, as given", rating.rated, rating.cpus);
    }
    // First, because a narrow screen shows no more.
    let low = match rating.too_low() {
        Some(_) => "too low: ",
        None => "",
    };
    format!(
        "{low}rated {} on CPUs {} ({} to {} in 5 rounds, {})",
        rating.rated,
        rating.cpus,
        rating.lowest,
        rating.highest,
        utc_date(rating.found_unix_s)
    )
}

/// What a whole run was.
pub(super) fn summary(
    all: &Totals,
    rating: &Rating,
    target: Target,
    outcome: Option<GoalOutcome>,
) -> String {
    let served = Rate::of(all.completed, all.length);
    let search = match outcome {
        Some(GoalOutcome::NotSettled | GoalOutcome::MissedUnsettled) => "in search of the ",
        _ => "",
    };
    let mut text = format!(
        "{search}{target} for {}: {served} served, {:.1} % of the rating",
        human_duration(all.length),
        100.0 * served.get() / rating.rated.get(),
    );
    if let Some(deviation) = all.deviation() {
        let asked = all.asked_rate();
        text += &format!(" ({asked} asked, {:+.1} %)", deviation * 100.0);
    }
    text += &format!("; {}", latencies(&all.latency));
    if let Some(us) = all.service_cpu.us_per(all.completed as f64) {
        text += &format!("; {us:.0} us of CPU time a request");
    }
    text.push('\n');
    if all.failed > 0 {
        text += &format!("{} requests failed.\n", all.failed);
    }
    if let Some(others) = all.others().filter(|others| others.get() > MOST_OTHERS) {
        text += &format!(
            "Other processes, or a hypervisor, used {others} of these CPUs: alone, the service carries more at less latency.\n"
        );
    }
    text
}

/// A smaller deficit is a fluctuation of the queue.
const FALLS_BEHIND: f64 = -0.01;

/// What became of a goal since its law settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoalOutcome {
    Kept,
    Missed,
    /// More requests arrived than were served.
    FellBehind,
    NothingServed,
    NotSettled,
    /// The goal was missed by all that was served.
    MissedUnsettled,
}

impl GoalOutcome {
    pub(super) fn of(all: &Totals, goal: LatencyGoal, has_settled: bool) -> GoalOutcome {
        let falls_behind = all.deviation().is_some_and(|off| off < FALLS_BEHIND);
        match above(all, goal) {
            Some(share) if !has_settled && share > allowed(goal) => GoalOutcome::MissedUnsettled,
            _ if !has_settled => GoalOutcome::NotSettled,
            None => GoalOutcome::NothingServed,
            Some(share) if share > allowed(goal) => GoalOutcome::Missed,
            Some(_) if falls_behind => GoalOutcome::FellBehind,
            Some(_) => GoalOutcome::Kept,
        }
    }

    fn words(self) -> &'static str {
        match self {
            GoalOutcome::Kept => "kept",
            GoalOutcome::Missed => "missed",
            GoalOutcome::FellBehind => {
                "inconclusive (requests arrived faster than they were served)"
            }
            GoalOutcome::NothingServed => "no request was served",
            GoalOutcome::NotSettled => "not settled",
            GoalOutcome::MissedUnsettled => "not settled, and missed",
        }
    }
}

/// The share of answers above the limit; `None` without an answer.
fn above(all: &Totals, goal: LatencyGoal) -> Option<f64> {
    let served = all.latency.count();
    (served > 0).then(|| all.latency.above(goal.limit()) as f64 / served as f64)
}

fn allowed(goal: LatencyGoal) -> f64 {
    1.0 - goal.quantile().fraction()
}

/// Whether a goal was kept since its law settled.
pub(super) fn outcome(
    all: &Totals,
    goal: LatencyGoal,
    outcome: GoalOutcome,
    settled_at: Option<Duration>,
    is_unreachable: bool,
) -> String {
    let Some(at) = settled_at else {
        if is_unreachable {
            return String::new();
        }
        return format!(
            "{goal}: {}; give it more time, or a quieter machine\n",
            outcome.words()
        );
    };
    format!(
        "{goal}: {} since it settled at {}: {:.2} % of the requests above {} ({:.2} % allowed)\n",
        outcome.words(),
        human_minutes(at),
        above(all, goal).unwrap_or(0.0) * 100.0,
        human_duration(goal.limit()),
        allowed(goal) * 100.0
    )
}

fn latencies(latency: &Histogram) -> String {
    let shown = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];
    let texts = shown.into_iter().filter_map(|(name, q)| {
        let value = human_duration(latency.quantile(q)?);
        Some(format!("{name} {value}"))
    });
    let texts: Vec<String> = texts.collect();
    match texts.is_empty() {
        true => "no request was served".to_owned(),
        false => texts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 100 answers so many took 80 ms, the others 1 ms; so many requests were asked for.
    fn totals(late: u64, asked: f64) -> Totals {
        let mut all = Totals::default();
        (all.asked, all.completed) = (asked, 100);
        all.latency.record_many(Duration::from_millis(80), late);
        all.latency
            .record_many(Duration::from_millis(1), 100 - late);
        all
    }

    #[test]
    fn what_was_held_decides_about_a_goal_and_not_that_the_law_settled() {
        let goal = crate::service::goal("p95<75ms").unwrap();
        let of = |all: &Totals, settled| GoalOutcome::of(all, goal, settled);
        assert_eq!(of(&totals(5, 100.0), true), GoalOutcome::Kept);
        assert_eq!(of(&totals(6, 100.0), true), GoalOutcome::Missed);
        assert_eq!(of(&totals(5, 102.0), true), GoalOutcome::FellBehind);
        assert_eq!(of(&totals(5, 100.0), false), GoalOutcome::NotSettled);
        assert_eq!(of(&Totals::default(), true), GoalOutcome::NothingServed);
    }
}
