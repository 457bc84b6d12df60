//! Findings made by hand: whole runs, each as the report would get it.

mod copies;
mod experiment;
mod figures;
mod imported;
pub(crate) mod picture;
mod run;

pub(super) use copies::{copies, imported_copies};
pub(crate) use experiment::Experiment;
pub(crate) use figures::rated;
pub(super) use figures::{about, told};
pub(crate) use figures::{found, within};
pub(super) use imported::imported;
pub(crate) use run::http;
pub(super) use run::{plan, provenance};

use super::shown::{as_text, shown, tally};
use crate::chart::Charset;
use crate::{Document, Format, Look, RecordFacts, Report, TrialTally, render};
use figures::{disturbed, hints, level, thresholds};
use plimsoll_model::{
    Bytes, CapacityFinding, CapacityNote, CapacityStatus, CpuTime, DirectionFinding,
    DirectionVerdict, Findings, HashService, Headroom, LightBasis, LightLoad, NoHeadroom,
    NoSpeedup, Plan, Provenance, Requirement, RunEnd, SmtFinding, Workload,
};
use run::requirements;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Everything that a report borrows. The plan decides of which experiment.
#[derive(Clone)]
pub(crate) struct Sample<P: Experiment = Plan> {
    pub(crate) findings: P::Findings,
    pub(crate) plan: P,
    pub(crate) provenance: Provenance,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) trials: TrialTally,
    pub(crate) ended: Option<RunEnd>,
    pub(crate) command_line: Vec<String>,
    pub(crate) drawn: P::Drawn,
}

impl<P: Experiment> Sample<P> {
    fn report_of<'a>(&'a self, plan: &'a P) -> Report<'a, P, P::Findings> {
        Report {
            experiment: P::NAME,
            workload: plan.workload(),
            findings: &self.findings,
            plan,
            seed: plan.run().seed,
            provenance: &self.provenance,
            requirements: &self.requirements,
            record: RecordFacts {
                file: Path::new("run.plimsoll"),
                created_unix_ms: 1_700_000_000_000,
                ended: self.ended.as_ref(),
                trials: self.trials,
                command_line: &self.command_line,
            },
        }
    }

    /// All of it but charts, in black and white.
    pub(crate) fn text(&self, width: usize) -> String {
        self.with(None, |document| as_text(document, width))
    }

    /// The text on one line, so that sentences are found wherever they are broken.
    pub(crate) fn flat(&self) -> String {
        self.text(200).replace('\n', " ")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.shown(Format::Json)).unwrap()
    }

    pub(crate) fn with_charts(&self, width: usize, charts: Charset) -> String {
        self.looking(Look {
            width,
            colour: false,
            charts: Some(charts),
        })
    }

    pub(crate) fn looking(&self, look: Look) -> String {
        self.with(None, |document| {
            render(document, Format::Text, look).unwrap()
        })
    }

    /// In a form without a look.
    pub(crate) fn shown(&self, format: Format) -> String {
        self.with(None, |document| shown(document, format))
    }

    pub(crate) fn with<T>(
        &self,
        picture: Option<&P::Picture>,
        make: impl FnOnce(&Document<'_>) -> T,
    ) -> T {
        let plan = self.plan.without_secrets();
        make(&P::document(&self.report_of(&plan), picture))
    }
}

