//! Why figures may not be what they seem.

use crate::{Estimate, Goal};
use schemars::JsonSchema;
use serde::Serialize;

/// Something odd about the figures themselves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Doubt {
    /// The latencies of a table are so short that they may be in another unit.
    ShortLatencies {
        /// The longest of them, in microseconds.
        most_us: f64,
    },
    /// Rows of a table at one load are far apart.
    ScatteredRows {
        /// The load, in requests per second.
        rate_rps: f64,
        /// The shortest latency there, in microseconds.
        least_us: f64,
        /// The longest, in microseconds.
        most_us: f64,
    },
    /// A table keeps a goal at a load above one at which it breaks it.
    KeptBeyond {
        /// The goal.
        goal: Goal,
        /// The lowest load at which a row breaks it, in requests per second.
        broken_rps: f64,
        /// The highest load at which all rows keep it, in requests per second.
        kept_rps: f64,
    },
    /// A level is answered many times as fast as one with less load.
    FasterBeyond {
        /// The lower load, in percent of the rated rate.
        slow_load_pct: f64,
        /// Its p99, in microseconds.
        slow_p99_us: f64,
        /// The higher load, in percent of the rated rate.
        fast_load_pct: f64,
        /// Its p99, in microseconds.
        fast_p99_us: f64,
    },
    /// The client's connections may have been the limit, not the service.
    Connections {
        /// How many there were.
        connections: u32,
        /// Requests at a time on each.
        streams: u32,
        /// The shortest mean latency of a trial, in microseconds.
        latency_us: f64,
        /// The rate that they carry at that latency.
        most_rps: f64,
        /// The most requests of a trial at its rate or below, in percent, that were due
        /// while all connections were in use; `None` in older records.
        waited_pct: Option<f64>,
    },
    /// No trial used all CPU time of the service, though it had all connections in use.
    CpuLeft {
        /// The highest CPU use of a trial, in percent.
        cpu_pct: f64,
        /// How many connections there were.
        over: u32,
        /// Requests at a time on each.
        streams: u32,
    },
    /// An external load generator used so much of its CPUs that it may have been the limit.
    BusyGenerator {
        /// The lowest rate at which it did, in requests per second.
        rate_rps: f64,
        /// CPUs that it used there, and that it may use.
        cpus: [f64; 2],
    },
    /// At light load at least half of the client's connections had no answer in a whole trial.
    Unserved {
        /// How many were sent a request in the trial where the most were.
        connections: u32,
        /// How many of these had no answer.
        unserved: u32,
    },
    /// At light load the server refused or closed connections.
    Closed {
        /// How many the client had.
        connections: u32,
        /// The part of the requests that failed so, in percent.
        failed_pct: f64,
    },
    /// Trials near the boundary that follow each other are more alike than others: the
    /// service or its machine was faster or slower for minutes at a time.
    Clustered {
        /// The goal whose capacity it is about.
        goal: Goal,
    },
    /// What the service carries within a goal rose or fell while it was searched for.
    Shifted {
        /// The goal.
        goal: Goal,
        /// By how much, in percent, from the first to the last trial near it.
        change_pct: f64,
    },
    /// The mean latency at equal loads rose or fell in the course of the run.
    Trend {
        /// By how much, in percent, from the first to the last trial of the levels.
        change_pct: f64,
    },
    /// Two trials at the same load, with calmer ones above it, have mean latencies far
    /// apart: the service or its machine has a slower state.
    SlowTrials {
        /// The lowest such load, in requests per second.
        rate_rps: f64,
        /// The mean latency of the slowest trial over that of the fastest.
        ratio: f64,
    },
    /// Some trials near the capacity took far more CPU time per request than the others:
    /// the service or its machine has a slower state.
    CostlyTrials {
        /// The capacity, in requests per second.
        rate_rps: f64,
        /// How many trials.
        trials: usize,
        /// Of how many near the capacity.
        of: usize,
        /// The median of theirs over that of the others.
        ratio: f64,
    },
    /// Two valid trials at the same load, not above the capacity by much, had very different
    /// throughputs: the service or its machine changed between them.
    UnlikeTrials {
        /// The load, in requests per second.
        rate_rps: f64,
        /// Good answers per second in the one with fewest, and in the one with most.
        rps: [f64; 2],
    },
    /// The first answer had another length than those at light load: these may be errors.
    UnlikeFirstAnswer {
        /// Its length, and the mean length in the trial with the lightest load.
        bytes: [f64; 2],
    },
    /// Bodies of good answers have another length than at light load: errors may be among them.
    BodyLengths {
        /// The load where they differ most, in requests per second.
        rate_rps: f64,
        /// Their mean length there, and in the trial with the lightest load.
        bytes: [f64; 2],
    },
    /// Successive trials near the capacity are alike in their CPU time per request: the
    /// service or its machine was faster or slower for minutes at a time.
    CpuTimeVaries {
        /// Two standard deviations of what they have in common, in percent.
        by_pct: f64,
    },
    /// Trials that miss the goal meet it at first and miss it at their end: longer trials
    /// would miss it at a lower load.
    RisesLate {
        /// The goal.
        goal: Goal,
    },
    /// Without what pauses of the generator and the queues that these left may have added to latencies, the
    /// capacity would be above its interval.
    GeneratorPauses {
        /// The goal.
        goal: Goal,
        /// The longest of them, in microseconds.
        longest_us: f64,
        /// What it may be without them, in requests per second.
        without_rps: f64,
    },
    /// Valid trials that the usual bounds would have made invalid: the plan's are wider.
    Disturbed {
        /// How many.
        trials: usize,
        /// Of how many valid ones.
        of: usize,
    },
    /// The service was idle before the load, and busy when it was over: it works on after its
    /// answers.
    WorksOn {
        /// Its CPU use before the load and in the seconds after it, in percent.
        cpu_pct: [f64; 2],
    },
    /// CPU use hardly depends on the load, so no threshold follows from it.
    FlatCpu {
        /// What it is at any load, in percent.
        cpu_pct: f64,
        /// What fills the CPU.
        because: FlatBecause,
    },
    /// CPU use at low load and at half of the capacity differ by less than their
    /// intervals, so no threshold follows from it.
    UnclearCpu {
        /// At a tenth of the capacity, or the lowest load up to a quarter of it that was
        /// measured, in percent.
        at_low_pct: Estimate,
        /// At half of it.
        at_half_pct: Estimate,
    },
}

/// What fills the CPU where its use hardly depends on the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlatBecause {
    /// The service: its own CPU time hardly depends on the load either.
    Service,
    /// Other processes: the service's own CPU time follows the load.
    OtherLoad,
    /// Neither: the service's own CPU time follows the load and is little, so that something else
    /// limits it.
    LittleUse,
    /// The service's own CPU time is unknown.
    Unknown,
}

impl Doubt {
    /// Whether a capacity may be wrong by more than its interval.
    pub fn unsettles(&self) -> bool {
        matches!(
            self,
            Doubt::BodyLengths { .. }
                | Doubt::UnlikeFirstAnswer { .. }
                | Doubt::UnlikeTrials { .. }
                | Doubt::Shifted { .. }
                | Doubt::FasterBeyond { .. }
                | Doubt::KeptBeyond { .. }
                | Doubt::Disturbed { .. }
                | Doubt::WorksOn { .. }
        )
    }

    /// Whether no CPU threshold follows from the figures.
    pub fn leaves_no_threshold(&self) -> bool {
        matches!(self, Doubt::FlatCpu { .. } | Doubt::UnclearCpu { .. })
    }
}
