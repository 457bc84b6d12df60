//! How much is carried within a goal, and at which CPU use, in sentences.

use crate::number::{self, Written, confidence, time_us};
use crate::sentence::{Sentence, capital, words_if, words_of};
use crate::table::Ink;
use plimsoll_model::{
    CapacityFinding, CapacityNote, CapacityStatus, Estimate, Goal, LatencyLimit, LightBasis,
    LoadFormat, MissedBy, Quantile, Workload,
};

mod leading;

pub(crate) use leading::{Leading, Rank, is_decided, leading, missed_from, seen_missed};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) who: &'static str,
    pub(crate) trials: &'static str,
    pub(crate) is_table: bool,
    /// An external generator offers the load, and may be the limit.
    pub(crate) has_external_load: bool,
    /// The run has not made all of its trials.
    pub(crate) is_cut_short: bool,
}

fn measured_by(format: LoadFormat) -> &'static str {
    match format {
        LoadFormat::K6 => "The service, measured by k6,",
        LoadFormat::Wrk2 => "The service, measured by wrk2,",
        LoadFormat::Fortio => "The service, measured by fortio,",
        LoadFormat::Pgbench => "The service, measured by pgbench,",
        LoadFormat::Json => "The service, measured by its load command,",
    }
}

impl Subject {
    pub(crate) const THIS_MACHINE: Subject = Subject {
        who: "This machine",
        trials: "trials",
        is_table: false,
        has_external_load: false,
        is_cut_short: false,
    };

    pub(crate) const MACHINE_OF_TABLE: Subject = Subject {
        who: "The machine",
        trials: "rows",
        is_table: true,
        has_external_load: false,
        is_cut_short: false,
    };

    pub(crate) fn of(workload: &Workload) -> Subject {
        match workload {
            Workload::Http(_) => Subject {
                who: "The service",
                ..Subject::THIS_MACHINE
            },
            Workload::Command(load) => Subject {
                who: measured_by(load.format),
                has_external_load: true,
                ..Subject::THIS_MACHINE
            },
            Workload::Hash(_) => Subject::THIS_MACHINE,
            Workload::Imported(_) => Subject::MACHINE_OF_TABLE,
        }
    }

    /// A value with its interval, or why it has none.
    pub(crate) fn shows(self, written: &Written, unit: &str) -> String {
        match written.ends() {
            Some(_) => written.with_ends(unit),
            None => format!("{}{unit} ({})", written.value, self.no_interval()),
        }
    }

    pub(crate) fn no_interval(self) -> String {
        format!("no interval: too few {}", self.trials)
    }

    /// Why a lower bound is no higher.
    pub(crate) fn limited_by(self, finding: &CapacityFinding) -> &'static str {
        match finding.note {
            Some(CapacityNote::TooFewRequestsAbove { .. }) => {
                "the highest load with enough requests"
            }
            Some(CapacityNote::Saturated { .. }) => "the highest load clearly below saturation",
            _ if self.is_table => "the end of the table",
            _ => "the highest load with valid trials",
        }
    }
}

pub(crate) fn leads(subject: Subject, leading: Leading<'_>) -> Sentence {
    let finding = leading.finding;
    let goal = format!("{} ({})", finding.goal, promise(subject, finding));
    match leading.rank {
        Rank::MissedFirst => within(
            subject,
            finding,
            &format!("all goals, of which {goal} is missed first"),
        ),
        Rank::Only | Rank::NoneMissed | Rank::OthersOpen => carries(subject, finding),
    }
}

pub(crate) fn carries(subject: Subject, finding: &CapacityFinding) -> Sentence {
    let goal = format!("the goal {} ({})", finding.goal, promise(subject, finding));
    within(subject, finding, &goal)
}