/// A sweep of an HTTP service: found, one level without a valid trial.
pub(super) fn sweep() -> Sample {
    let mut overloaded = level(100.0, 10_000.0, 91.0, 85_300.0);
    overloaded.achieved_rps = Some(9_100.0);
    overloaded.errors.timeout = 12;
    overloaded.unfinished = 3;
    overloaded.error_pct = Some(0.012);
    Sample {
        findings: Findings {
            requests: None,
            rated: Some(rated(10_000.0)),
            idle_cpu_pct: Some(1.25),
            light_load: Some(LightLoad {
                up_to_load_pct: 10.0,
                p99_us: 1_100.0,
                basis: LightBasis::Levels,
            }),
            levels: vec![
                level(10.0, 1000.0, 9.0, 1_100.0),
                level(50.0, 5000.0, 47.0, 2_300.0),
                disturbed(),
                overloaded,
            ],
            cpu_pooled: vec![],
            doubts: vec![],
            capacity: vec![
                CapacityFinding {
                    confirmed: Some(true),
                    other_times_rps: Some(within(8_412.0, 509.0, 551.0)),
                    ..found("p99<10ms", 8_412.0, Some(76.0))
                },
                CapacityFinding {
                    status: CapacityStatus::Cliff,
                    rate_rps: Some(within(8_900.0, 0.0, 120.0)),
                    ..found("errors<0.1%", 8_900.0, Some(82.5))
                },
            ],
            headroom: told(0.857),
            thresholds_of_rps: Some(within(8_412.0, 171.0, 190.0)),
            thresholds: thresholds(),
            hints: hints(),
            direction: Some(DirectionFinding {
                down_over_up_ratio: Some(within(1.012, 0.031, 0.044)),
                levels: 12,
                verdict: DirectionVerdict::NoDifferenceSeen,
                restarts: None,
            }),
            smt: SmtFinding::unknown(NoSpeedup::NotOurs),
        },
        plan: plan(http()),
        provenance: provenance(),
        requirements: requirements(),
        trials: tally(34, 3),
        ended: Some(RunEnd::Complete),
        command_line: Vec::new(),
        drawn: (),
    }
}

/// The sweep without CPU use.
pub(super) fn without_cpu() -> Sample {
    let mut sample = sweep();
    for level in &mut sample.findings.levels {
        level.cpu_pct = None;
        level.cpu_us_per_request = None;
        level.run_delay_us_per_request = None;
    }
    for capacity in &mut sample.findings.capacity {
        capacity.cpu_pct = None;
    }
    sample.findings.headroom = Headroom::Unknown {
        why: NoHeadroom::CpuUnreadable,
    };
    sample.findings.idle_cpu_pct = None;
    sample.findings.thresholds.clear();
    sample.findings.hints.clear();
    sample.requirements.clear();
    sample
}

/// A sweep of the hash service without a valid trial.
pub(super) fn nothing_valid() -> Sample {
    let mut sample = sweep();
    sample.findings = Findings {
        levels: vec![disturbed()],
        capacity: vec![CapacityFinding {
            status: CapacityStatus::Undecided,
            rate_rps: None,
            other_times_rps: None,
            cpu_pct: None,
            limit_us: None,
            missed_by: None,
            all_requests: None,
            note: Some(CapacityNote::NoLightLoad {
                lowest_pct: Some(90.0),
                planned: true,
            }),
            ..found("p99<2x", 0.0, None)
        }],
        headroom: Headroom::Unknown {
            why: NoHeadroom::NoValidTrial,
        },
        ..empty()
    };
    sample.plan = plan(Workload::Hash(HashService {
        mean_block: Bytes(16 << 10),
        deviation_share: 0.3,
        request_cpu: CpuTime(Duration::from_micros(50)),
        waiting: None,
        memory: None,
        files: None,
    }));
    sample.provenance = Provenance::default();
    sample.requirements.clear();
    sample.trials = tally(1, 1);
    sample.ended = Some(RunEnd::Interrupted);
    sample
}

pub(super) fn empty() -> Findings {
    Findings {
        requests: None,
        rated: None,
        idle_cpu_pct: None,
        light_load: None,
        levels: vec![],
        cpu_pooled: vec![],
        doubts: vec![],
        capacity: vec![],
        headroom: Headroom::Unknown {
            why: NoHeadroom::NoLevel,
        },
        thresholds_of_rps: None,
        thresholds: vec![],
        hints: vec![],
        direction: None,
        smt: SmtFinding::unknown(NoSpeedup::CoresUnknown),
    }
}
