//! What pictures of a run show and its findings do not hold: every trial as a
//! point, the curve of CPU use with its band, the spectrum of each level.
//!
//! Made by `study`, drawn by `report`. It is no part of the JSON output, whose
//! readers have the record for the same.

use crate::{Arm, CopiesSetting, Estimate, Phase, Rate, Setting, Share, YieldSetting};
use std::time::Duration;

/// What pictures of a run show besides its findings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Picture {
    /// The CPUs that the service may use; `None` where they cannot be seen.
    pub service_cpus: Option<u32>,
    /// Whose CPU time the work per CPU-second counts.
    pub work_of: WorkOf,
    /// One entry per level, in the order of the findings' levels.
    pub levels: Vec<LevelPicture>,
    /// CPU use over the rate that is carried, ascending in rate.
    pub curve: Vec<CpuPoint>,
    /// All trials, in the order they were made.
    pub trials: Vec<TrialPicture>,
}

/// Whose CPU time work per CPU-second counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkOf {
    /// All that ran on the service's CPUs, the generator left out, in ticks.
    #[default]
    Cpus,
    /// The service's threads alone: the time that a level's CPU time per
    /// request is made of.
    Service,
}

/// What a picture shows of a level.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LevelPicture {
    /// How far the valid trials lie apart; `None` with fewer than two.
    pub spread: Option<LatencySpread>,
    /// Latency over percentile of the merged trials, ascending.
    pub spectrum: Vec<SpectrumPoint>,
    /// Whether answers came as fast as requests were intended; `None` without
    /// a valid trial.
    pub carried: Option<bool>,
}

/// Smallest and largest of a quantity over the trials of a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    pub low: f64,
    pub high: f64,
}

/// How far latency quantiles lie apart between trials, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencySpread {
    pub p50: Span,
    pub p99: Span,
    pub p999: Span,
}

/// A point of a latency distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumPoint {
    /// The share of requests, 0 to 1, that were answered within `latency_us`.
    pub share: f64,
    pub latency_us: f64,
}

/// CPU use at a rate that is carried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuPoint {
    /// Good answers per second.
    pub rate_rps: f64,
    /// The same in percent of the rated rate; `None` where that is not known.
    pub load_pct: Option<f64>,
    /// CPU use in percent as measured.
    pub measured_cpu_pct: f64,
    /// CPU use in percent as fitted, with its pointwise interval.
    pub cpu_pct: Estimate,
    /// Good answers per second of the CPU time that [`Picture::work_of`] names;
    /// where that is all CPUs' and their number is not known, per second that
    /// the whole machine is busy. `None` without CPU time.
    pub work_per_cpu_s: Option<Estimate>,
}

/// What a trial was made at, as far as a picture shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PictureSetting {
    Idle,
    Offer {
        rate: Rate,
    },
    /// This many copies at once.
    Copies {
        copies: u32,
    },
    /// An offered rate with an arm next to it.
    Beside {
        rate: Rate,
        arm: Arm,
        /// The part of the machine that it leaves unused.
        headroom: Option<Share>,
    },
}

impl From<Setting> for PictureSetting {
    fn from(setting: Setting) -> PictureSetting {
        match setting {
            Setting::Idle => PictureSetting::Idle,
            Setting::Offer { rate, .. } => PictureSetting::Offer { rate },
        }
    }
}

impl From<CopiesSetting> for PictureSetting {
    fn from(setting: CopiesSetting) -> PictureSetting {
        match setting {
            CopiesSetting::Idle => PictureSetting::Idle,
            CopiesSetting::Copies { copies } => PictureSetting::Copies { copies },
        }
    }
}

impl From<YieldSetting> for PictureSetting {
    fn from(setting: YieldSetting) -> PictureSetting {
        match setting {
            YieldSetting::Offer { rate } => PictureSetting::Offer { rate },
            YieldSetting::Beside {
                rate,
                arm,
                headroom,
                ..
            } => PictureSetting::Beside {
                rate,
                arm,
                headroom,
            },
        }
    }
}

/// A trial as a bar of the time line, and as a point.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialPicture {
    pub phase: Phase,
    pub setting: PictureSetting,
    /// How often this visit was tried before.
    pub attempt: u32,
    /// Where its level stands among the findings' levels, or its number of
    /// copies among the findings' copies; `None` outside of them.
    pub row: Option<usize>,
    /// When it began: the time that the trials before it took. Pauses between
    /// trials are no part of it.
    pub began: Duration,
    pub took: Duration,
    pub warm_up: Duration,
    pub window: Duration,
    /// Good answers per second.
    pub achieved_rps: f64,
    /// The same in percent of the rated rate; `None` where that is not known.
    pub load_pct: Option<f64>,
    pub cpu_pct: Option<f64>,
    pub p99_us: Option<f64>,
    /// For copies: the mean time of a copy in seconds.
    pub copy_s: Option<f64>,
    /// Why it is invalid; empty if it is valid.
    pub invalid: Vec<crate::Invalid>,
}

/// What became of latency after a step of the load beside an arm, slot by slot,
/// and of that of the service alone after the same steps.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCourse {
    pub arm: Arm,
    /// In order, from the step on, all of one length.
    pub slots: Vec<StepSlot>,
}

/// Latency in a slot after a step: the geometric mean, over the steps, of the
/// mean latency of the requests in it, so that the quotient of the two is the
/// mean of what steps are compared by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSlot {
    /// Its middle, in milliseconds from the step.
    pub at_ms: f64,
    /// With the job, in microseconds.
    pub with_us: f64,
    /// Without it, in microseconds.
    pub alone_us: f64,
    /// Whether more steps were above the band here than chance would have it;
    /// `None` where too few tell.
    pub is_late: Option<bool>,
}
