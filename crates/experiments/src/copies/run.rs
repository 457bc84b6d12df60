//! A trial of copies: concurrent runs of a command, each on its own CPU; two share
//! a core only if there are more copies than cores.

use crate::experiment::Machine;
use plimsoll_control::{AdoptedOrphans, Scratch};
use plimsoll_engine::{
    Observer, RunError, Runner, ServiceTarget, TrialSensors, idle_trial, measure,
};
use plimsoll_load::copies::{self, CopiesError};
use plimsoll_model::{Copies, CopiesOutcome, CopiesPlan, CopiesSetting, CopiesTrial, TrialSpec};
use std::sync::atomic::AtomicBool;

/// Runs the trials of a run of copies.
#[derive(Debug)]
pub(super) struct CopiesRunner<'a> {
    plan: &'a CopiesPlan,
    command: &'a Copies,
    sensors: TrialSensors,
    /// Where the copies' working directories are made.
    scratch: Scratch,
    /// What copies detach, if it comes to this process.
    orphans: Option<AdoptedOrphans>,
}

impl<'a> CopiesRunner<'a> {
    /// A runner of `plan`'s trials of `command`.
    ///
    /// # Errors
    /// No folder for the copies can be made, or the journal cannot be written.
    pub(super) fn new(
        plan: &'a CopiesPlan,
        command: &'a Copies,
        machine: &Machine,
    ) -> Result<CopiesRunner<'a>, RunError> {
        let (root, cpus) = (machine.root.clone(), plan.run.cpus.service.clone());
        let orphans = AdoptedOrphans::adopt(&root);
        Ok(CopiesRunner {
            plan,
            command,
            sensors: TrialSensors::new(root, cpus, ServiceTarget::Children),
            scratch: Scratch::make(machine.journal()?, &std::env::temp_dir(), "copies")?,
            orphans,
        })
    }
}

impl Runner<CopiesSetting, CopiesOutcome> for CopiesRunner<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec<CopiesSetting>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<CopiesTrial>, RunError> {
        let (bounds, sensors) = (&self.plan.run.bounds, &self.sensors);
        let CopiesSetting::Copies { copies: count } = spec.setting else {
            return idle_trial(bounds, sensors, spec, observer, stop);
        };
        let cpus = self.plan.run.cpus.core_by_core();
        let work = |trial: &mut CopiesTrial| {
            let run = copies::start(self.command, count, &cpus, &self.scratch)?;
            let ended = run.wait(stop);
            if let Some(orphans) = &self.orphans {
                orphans.end()?;
            }
            match ended {
                Ok(times) => {
                    trial.outcome.copy_times = times;
                    Ok(true)
                }
                Err(CopiesError::Interrupted) => Ok(false),
                Err(CopiesError::Load(error)) => Err(error.into()),
            }
        };
        measure(bounds, (sensors, &[]), spec, observer, work)
    }
}
