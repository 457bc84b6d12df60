//! What each policy burns and saves. Pure.

use super::Cell;
use crate::wake::findings::{Change, NoiseFinding, PolicyFinding};
use crate::wake::outcome::WakeTrial;
use crate::wake::plan::WakePlan;
use plimsoll_model::{Energy, Estimate, IdlePolicy};
use plimsoll_study::wake::{Draws, Figure};

/// The figures of a policy, over the wake-ups that every policy has a p99 of.
pub(super) struct Compared {
    policy: IdlePolicy,
    means: Option<String>,
    burn_pct: Option<Figure>,
    power_w: Option<Figure>,
    clock: Option<Figure>,
    p99_us: Option<Figure>,
    highest_p99_us: Option<Figure>,
    /// The mean logarithm.
    log_p99: Option<Figure>,
    trials: usize,
}

/// CPU time that the host sees, in percent of the time of all CPUs.
///
/// The kernel counts the time of idle CPUs that poll as idle, so it is added. Waker and woken
/// thread are counted to the nanosecond, not in /proc/stat, which samples them in ticks: a thread
/// that runs at equal gaps is always or never running at a tick.
fn burn_pct(plan: &WakePlan, trial: &WakeTrial) -> Option<f64> {
    let all = trial.window.as_secs_f64() * plan.run.cpus.service.len() as f64;
    let burned = trial.outcome.own_cpu + trial.outcome.polled.unwrap_or_default();
    (all > 0.0).then(|| 100.0 * burned.as_secs_f64() / all)
}

pub(super) fn power_w(trial: &WakeTrial) -> Option<f64> {
    let joules = trial.machine.energy.map(|Energy(joules)| joules)?;
    Some(joules / trial.machine.window.as_secs_f64())
}

/// The mean clock of CPUs that do not sleep.
fn clock(trial: &WakeTrial) -> Option<f64> {
    trial.machine.clock_ratio.or(trial.machine.frequency_hz)
}

