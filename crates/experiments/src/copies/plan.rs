//! The plan of a run of copies, and which trial is next.

use crate::defaults::{Tolerance, bounds};
use plimsoll_engine::order::derive;
use plimsoll_engine::visits::{graduated, idle, repeats, typical, visited};
use plimsoll_engine::{Ended, Next, Planner, Progress, Started, measured};
use plimsoll_model::{
    Copies, CopiesPlan, CopiesSetting, CopiesTrial, CopiesWorkload, CpuPlan, InterruptTime, Phase,
    RunPlan, TrialSpec, WarmUp, human_duration,
};
use std::time::Duration;

/// A run of copies as it was asked for. What is `None` gets its default.
#[derive(Debug, Clone)]
pub struct CopiesRequest {
    /// The command.
    pub command: Copies,
    /// The numbers of copies, ascending.
    pub numbers: Vec<u32>,
    /// Whether the run is to be short.
    pub quick: bool,
    /// How often each number is tried.
    pub trials: Option<u32>,
    /// The CPUs that copies are pinned to.
    pub cpus: CpuPlan,
    /// How much disturbance a trial may show.
    pub tolerance: Tolerance,
    /// Where the kernel counts the time of interrupts.
    pub interrupts: InterruptTime,
    /// Seeds everything.
    pub seed: u64,
}

/// The plan for what was asked.
pub fn plan(asked: CopiesRequest) -> CopiesPlan {
    let ms = Duration::from_millis;
    let (trials, idle, budget) = match asked.quick {
        true => (1, ms(2000), ms(62_000)),
        false => (2, ms(5000), ms(205_000)),
    };
    CopiesPlan {
        workload: CopiesWorkload::Copies(asked.command),
        numbers: asked.numbers,
        run: RunPlan {
            passes: asked.trials.unwrap_or(trials),
            // A trial lasts as long as its copies do.
            window: ms(1000),
            warm_up: WarmUp::NONE,
            idle,
            bounds: bounds(asked.tolerance, asked.interrupts),
            cpus: asked.cpus,
            seed: asked.seed,
            budget,
        },
    }
}

/// Plans the trials of a run of copies.
#[derive(Debug, Clone, Copy)]
pub struct CopiesPlanner<'p>(pub &'p CopiesPlan);

impl CopiesPlanner<'_> {
    fn settings(&self) -> Vec<(Phase, CopiesSetting)> {
        let phase = Phase::Level { level: None };
        let numbers = self.0.numbers.iter();
        numbers
            .map(|copies| (phase, CopiesSetting::Copies { copies: *copies }))
            .collect()
    }
}

impl Planner for CopiesPlanner<'_> {
    type Setting = CopiesSetting;
    type Outcome = plimsoll_model::CopiesOutcome;

    fn next(&self, trials: &[CopiesTrial]) -> Next<CopiesSetting> {
        let run = &self.0.run;
        let seed = derive(run.seed, trials.len() as u64);
        if let Some(spec) = idle(run, CopiesSetting::Idle, trials, seed) {
            return Next::Trial(spec);
        }
        match graduated(run, &self.settings(), trials) {
            Some(visit) => Next::Trial(visit.trial(run, seed)),
            None => Next::Done,
        }
    }

    fn progress(&self, trials: &[CopiesTrial]) -> Progress {
        let run = &self.0.run;
        let done = visited(trials);
        let visits = self.0.numbers.len() * run.passes as usize;
        let idle_left = match idle(run, CopiesSetting::Idle, trials, 0) {
            Some(_) => run.idle,
            None => Duration::ZERO,
        };
        let first_tries = typical(run, trials) * visits.saturating_sub(done) as u32 + idle_left;
        Progress {
            done,
            visits,
            left: first_tries + repeats(run, trials, first_tries),
        }
    }

    fn describe(&self, spec: &TrialSpec<CopiesSetting>) -> String {
        match spec.setting {
            CopiesSetting::Idle => "idle baseline".to_owned(),
            CopiesSetting::Copies { copies: 1 } => "one copy alone".to_owned(),
            CopiesSetting::Copies { copies } => format!("{copies} copies"),
        }
    }

    fn announce(&self, spec: &TrialSpec<CopiesSetting>) -> Started {
        Started {
            x: x(spec.setting),
            ..Started::of(spec, self.describe(spec))
        }
    }

    fn summarize(&self, trial: &CopiesTrial) -> Ended {
        let times = &trial.outcome.copy_times;
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        let slowest = times.iter().max();
        let words = slowest.map(|slowest| format!("slowest copy {}", human_duration(*slowest)));
        let words = words.into_iter().chain(Some(measured(trial)));
        let words: Vec<String> = words.filter(|part| !part.is_empty()).collect();
        let mean = us(times.iter().sum()) / times.len().max(1) as f64;
        Ended {
            x: x(trial.spec.setting),
            times_us: slowest.map_or_else(Vec::new, |slowest| vec![mean, us(*slowest)]),
            ..Ended::of(trial, self.describe(&trial.spec), words.join(" · "))
        }
    }
}

/// The number of copies is the x axis of the charts.
fn x(setting: CopiesSetting) -> Option<f64> {
    match setting {
        CopiesSetting::Idle => None,
        CopiesSetting::Copies { copies } => Some(f64::from(copies)),
    }
}
