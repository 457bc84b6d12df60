//! The nouns of Plimsoll: units, settings, plans, trials, goals, findings.
//!
//! This room holds plain data that every other crate speaks about, and the
//! parsing and printing that belongs to a noun itself (a [`Goal`] reads
//! `p99<10ms`). It must not do I/O, read a clock, or depend on any other
//! Plimsoll crate.
//!
//! Serialized names carry their unit: `_ns`, `_us`, `_s`, `_bytes`, `_rps`,
//! `_pct` (0-100), `_share` (0-1), `_ratio` (may exceed 1), `_joules`.
//!
//! ```
//! use plimsoll_model::{Goal, Quantile, Rate};
//!
//! let goal: Goal = "p99<10ms".parse()?;
//! assert_eq!(goal.to_string(), "p99<10ms");
//! assert_eq!(Quantile::P99.fraction(), 0.99);
//! assert_eq!(Rate::per_second(250.0).map(|r| r.get()), Some(250.0));
//! # Ok::<(), plimsoll_model::GoalError>(())
//! ```

// Here, because this crate is built before all others: one message, and not one for each
// system call that is missing.
#[cfg(not(target_os = "linux"))]
compile_error!(
    "Plimsoll runs on Linux only: it measures by /proc, cgroups and epoll. Build it on Linux, or in a Linux virtual \
     machine or container, and sweep services on other systems from there by their URL."
);

mod answers;
mod capacity;
mod checked_plan;
mod comparison;
mod condition;
mod copies;
mod cpu_capacity;
mod cpus;
mod date;
mod doubt;
mod estimate;
mod finding;
mod goal;
mod hash_use;
mod headrooms;
mod histogram;
mod ns;
mod order;
mod phases;
mod picture;
mod plan;
mod plural;
mod provenance;
mod request_finding;
mod requirement;
mod safe;
mod secrets;
mod selftest;
mod sideload;
mod sizing;
mod smt;
mod step;
mod trial;
mod trust;
mod units;
mod usage;
mod verdict;
mod wake;
mod workload;
mod yields;

pub use answers::{Answers, Waited};
pub use capacity::{
    AllRequests, CapacityFinding, CapacityNote, CapacityStatus, LIGHT_PCT, LightBasis, LightLoad,
    MissedBy, STAND_IN_PCT, TriedAt,
};
pub use checked_plan::{CheckedPlan, ImplausiblePlan, distinct, few_passes};
pub use comparison::{
    Carried, ComparedCapacity, ComparedMachine, Comparison, ComparisonCaution, CpuThreshold,
    Difference, DifferenceVerdict, Figure, FigureUnit, LimitOf, MachineCpus, Measure, NoInterval,
    NoIntervalCode, RunToRun, RunToRunFrom, ThresholdDifference, WorkUnit,
};
pub use condition::{
    Condition, ConditionError, FigureLimit, FigureName, Holds, Judgement, LimitSide, LimitUnit,
    NamedFigure,
};
pub use copies::{CopiesOutcome, CopiesPlan, CopiesSetting, CopiesTrial, CopiesWorkload};
pub use cpu_capacity::{CpuCapacity, CpuLimit, Millicores};
pub use cpus::{CpuId, CpuSet, CpuSetError, MAX_CPU};
pub use date::{utc_date, utc_stamp};
pub use doubt::{Doubt, FlatBecause};
pub use estimate::{CONFIDENCE, Estimate, WIDE_HALF_WIDTH};
pub use finding::{
    CopiesFinding, CopiesFindings, DirectionFinding, DirectionVerdict, Findings, Headroom,
    HeadroomIndex, HintFinding, LatencySummary, LevelFinding, LimitedBy, NeverCarried, NoHeadroom,
    PooledCpu, RatedRate, RestartsFinding, SlipSummary, ThresholdFinding,
};
pub use goal::{Goal, GoalError, LatencyLimit, Quantile, each_once};
pub use hash_use::{FileUse, MemoryUse};
pub use headrooms::{CurvePoint, HeadroomCurve, Knee, KneeStatus};
pub use histogram::Histogram;
pub use ns::{Ns, NsList, OptionNs};
pub use order::sort_by_number;
pub use phases::{FIRST_REQUESTS, FirstRequest, PhaseWork, PhasedRate, RatePhase};
pub use picture::{
    CpuPoint, LatencySpread, LevelPicture, Picture, PictureSetting, Span, SpectrumPoint,
    StepCourse, StepSlot, TrialPicture, WorkOf,
};
pub use plan::{
    Arrivals, Bounds, CalibrationPlan, CpuPlan, InterruptTime, LoadLevel, LoadLevelError, Pace,
    Plan, RunPlan, SCHEMA_VERSION, SearchPlan, ServiceWarmUp, WarmUp,
};
pub use plural::{counted, for_count};
pub use provenance::{CacheSize, Mismatch, Provenance, Respect, Topology};
pub use request_finding::{RequestFinding, RequestsFinding};
pub use requirement::{Outcome, Requirement};
pub use safe::{is_unsafe, safe, safe_json, shell_word};
pub use secrets::{HIDDEN, is_shown_header, secrets_of_url, shown_url, shown_urls};
pub use selftest::{
    KnownAnswer, Selftest, SelftestAnswer, SelftestNote, SelftestRepeat, SelftestVerdict,
};
pub use sideload::{
    Arm, ArmError, BesideRate, Budget, BudgetError, CountedJob, Job, JobHeld, JobWork, MissingArm,
    SideloadPlan, YieldOutcome, YieldPlan, YieldSetting, YieldTrial,
};
pub use sizing::{
    Autoscaler, CpuFigure, CpuGauge, FleetOverTime, FleetStep, FloorFrom, HPA_TOLERANCE,
    HpaBehavior, HpaTarget, LinearRule, PlannedFrom, Sizing, SizingCaution,
};
pub use smt::{CopiesWork, LevelWork, NoSpeedup, SmtFinding, SmtPlan, Speedup};
pub use step::{Slot, StepPlan, SteppedRate};
pub use trial::{
    BodySizes, ConnectionUse, Errors, Phase, RunEnd, Second, Setting, Trial, TrialSetting,
    TrialSpec, Work,
};
pub use trust::{ActsFor, FileAccess, GROUP_WRITES, OTHERS_WRITE};
pub use units::{
    Bytes, CpuTime, Energy, OutOfRange, Rate, Share, human_duration, human_minutes, parse_duration,
};
pub use usage::{CpuUse, MachineUse, Pressure, ServiceUse};
pub use verdict::{CpusOf, Invalid, InvalidKind, Verdict};
pub use wake::{CpuEvent, CpuEventKind, IdlePolicy, Placement, Wait, WakeParts};
pub use workload::{
    Copies, GivenLatency, HashService, HttpService, ImportedTable, LoadCommand, LoadFormat,
    RequestFile, RequestOfFile, ServiceAt, TableRows, TlsFiles, Workload,
};
pub use yields::{
    ArmFinding, BudgetVerdict, Cause, KeptUp, LatencyChange, LatencyUs, Recommended, ShortTrials,
    StepFinding, StepStatus, TriedArm, YieldFindings,
};
