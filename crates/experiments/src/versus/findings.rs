//! What a comparison finds.

use super::plan::Side;
use plimsoll_model::{CpuSet, Estimate};
use schemars::JsonSchema;
use serde::Serialize;

/// The findings of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct VersusFindings {
    /// Passes in which both services have a valid trial: all that the figures are of.
    pub passes: usize,
    /// What is compared, in order. A figure that no pass has of both is left out.
    pub figures: Vec<FigureFound>,
    /// By how much more CPU time per good answer goes to other processes and to the kernel with the new service
    /// than with the base, in microseconds: that of the machine without the service and the generator. Null where it is not seen.
    pub outside_us: Option<Estimate>,
    /// By how much more CPU time per good answer the new service takes than the base outside of its windows, in the
    /// warm-ups of its trials and in trials of the other one, without that of its requests then, in microseconds. Null
    /// where it is not seen.
    pub between_us: Option<Estimate>,
    /// By how much the CPU time of all trials, also of invalid ones, by all their good answers differs, in percent of the base.
    pub all_trials_pct: Option<f64>,
    /// The figures that a trial of this rate and length can show.
    pub shown: Vec<ComparedFigure>,
    /// What became of the requests of each service.
    pub requests: Vec<RequestsFound>,
    /// What makes the figures unfit to decide about the new service.
    pub doubts: Vec<VersusDoubt>,
    /// Whether both URLs are the same: what differs is noise.
    pub is_itself: bool,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedFigure {
    /// CPU time of the service per good answer.
    Cpu,
    /// The median latency of a trial.
    P50,
    /// The latency that 90 % of the requests of a trial do not exceed.
    P90,
    /// The latency that 99 % do not exceed.
    P99,
}

impl VersusDoubt {
    /// Whether it is about this figure.
    pub(super) fn is_about(&self, of: ComparedFigure) -> bool {
        match self {
            VersusDoubt::Trend { figure, .. } => *figure == of,
            VersusDoubt::WorkMoved { .. } | VersusDoubt::Uneven { .. } => of == ComparedFigure::Cpu,
            VersusDoubt::Connections { .. } => of != ComparedFigure::Cpu,
            _ => true,
        }
    }
}

impl ComparedFigure {
    pub(super) const ALL: [ComparedFigure; 4] = [
        ComparedFigure::Cpu,
        ComparedFigure::P50,
        ComparedFigure::P90,
        ComparedFigure::P99,
    ];

    /// Of latencies; `None` for the CPU time.
    pub(super) const fn quantile(self) -> Option<f64> {
        match self {
            ComparedFigure::Cpu => None,
            ComparedFigure::P50 => Some(0.5),
            ComparedFigure::P90 => Some(0.9),
            ComparedFigure::P99 => Some(0.99),
        }
    }

    /// As a condition names it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            ComparedFigure::Cpu => "cpu",
            ComparedFigure::P50 => "p50",
            ComparedFigure::P90 => "p90",
            ComparedFigure::P99 => "p99",
        }
    }
}

/// One figure of both services.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FigureFound {
    pub figure: ComparedFigure,
    /// The geometric mean of the base over the passes, in microseconds.
    pub base_us: Estimate,
    /// That of the new service.
    pub new_us: Estimate,
    /// By how much the new service takes longer, in percent of the base: the mean of the
    /// logarithms of the ratios of the passes.
    pub change_pct: Estimate,
    /// Passes that show it.
    pub passes: usize,
    /// The change in each of them, in percent, in order.
    pub by_pass_pct: Vec<f64>,
}

/// What became of the requests of a service in the valid trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RequestsFound {
    pub side: Side,
    /// Requests that were due.
    pub intended: u64,
    /// Good answers.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests without an answer at the end of their trial.
    pub unfinished: u64,
    /// The mean length of the body of a good answer, in bytes; null where it is unknown.
    pub body_bytes: Option<f64>,
    /// CPU use of the service's CPUs, in percent.
    pub cpu_pct: Option<f64>,
    /// Requests that were due while all of the client's connections were in use, in percent.
    pub waited_pct: Option<f64>,
    /// CPU time that the service takes while only the other one is loaded, in percent of what it takes in the
    /// same time under load; null where it is not seen.
    pub background_pct: Option<f64>,
    /// Valid trials.
    pub trials: usize,
}

/// Where CPU time is not in the figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In other processes, and in the kernel.
    OtherProcesses,
    /// In the service, outside of its windows.
    BetweenWindows,
}

/// What makes the figures unfit to decide about the new service.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum VersusDoubt {
    /// Requests failed or had no answer: of these the work is not in the figures.
    Failures {
        side: Side,
        /// Requests that failed.
        failed: u64,
        /// Requests without an answer.
        unfinished: u64,
        /// Requests that were due.
        of: u64,
    },
    /// A service did not answer as many requests as were due.
    NotCarried {
        side: Side,
        /// Trials in which it did not.
        trials: usize,
        /// Of so many.
        of: usize,
        /// Good answers per second in all of them.
        answered_rps: f64,
    },
    /// Fewer than half of the passes have a valid trial of both services.
    FewPasses {
        /// Passes that have.
        passes: usize,
        /// Of so many.
        of: usize,
    },
    /// A service was started anew between two trials: it may be another program since.
    Restarted {
        side: Side,
        /// The first pass after it, from 1.
        pass: u32,
    },
    /// The mean lengths of bodies differ by more than a tenth: the services do not do the same.
    Bodies {
        /// That of the base, in bytes.
        base_bytes: f64,
        /// That of the new service.
        new_bytes: f64,
    },
    /// Each connection has few requests in a window: what a service does for a new one weighs more than under a
    /// steady load.
    NewConnections {
        /// So many, on average.
        requests: f64,
    },
    /// Trials of one service are invalid more often than those of the other, at 1 %: what it does in these, or has
    /// others do, is not in the figures.
    InvalidTrials {
        /// The service with more of them.
        side: Side,
        /// Invalid trials of the base, and all of them.
        base: (u64, u64),
        /// Those of the new service.
        new: (u64, u64),
    },
    /// The CPU time of all trials by all answers changes by what lies outside of the interval: a few trials take
    /// far more than the others, or invalid ones.
    Uneven {
        /// That change, in percent of the base.
        all_pct: f64,
    },
    /// Requests waited for one of the client's connections: their latency is not the service's alone.
    Connections {
        side: Side,
        /// So many of the requests, in percent.
        pct: f64,
    },
    /// A service works while only the other one is loaded: it puts work off, has other clients, or work of its
    /// own, so the figures are not of what its requests cost.
    BackgroundWork {
        side: Side,
        /// Its CPU time then, in percent of that under load.
        pct: f64,
    },
    /// CPU time that is not in the figure differs by more than 3 % of that of the base: work has moved there, or
    /// from there.
    WorkMoved {
        to: Place,
        /// By how much more it is with the new service, per good answer, in microseconds.
        us: Estimate,
    },
    /// The services run on other CPUs.
    Cpus {
        /// Those of the base.
        base: CpuSet,
        /// Those of the new service.
        new: CpuSet,
    },
    /// A change rises or falls from pass to pass.
    Trend {
        figure: ComparedFigure,
        /// That of the first half of the passes.
        first_pct: f64,
        /// That of the second half.
        second_pct: f64,
    },
}
