//! Start and deadline of each job, at a stress.

use crate::jobs::Release;
use crate::{JobGraph, ListSchedule};
use std::time::Duration;

/// When each job may start and must have ended.
///
/// Made from a [`ListSchedule`], all of whose times are divided by the stress `s`.
/// With `g` the grain, `L` the length of the list schedule and `t` the tolerance:
///
/// ```text
/// start(job)    = lead + start_in_list(job) g / s
/// deadline(job) = lead + (start_in_list(job) + weight(job)) g / s + t L g / s
/// ```
///
/// So at a stress of 1 a scheduler without any cost meets every deadline of a list
/// schedule, and the tolerance is a share of the schedule's length at every stress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    releases: Vec<Release>,
    length_ns: u64,
}

/// How a list schedule becomes times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// The time that a job of weight 1 takes; above 0.
    pub grain: Duration,
    /// What the times of the list schedule are divided by; above 0.
    pub stress: f64,
    /// How late a job may end, as a share of the schedule's length; 0 or more.
    pub tolerance: f64,
    /// From the start of the run to the first start.
    pub lead: Duration,
}

/// Why a schedule is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    #[error("a grain of 0 gives no schedule; give a time above 0")]
    NoGrain,
    #[error("a stress of {0} gives no schedule; give a number above 0")]
    Stress(f64),
    #[error("a tolerance of {0} gives no deadlines; give a share of the schedule, 0 or more")]
    Tolerance(f64),
    #[error("the schedule is longer than {} years; give a shorter grain", u64::MAX / YEAR_NS)]
    TooLong,
    #[error(
        "at a stress of {stress} the last deadline is at {has:.3} of the time that any schedule takes; stay at or below {highest:.3}"
    )]
    BelowBound { stress: f64, has: f64, highest: f64 },
    #[error("there are {given} times for {count} jobs; give one for each")]
    Count { given: usize, count: u32 },
    #[error(
        "job {job} has its deadline {early_ns} ns before its start; give a deadline after the start"
    )]
    DeadlineBeforeStart { job: u32, early_ns: u64 },
    #[error(
        "the last deadline is {has_ns} ns after the start, and {workers} workers need {needs_ns} ns at least; give later deadlines"
    )]
    TooTight {
        has_ns: u64,
        needs_ns: u64,
        workers: u32,
    },
}

const YEAR_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

impl Schedule {
    /// The highest stress whose last deadline is not before the shortest possible end:
    /// `(1 + tolerance) length / shortest`. Above it every scheduler must break.
    pub fn highest_stress(list: &ListSchedule, tolerance: f64) -> f64 {
        match list.shortest() {
            0 => f64::INFINITY,
            shortest => (1.0 + tolerance) * list.length() as f64 / shortest as f64,
        }
    }

    /// The times of a list schedule of `graph`.
    ///
    /// # Errors
    /// A number out of range, or deadlines that no schedule can meet.
    pub fn of(
        graph: &JobGraph,
        list: &ListSchedule,
        timing: &Timing,
    ) -> Result<Schedule, ScheduleError> {
        let Timing {
            grain,
            stress,
            tolerance,
            lead,
        } = *timing;
        if grain.is_zero() {
            return Err(ScheduleError::NoGrain);
        }
        if !(stress.is_finite() && stress > 0.0) {
            return Err(ScheduleError::Stress(stress));
        }
        if !(tolerance.is_finite() && tolerance >= 0.0) {
            return Err(ScheduleError::Tolerance(tolerance));
        }
        let highest = Schedule::highest_stress(list, tolerance);
        // A caller that asks for exactly the highest gets it in spite of rounding.
        if stress > highest * (1.0 + 1e-9) {
            let has = highest / stress;
            return Err(ScheduleError::BelowBound {
                stress,
                has,
                highest,
            });
        }
        let grain_ns = grain.as_nanos() as f64 / stress;
        let length_ns = list.length() as f64 * grain_ns;
        let late_ns = tolerance * length_ns;
        let lead_ns = u64::try_from(lead.as_nanos()).map_err(|_| ScheduleError::TooLong)?;
        if lead_ns as f64 + length_ns + late_ns > 0.5 * u64::MAX as f64 {
            return Err(ScheduleError::TooLong);
        }
        let at = |grains: u64| grains as f64 * grain_ns;
        let release = |node: u32| {
            let start = list.start(node);
            let end = at(start + u64::from(graph.weight(node)));
            Release {
                start_ns: lead_ns + at(start).round() as u64,
                deadline_ns: Some(lead_ns + (end + late_ns).round() as u64),
            }
        };
        Ok(Schedule {
            releases: graph.nodes().map(release).collect(),
            length_ns: length_ns.round() as u64,
        })
    }

    /// Times that somebody else made, for jobs of `grain` times their weight on the
    /// workers of `list`.
    ///
    /// # Errors
    /// Not one a job, a deadline before its start, or all of them before the shortest
    /// possible end.
    pub fn from_releases(
        graph: &JobGraph,
        list: &ListSchedule,
        grain: Duration,
        releases: Vec<Release>,
    ) -> Result<Schedule, ScheduleError> {
        if releases.len() != graph.count() as usize {
            return Err(ScheduleError::Count {
                given: releases.len(),
                count: graph.count(),
            });
        }
        for (job, release) in graph.nodes().zip(&releases) {
            let early = |deadline: u64| release.start_ns.checked_sub(deadline);
            let early = release.deadline_ns.and_then(early);
            if let Some(early_ns) = early.filter(|early_ns| *early_ns > 0) {
                return Err(ScheduleError::DeadlineBeforeStart { job, early_ns });
            }
        }
        let first = releases.iter().map(|r| r.start_ns).min().unwrap_or(0);
        let shortest = u128::from(list.shortest()) * grain.as_nanos();
        let needs_ns = u64::try_from(shortest).map_err(|_| ScheduleError::TooLong)?;
        let deadlines = releases.iter().map(|r| r.deadline_ns);
        // One job without a deadline may end at any time.
        let last = deadlines.collect::<Option<Vec<u64>>>();
        let last = last.and_then(|all| all.into_iter().max());
        let has_ns = last.map(|last| last.saturating_sub(first));
        match has_ns {
            Some(has_ns) if has_ns < needs_ns => Err(ScheduleError::TooTight {
                has_ns,
                needs_ns,
                workers: list.workers().get(),
            }),
            _ => Ok(Schedule {
                releases,
                length_ns: has_ns.unwrap_or(needs_ns),
            }),
        }
    }

    /// One a job.
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// The same, taken.
    pub fn into_releases(self) -> Vec<Release> {
        self.releases
    }

    /// From the first start to the last end, without the tolerance.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.length_ns)
    }
}

#[cfg(test)]
mod tests;