fn within(subject: Subject, finding: &CapacityFinding, goal: &str) -> Sentence {
    let who = subject.who;
    let text = match (finding.status, finding.rate_rps) {
        (CapacityStatus::Found, Some(rate)) => {
            format!("{who} carries {} within {goal}", found(subject, rate))
        }
        (CapacityStatus::Cliff, Some(rate)) => {
            let high = rate.high.map_or_else(
                || "at a little more".to_owned(),
                |high| format!("at {}", number::per_second(high)),
            );
            // What was seen to keep it is what can be built on.
            let low = number::per_second(rate.low.unwrap_or(rate.value));
            let beyond = match finding.missed_by {
                Some(MissedBy::FellBehind { .. }) => "falls behind",
                None => "misses it by far",
            };
            format!("{who} carries {low} within {goal} and {beyond} {high}: a cliff")
        }
        (CapacityStatus::NotReached, Some(rate)) => format!(
            "{who} carries at least {}/s within {goal}, a lower bound: that was {}",
            Written::rate(rate).value,
            subject.limited_by(finding)
        ),
        _ => format!(
            "How much {} carries within {goal}: inconclusive",
            who.to_lowercase()
        ),
    };
    let is_decided = finding.rate_rps.is_some() && is_decided(finding);
    let is_wide = finding.status == CapacityStatus::Found
        && finding.rate_rps.is_some_and(|r| r.wide().is_some());
    let wide = match subject.is_table {
        _ if !is_wide => "",
        true => " The interval is wide: add rows near it before acting on it.",
        false => {
            " The interval is wide: sweep again on a quieter machine, without --quick and with \
             --precision 5%, before acting on it."
        }
    };
    let confirmation = words_if(is_decided, confirmation(finding));
    let note = words_of(finding.note, |note| match note {
        CapacityNote::NoLightLoad {
            lowest_pct: None,
            planned: true,
        } if subject.is_cut_short => {
            " The run ended before a valid trial at light load: resume it.".to_owned()
        }
        note => format!(" {}", note_sentence(subject, note)),
    });
    let missed_by = missed_by(finding);
    let all_requests = all_requests(finding) + &other_times(finding);
    let text = format!("{text}{confirmation}.{missed_by}{all_requests}{wide}{note}");
    let is_sure = is_decided
        && finding.status != CapacityStatus::NotReached
        && !is_wide
        && finding.confirmed != Some(false)
        && !matches!(finding.note, Some(CapacityNote::MissedOverall { .. }));
    let ink = if is_sure { Ink::Green } else { Ink::Yellow };
    ink.says(text)
}

/// The rarity that the way out is stated for.
const RARE_S: f64 = 300.0;

/// What all trials up to that load say, and what they are too short to say.
fn all_requests(finding: &CapacityFinding) -> String {
    let seen = finding.all_requests.filter(|_| finding.rate_rps.is_some());
    words_of(seen, |seen| {
        let missed = match finding.note {
            // It says so itself.
            Some(CapacityNote::MissedOverall { .. }) => String::new(),
            _ => format!(" {}.", capital(&seen.to_string())),
        };
        let every = seen.visible_every_s();
        let longer = words_if(every < RARE_S, " (--confirm 15m: one in 5 min)");
        format!(
            "{missed} Pauses and slow phases rarer than one in {every:.0} s may be unseen{longer}."
        )
    })
}

/// The interval for runs at other times, where it is wider than that of the run by more than
/// a tenth.
fn other_times(finding: &CapacityFinding) -> String {
    let width = |rate: Estimate| Some(rate.high? - rate.low?);
    let own = finding.rate_rps.and_then(width);
    let is_wider = |rate: &Estimate| match (width(*rate), own) {
        (Some(wide), Some(own)) => wide > 1.1 * own,
        _ => true,
    };
    words_of(finding.other_times_rps.filter(is_wider), |rate| {
        let written = Written::rate(rate);
        let ends = match (&written.low, &written.high) {
            (Some(low), Some(high)) => format!("{low} to {high}/s"),
            (Some(low), None) => format!("{low}/s or more"),
            _ => return String::new(),
        };
        format!(" At other times: {ends}, if runs differ by 3 % (assumed).")
    })
}

fn missed_by(finding: &CapacityFinding) -> String {
    words_of(
        finding.missed_by,
        |MissedBy::FellBehind {
             offered_rps,
             achieved_rps,
         }| {
            format!(
                " Throughput is the limit: of {} offered, {} were answered, although what was \
             answered met the goal.",
                number::per_second(offered_rps),
                number::per_second(achieved_rps)
            )
        },
    )
}

