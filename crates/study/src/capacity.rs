//! The highest rate that keeps a goal, by interpolation between levels.
//!
//! At each level the goal's margin is the measured figure divided by its
//! limit. The logarithm of the margin is made non-decreasing in load
//! ([`crate::isotonic`], weighted by the number of requests), so that one
//! disturbed level does not decide; the capacity is where the line through it
//! crosses 0. A level that the service did not carry keeps no goal.

use crate::carried::is_carried;
use crate::isotonic;
use crate::levels::Level;
use plimsoll_model::{CapacityFinding, CapacityStatus, Goal, Histogram, LatencyLimit, LightLoad};

/// Below this CPU use (or, where it is not known, below this load) latency
/// counts as that of light load: the published rule's own bound.
const LIGHT_PCT: f64 = 20.0;

/// The margin of a level that was not carried: ten times the limit. Its
/// measured latency is that of a queue that grows, and depends on how long
/// one looks.
const NOT_CARRIED_MARGIN: f64 = 10.0;

/// What light load is here, with the histogram that any quantile can be
/// read from.
pub struct Light {
    /// As shown.
    pub finding: LightLoad,
    latency: Histogram,
    note: Option<String>,
}

/// Latency over all valid trials of the levels up to 20 % load and below 20 %
/// CPU use.
///
/// The published rule asks for CPU use alone; but a service that sleeps is
/// below 20 % CPU use at any load, and nothing would be light about it. Where
/// CPU use is not known, load alone counts; where no level is light, the
/// lowest one does. Both are said in the capacity's note.
pub fn light_load(levels: &[Level]) -> Option<Light> {
    let measured: Vec<&Level> = levels.iter().filter(|l| l.latency.count() > 0).collect();
    let cpu_known = measured.iter().all(|l| l.row.cpu_pct.is_some());
    let is_light = |l: &&Level| {
        let idle_enough = !cpu_known || l.row.cpu_pct.is_some_and(|cpu| cpu < LIGHT_PCT);
        idle_enough && l.row.load_pct <= LIGHT_PCT
    };
    let mut light: Vec<&Level> = measured.iter().copied().filter(is_light).collect();
    let mut note = (!cpu_known).then(|| {
        format!("CPU use is not known; levels up to {LIGHT_PCT} % load stand for light load")
    });
    if light.is_empty() {
        let lowest = measured.first()?;
        light.push(lowest);
        note = Some(format!(
            "no trial that counts was below {LIGHT_PCT} % load and CPU use; the lowest, at {:.0} % load, stands for light load",
            lowest.row.load_pct
        ));
    }
    let mut latency = Histogram::new();
    light.iter().for_each(|l| latency.merge(&l.latency));
    let highest = light.iter().map(|l| l.row.load_pct).fold(0.0, f64::max);
    Some(Light {
        finding: LightLoad {
            up_to_load_pct: highest,
            p99_us: latency.quantile(0.99)?.as_secs_f64() * 1e6,
        },
        latency,
        note,
    })
}

/// A goal held against the levels.
pub fn capacity(goal: &Goal, levels: &[Level], light: Option<&Light>) -> CapacityFinding {
    let mut finding = CapacityFinding {
        goal: *goal,
        status: CapacityStatus::Undecided,
        rate_rps: None,
        cpu_pct: None,
        limit_us: None,
        note: None,
    };
    let rule = match Rule::of(goal, light) {
        Ok(rule) => rule,
        Err(why) => {
            finding.note = Some(why);
            return finding;
        }
    };
    finding.limit_us = rule.limit_us();
    finding.note = rule.note();
    let points: Vec<Point> = levels
        .iter()
        .filter_map(|level| rule.point(level))
        .collect();
    if points.is_empty() {
        finding.note = Some(rule.missing().to_owned());
        return finding;
    }
    let weighted: Vec<(f64, f64)> = points.iter().map(|p| (p.log_margin, p.weight)).collect();
    let fitted = isotonic::fit(&weighted);
    match fitted.iter().position(|margin| *margin > 0.0) {
        Some(0) => finding.status = CapacityStatus::BelowLowest,
        None => {
            finding.status = CapacityStatus::NotReached;
            finding.rate_rps = points.last().map(|p| p.rate);
            finding.cpu_pct = points.last().and_then(|p| p.cpu_pct);
        }
        Some(above) => {
            let (a, b) = (&points[above - 1], &points[above]);
            let part = crossing(fitted[above - 1], fitted[above]);
            finding.status = CapacityStatus::Found;
            finding.rate_rps = Some(a.rate + part * (b.rate - a.rate));
            finding.cpu_pct = a
                .cpu_pct
                .zip(b.cpu_pct)
                .map(|(low, high)| low + part * (high - low));
        }
    }
    finding
}

