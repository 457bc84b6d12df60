//! Implausible figures: rows of a table that contradict each other or are in
//! another unit.
//!
//! This module corrects nothing: findings from implausible figures stand, and the
//! user can check the figures.

use crate::connections;
use crate::levels::Level;
use crate::validity::{self, Allowance};
use plimsoll_model::{
    BodySizes, Bounds, CapacityFinding, Doubt, GivenLatency, Plan, Rate, Trial, TrialSetting,
    Workload, sort_by_number,
};
use std::time::Duration;

/// Rows at one load that differ by this factor or more do not differ by chance:
/// repeated percentiles at one load differ by a few tens of percent.
const FAR_APART: f64 = 10.0;

/// Higher load does not make answers faster by more than this factor: batches, warm
/// caches and awake CPUs give a factor of two or three.
const FASTER: f64 = 5.0;

/// Minimum latency over a socket: a wake-up and two passes through the kernel,
/// several microseconds together.
const LEAST_LATENCY: Duration = Duration::from_micros(10);

pub(crate) fn of(
    plan: &Plan,
    trials: &[Trial],
    rated: Option<Rate>,
    levels: &[Level],
    capacity: &[CapacityFinding],
) -> Vec<Doubt> {
    let rows: &[GivenLatency] = match &plan.workload {
        Workload::Imported(table) => &table.latencies,
        Workload::Hash(_) | Workload::Http(_) | Workload::Command(_) => &[],
    };
    let mut out: Vec<Doubt> = short(rows).into_iter().collect();
    out.extend(scattered(rows));
    out.extend(capacity.iter().filter_map(|one| kept_beyond(one, rows)));
    if rows.is_empty() {
        let measured = levels.iter().filter_map(|level| {
            let p99_us = level.row.latency_us.as_ref()?.p99;
            Some((level.row.load_pct, p99_us))
        });
        out.extend(faster_beyond(&measured.collect::<Vec<_>>()));
    }
    out.extend(connections::doubts(plan, trials, rated));
    out.extend(busy_generator(plan, trials));
    out.extend(unlike_first_answer(plan, trials));
    out.extend(body_lengths(trials));
    out.extend(disturbed(plan, trials));
    out
}

/// Means of body lengths that differ by this share, and by [`ERRORS`] standard errors, do not differ
/// by chance.
const OTHER_LENGTH: f64 = 0.1;
const ERRORS: f64 = 5.0;
/// They also differ by so many times what trials at one load do.
const SPREADS: f64 = 2.0;
/// The fewest answers of a trial whose mean counts.
const FEWEST: u64 = 30;

/// So many standard deviations from the mean a single length is another one: of answers that are errors
/// but for one in ten, the others are.
const DEVIATIONS: f64 = 3.0;

/// A generator that uses this share of its CPUs, or of one CPU, as a single thread does, may have no
/// more to give. Plimsoll's own shows that by its slip.
const BUSY_SHARE: f64 = 0.8;
/// What a single thread uses at most, in CPUs, with the error of a measurement.
const ONE_THREAD: f64 = 1.05;

/// The lowest rate at which an external generator may have been the limit.
fn busy_generator(plan: &Plan, trials: &[Trial]) -> Option<Doubt> {
    if !matches!(plan.workload, Workload::Command(_)) {
        return None;
    }
    let cpus = plan.run.cpus.generator.len().max(1);
    let used = |trial: &Trial| {
        let window = trial.machine.window.as_secs_f64();
        let used = trial.generator_cpu?.0.as_secs_f64() / window;
        let is_busy = used >= BUSY_SHARE * cpus as f64 || (BUSY_SHARE..ONE_THREAD).contains(&used);
        is_busy.then_some((trial.asked().get(), used))
    };
    let shown = trials.iter().filter(|trial| trial.spec.phase.shows_load());
    let (rate_rps, used_cpus) = shown.filter_map(used).min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Doubt::BusyGenerator {
        rate_rps,
        cpus: [used_cpus, cpus as f64],
    })
}

