//! Carries out the trial.

use super::experiment::FixedTrial;
use super::phases::{FixedOutcome, PhaseAnswers};
use super::plan::{AtRate, FixedPlan};
use plimsoll_engine::{Observer, OfferedLoad, RunError, Runner, Site};
use plimsoll_host::Root;
use plimsoll_model::TrialSpec;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(super) struct FixedRunner<'a>(OfferedLoad<'a, AtRate, FixedOutcome>);

impl<'a> FixedRunner<'a> {
    pub(super) fn new(plan: &FixedPlan, site: &Site, root: &Root) -> Result<Self, RunError> {
        let load = site.runner(&plan.load, root)?;
        Ok(FixedRunner(match plan.offered() {
            Some(phases) => load.with_phases(Arc::new(phases)),
            None => load,
        }))
    }
}

impl Runner<AtRate, FixedOutcome> for FixedRunner<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec<AtRate>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<FixedTrial>, RunError> {
        let Some(mut trial) = self.0.run(spec, observer, stop)? else {
            return Ok(None);
        };
        // Without that of the warm-up.
        let phases = std::mem::take(&mut trial.work.phases).into_iter().skip(1);
        trial.outcome.phases = phases.map(PhaseAnswers::from).collect();
        Ok(Some(trial))
    }
}
