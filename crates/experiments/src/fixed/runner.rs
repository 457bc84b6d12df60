//! Carries out the trial.

use super::experiment::FixedTrial;
use super::phases::FixedOutcome;
use super::plan::{AtRate, FixedPlan};
use plimsoll_engine::{Observer, OfferedLoad, RunError, Runner, Site};
use plimsoll_host::Root;
use plimsoll_model::{Answers, PhaseWork, TrialSpec};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(super) struct FixedRunner<'a> {
    load: OfferedLoad<'a, AtRate, FixedOutcome>,
    /// Phases before the parts, and the number of these.
    parts: (usize, usize),
}

impl<'a> FixedRunner<'a> {
    pub(super) fn new(plan: &FixedPlan, site: &Site, root: &Root) -> Result<Self, RunError> {
        let load = site.runner(&plan.load, root)?;
        Ok(FixedRunner {
            load: load.with_phases(Arc::new(plan.offered())),
            parts: (plan.before(), plan.parts().len()),
        })
    }
}

fn answers(work: PhaseWork) -> Answers {
    work.answers
}

impl Runner<AtRate, FixedOutcome> for FixedRunner<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec<AtRate>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<FixedTrial>, RunError> {
        let Some(mut trial) = self.load.run(spec, observer, stop)? else {
            return Ok(None);
        };
        // Without that before the window, and what comes after them; a warm-up of the service has none.
        let phases = std::mem::take(&mut trial.work.phases).into_iter();
        let (before, parts) = self.parts;
        let phases = phases.skip(before).take(parts);
        trial.outcome.phases = phases.map(answers).collect();
        trial.outcome.waited = std::mem::take(&mut trial.work.waited);
        Ok(Some(trial))
    }
}
