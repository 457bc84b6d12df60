//! Single findings.

use plimsoll_model::{
    CapacityFinding, CapacityStatus, CpusOf, Errors, Estimate, Headroom, HeadroomIndex,
    HintFinding, Invalid, LatencySummary, LevelFinding, LimitedBy, RatedRate, Share, SlipSummary,
    ThresholdFinding,
};

/// An estimate by how far its ends are away.
pub(crate) fn within(value: f64, below: f64, above: f64) -> Estimate {
    Estimate::within(value, value - below, value + above)
}

/// A rated rate that shows the service saturated.
pub(crate) fn rated(rate_rps: f64) -> RatedRate {
    RatedRate {
        rate_rps,
        limited_by_service: true,
        limited_by: LimitedBy::Service,
        connections: None,
        disturbed: false,
        given: false,
        never_carried: None,
    }
}

/// A headroom index within 0.02, with the highest rate of [`sweep`].
pub(in crate::tests) fn told(ratio: f64) -> Headroom {
    about(within(ratio, 0.02, 0.02))
}

pub(in crate::tests) fn about(ratio: Estimate) -> Headroom {
    let most = 9_100.0;
    let half = Estimate {
        value: most / ratio.value / 2.0,
        low: ratio.high.map(|high| most / high / 2.0),
        high: ratio.low.map(|low| most / low / 2.0),
    };
    Headroom::Known(HeadroomIndex {
        max_rate_rps: match ratio.interval() {
            Some(_) => within(most, 61.0, 70.0),
            None => Estimate::alone(most),
        },
        nearest_cpu_pct: 47.0,
        nearest_level_ratio: ratio.map_rising(|ratio| ratio - 0.011),
        linear_expectation_rps: half.map_rising(|half| 2.03 * half),
        interpolated_ratio: Some(ratio),
        half_rate_rps: Some(half),
        extra_over_half_ratio: Some(ratio.map_rising(|ratio| 2.0 * ratio - 1.0)),
    })
}

/// A capacity within 2 %, at a CPU use within 2 points.
pub(crate) fn found(goal: &str, rate: f64, cpu_pct: Option<f64>) -> CapacityFinding {
    CapacityFinding {
        goal: goal.parse().unwrap(),
        status: CapacityStatus::Found,
        rate_rps: Some(within(rate, 0.02 * rate, 0.0225 * rate)),
        other_times_rps: None,
        cpu_pct: cpu_pct.map(|cpu| within(cpu, 1.9, 2.0)),
        confirmed: None,
        limit_us: None,
        missed_by: None,
        all_requests: None,
        note: None,
    }
}

pub(in crate::tests) fn level(load_pct: f64, rate: f64, cpu: f64, p99: f64) -> LevelFinding {
    LevelFinding {
        offered_rps: rate,
        achieved_rps: Some(rate),
        load_pct,
        cpu_pct: Some(cpu),
        cpu_us_per_request: Some(182.5),
        run_delay_us_per_request: Some(4.25),
        latency_us: Some(LatencySummary {
            p50: 320.0,
            p90: p99 / 2.0,
            p99,
            p999: p99 * 1.5,
            max: p99 * 2.0,
        }),
        slip_us: Some(SlipSummary {
            p50: 6.1,
            p99: 55.25,
        }),
        errors: Errors::default(),
        unfinished: 0,
        error_pct: Some(0.0),
        generator_cpu_pct: Some(23.0),
        trials: 4,
        invalid_trials: 0,
        invalid_reasons: vec![],
    }
}

/// A level without a valid trial.
pub(in crate::tests) fn disturbed() -> LevelFinding {
    LevelFinding {
        achieved_rps: None,
        cpu_pct: None,
        cpu_us_per_request: None,
        run_delay_us_per_request: None,
        latency_us: None,
        slip_us: None,
        generator_cpu_pct: None,
        error_pct: None,
        trials: 0,
        invalid_trials: 3,
        invalid_reasons: vec![Invalid::Steal {
            stolen: Share::new(0.05).unwrap(),
            bound: Share::new(0.02).unwrap(),
            on: CpusOf::Machine,
        }],
        ..level(80.0, 8000.0, 0.0, 0.0)
    }
}

/// Thresholds of a machine whose CPU use lags behind its work.
pub(in crate::tests) fn thresholds() -> Vec<ThresholdFinding> {
    let row = |headroom_pct: f64, cpu_pct: f64, left: Option<f64>| ThresholdFinding {
        headroom_pct,
        rate_rps: 8_412.0 * (1.0 - headroom_pct / 100.0),
        cpu_pct: (cpu_pct > 45.0).then(|| within(cpu_pct, 1.84, 1.13)),
        own_millicores: (cpu_pct > 45.0).then(|| within(27.0 * cpu_pct, 49.7, 30.5)),
        linear_cpu_pct: 100.0 - headroom_pct,
        linear_headroom_pct: left.map(|left| within(left, 2.2, 1.9)),
        linear_error_points: left.map(|left| within(left - headroom_pct, 2.2, 1.9)),
    };
    vec![
        row(10.0, 68.31, Some(-17.4)),
        row(20.0, 60.14, Some(-5.12)),
        row(30.0, 52.25, Some(8.8)),
        row(40.0, 46.0, Some(20.2)),
        row(50.0, 40.0, None),
    ]
}

pub(in crate::tests) fn hints() -> Vec<HintFinding> {
    let hint = |counter: &str, unit, slope, at_lowest, at_highest| HintFinding {
        counter: counter.to_owned(),
        unit,
        slope,
        at_lowest,
        at_highest,
        from_rps: 1_000.0,
        to_rps: 9_100.0,
    };
    let slope = within(0.473, 0.112, 0.093);
    vec![
        hint("waiting for a CPU", "us", within(0.9, 0.2, 0.1), 4.25, 31.0),
        hint("context switches", "switches", slope, 1.2, 3.4),
    ]
}
