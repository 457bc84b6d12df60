//! The level table: all valid trials at one level, merged.

use plimsoll_model::{
    CpuPlan, CpuTime, Errors, GivenLatency, Histogram, Invalid, LatencySummary, LevelFinding,
    LoadLevel, Phase, Plan, RatedRate, ServiceAt, Share, SlipSummary, Trial, Workload,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// All valid trials at one level, merged, with what the row of the table does
/// not show.
#[derive(Debug)]
pub(crate) struct Level<'t> {
    pub(crate) load: LoadLevel,
    pub(crate) row: LevelFinding,
    /// Latencies of all valid trials.
    pub(crate) latency: Histogram,
    /// The valid trials. A copy of each would take longer than all else that is
    /// done with hundreds of levels.
    pub(crate) valid: Vec<&'t Trial>,
    /// Mean clock of the busy CPUs as a ratio to the nominal one.
    pub(crate) clock_ratio: Option<f64>,
}

/// The levels that were tried, ascending.
pub(crate) fn levels<'t>(
    plan: &Plan,
    trials: &'t [Trial],
    rated: Option<&RatedRate>,
) -> Vec<Level<'t>> {
    by_level(trials)
        .into_iter()
        .map(|(level, trials)| merge(plan, level, &trials, rated))
        .collect()
}

/// Every rate with a valid calibration trial, as levels of their own;
/// none while the rated rate is not known.
pub(crate) fn calibration_levels<'t>(
    plan: &Plan,
    trials: &'t [Trial],
    rated: Option<&RatedRate>,
) -> Vec<Level<'t>> {
    let Some(rated) = rated else { return vec![] };
    let counts = |t: &&Trial| t.spec.phase == Phase::Calibration && t.verdict.is_valid();
    let level = |trial: &'t Trial| {
        let level = LoadLevel::percent(100.0 * trial.asked().get() / rated.rate_rps)?;
        Some(merge(plan, level, &[trial], Some(rated)))
    };
    trials.iter().filter(counts).filter_map(level).collect()
}

/// The trials of each graduated level, in the order they were made.
fn by_level(trials: &[Trial]) -> BTreeMap<LoadLevel, Vec<&Trial>> {
    let mut groups: BTreeMap<LoadLevel, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        if let Phase::Level { level: Some(level) } = trial.spec.phase {
            groups.entry(level).or_default().push(trial);
        }
    }
    groups
}

/// The service's own CPU time within a trial as a share of what it can use: what
/// the cgroup of its container counts. `None` where it was not measured.
pub(crate) fn own_share(plan: &Plan, trial: &Trial) -> Option<Share> {
    // Of a host through node_exporter there is nothing but the host's time.
    let is_node = matches!(&plan.workload, Workload::Http(http)
        if matches!(http.service, ServiceAt::NodeMetrics(_)));
    let service = trial.service.as_ref().filter(|_| !is_node)?;
    service.share_of(plan.run.cpus.usable()?, trial.machine.window)
}

/// CPU use of the service's CPUs within a trial, with the generator's own
/// time on those CPUs taken out; `None` where the service's CPUs cannot be
/// seen, as for a server elsewhere. Of a service under a quota, its own.
///
/// What the generator uses on CPUs that it shares with the service is spread
/// evenly over the CPUs it is pinned to.
pub(crate) fn cpu_share<S, O>(cpus: &CpuPlan, trial: &Trial<S, O>) -> Option<Share> {
    let machine = &trial.machine;
    if machine.service_quota.is_some() {
        return machine.service_share(trial.service.as_ref());
    }
    let cpu = machine.service_cpu.as_ref()?;
    let available = cpu.total().since(cpu.steal);
    let generator = &cpus.generator;
    // By the plan: CPU numbers of another host mean nothing here.
    let shared = generator.and(&cpus.service).len();
    let own = match trial.generator_cpu {
        Some(time) if shared > 0 => time.0.mul_f64(shared as f64 / generator.len() as f64),
        _ => Duration::ZERO,
    };
    Share::of(cpu.busy().0.saturating_sub(own), available.0)
}