/// Answers that are errors already at light load, where none else shows what a good one is.
fn unlike_first_answer(plan: &Plan, trials: &[Trial]) -> Option<Doubt> {
    // The first answer is that to one of several.
    if matches!(&plan.workload, Workload::Http(http) if http.requests.is_some()) {
        return None;
    }
    let first_bytes = plan.first_answer_bytes? as f64;
    let loads = bodies_by_load(trials);
    let (_, light) = *loads.first()?;
    let light_bytes = light.mean();
    let deviation = light.standard_error() * (light.answers as f64).sqrt();
    let apart = (first_bytes - light_bytes).abs();
    let is_other = apart > OTHER_LENGTH * first_bytes
        && apart >= DEVIATIONS * deviation
        && apart > SPREADS * spread_within_loads(&loads);
    is_other.then_some(Doubt::UnlikeFirstAnswer {
        bytes: [first_bytes, light_bytes],
    })
}

/// The bodies of each trial, ascending by its load.
fn bodies_by_load(trials: &[Trial]) -> Vec<(f64, BodySizes)> {
    let mut loads: Vec<(f64, BodySizes)> = trials.iter().filter_map(bodies_at).collect();
    sort_by_number(&mut loads, |one| one.0);
    loads
}

/// The most by which means at one load differ: lengths that change with time do.
fn spread_within_loads(loads: &[(f64, BodySizes)]) -> f64 {
    let spread = |pair: &[(f64, BodySizes)]| {
        let means = || pair.iter().map(|(_, sizes)| sizes.mean());
        means().fold(0.0, f64::max) - means().fold(f64::INFINITY, f64::min)
    };
    let by_load = loads.chunk_by(|a, b| a.0 == b.0);
    by_load.map(spread).fold(0.0, f64::max)
}

fn bodies_at(trial: &Trial) -> Option<(f64, BodySizes)> {
    let bodies = trial.work.bodies.filter(|sizes| sizes.answers >= FEWEST)?;
    Some((trial.spec.setting.rate()?.get(), bodies))
}

/// Bodies whose length depends on the load: an overloaded service may send errors with a good
/// status. Disturbed trials count, since no disturbance changes a body.
fn body_lengths(trials: &[Trial]) -> Option<Doubt> {
    let loads = bodies_by_load(trials);
    let (_, light) = *loads.first()?;
    let within = spread_within_loads(&loads);
    let apart = |sizes: &BodySizes| (sizes.mean() - light.mean()).abs();
    let is_other = |(_, sizes): &&(f64, BodySizes)| {
        let apart = apart(sizes);
        let error = f64::hypot(sizes.standard_error(), light.standard_error());
        apart > OTHER_LENGTH * light.mean() && apart > ERRORS * error && apart > SPREADS * within
    };
    let others = loads.iter().filter(is_other);
    let (rate_rps, sizes) = others.max_by(|a, b| apart(&a.1).total_cmp(&apart(&b.1)))?;
    Some(Doubt::BodyLengths {
        rate_rps: *rate_rps,
        bytes: [sizes.mean(), light.mean()],
    })
}

/// What wider bounds than the usual ones let pass.
fn disturbed(plan: &Plan, trials: &[Trial]) -> Option<Doubt> {
    if matches!(plan.workload, Workload::Imported(_)) {
        return None;
    }
    let usual = Bounds::usual(plan.run.bounds.interrupts);
    let used = trials.iter().filter(|t| t.spec.phase.shows_load());
    let used: Vec<&Trial> = used.filter(|t| t.verdict.is_valid()).collect();
    let is_let_pass = |t: &&&Trial| !validity::judge(&usual, t, Allowance::default()).is_valid();
    let trials = used.iter().filter(is_let_pass).count();
    (trials > 0).then_some(Doubt::Disturbed {
        trials,
        of: used.len(),
    })
}

