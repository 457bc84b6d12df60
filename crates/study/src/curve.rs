//! Work against CPU use: a line that never falls, both ways, with what is
//! known about its error.
//!
//! Trials are grouped by level; CPU use over rate is fitted by isotonic
//! regression ([`crate::isotonic`], weighted by measuring time) and is linear
//! between the levels. Nothing is said outside the measured range.
//!
//! Intervals come from a bootstrap of residuals over trials, in the manner of
//! Davison and Hinkley, *Bootstrap Methods and their Application*, 1997,
//! sections 6.2.3 (residuals corrected for leverage) and 7.2 (residuals
//! as shares of what was expected): see [`Curve::of`].

mod groups;

use crate::bootstrap::{self, RESAMPLES};
use crate::isotonic;
use crate::seeded::Rng;
use groups::{Group, Residuals};
use plimsoll_model::{Estimate, Rate, Share, sort_by_number};
use std::time::Duration;

/// What the curve takes of a valid trial: one that the service carried, or
/// that saturated it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CurveTrial {
    /// Trials with the same number are repetitions of one level.
    pub(crate) level: u32,
    /// The rate that was intended.
    pub(crate) intended: Rate,
    /// Good answers per second.
    pub(crate) achieved: Rate,
    pub(crate) cpu: Share,
    /// How long was measured. Counts as the weight.
    pub(crate) measured: Duration,
}

/// CPU use over rate, with resamples of it.
#[derive(Debug, Clone)]
pub struct Curve {
    line: Line,
    /// Empty when the trials allow no interval.
    resamples: Vec<Line>,
    /// How many independent observations the intervals rest on: degrees of
    /// freedom of the residuals plus one; 0 without residuals.
    observations: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CurvePoint {
    /// Rate that was achieved, in requests per second.
    pub(crate) rate_rps: f64,
    /// Mean CPU use of the level's trials in percent, as measured.
    pub(crate) measured_cpu_pct: f64,
    /// The fitted CPU use in percent, with its pointwise 95 % band.
    pub(crate) cpu_pct: Estimate,
}

impl Curve {
    /// Fits the curve; `None` with fewer than two levels of different rate.
    ///
    /// The levels at saturation are one level, for all of them measure the
    /// same end of the service. Those of them that fell more than 5 % behind
    /// the highest rate are left out: a service that carries less when
    /// overloaded has two CPU uses at one rate, and no curve.
    ///
    /// Intervals: within a level, CPU time per request varies, mostly by what
    /// a whole trial has in common (clock frequency, caches, neighbours). So a
    /// trial's residual is the deviation of its CPU time per request from its
    /// level's, as a share of it, divided by sqrt(1 - its share of the level's
    /// measuring time), which is sqrt((n-1)/n) for n equal trials; and times
    /// the root of its measuring time. Residuals are drawn from the level's
    /// own where it has at least 8 trials, else from those of all levels.
    /// What is drawn moves the CPU use of a level whose rate was given, and
    /// the rate of the highest level, where the rate is the outcome. Without
    /// repeated levels there are no residuals and no intervals.
    pub(crate) fn of(trials: &[CurveTrial], seed: u64) -> Option<Curve> {
        let groups = groups::groups(trials);
        let line = Line::through(groups.iter().map(Group::point).collect());
        if line.knots.len() < 2 {
            return None;
        }
        let residuals = Residuals::of(&groups);
        let resamples = match residuals.observations() {
            0 => Vec::new(),
            _ => resamples(&groups, &line, &residuals, seed),
        };
        Some(Curve {
            line,
            resamples,
            observations: residuals.observations(),
        })
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    /// A figure of the line with its interval; `None` where the line has none.
    pub(crate) fn estimate(&self, figure: impl Fn(&Line) -> Option<f64>) -> Option<Estimate> {
        let value = figure(&self.line)?;
        let once = |line| figure(line).unwrap_or(f64::NAN);
        let replicates = self.resamples.iter().map(once).collect();
        Some(bootstrap::estimate(value, replicates, self.observations))
    }

    /// CPU use in percent at a rate; `None` outside the measured range.
    pub(crate) fn cpu_pct_at(&self, rate_rps: f64) -> Option<Estimate> {
        let value = self.line.cpu_pct_at(rate_rps)?;
        // A resampled line may end a little earlier than the measured one.
        let held = |line: &Line| line.cpu_pct_at(line.within(rate_rps)).unwrap_or(f64::NAN);
        let replicates = self.resamples.iter().map(held).collect();
        Some(bootstrap::estimate(value, replicates, self.observations))
    }

    /// The highest rate in requests per second at a CPU use in percent;
    /// `None` outside the measured range.
    pub(crate) fn rate_rps_at(&self, cpu_pct: f64) -> Option<Estimate> {
        self.estimate(|line| line.rate_rps_at(cpu_pct))
    }

    /// The levels, ascending in rate, with the pointwise band.
    pub(crate) fn points(&self) -> Vec<CurvePoint> {
        let mut measured = self.line.measured.clone();
        sort_by_number(&mut measured, |one| one.rate_rps);
        let point = |m: &Measured| {
            Some(CurvePoint {
                rate_rps: m.rate_rps,
                measured_cpu_pct: m.cpu_pct,
                cpu_pct: self.cpu_pct_at(m.rate_rps)?,
            })
        };
        measured.iter().filter_map(point).collect()
    }
}

fn resamples(groups: &[Group], line: &Line, residuals: &Residuals, seed: u64) -> Vec<Line> {
    let mut rng = Rng::seeded(seed);
    let fitted: Vec<f64> = groups
        .iter()
        .map(|g| line.cpu_pct_at(g.rate_rps).unwrap_or(g.cpu_pct))
        .collect();
    let mut once = || {
        let level = |(g, (group, fitted)): (usize, (&Group, &f64))| {
            let deviation = residuals.mean_deviation(g, group, &mut rng);
            group.moved(*fitted, deviation)
        };
        Line::through(groups.iter().zip(&fitted).enumerate().map(level).collect())
    };
    (0..RESAMPLES).map(|_| once()).collect()
}

/// A level as it was measured (or as a resample has it).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    /// Mean rate achieved, in requests per second.
    pub(crate) rate_rps: f64,
    /// Mean CPU use in percent.
    pub(crate) cpu_pct: f64,
}

/// A level on its way into a fit.
#[derive(Debug, Clone, Copy)]
struct Point {
    measured: Measured,
    /// What is fitted: the measured CPU use, or in a resample a deviation
    /// from the fit.
    cpu_pct: f64,
    weight: f64,
}

/// CPU use over rate: never falling, linear between its knots.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    knots: Vec<Knot>,
    measured: Vec<Measured>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Knot {
    rate_rps: f64,
    cpu_pct: f64,
}

impl Line {
    fn through(points: Vec<Point>) -> Line {
        let measured = points.iter().map(|p| p.measured).collect();
        let knots = knots(points);
        Line { knots, measured }
    }

