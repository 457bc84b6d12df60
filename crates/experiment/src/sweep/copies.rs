//! A trial of copies: a command some times at once, on a CPU each, core by
//! core: no two share one while there is one for each.

use super::eyes::Eyes;
use super::offered::{fill, idle, unix_ms};
use crate::beside::Nothing;
use crate::conduct::{RunError, Runner, ViewCost};
use crate::watch::Watch;
use plimsoll_control::{Journal, Scratch};
use plimsoll_load::copies::{self, CopiesError};
use plimsoll_model::{Copies, Plan, Setting, Trial, TrialSpec};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Runs the trials of a copies run.
pub(super) struct CopiesRunner<'a> {
    plan: &'a Plan,
    command: &'a Copies,
    eyes: Eyes,
    /// Where the copies' working directories are made.
    scratch: Scratch,
}

impl<'a> CopiesRunner<'a> {
    /// A runner of `plan`'s trials of `command`.
    pub(super) fn new(
        plan: &'a Plan,
        command: &'a Copies,
        eyes: Eyes,
        journal: &Journal,
    ) -> Result<CopiesRunner<'a>, RunError> {
        Ok(CopiesRunner {
            plan,
            command,
            eyes,
            scratch: Scratch::make(journal, &std::env::temp_dir(), "copies")?,
        })
    }

    fn copies(
        &mut self,
        spec: &TrialSpec,
        copies: u32,
        watch: &dyn Watch,
        stop: &AtomicBool,
    ) -> Result<Option<Trial>, RunError> {
        let mut trial = Trial::begun(spec.clone(), unix_ms());
        let began = Instant::now();
        let mut sensors = self.eyes.open(&[], &[])?;
        let before = sensors.read_edge()?;
        let view = ViewCost::from_now(watch);
        let cpus = self.plan.cpus.core_by_core();
        let run = copies::start(self.command, copies, &cpus, &self.scratch)?;
        let run = match run.wait(stop) {
            Ok(run) => run,
            Err(CopiesError::Interrupted) => return Ok(None),
            Err(CopiesError::Load(error)) => return Err(error.into()),
        };
        let after = sensors.read_edge()?;
        let view_cpu = view.until_now(watch);
        fill(&mut trial, sensors.whole(&before, &after)?);
        trial.machine.view_cpu = view_cpu;
        trial.window = run.wall;
        trial.copy_times = run.copies.iter().map(|copy| copy.wall).collect();
        trial.steady = true;
        trial.took = began.elapsed();
        trial.verdict = crate::validity::judge(self.plan, &trial);
        Ok(Some(trial))
    }
}

impl Runner for CopiesRunner<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec,
        watch: &mut dyn Watch,
        stop: &AtomicBool,
    ) -> Result<Option<Trial>, RunError> {
        match spec.setting {
            Setting::Copies { copies } => self.copies(spec, copies, watch, stop),
            Setting::Idle | Setting::Offer { .. } | Setting::Beside { .. } => {
                idle(self.plan, &self.eyes, spec, &mut Nothing, watch, stop)
            }
        }
    }
}