/// The upper end, where nothing was seen between it and the value: not even what is
/// likely there.
fn perhaps_up_to(rate: Estimate) -> Option<f64> {
    let is_edge = rate.low == Some(rate.value);
    rate.high.filter(|high| is_edge && *high > rate.value)
}

/// Where the goal is first seen broken, if what is carried is but the last load before
/// a gap, and the truth is somewhere in it.
pub(crate) fn before_gap(finding: &CapacityFinding) -> Option<f64> {
    match (finding.note, finding.rate_rps) {
        (Some(CapacityNote::NothingBetween { high, .. }), Some(rate))
            if high.kept == 0 && rate.value < high.rate_rps =>
        {
            Some(high.rate_rps)
        }
        (_, rate) => rate.and_then(perhaps_up_to),
    }
}

fn found(subject: Subject, rate: Estimate) -> String {
    let written = Written::rate(rate);
    let value = &written.value;
    match (perhaps_up_to(rate), written.ends()) {
        (Some(high), _) => {
            let high = number::per_second(high);
            format!("{}, perhaps up to {high},", number::per_second(rate.value))
        }
        (_, Some(ends)) => format!("{value}/s ({} interval {ends})", confidence()),
        (_, None) => format!(
            "{value}/s (no interval: the {} near it are too few or too scattered)",
            subject.trials
        ),
    }
}

fn confirmation(finding: &CapacityFinding) -> &'static str {
    match (finding.status, finding.confirmed) {
        (_, None) => "",
        (CapacityStatus::Found, Some(true)) => "; confirmed by a longer trial at the lower end",
        (CapacityStatus::Found, Some(false)) => ", but a longer trial at the lower end missed it",
        (_, Some(true)) => "; confirmed by a longer trial at that rate",
        (_, Some(false)) => ", but a longer trial at that rate missed it",
    }
}

/// Where a goal's load line is, in requests per second, and how it is written;
/// `None` where there is none. The same rate as in the sentence.
pub(crate) fn load_line(finding: &CapacityFinding) -> Option<(f64, String)> {
    let rate = finding.rate_rps?;
    match finding.status {
        CapacityStatus::Found => Some((rate.value, Written::rate(rate).value + "/s")),
        CapacityStatus::Cliff => {
            let low = rate.low.unwrap_or(rate.value);
            Some((low, number::per_second(low)))
        }
        CapacityStatus::NotReached | CapacityStatus::Undecided => None,
    }
}

/// A note as a sentence of its own, and what to do about it.
pub(crate) fn note_sentence(subject: Subject, note: CapacityNote) -> String {
    let mut text = note.to_string();
    if subject.is_table {
        for (words, of_table) in TABLE_WORDS {
            text = text.replace(words, of_table);
        }
    }
    let way_out = words_of(way_out(note), |way| format!(" {}.", capital(way)));
    format!("{}.{way_out}", capital(&text))
}

/// What the words of a note are for a table, which has no trials.
const TABLE_WORDS: [(&str, &str); 3] = [
    ("rate with valid trials", "rate of the table"),
    ("valid trial", "row"),
    ("trial", "row"),
];

/// What to do about a note, as a clause; `None` if nothing helps for certain.
pub fn way_out(note: CapacityNote) -> Option<&'static str> {
    Some(match note {
        CapacityNote::TooFewRequests { .. }
        | CapacityNote::TooFewRequestsAtLoad { .. }
        | CapacityNote::TooFewRequestsAbove { .. } => {
            "measure longer (--duration), or choose a lower percentile"
        }
        CapacityNote::NoLightLoad { planned: true, .. } => {
            "run it on a quieter machine, or set a limit in time (as in p99<10ms)"
        }
        CapacityNote::NoLightLoad { planned: false, .. } => {
            "measure at lower loads too, or set a limit in time (as in p99<10ms)"
        }
        CapacityNote::TooFewAtLightLoad { .. } => {
            "measure longer (--duration), or set a limit in time (as in p99<10ms)"
        }
        CapacityNote::Disagree { .. } => {
            "see what disturbs the machine, or measure again, longer and more often"
        }
        _ => return None,
    })
}