fn merge<'t>(
    plan: &Plan,
    load: LoadLevel,
    trials: &[&'t Trial],
    rated: Option<&RatedRate>,
) -> Level<'t> {
    let valid: Vec<&'t Trial> = trials
        .iter()
        .copied()
        .filter(|t| t.verdict.is_valid())
        .collect();
    let sums = Sums::of(&valid);
    let asked = trials.first().map_or(0.0, |t| t.asked().get());
    let per_second = |n: u64| n as f64 / sums.window.as_secs_f64();
    let any = !valid.is_empty();
    let row = LevelFinding {
        offered_rps: if any {
            per_second(sums.intended)
        } else {
            asked
        },
        achieved_rps: any.then(|| per_second(sums.completed)),
        load_pct: rated.map_or(load.pct(), |r| 100.0 * asked / r.rate_rps),
        cpu_pct: cpu_pct(plan, &valid),
        cpu_us_per_request: sums.service_cpu.and_then(|c| c.us_per(sums.sensed_answers)),
        run_delay_us_per_request: sums
            .run_delay
            .and_then(|d| CpuTime(d).us_per(sums.sensed_answers)),
        latency_us: latency_at(plan, trials, &sums.latency),
        slip_us: slip_summary(&sums.slip),
        errors: sums.errors,
        unfinished: sums.unfinished,
        error_pct: percent(sums.errors.total(), sums.intended),
        generator_cpu_pct: mean(
            valid
                .iter()
                .map(|t| generator_share(plan, t).map(Share::pct)),
        ),
        trials: valid.len() as u32,
        invalid_trials: (trials.len() - valid.len()) as u32,
        invalid_reasons: reasons(trials),
    };
    Level {
        load,
        row,
        latency: sums.latency,
        clock_ratio: mean(valid.iter().map(|t| t.machine.clock_ratio)),
        valid,
    }
}

/// The mean over the trials in which it could be read.
fn cpu_pct(plan: &Plan, valid: &[&Trial]) -> Option<f64> {
    let read = valid.iter().filter_map(|t| cpu_share(&plan.run.cpus, t));
    let read: Vec<f64> = read.map(Share::pct).collect();
    mean(read.into_iter().map(Some))
}

/// CPU use of the generator's threads, as a share of the CPUs they have.
pub(crate) fn generator_share<S, O>(plan: &Plan, trial: &Trial<S, O>) -> Option<Share> {
    let cpus = plan.run.cpus.generator.len() as u32;
    Share::of(trial.generator_cpu?.0, trial.machine.window * cpus)
}

