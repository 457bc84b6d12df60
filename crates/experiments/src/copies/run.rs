//! A trial of copies: a command several times at once, on a CPU each, core by
//! core: no two share a core while there is one for each.

use crate::experiment::Machine;
use plimsoll_control::Scratch;
use plimsoll_engine::validity::{Allowance, judge};
use plimsoll_engine::{
    Observer, ObserverCost, RunError, Runner, ServiceTarget, TrialSensors, fill, idle_trial,
    unix_ms,
};
use plimsoll_load::copies::{self, CopiesError};
use plimsoll_model::{
    Copies, CopiesOutcome, CopiesPlan, CopiesSetting, CopiesTrial, Trial, TrialSpec,
};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Runs the trials of a run of copies.
#[derive(Debug)]
pub struct CopiesRunner<'a> {
    plan: &'a CopiesPlan,
    command: &'a Copies,
    sensors: TrialSensors,
    /// Where the copies' working directories are made.
    scratch: Scratch,
}

impl<'a> CopiesRunner<'a> {
    /// A runner of `plan`'s trials of `command`.
    ///
    /// # Errors
    /// No folder for the copies can be made, or the journal cannot be written.
    pub fn new(
        plan: &'a CopiesPlan,
        command: &'a Copies,
        machine: &Machine,
    ) -> Result<CopiesRunner<'a>, RunError> {
        let (root, cpus) = (machine.root.clone(), plan.run.cpus.service.clone());
        Ok(CopiesRunner {
            plan,
            command,
            sensors: TrialSensors::new(root, cpus, ServiceTarget::Children),
            scratch: Scratch::make(machine.journal()?, &std::env::temp_dir(), "copies")?,
        })
    }

    fn copies(
        &mut self,
        spec: &TrialSpec<CopiesSetting>,
        copies: u32,
        observer: &dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<CopiesTrial>, RunError> {
        let mut trial: CopiesTrial = Trial::begun(spec.clone(), unix_ms());
        let began = Instant::now();
        let mut sensors = self.sensors.open(&[], &[])?;
        let before = sensors.read_edge()?;
        let cost = ObserverCost::start(observer);
        let cpus = self.plan.run.cpus.core_by_core();
        let run = copies::start(self.command, copies, &cpus, &self.scratch)?;
        let run = match run.wait(stop) {
            Ok(run) => run,
            Err(CopiesError::Interrupted) => return Ok(None),
            Err(CopiesError::Load(error)) => return Err(error.into()),
        };
        let after = sensors.read_edge()?;
        let observer_cpu = cost.end(observer);
        fill(&mut trial, sensors.whole(&before, &after)?);
        trial.machine.view_cpu = observer_cpu;
        trial.window = run.wall;
        trial.outcome.copy_times = run.copies.iter().map(|copy| copy.wall).collect();
        trial.steady = true;
        trial.took = began.elapsed();
        trial.verdict = judge(&self.plan.run.bounds, &trial, Allowance::default());
        Ok(Some(trial))
    }
}

impl Runner<CopiesSetting, CopiesOutcome> for CopiesRunner<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec<CopiesSetting>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<CopiesTrial>, RunError> {
        match spec.setting {
            CopiesSetting::Copies { copies } => self.copies(spec, copies, observer, stop),
            CopiesSetting::Idle => {
                idle_trial(&self.plan.run.bounds, &self.sensors, spec, observer, stop)
            }
        }
    }
}