/// Where a line from `low` <= 0 to `high` > 0 crosses 0, as a part of the way.
fn crossing(low: f64, high: f64) -> f64 {
    (-low / (high - low)).clamp(0.0, 1.0)
}

/// One level under one goal.
struct Point {
    rate: f64,
    cpu_pct: Option<f64>,
    log_margin: f64,
    weight: f64,
}

/// A goal with its limit worked out.
enum Rule<'a> {
    Latency {
        quantile: f64,
        limit_us: f64,
        note: Option<&'a str>,
    },
    Errors {
        limit_pct: f64,
    },
    Cpu {
        limit_pct: f64,
    },
}

impl<'a> Rule<'a> {
    fn of(goal: &Goal, light: Option<&'a Light>) -> Result<Rule<'a>, String> {
        match *goal {
            Goal::Errors { limit } => Ok(Rule::Errors {
                limit_pct: limit.pct(),
            }),
            Goal::Cpu { limit } => Ok(Rule::Cpu {
                limit_pct: limit.pct(),
            }),
            Goal::Latency { quantile, limit } => {
                let quantile = quantile.fraction();
                let (limit, note) = match limit {
                    LatencyLimit::Absolute(limit) => (limit, None),
                    LatencyLimit::TimesLight(times) => {
                        let light = light.ok_or("no trial at light load is valid")?;
                        let base = light.latency.quantile(quantile);
                        let base = base.ok_or("no request was answered at light load")?;
                        (base.mul_f64(times), light.note.as_deref())
                    }
                };
                Ok(Rule::Latency {
                    quantile,
                    limit_us: limit.as_secs_f64() * 1e6,
                    note,
                })
            }
        }
    }

    fn limit_us(&self) -> Option<f64> {
        match self {
            Rule::Latency { limit_us, .. } => Some(*limit_us),
            Rule::Errors { .. } | Rule::Cpu { .. } => None,
        }
    }

    fn note(&self) -> Option<String> {
        match self {
            Rule::Latency { note, .. } => note.map(str::to_owned),
            Rule::Errors { .. } | Rule::Cpu { .. } => None,
        }
    }

    fn missing(&self) -> &'static str {
        match self {
            Rule::Cpu { .. } => "the service's CPU use is not known",
            Rule::Latency { .. } | Rule::Errors { .. } => "no level has a valid trial",
        }
    }

