//! Pictures that go with samples.

use super::Sample;
use plimsoll_model::{
    CopiesFinding, CopiesPlan, CpuPoint, CpusOf, Estimate, Invalid, LatencySpread, LevelPicture,
    LoadLevel, Phase, Picture, PictureSetting, Rate, Share, Span, SpectrumPoint, TrialPicture,
    WorkOf,
};
use std::time::Duration;

/// A picture that goes with a sample: two trials per level, the second of
/// each third level invalid.
pub(crate) fn picture(sample: &Sample) -> Picture {
    let findings = &sample.findings;
    let rated = findings.rated.as_ref().map_or(1.0, |r| r.rate_rps);
    let levels = findings.levels.iter().map(|level| {
        let latency = level.latency_us.as_ref();
        let span = |us: f64| Span {
            low: us * 0.8,
            high: us * 1.3,
        };
        LevelPicture {
            spread: latency.map(|l| LatencySpread {
                p50: span(l.p50),
                p99: span(l.p99),
                p999: span(l.p999),
            }),
            spectrum: latency.map_or_else(Vec::new, |l| {
                let point = |i: i32| SpectrumPoint {
                    share: 1.0 - 0.5 * 10f64.powf(-f64::from(i) / 6.0),
                    latency_us: l.p50 * f64::from(i + 1),
                };
                (0..30).map(point).collect()
            }),
            carried: latency.map(|_| true),
        }
    });
    let curve = findings.levels.iter().filter_map(|level| {
        let (rate_rps, cpu) = (level.achieved_rps?, level.cpu_pct?);
        let work = rate_rps / (cpu / 100.0 * 4.0);
        Some(CpuPoint {
            rate_rps,
            load_pct: Some(100.0 * rate_rps / rated),
            measured_cpu_pct: cpu,
            cpu_pct: Estimate::within(cpu, cpu * 0.95, cpu * 1.05),
            work_per_cpu_s: Some(Estimate::within(work, work * 0.95, work * 1.05)),
        })
    });
    Picture {
        service_cpus: Some(4),
        work_of: WorkOf::Cpus,
        levels: levels.collect(),
        curve: curve.collect(),
        trials: trials(sample),
    }
}

pub(crate) const STOLEN: Invalid = Invalid::Steal {
    stolen: Share::ONE,
    bound: Share::ZERO,
    on: CpusOf::Machine,
};

/// A valid trial of which only its time is known.
pub(crate) fn trial(setting: PictureSetting, began: Duration, window: Duration) -> TrialPicture {
    TrialPicture {
        phase: Phase::Level { level: None },
        setting,
        attempt: 0,
        row: None,
        began,
        took: window,
        warm_up: Duration::ZERO,
        window,
        achieved_rps: 0.0,
        load_pct: None,
        cpu_pct: None,
        p99_us: None,
        copy_s: None,
        invalid: Vec::new(),
    }
}

fn trials(sample: &Sample) -> Vec<TrialPicture> {
    let visit = |i: usize| {
        let (row, attempt) = (i / 2, i as u32 % 2);
        let level = &sample.findings.levels[row];
        let rate = Rate::per_second(level.offered_rps).unwrap();
        let began = Duration::from_secs(6 * i as u64);
        let is_bad = attempt == 1 && row % 3 == 0;
        TrialPicture {
            phase: Phase::Level {
                level: LoadLevel::percent(level.load_pct),
            },
            attempt,
            row: Some(row),
            took: Duration::from_secs(6),
            warm_up: Duration::from_millis(500),
            achieved_rps: level.offered_rps,
            load_pct: Some(level.load_pct),
            cpu_pct: Some(level.load_pct * 0.9),
            p99_us: Some(2_000.0),
            invalid: is_bad.then_some(STOLEN).into_iter().collect(),
            ..trial(
                PictureSetting::Offer { rate },
                began,
                Duration::from_secs(5),
            )
        }
    };
    (0..2 * sample.findings.levels.len()).map(visit).collect()
}

/// A trial per number of copies.
pub(crate) fn copies_trials(sample: &Sample<CopiesPlan>) -> Vec<TrialPicture> {
    let of = |(row, found): (usize, &CopiesFinding)| {
        let CopiesFinding { copies, .. } = *found;
        let took = Duration::from_secs_f64(found.slowest_seconds);
        let began = Duration::from_secs(400 * row as u64);
        TrialPicture {
            row: Some(row),
            cpu_pct: found.cpu_pct,
            copy_s: Some(found.seconds),
            ..trial(PictureSetting::Copies { copies }, began, took)
        }
    };
    sample.findings.copies.iter().enumerate().map(of).collect()
}