/// The mean of values of which none may be missing.
pub(crate) fn mean(values: impl ExactSizeIterator<Item = Option<f64>>) -> Option<f64> {
    let count = values.len();
    let sum: f64 = values.sum::<Option<f64>>()?;
    (count > 0).then(|| sum / count as f64)
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// Each kind of reason once, the last of its kind.
fn reasons(trials: &[&Trial]) -> Vec<Invalid> {
    let mut kinds: Vec<Invalid> = Vec::new();
    for reason in trials.iter().flat_map(|t| t.verdict.reasons()) {
        kinds.retain(|known| known.kind() != reason.kind());
        kinds.push(*reason);
    }
    kinds
}

/// Counts of several trials, added up; histograms merged, never averaged.
struct Sums {
    window: Duration,
    intended: u64,
    completed: u64,
    sensed_answers: f64,
    unfinished: u64,
    errors: Errors,
    latency: Histogram,
    slip: Histogram,
    service_cpu: Option<CpuTime>,
    run_delay: Option<Duration>,
}

impl Sums {
    fn of(trials: &[&Trial]) -> Sums {
        let service = trials.iter().map(|t| t.service.as_ref());
        let mut sums = Sums {
            window: trials.iter().map(|t| t.window).sum(),
            intended: trials.iter().map(|t| t.work.intended).sum(),
            completed: trials.iter().map(|t| t.work.completed).sum(),
            sensed_answers: trials.iter().map(|t| t.sensed_answers()).sum(),
            unfinished: trials.iter().map(|t| t.work.unfinished).sum(),
            errors: Errors::default(),
            latency: Histogram::new(),
            slip: Histogram::new(),
            // Missing where any part is.
            service_cpu: service.clone().map(|s| Some(s?.cpu)).sum(),
            run_delay: service.map(|s| s?.run_delay).sum(),
        };
        for trial in trials {
            sums.errors = sums.errors + trial.work.errors;
            sums.latency.merge(&trial.work.latency);
            sums.slip.merge(&trial.work.slip);
        }
        sums
    }
}

fn us(d: Duration) -> f64 {
    // Whole microseconds stay whole.
    d.as_nanos() as f64 / 1e3
}

/// The latencies of a level. Each quantile of an imported table's is a number
/// that stands in it, and is stated as it stands there.
fn latency_at(plan: &Plan, trials: &[&Trial], latency: &Histogram) -> Option<LatencySummary> {
    let given = match &plan.workload {
        Workload::Imported(table) => &table.latencies[..],
        Workload::Hash(_) | Workload::Http(_) | Workload::Command(_) => &[],
    };
    let rate = trials.first().map_or(0.0, |t| t.asked().get());
    // Plan and trials may have been written and read in different ways.
    let is_here = |g: &&GivenLatency| (g.rate.get() - rate).abs() <= 1e-9 * rate;
    let here = given.iter().filter(is_here);
    let here: Vec<Duration> = here.map(|g| g.latency).collect();
    let exact = |stated: Duration| {
        let meant = here.iter().filter(|l| latency.stated(**l) == stated);
        meant.max().copied().unwrap_or(stated)
    };
    let at = |q| latency.quantile(q).map(exact).map(us);
    Some(LatencySummary {
        p50: at(0.5)?,
        p90: at(0.9)?,
        p99: at(0.99)?,
        p999: at(0.999)?,
        max: us(exact(latency.max()?)),
    })
}

fn slip_summary(h: &Histogram) -> Option<SlipSummary> {
    Some(SlipSummary {
        p50: us(h.quantile(0.5)?),
        p99: us(h.quantile(0.99)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, trial_at};
    use plimsoll_model::{
        CpuCapacity, CpuSet, CpuUse, CpusOf, HttpService, Millicores, ServiceUse, Verdict,
    };

    #[test]
    fn trials_of_a_level_are_merged_and_invalid_ones_only_counted() {
        let mut disturbed = trial_at(50.0, 500, 0.9, 50_000.0);
        let steal = Invalid::Steal {
            stolen: Share::ONE,
            bound: Share::ZERO,
            on: CpusOf::Machine,
        };
        disturbed.verdict = Verdict::Invalid(vec![steal]);
        let trials = [
            trial_at(50.0, 500, 0.4, 1000.0),
            disturbed,
            trial_at(50.0, 500, 0.5, 3000.0),
        ];
        let rows = levels(&plan(), &trials, None);
        assert_eq!(rows.len(), 1);
        let row = &rows[0].row;
        assert_eq!((row.trials, row.invalid_trials), (2, 1));
        assert_eq!(row.invalid_reasons, [steal]);
        assert!((row.cpu_pct.unwrap() - 45.0).abs() < 0.01);
        assert!((row.offered_rps - 500.0).abs() < 1e-9);
        let latency = row.latency_us.as_ref().unwrap();
        assert!((latency.p50 / 1000.0 - 1.0).abs() < 2e-3, "half of each");
        assert!((latency.p99 / 3000.0 - 1.0).abs() < 2e-3);
    }

    #[test]
    fn a_level_without_a_valid_trial_has_no_figures() {
        let mut trial = trial_at(50.0, 500, 0.4, 1000.0);
        trial.verdict = Verdict::Invalid(vec![]);
        let trials = [trial];
        let rows = levels(&plan(), &trials, None);
        assert_eq!(rows[0].row.achieved_rps, None);
        assert_eq!(rows[0].row.latency_us, None);
        assert_eq!(rows[0].row.cpu_pct, None);
        assert!((rows[0].row.offered_rps - 500.0).abs() < 1e-9);
    }

    #[test]
    fn cpu_use_of_a_service_is_its_own_time_over_what_it_can_use() {
        let mut plan = plan();
        let cpus: CpuSet = "0-3".parse().unwrap();
        plan.run.cpus.service = cpus.clone();
        let mut trial = trial_at(50.0, 500, 0.3, 1000.0);
        let uses = |plan: &Plan, trial: &Trial| {
            let host = cpu_share(&plan.run.cpus, trial).unwrap().get();
            (host, own_share(plan, trial).map(Share::get))
        };
        assert_eq!(uses(&plan, &trial), (0.3, None));
        trial.service = Some(ServiceUse {
            cpu: CpuTime(Duration::from_secs(10)),
            run_delay: None,
            context_switches: None,
        });
        assert_eq!(
            uses(&plan, &trial),
            (0.3, Some(0.25)),
            "10 s of four CPUs for 10 s"
        );
        plan.run.cpus.capacity = CpuCapacity::least(Some(Millicores(2000)), &cpus, &cpus);
        trial.machine.service_quota = plan.run.cpus.quota();
        assert_eq!(uses(&plan, &trial), (0.5, Some(0.5)), "of its quota of two");
        let mut http = HttpService::get("http://127.0.0.1/", 1, Duration::from_secs(1));
        http.service = ServiceAt::NodeMetrics("http://127.0.0.1:9100/metrics".to_owned());
        plan.workload = Workload::Http(http);
        assert_eq!(own_share(&plan, &trial), None, "all of the host's time");
    }

    #[test]
    fn answers_that_the_sensors_did_not_see_have_no_cpu_time() {
        let mut trial = trial_at(50.0, 500, 0.3, 1000.0);
        let (window, answers) = (trial.window, trial.work.completed);
        trial.service = Some(ServiceUse {
            cpu: CpuTime(Duration::from_millis(answers)),
            run_delay: Some(Duration::from_micros(100 * answers)),
            context_switches: None,
        });
        // A load command states all that it sent, with its warm-up.
        trial.window = 2 * window;
        trial.work.completed = 2 * answers;
        trial.machine.window = window;
        let found = merge(&plan(), LoadLevel::percent(50.0).unwrap(), &[&trial], None).row;
        assert_eq!(
            found.achieved_rps,
            Some(answers as f64 / window.as_secs_f64())
        );
        assert_eq!(found.cpu_us_per_request, Some(1000.0));
        assert_eq!(found.run_delay_us_per_request, Some(100.0));
    }

    #[test]
    fn the_generators_own_time_on_shared_cpus_is_not_the_services() {
        let mut plan = plan();
        plan.run.cpus.service = [0, 1].into_iter().collect();
        plan.run.cpus.generator = [1, 2].into_iter().collect();
        let mut trial = trial_at(50.0, 500, 0.0, 1000.0);
        let s = |n: u64| CpuTime(Duration::from_secs(n));
        trial.machine.service_cpus = plan.run.cpus.service.clone();
        trial.machine.service_cpu = Some(CpuUse {
            user: s(6),
            idle: s(4),
            ..CpuUse::default()
        });
        trial.generator_cpu = Some(s(4));
        assert_eq!(
            cpu_share(&plan.run.cpus, &trial),
            Share::new(0.4),
            "6 - 4/2 of 10"
        );
    }
}