pub(super) fn compared(plan: &WakePlan, cells: &[Cell<'_>], draws: &Draws) -> Vec<Compared> {
    let is_shown = |cell: &Cell<'_>| {
        let mut alike = cells.iter().filter(|other| other.wakes == cell.wakes);
        alike.all(|other| other.p99().is_some())
    };
    let of = |policy: &IdlePolicy| {
        let own = cells.iter().filter(|cell| cell.policy == *policy);
        let own: Vec<&Cell<'_>> = own.filter(|cell| is_shown(cell)).collect();
        let mean = |of: &dyn Fn(&WakeTrial) -> Option<f64>| {
            let each: Option<Vec<Figure>> = own.iter().map(|c| c.mean(draws, of)).collect();
            Figure::from(&each?.iter().collect::<Vec<_>>(), average)
        };
        let p99: Vec<&Figure> = own.iter().filter_map(|cell| cell.p99()).collect();
        let log_p99: Vec<&Figure> = own.iter().filter_map(|c| c.log_p99.as_ref()).collect();
        let mut trials = own.iter().flat_map(|cell| cell.valid());
        Compared {
            policy: *policy,
            means: trials.find_map(|t| t.outcome.means.clone()),
            burn_pct: mean(&|trial| burn_pct(plan, trial)),
            power_w: mean(&power_w),
            clock: mean(&clock),
            p99_us: Figure::from(&p99, average),
            highest_p99_us: Figure::from(&p99, |each| {
                each.iter().copied().fold(f64::NAN, f64::max)
            }),
            log_p99: Figure::from(&log_p99, average),
            trials: own.iter().map(|cell| cell.valid().count()).sum(),
        }
    };
    plan.policies.iter().map(of).collect()
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What follows from a figure of two policies.
fn both(
    first: &Compared,
    second: &Compared,
    figure: impl Fn(&Compared) -> Option<&Figure>,
    of: impl Fn(f64, f64) -> f64,
) -> Option<Figure> {
    let both = [figure(first)?, figure(second)?];
    Figure::from(&both, |values| of(values[0], values[1]))
}

fn find(all: &[Compared], policy: IdlePolicy) -> Option<&Compared> {
    all.iter().find(|row| row.policy == policy)
}

pub(super) fn noise(all: &[Compared]) -> NoiseFinding {
    let visits = find(all, IdlePolicy::AsIs).zip(find(all, IdlePolicy::AsIsAgain));
    let of = |figure: fn(&Compared) -> Option<&Figure>| {
        let (first, second) = visits?;
        Some(both(first, second, figure, |a, b| b - a)?.estimate())
    };
    NoiseFinding {
        p99_us: of(|row| row.p99_us.as_ref()),
        burn_pct: of(|row| row.burn_pct.as_ref()),
        p99_ratio: visits.and_then(|(first, second)| ratio(first, second)),
    }
}

/// The p99 of the second by that of the first.
fn ratio(first: &Compared, second: &Compared) -> Option<Estimate> {
    let ratio = both(
        first,
        second,
        |row| row.log_p99.as_ref(),
        |a, b| (b - a).exp(),
    )?;
    Some(ratio.positive_estimate())
}

pub(super) fn findings(plan: &WakePlan, all: &[Compared]) -> Vec<PolicyFinding> {
    let as_is = find(all, IdlePolicy::AsIs);
    let noise = noise(all).p99_ratio;
    let rows = all.iter().filter(|row| row.policy != IdlePolicy::AsIsAgain);
    rows.map(|row| finding(plan, as_is, noise, row)).collect()
}

fn finding(
    plan: &WakePlan,
    as_is: Option<&Compared>,
    noise: Option<Estimate>,
    row: &Compared,
) -> PolicyFinding {
    let as_is = as_is.filter(|as_is| as_is.policy != row.policy);
    let extra = |figure: fn(&Compared) -> Option<&Figure>| {
        both(as_is?, row, figure, |before, after| after - before)
    };
    let burn = extra(|row| row.burn_pct.as_ref());
    let power = extra(|row| row.power_w.as_ref());
    let saved = extra(|row| row.p99_us.as_ref());
    let saved = saved.and_then(|more| Figure::from(&[&more], |v| -v[0]));
    let clock_loss = as_is.and_then(|as_is| {
        let lost = |before: f64, after: f64| 100.0 * (1.0 - after / before);
        both(as_is, row, |row| row.clock.as_ref(), lost)
    });
    let estimate = |figure: &Option<Figure>| figure.as_ref().map(Figure::estimate);
    let positive = |figure: &Option<Figure>| figure.as_ref().map(Figure::positive_estimate);
    let saved_us = estimate(&saved);
    let p99_ratio = as_is.and_then(|as_is| ratio(as_is, row));
    let has_window = row.trials > 0;
    PolicyFinding {
        policy: row.policy,
        means: row.means.clone(),
        // No more than all is burned.
        burn_pct: positive(&row.burn_pct).map(|burn| burn.map_rising(|pct| pct.min(100.0))),
        extra_burn_pct: estimate(&burn),
        power_w: positive(&row.power_w),
        extra_power_w: estimate(&power),
        power_absent: row.power_w.is_none().then(|| match has_window {
            true => "this machine shows no energy counter".to_owned(),
            false => NO_TRIAL.to_owned(),
        }),
        p99_us: positive(&row.p99_us),
        highest_p99_us: positive(&row.highest_p99_us),
        p99_ratio,
        p99_saved_us: saved_us,
        p99_us_per_burn_pct: price(saved.as_ref(), burn.as_ref()),
        p99_us_per_watt: price(saved.as_ref(), power.as_ref()),
        clock_absent: (clock_loss.is_none() && !row.policy.is_as_is()).then(|| {
            match has_window && plan.policies.contains(&IdlePolicy::AsIs) {
                true => "this machine shows neither APERF and MPERF nor cpufreq".to_owned(),
                false => NO_TRIAL.to_owned(),
            }
        }),
        clock_loss_pct: estimate(&clock_loss),
        p99_change: p99_ratio.and_then(|ratio| change(ratio, noise)),
        trials: row.trials,
    }
}

/// What a ratio to as-is shows, beside that of as-is again; `None` without an interval.
pub(super) fn change(ratio: Estimate, noise: Option<Estimate>) -> Option<Change> {
    let (low, high) = ratio.interval()?;
    let noise = noise.map_or(1.0, |noise| noise.value.min(1.0 / noise.value));
    Some(match ratio.value {
        value if high < 1.0 && value < noise => Change::Lower,
        value if low > 1.0 && value > 1.0 / noise => Change::Higher,
        _ => Change::NotSignificant,
    })
}

const NO_TRIAL: &str = "too few valid trials of all policies";

/// What is saved by what is paid. Of no more than noise paid it would be any number.
fn price(saved: Option<&Figure>, paid: Option<&Figure>) -> Option<Estimate> {
    let (saved, paid) = (saved?, paid?);
    let is_paid = paid.estimate().low.is_some_and(|low| low > 0.0);
    let by = Figure::from(&[saved, paid], |v| v[0] / v[1]).filter(|_| is_paid);
    Some(by?.estimate())
}