    /// The levels, in the same order in every resample.
    pub(crate) fn measured(&self) -> &[Measured] {
        &self.measured
    }

    /// The highest rate, in requests per second.
    pub(crate) fn max_rate_rps(&self) -> f64 {
        self.knots.last().map_or(0.0, |k| k.rate_rps)
    }

    /// The lowest rate, in requests per second.
    pub(crate) fn min_rate_rps(&self) -> f64 {
        self.knots.first().map_or(0.0, |k| k.rate_rps)
    }

    /// CPU use in percent at a rate; `None` outside the measured range.
    pub(crate) fn cpu_pct_at(&self, rate_rps: f64) -> Option<f64> {
        let next = self.knots.partition_point(|k| k.rate_rps <= rate_rps);
        let from = self.knots.get(next.checked_sub(1)?)?;
        let Some(to) = self.knots.get(next) else {
            return (rate_rps == from.rate_rps).then_some(from.cpu_pct);
        };
        let part = (rate_rps - from.rate_rps) / (to.rate_rps - from.rate_rps);
        Some(from.cpu_pct + part * (to.cpu_pct - from.cpu_pct))
    }

    /// The rate in requests per second at a CPU use in percent; where the
    /// line is flat, the highest. `None` outside the measured range.
    pub(crate) fn rate_rps_at(&self, cpu_pct: f64) -> Option<f64> {
        let next = self.knots.partition_point(|k| k.cpu_pct <= cpu_pct);
        let from = self.knots.get(next.checked_sub(1)?)?;
        let Some(to) = self.knots.get(next) else {
            return (cpu_pct == from.cpu_pct).then_some(from.rate_rps);
        };
        let part = (cpu_pct - from.cpu_pct) / (to.cpu_pct - from.cpu_pct);
        Some(from.rate_rps + part * (to.rate_rps - from.rate_rps))
    }

    /// The rate within the measured range that is nearest to this one.
    fn within(&self, rate_rps: f64) -> f64 {
        rate_rps.max(self.min_rate_rps()).min(self.max_rate_rps())
    }
}

/// Knots of the isotonic fit. Points of the same rate are one knot: a line
/// has one CPU use at a rate.
fn knots(mut points: Vec<Point>) -> Vec<Knot> {
    sort_by_number(&mut points, |one| one.measured.rate_rps);
    let mut merged: Vec<(f64, f64, f64)> = Vec::with_capacity(points.len());
    for point in points {
        let (rate, cpu, weight) = (point.measured.rate_rps, point.cpu_pct, point.weight);
        match merged.last_mut() {
            Some(last) if last.0 == rate => {
                last.1 = (last.1 * last.2 + cpu * weight) / (last.2 + weight);
                last.2 += weight;
            }
            _ => merged.push((rate, cpu, weight)),
        }
    }
    let weighted: Vec<(f64, f64)> = merged.iter().map(|&(_, cpu, w)| (cpu, w)).collect();
    let fitted = isotonic::fit(&weighted);
    let knot = |(&(rate_rps, ..), cpu_pct): (&(f64, f64, f64), f64)| Knot { rate_rps, cpu_pct };
    merged.iter().zip(fitted).map(knot).collect()
}

#[cfg(test)]
pub(crate) mod tests;
