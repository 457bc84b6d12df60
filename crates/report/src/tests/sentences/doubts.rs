//! A sentence for each doubt.

use super::{Cases, sweep};
use plimsoll_model::Doubt;

/// Of the client's connections.
const CONNECTIONS: [Doubt; 4] = [
    Doubt::Connections {
        connections: 1000,
        streams: 1,
        latency_us: 100e3,
        most_rps: 10_000.0,
        waited_pct: Some(40.0),
    },
    Doubt::Unserved {
        connections: 128,
        unserved: 124,
    },
    Doubt::Closed {
        connections: 128,
        failed_pct: 48.0,
    },
    Doubt::CpuLeft {
        cpu_pct: 57.0,
        over: 128,
        streams: 4,
    },
];

pub(super) fn each(cases: &mut Cases) {
    let goal = "p99<10ms".parse().unwrap();
    let others = [
        Doubt::Clustered { goal },
        Doubt::Shifted {
            goal,
            change_pct: -7.5,
        },
        Doubt::Trend { change_pct: 12.0 },
        Doubt::BusyGenerator {
            rate_rps: 6_700.0,
            cpus: [0.94, 1.0],
        },
        Doubt::Disturbed { trials: 9, of: 37 },
        Doubt::WorksOn {
            cpu_pct: [0.4, 98.0],
        },
        Doubt::SlowTrials {
            rate_rps: 4200.0,
            ratio: 1.3,
        },
        Doubt::CostlyTrials {
            rate_rps: 4200.0,
            trials: 2,
            of: 41,
            ratio: 1.31,
        },
        Doubt::UnlikeTrials {
            rate_rps: 4747.0,
            rps: [2316.0, 4246.0],
        },
        Doubt::BodyLengths {
            rate_rps: 1500.0,
            bytes: [31.6, 51.0],
        },
        Doubt::UnlikeFirstAnswer {
            bytes: [200.0, 100.4],
        },
        Doubt::CpuTimeVaries { by_pct: 3.4 },
        Doubt::RisesLate { goal },
        Doubt::GeneratorPauses {
            goal,
            longest_us: 21_900.0,
            without_rps: 3_821.0,
        },
    ];
    for doubt in CONNECTIONS.into_iter().chain(others) {
        let name = format!("a doubt: {doubt:?}");
        cases.add(&name, sweep(), |s| s.findings.doubts = vec![doubt]);
    }
}
