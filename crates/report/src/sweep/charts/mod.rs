//! Each chart of a sweep as a function from findings to data.

mod cpu;
mod growth;
mod latency;
mod offered;
mod spectrum;
mod work;

use super::levels;
use crate::Report;
use crate::capacity::{is_decided, leading, load_line};
use crate::chart::{At, Chart, Mark, MarkKind, Tone, Unit, time_line};
use crate::html::Picker;
use crate::number::{self, Written, per_second, time_us};
use crate::sentence::words_if;
use crate::table::Column;
use plimsoll_model::{CapacityFinding, CapacityStatus, Findings, Goal, LevelFinding, Picture};

#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) report: &'a Report<'a>,
    pub(super) picture: &'a Picture,
}

impl<'a> View<'a> {
    fn findings(&self) -> &'a Findings {
        self.report.findings
    }

    fn levels(&self) -> &'a [LevelFinding] {
        &self.findings().levels
    }

    /// 100 % load in requests per second.
    fn rated(&self) -> Option<f64> {
        self.findings().rated.as_ref().map(|rated| rated.rate_rps)
    }

    fn level_table(&self) -> Vec<Column> {
        levels::columns(self.levels(), self.report.is_imported())
    }

    fn details(&self, tell: impl Fn(&LevelFinding) -> String) -> Vec<String> {
        let one = |l: &LevelFinding| format!("{}: {}", load_name(l), tell(l));
        self.levels().iter().map(one).collect()
    }
}

/// All charts of a sweep that there are data for, in two parts: those before
/// the threshold table, and those after it.
pub(super) fn figures(view: View<'_>) -> [Vec<Chart>; 2] {
    let before = [
        latency::chart(view),
        cpu::chart(view),
        work::chart(view),
        None,
    ];
    let after = [
        spectrum::chart(view),
        offered::chart(view),
        of_trials(view),
        growth::chart(view),
    ];
    [before, after].map(|charts| charts.into_iter().flatten().collect())
}

pub(super) fn terminal(report: &Report<'_>) -> Vec<Chart> {
    let picture = &Picture::default();
    let view = View { report, picture };
    let charts = [latency::chart(view), cpu::chart(view)];
    charts.into_iter().flatten().collect()
}

/// Of a table it is not known when its rows were measured.
fn of_trials(view: View<'_>) -> Option<Chart> {
    let trials = Some(&view.picture.trials).filter(|_| !view.report.is_imported())?;
    let tally = view.report.record.trials.in_words();
    time_line::of_loads(trials, tally, "offered, requests per second", Unit::Rate)
}

pub(super) fn picker(view: View<'_>, charts: &[Vec<Chart>; 2]) -> Picker {
    let imported = view.report.is_imported();
    let levels = view.levels().iter();
    let items = levels.map(|l| (load_name(l), level_facts(l, imported)));
    Picker::of(Picker::LEVELS, items, first(view), charts.iter().flatten())
}

/// The level that is shown first: the highest at which the goal is met,
/// else the highest that was measured.
fn first(view: View<'_>) -> usize {
    let findings = view.findings();
    let rate = leading(&findings.capacity).and_then(|l| l.finding.rate_rps);
    let measured = |l: &LevelFinding| l.latency_us.is_some();
    let kept = rate.and_then(|rate| {
        let below = |l: &LevelFinding| measured(l) && l.offered_rps <= rate.value * 1.03;
        findings.levels.iter().rposition(below)
    });
    let highest = || findings.levels.iter().rposition(measured);
    kept.or_else(highest).unwrap_or(0)
}

