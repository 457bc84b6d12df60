//! What `plimsoll service` prints: a line per second, and a summary.

use plimsoll_lab::{Rating, Target, Totals};
use plimsoll_law::{LatencyGoal, SettleDecision, SettlePhase};
use plimsoll_model::{Histogram, Rate, Share, human_duration, human_minutes, utc_date};
use serde::Serialize;
use std::time::Duration;

pub(super) const HEADER: &str =
    "  time  asked served  load   CPU      p50      p95      p99 in flight\n";

/// More of the CPUs than this that others use is mentioned: as in a trial.
const MOST_OTHERS: f64 = 0.05;

/// A second of a service.
#[derive(Serialize)]
pub(super) struct Line {
    at_s: f64,
    asked_rps: f64,
    served_rps: f64,
    /// What was served, in percent of the rating.
    load_pct: f64,
    cpu_pct: Option<f64>,
    /// Of the service's CPUs, used by other processes.
    others_pct: Option<f64>,
    p50_us: Option<f64>,
    p95_us: Option<f64>,
    p99_us: Option<f64>,
    cpu_us_per_request: Option<f64>,
    in_flight: u64,
    failed: u64,
    /// What the law of a goal decided.
    #[serde(flatten)]
    decision: Option<SettleDecision>,
}

impl Line {
    pub(super) fn new(
        (at, in_flight): (Duration, u64),
        second: &Totals,
        cpu: Option<Share>,
        rating: &Rating,
        decision: Option<SettleDecision>,
    ) -> Line {
        let us = |q| second.latency.quantile(q).map(|t| t.as_secs_f64() * 1e6);
        let served = Rate::of(second.completed, second.length).get();
        let seconds = second.length.as_secs_f64();
        Line {
            at_s: at.as_secs_f64(),
            asked_rps: if seconds > 0.0 {
                second.asked / seconds
            } else {
                0.0
            },
            served_rps: served,
            load_pct: 100.0 * served / rating.rated.get(),
            cpu_pct: cpu.map(Share::pct),
            others_pct: second.others().map(Share::pct),
            p50_us: us(0.5),
            p95_us: us(0.95),
            p99_us: us(0.99),
            cpu_us_per_request: second.service_cpu.us_per(second.completed),
            in_flight,
            failed: second.failed,
            decision,
        }
    }

    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    pub(super) fn text(&self) -> String {
        let time = |us: Option<f64>| match us {
            Some(us) => human_duration(Duration::from_secs_f64(us / 1e6)),
            None => "-".to_owned(),
        };
        let cpu = self
            .cpu_pct
            .map_or("-".to_owned(), |pct| format!("{pct:.0}%"));
        let mut line = format!(
            "{:5.0}s {:6.0} {:6.0} {:4.0}% {:>5} {:>8} {:>8} {:>8} {:>9}",
            self.at_s,
            self.asked_rps,
            self.served_rps,
            self.load_pct,
            cpu,
            time(self.p50_us),
            time(self.p95_us),
            time(self.p99_us),
            self.in_flight,
        );
        if let Some(decision) = &self.decision {
            line += &format!("  {}", phase(decision.phase));
        }
        line + "\n"
    }
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
    format!(
        "rated {} on CPUs {} ({} to {} in 5 rounds, {})",
        rating.rated,
        rating.cpus,
        rating.lowest,
        rating.highest,
        utc_date(rating.found_unix_s)
    )
}

/// What a whole run was.
pub(super) fn summary(all: &Totals, rating: &Rating, target: Target) -> String {
    let served = Rate::of(all.completed, all.length);
    let asked = Rate::per_second(all.asked / all.length.as_secs_f64().max(1e-9));
    let mut text = format!(
        "{target} for {}: {served} served, {:.1} % of the rating",
        human_duration(all.length),
        100.0 * served.get() / rating.rated.get(),
    );
    if let (Some(deviation), Some(asked)) = (all.deviation(), asked) {
        text += &format!(" ({asked} asked, {:+.1} %)", deviation * 100.0);
    }
    text += &format!("; {}", latencies(&all.latency));
    if let Some(us) = all.service_cpu.us_per(all.completed) {
        text += &format!("; {us:.0} us of CPU time a request");
    }
    text.push('\n');
    if all.failed > 0 {
        text += &format!("{} requests failed.\n", all.failed);
    }
    if let Some(others) = all.others().filter(|others| others.get() > MOST_OTHERS) {
        text += &format!(
            "Other processes used {others} of these CPUs: latency and the load that is carried are theirs, too.\n"
        );
    }
    text
}

/// Whether a goal was kept since its law settled.
pub(super) fn kept(all: &Totals, goal: LatencyGoal, settled_at: Option<Duration>) -> String {
    let Some(at) = settled_at else {
        return format!("{goal}: not settled; give it more time\n");
    };
    let served = all.latency.count();
    let above = all.latency.above(goal.limit()) as f64 / (served.max(1)) as f64;
    let allowed = 1.0 - goal.quantile().fraction();
    let verdict = match (served, above <= allowed) {
        (0, _) => "no request since",
        (_, true) => "kept",
        (_, false) => "missed",
    };
    format!(
        "{goal}: {verdict} since it settled at {}: {:.2} % of the requests above {} ({:.2} % allowed)\n",
        human_minutes(at),
        above * 100.0,
        human_duration(goal.limit()),
        allowed * 100.0
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