pub(crate) fn at_cpu(subject: Subject, finding: &CapacityFinding) -> String {
    let is_rate = finding.status != CapacityStatus::Undecided;
    match (finding.rate_rps.filter(|_| is_rate), finding.cpu_pct) {
        (None, _) => "CPU use at the capacity is not known either.".to_owned(),
        // The interval is that of the rate: beside "below 50 %", "50 % (48 to
        // 52)" would read like a contradiction.
        (Some(rate), Some(_)) if breaks_by_cpu(finding) => format!(
            "At {}/s CPU use reaches what that goal allows.",
            Written::rate(rate).value
        ),
        (Some(rate), Some(cpu)) => format!(
            "At {}/s CPU use is {}.",
            Written::rate(rate).value,
            subject.shows(&Written::pct(cpu), " %")
        ),
        (Some(_), None) => format!(
            "CPU use at that rate is not known: no {} near it has it.",
            if subject.is_table {
                "row"
            } else {
                "valid trial"
            }
        ),
    }
}

/// Whether the rate is the one at which CPU use, which the goal is about, is
/// too much.
fn breaks_by_cpu(finding: &CapacityFinding) -> bool {
    matches!(finding.goal, Goal::Cpu { .. }) && seen_missed(finding)
}

/// The part of the requests that a quantile is about: `half`, `99.9 %`.
pub(crate) fn share_of(quantile: Quantile) -> String {
    match quantile == Quantile::P50 {
        true => "half".to_owned(),
        // A quantile writes itself as p99.9.
        false => format!("{} %", quantile.to_string().trim_start_matches('p')),
    }
}

/// What a goal asks for. Of a table it is not known which percentile its latency is.
fn promise(subject: Subject, finding: &CapacityFinding) -> String {
    match finding.goal {
        Goal::Latency { quantile, limit } => {
            let (what, that) = match subject.is_table {
                true => ("latency below".to_owned(), "that"),
                false => {
                    let share = share_of(quantile);
                    (
                        format!("{share} of the requests answered within"),
                        "their time",
                    )
                }
            };
            let relative = |times| format!("{times} times {that} at {}", light(finding.note));
            let limit = match (limit, finding.limit_us) {
                (LatencyLimit::Absolute(limit), _) => time_us(limit.as_secs_f64() * 1e6),
                (LatencyLimit::TimesLight(times), None) => relative(times),
                (LatencyLimit::TimesLight(times), Some(us)) => {
                    format!("{}, {}", time_us(us), relative(times))
                }
            };
            format!("{what} {limit}")
        }
        Goal::Errors { limit } => format!(
            "less than {} % of the requests failed",
            number::trimmed(limit.pct())
        ),
        Goal::Cpu { limit } => format!("CPU use below {} %", number::trimmed(limit.pct())),
    }
}

/// The load that a relative limit is a multiple of. Where that is more than light, the
/// promise is a laxer one than was asked for, and its own words must say so.
fn light(note: Option<CapacityNote>) -> String {
    match note {
        Some(CapacityNote::Light {
            basis: LightBasis::LowestLevel,
            up_to_load_pct,
        }) => format!("up to {up_to_load_pct:.0} % load"),
        _ => "light load".to_owned(),
    }
}

/// What is met, in fewer words than a goal has elsewhere.
pub(crate) fn met(finding: &CapacityFinding, is_table: bool) -> String {
    match (finding.goal, finding.latency_limit_us()) {
        (Goal::Latency { .. }, Some(us)) if is_table => {
            format!("Latency stays below {}", time_us(us))
        }
        (Goal::Latency { quantile, .. }, Some(us)) => {
            let part = capital(&share_of(quantile));
            format!("{part} of the requests are answered within {}", time_us(us))
        }
        (Goal::Latency { .. }, None) => format!("The goal {} is met", finding.goal),
        (Goal::Errors { limit }, _) => format!(
            "Less than {} % of the requests fail",
            number::trimmed(limit.pct())
        ),
        (Goal::Cpu { limit }, _) => {
            format!("CPU use stays below {} %", number::trimmed(limit.pct()))
        }
    }
}
