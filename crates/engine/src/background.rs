//! A job that runs next to the service in a trial.

use crate::conduct::RunError;
use plimsoll_load::Threads;
use plimsoll_model::TrialSpec;
use plimsoll_study::validity::Allowance;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A job that runs next to the service. It is notified of the trial's edges and
/// asked for its outcome.
pub trait BackgroundJob<S, O: Default> {
    /// A trial starts: called before any request is offered.
    fn starts(&mut self, _spec: &TrialSpec<S>) -> Result<(), RunError> {
        Ok(())
    }
    /// The load runs, on these threads; its times are from `began`. Not called in
    /// a trial without load.
    fn load_began(&mut self, _began: Instant, _threads: &Threads) -> Result<(), RunError> {
        Ok(())
    }
    /// The window opens.
    fn window_opens(&mut self) -> Result<(), RunError> {
        Ok(())
    }
    /// Whether the window is to be extended because the job's work is only
    /// known once it has ended.
    fn is_unfinished(&self) -> bool {
        false
    }
    /// The window closes.
    fn window_closes(&mut self) -> Result<(), RunError> {
        Ok(())
    }
    /// What the job did. May wait for it while requests are still offered;
    /// `None` when `stop` was raised meanwhile.
    fn outcome(&mut self, _stop: &AtomicBool) -> Result<Option<O>, RunError> {
        Ok(Some(O::default()))
    }
    /// The trial is over, however it went: nothing of the job may remain.
    fn ends(&mut self) -> Result<(), RunError> {
        Ok(())
    }
    /// What the job explains of a trial's disturbance.
    fn allowance(&self, _spec: &TrialSpec<S>, _outcome: &O) -> Allowance {
        Allowance::default()
    }
}

/// No job.
#[derive(Debug)]
pub(crate) struct NoJob;

impl<S, O: Default> BackgroundJob<S, O> for NoJob {}
