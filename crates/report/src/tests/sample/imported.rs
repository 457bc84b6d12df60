//! A table that somebody else measured.

use super::{Sample, found, level, plan, rated, sweep};
use crate::tests::shown::tally;
use plimsoll_model::{
    CapacityFinding, CapacityStatus, Estimate, Headroom, HeadroomIndex, ImportedTable,
    LatencySummary, LevelFinding, PooledCpu, Provenance, RatedRate, TableRows, ThresholdFinding,
    Workload,
};

/// A table that somebody else measured: single rows, so no intervals.
pub(in crate::tests) fn imported() -> Sample {
    let mut sample = sweep();
    sample.plan = plan(Workload::Imported(ImportedTable {
        note: Some("netty, 64 KB answers".to_owned()),
        ..table(TableRows::Rates)
    }));
    sample.plan.search = None;
    sample.provenance = Provenance {
        hostname: Some("c6i.2xlarge".to_owned()),
        ..Provenance::default()
    };
    sample.requirements.clear();
    sample.trials = tally(3, 0);
    let findings = &mut sample.findings;
    findings.levels = vec![
        row(49_516.0, 7.0, 1005.0),
        row(345_138.0, 50.0, 1037.0),
        row(591_411.0, 94.0, 1806.0),
    ];
    findings.idle_cpu_pct = None;
    findings.cpu_pooled = pooled().to_vec();
    findings.rated = Some(RatedRate {
        given: true,
        ..rated(591_411.0)
    });
    let end = Estimate {
        value: 591_411.0,
        low: Some(591_411.0),
        high: None,
    };
    findings.capacity = vec![CapacityFinding {
        status: CapacityStatus::NotReached,
        rate_rps: Some(end),
        cpu_pct: Some(Estimate::alone(94.0)),
        limit_us: Some(2_010.0),
        ..found("p99<2x", 0.0, None)
    }];
    let half = 345_138.0;
    findings.headroom = Headroom::Known(HeadroomIndex {
        max_rate_rps: Estimate::alone(591_411.0),
        nearest_cpu_pct: 50.0,
        nearest_level_ratio: Estimate::alone(0.8568),
        linear_expectation_rps: Estimate::alone(2.0 * half),
        interpolated_ratio: Some(Estimate::alone(0.8568)),
        half_rate_rps: Some(Estimate::alone(half)),
        extra_over_half_ratio: Some(Estimate::alone(0.7136)),
    });
    findings.thresholds_of_rps = Some(Estimate::alone(591_411.0));
    findings.thresholds = vec![single(20.0, 77.2, 17.4), single(50.0, 41.0, 41.6)];
    findings.hints.clear();
    sample
}

pub(super) fn table(rows: TableRows) -> ImportedTable {
    ImportedTable {
        name: "c6i.2xlarge".to_owned(),
        rows,
        cpus: Some(8),
        threads_per_core: None,
        note: None,
        latencies: Vec::new(),
    }
}

/// Two rows between which CPU use falls.
fn pooled() -> [PooledCpu; 2] {
    [(345_138.0, 50.0), (395_424.0, 48.0)].map(|(rate_rps, measured_cpu_pct)| PooledCpu {
        rate_rps,
        measured_cpu_pct,
        fitted_cpu_pct: 49.0,
    })
}

/// A threshold of a table of single rows.
fn single(headroom_pct: f64, cpu: f64, left: f64) -> ThresholdFinding {
    ThresholdFinding {
        headroom_pct,
        rate_rps: 591_411.0 * (1.0 - headroom_pct / 100.0),
        cpu_pct: Some(Estimate::alone(cpu)),
        own_millicores: None,
        linear_cpu_pct: 100.0 - headroom_pct,
        linear_headroom_pct: Some(Estimate::alone(left)),
        linear_error_points: Some(Estimate::alone(left - headroom_pct)),
    }
}

/// A row of a table as a level.
fn row(rate: f64, cpu: f64, us: f64) -> LevelFinding {
    LevelFinding {
        latency_us: Some(LatencySummary {
            p50: us,
            p90: us,
            p99: us,
            p999: us,
            max: us,
        }),
        cpu_us_per_request: Some(cpu / 100.0 * 8e6 / rate),
        run_delay_us_per_request: None,
        slip_us: None,
        generator_cpu_pct: None,
        trials: 1,
        ..level(100.0 * rate / 591_411.0, rate, cpu, us)
    }
}