fn level_facts(level: &LevelFinding, imported: bool) -> String {
    let mut parts = vec![per_second(level.achieved_rps.unwrap_or(level.offered_rps))];
    let cpu = level.cpu_pct.map(number::pct);
    parts.extend(cpu.map(|cpu| format!("CPU {cpu} %")));
    match &level.latency_us {
        Some(latency) if imported => parts.push(format!("latency {}", time_us(latency.p99))),
        Some(latency) => parts.extend([
            format!("p50 {}", time_us(latency.p50)),
            format!("p99 {}", time_us(latency.p99)),
            format!("p99.9 {}", time_us(latency.p999)),
        ]),
        None => parts.push("no valid trial".to_owned()),
    }
    let errors = level.error_pct.filter(|pct| *pct > 0.0);
    parts.extend(errors.map(|pct| format!("errors {} %", number::small_pct(pct))));
    parts.join(" · ")
}

/// `80 % load`, with a decimal where it needs one.
fn load_name(level: &LevelFinding) -> String {
    format!("{} % load", number::trimmed_pct(level.load_pct))
}

fn known_loads(findings: &Findings) -> impl Iterator<Item = &CapacityFinding> + Clone {
    let known = |c: &&CapacityFinding| is_decided(c) && c.rate_rps.is_some();
    findings.capacity.iter().filter(known)
}

fn leads(findings: &Findings, capacity: &CapacityFinding) -> bool {
    leading(&findings.capacity).is_some_and(|first| first.is(capacity))
}

/// The loads that are not to be exceeded, as far as they are known, that of
/// the goal that leads last, so that it is drawn over the others. `place` says
/// where on the axis a rate is.
fn load_marks(findings: &Findings, place: impl Fn(f64) -> Option<f64>) -> Vec<Mark> {
    let several = known_loads(findings).count() > 1;
    let mark = |capacity: &CapacityFinding| {
        let rate = capacity.rate_rps?;
        let at_least = match capacity.status {
            CapacityStatus::NotReached => "at least ",
            _ => "",
        };
        // The same rate as in the sentence.
        let line = load_line(capacity);
        let short_name = line.as_ref().map(|(_, rate)| format!("load line {rate}"));
        let (at, written) = line.unwrap_or_else(|| (rate.value, Written::rate(rate).value + "/s"));
        let goal = format!("{}: ", capacity.goal);
        let goal = words_if(several, &goal);
        let leads = leads(findings, capacity);
        let kind = if leads {
            MarkKind::Load
        } else {
            MarkKind::OtherLoad
        };
        let ends = rate.interval().filter(|_| leads);
        Some(Mark {
            range: ends.and_then(|(low, high)| Some((place(low)?, place(high)?))),
            name: format!("{goal}{at_least}{written}"),
            short_name: short_name.filter(|_| leads).unwrap_or_default(),
            tone: Tone::Budget,
            ..Mark::new(kind, At::X(place(at)?))
        })
    };
    let mut marks: Vec<Mark> = known_loads(findings).filter_map(mark).collect();
    marks.sort_by_key(|mark| mark.kind == MarkKind::Load);
    marks
}

/// The tone of what belongs to a goal: that of the percentile it is about, if
/// that is drawn.
fn goal_tone(capacity: &CapacityFinding) -> Tone {
    let Goal::Latency { quantile, .. } = capacity.goal else {
        return Tone::Plain;
    };
    match quantile.to_string().as_str() {
        "p50" => Tone::P50,
        "p99" => Tone::P99,
        "p99.9" => Tone::P999,
        _ => Tone::Plain,
    }
}

fn goal_marks(view: View<'_>) -> impl Iterator<Item = Mark> {
    let (findings, is_table) = (view.findings(), view.report.is_imported());
    findings.capacity.iter().filter_map(move |capacity| {
        let limit = capacity.latency_limit_us()?;
        let name = match capacity.goal {
            Goal::Latency { .. } if is_table => format!("latency < {}", time_us(limit)),
            Goal::Latency { quantile, .. } => format!("{quantile} < {}", time_us(limit)),
            goal => goal.to_string(),
        };
        let goal = capacity.goal.to_string();
        Some(Mark {
            name: format!("goal: {name}"),
            short_name: words_if(leads(findings, capacity), &goal).to_owned(),
            tone: goal_tone(capacity),
            ..Mark::new(MarkKind::Goal, At::Y(limit))
        })
    })
}