/// The level, by load and p99, that is the most times as slow as one with more
/// load, if it is so many times that the load is no reason.
fn faster_beyond(levels: &[(f64, f64)]) -> Option<Doubt> {
    let pairs = levels.iter().flat_map(|slow| {
        let beyond = levels.iter().filter(|fast| fast.0 > slow.0);
        beyond.map(move |fast| (slow, fast))
    });
    let times = |(slow, fast): &(&(f64, f64), &(f64, f64))| slow.1 / fast.1;
    let (slow, fast) = pairs
        .filter(|pair| times(pair) >= FASTER)
        .max_by(|a, b| times(a).total_cmp(&times(b)))?;
    Some(Doubt::FasterBeyond {
        slow_load_pct: slow.0,
        slow_p99_us: slow.1,
        fast_load_pct: fast.0,
        fast_p99_us: fast.1,
    })
}

/// All latencies are so short that they are likely in another unit.
fn short(rows: &[GivenLatency]) -> Option<Doubt> {
    let most = rows.iter().map(|row| row.latency).max()?;
    (most < LEAST_LATENCY).then_some(Doubt::ShortLatencies { most_us: us(most) })
}

/// Loads whose rows are far apart, ascending.
fn scattered(rows: &[GivenLatency]) -> Vec<Doubt> {
    let mut rows = rows.to_vec();
    sort_by_number(&mut rows, |one| one.rate.get());
    let loads = rows.chunk_by(|a, b| a.rate == b.rate);
    let doubt = |rows: &[GivenLatency]| {
        let least_us = us(rows.iter().map(|row| row.latency).min()?);
        let most_us = us(rows.iter().map(|row| row.latency).max()?);
        (most_us >= FAR_APART * least_us).then_some(Doubt::ScatteredRows {
            rate_rps: rows[0].rate.get(),
            least_us,
            most_us,
        })
    };
    loads.filter_map(doubt).collect()
}