    /// The measured figure divided by the limit, as a logarithm.
    fn point(&self, level: &Level) -> Option<Point> {
        let row = &level.row;
        row.achieved_rps?;
        let margin = match self {
            Rule::Latency {
                quantile, limit_us, ..
            } => level.latency.quantile(*quantile)?.as_secs_f64() * 1e6 / limit_us,
            Rule::Errors { limit_pct } => row.error_pct? / limit_pct,
            Rule::Cpu { limit_pct } => row.cpu_pct? / limit_pct,
        };
        let margin = if is_carried(level.intended, level.completed) {
            margin
        } else {
            margin.max(NOT_CARRIED_MARGIN)
        };
        Some(Point {
            rate: row.offered_rps,
            cpu_pct: row.cpu_pct,
            // A figure of nothing (no errors at all) is far within any limit.
            log_margin: margin.max(1e-6).ln(),
            weight: level.intended.max(1) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::levels;
    use crate::testing::{plan, trial_at};
    use plimsoll_model::Trial;

    /// A capacity over levels given as (load %, rate, CPU share, latency in us).
    fn solve(goal: &str, given: &[(f64, u64, f64, f64)]) -> CapacityFinding {
        let trials: Vec<Trial> = given
            .iter()
            .map(|&(load, rate, cpu, us)| trial_at(load, rate, cpu, us))
            .collect();
        let levels = levels(&plan(), &trials, None);
        let light = light_load(&levels);
        capacity(&goal.parse().unwrap(), &levels, light.as_ref())
    }

    const HOCKEY_STICK: [(f64, u64, f64, f64); 5] = [
        (10.0, 100, 0.1, 1000.0),
        (40.0, 400, 0.4, 1000.0),
        (60.0, 600, 0.6, 1500.0),
        (80.0, 800, 0.7, 3000.0),
        (100.0, 1000, 0.95, 50_000.0),
    ];

    #[test]
    fn the_published_rule_is_solved_between_two_levels() {
        let found = solve("p99<2x", &HOCKEY_STICK);
        assert_eq!(found.status, CapacityStatus::Found);
        assert!((found.limit_us.unwrap() / 2000.0 - 1.0).abs() < 2e-3);
        let part = (2.0f64 / 1.5).ln() / 2.0f64.ln();
        assert!((found.rate_rps.unwrap() - (600.0 + 200.0 * part)).abs() < 2.0);
        assert!((found.cpu_pct.unwrap() - (60.0 + 10.0 * part)).abs() < 0.2);
    }

    #[test]
    fn any_percentile_can_be_asked_for() {
        assert_eq!(
            solve("p73<2ms", &HOCKEY_STICK).status,
            CapacityStatus::Found
        );
    }

    #[test]
    fn one_disturbed_level_does_not_decide() {
        let mut given = HOCKEY_STICK;
        given[1].3 = 2200.0;
        let found = solve("p99<2ms", &given);
        assert!(found.rate_rps.unwrap() > 600.0, "{found:?}");
    }

    #[test]
    fn a_goal_that_always_or_never_holds_says_so() {
        let always = solve("p99<1s", &HOCKEY_STICK);
        assert_eq!(always.status, CapacityStatus::NotReached);
        assert!((always.rate_rps.unwrap() - 1000.0).abs() < 1e-9);
        let never = solve("p99<10us", &HOCKEY_STICK);
        assert_eq!(never.status, CapacityStatus::BelowLowest);
        assert_eq!(never.rate_rps, None);
    }

    #[test]
    fn cpu_and_error_goals_are_solved_alike() {
        let cpu = solve("cpu<65%", &HOCKEY_STICK);
        assert!((600.0..800.0).contains(&cpu.rate_rps.unwrap()));
        assert_eq!(
            solve("errors<1%", &HOCKEY_STICK).status,
            CapacityStatus::NotReached
        );
    }

    #[test]
    fn a_rate_that_is_not_carried_keeps_no_goal() {
        let mut backlog = trial_at(100.0, 1000, 0.5, 1000.0);
        backlog.work.completed /= 2;
        let trials = [trial_at(50.0, 500, 0.5, 1000.0), backlog];
        let levels = levels(&plan(), &trials, None);
        let found = capacity(&"cpu<90%".parse().unwrap(), &levels, None);
        assert_eq!(found.status, CapacityStatus::Found);
        assert!(found.rate_rps.unwrap() < 1000.0);
    }

    #[test]
    fn without_light_load_the_published_rule_is_undecided() {
        let found = solve("p99<2x", &[]);
        assert_eq!(found.status, CapacityStatus::Undecided);
        assert!(found.note.is_some());
    }

    #[test]
    fn a_service_that_sleeps_is_not_lightly_loaded_at_any_load() {
        let idle = [(10.0, 100, 0.01, 1000.0), (100.0, 1000, 0.04, 90_000.0)];
        let found = solve("p99<2x", &idle);
        assert!((found.limit_us.unwrap() / 2000.0 - 1.0).abs() < 2e-3);
        assert_eq!(found.status, CapacityStatus::Found);
    }

    #[test]
    fn light_load_without_cpu_use_is_told_by_load() {
        let mut trials = [
            trial_at(10.0, 100, 0.1, 1000.0),
            trial_at(50.0, 500, 0.5, 1000.0),
        ];
        trials.iter_mut().for_each(|t| {
            t.machine.cpu = None;
            t.machine.service_cpu = None;
        });
        let levels = levels(&plan(), &trials, None);
        let light = light_load(&levels).unwrap();
        assert!((light.finding.up_to_load_pct - 10.0).abs() < 1e-9);
        assert!(light.note.unwrap().contains("CPU use is not known"));
    }
}