/// A goal that is kept at a load above one at which it is broken.
fn kept_beyond(capacity: &CapacityFinding, rows: &[GivenLatency]) -> Option<Doubt> {
    let limit_us = capacity.latency_limit_us()?;
    let broken = |row: &&GivenLatency| us(row.latency) >= limit_us;
    let rates = |of: &mut dyn Iterator<Item = &GivenLatency>| {
        let rates: Vec<f64> = of.map(|row| row.rate.get()).collect();
        rates
    };
    let bad = rates(&mut rows.iter().filter(broken));
    let broken_rps = bad.iter().copied().reduce(f64::min)?;
    // A load with a broken row is no load that keeps it.
    let good = rates(&mut rows.iter().filter(|row| !bad.contains(&row.rate.get())));
    let kept_rps = good.into_iter().reduce(f64::max)?;
    (kept_rps > broken_rps).then_some(Doubt::KeptBeyond {
        goal: capacity.goal,
        broken_rps,
        kept_rps,
    })
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::trial_at;
    use plimsoll_model::{HttpService, LoadCommand, LoadFormat, ServiceAt};

    #[test]
    fn a_level_that_is_many_times_as_fast_as_one_with_less_load_is_doubted() {
        let found = faster_beyond(&[
            (50.0, 900.0),
            (70.0, 102_000.0),
            (80.0, 9e3),
            (90.0, 3_600.0),
        ]);
        let expected = Doubt::FasterBeyond {
            slow_load_pct: 70.0,
            slow_p99_us: 102_000.0,
            fast_load_pct: 90.0,
            fast_p99_us: 3_600.0,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn a_little_faster_or_slower_is_as_usual() {
        for levels in [
            &[][..],
            &[(5.0, 300.0), (50.0, 100.0), (100.0, 90_000.0)],
            // A ratio to 0 is no factor.
            &[(5.0, 0.0), (50.0, 0.0)],
        ] {
            assert_eq!(faster_beyond(levels), None, "{levels:?}");
        }
    }

    #[test]
    fn an_external_generator_at_its_limit_is_doubted_and_our_own_is_not() {
        let load = LoadCommand {
            url: "tcp://h:1".to_owned(),
            command: "wrk -R {rate} -d {duration}".to_owned(),
            format: LoadFormat::Wrk2,
            service: ServiceAt::Find,
        };
        let mut plan = Plan::blank(Workload::Command(load));
        plan.run.cpus.generator = "2-5".parse().unwrap();
        let trials = |cpus: &[f64]| -> Vec<Trial> {
            let trial = |(nth, used): (usize, &f64)| {
                let mut trial = trial_at(50.0, 100 * (1 + nth as u64), 0.5, 1000.0);
                let window = trial.machine.window.as_secs_f64();
                let used = Duration::from_secs_f64(used * window);
                trial.generator_cpu = Some(plimsoll_model::CpuTime(used));
                trial
            };
            cpus.iter().enumerate().map(trial).collect()
        };
        let found = |plan: &Plan, cpus: &[f64]| match busy_generator(plan, &trials(cpus)) {
            Some(Doubt::BusyGenerator { rate_rps, cpus, .. }) => Some((rate_rps.round(), cpus[1])),
            _ => None,
        };
        let (first, second) = (found(&plan, &[0.9]), found(&plan, &[0.5, 0.9, 1.0]));
        assert!(first.is_some() && second > first, "{first:?} {second:?}");
        assert!(found(&plan, &[0.5, 2.0, 3.5]) > second);
        assert_eq!(found(&plan, &[0.5, 2.0]), None);
        plan.workload = Workload::Http(HttpService::get("http://h/", 1, Duration::from_secs(1)));
        assert_eq!(found(&plan, &[0.9]), None);
    }

    fn trial_with_bodies(load_pct: f64, sizes: &[u64]) -> Trial {
        let mut trial = trial_at(load_pct, 10 * load_pct as u64, 0.5, 1000.0);
        let each = sizes.iter().cycle().take(200);
        let sum = each.map(|bytes| BodySizes::one(*bytes));
        trial.work.bodies = sum.reduce(|a, b| a + b);
        trial
    }

    #[test]
    fn answers_unlike_the_first_are_doubted() {
        let found = |first: u64, sizes: &[u64]| {
            let http = HttpService::get("http://h/", 1, Duration::from_secs(1));
            let mut plan = Plan::blank(Workload::Http(http));
            plan.first_answer_bytes = Some(first);
            unlike_first_answer(&plan, &[trial_with_bodies(5.0, sizes)]).is_some()
        };
        assert!(found(200, &[100]));
        let one_in_twelve: Vec<u64> = (0..12).map(|n| if n == 0 { 200 } else { 100 }).collect();
        assert!(found(200, &one_in_twelve));
        assert!(!found(200, &[200]) && !found(205, &[200]));
        assert!(!found(200, &[100, 200]), "lengths that vary");
        // A list that has grown since, and grows on.
        let http = HttpService::get("http://h/", 1, Duration::from_secs(1));
        let mut plan = Plan::blank(Workload::Http(http));
        plan.first_answer_bytes = Some(40);
        let grows = [100, 200].map(|bytes| trial_with_bodies(5.0, &[bytes]));
        assert_eq!(unlike_first_answer(&plan, &grows), None);
    }

    #[test]
    fn bodies_that_change_with_the_load_are_doubted() {
        let trial = trial_with_bodies;
        let found = |trials: &[Trial]| match body_lengths(trials) {
            Some(Doubt::BodyLengths { bytes, .. }) => Some(bytes),
            _ => None,
        };
        let light = trial(5.0, &[51]);
        let errors = [trial(90.0, &[51, 22, 22]), light.clone()];
        let [bytes, light_bytes] = found(&errors).unwrap();
        assert!((bytes - 31.7).abs() < 0.2 && light_bytes == 51.0, "{bytes}");
        assert_eq!(found(&[light.clone(), trial(90.0, &[51])]), None);
        assert_eq!(
            found(&[light, trial(90.0, &[51, 52, 48])]),
            None,
            "a few bytes"
        );
        // A page of random length has a random mean.
        let pages = [trial(5.0, &[10, 5000]), trial(90.0, &[10, 40, 5000])];
        assert_eq!(found(&pages), None);
        assert_eq!(found(&[trial(5.0, &[]), trial(90.0, &[])]), None);
        // A list that grows, in two passes.
        let grows = [trial(5.0, &[100]), trial(90.0, &[200]), trial(90.0, &[300])];
        assert_eq!(found(&grows), None);
    }
}
