//! A job that runs next to the service in a trial.

use crate::conduct::RunError;
use crate::validity::Allowance;
use plimsoll_model::TrialSpec;
use std::sync::atomic::AtomicBool;

/// A job that runs next to the service. It is notified of the trial's edges and
/// asked for its outcome.
pub trait BackgroundJob<S, O> {
    /// A trial starts: called before any request is offered.
    fn starts(&mut self, spec: &TrialSpec<S>) -> Result<(), RunError>;
    /// The window opens.
    fn window_opens(&mut self) -> Result<(), RunError>;
    /// Whether the window is to be extended because the job's work is only
    /// known once it has ended.
    fn is_unfinished(&self) -> bool;
    /// The window closes.
    fn window_closes(&mut self) -> Result<(), RunError>;
    /// What the job did. May wait for it while requests are still offered;
    /// `None` when `stop` was raised meanwhile.
    fn outcome(&mut self, stop: &AtomicBool) -> Result<Option<O>, RunError>;
    /// The trial is over, however it went: nothing of the job may remain.
    fn ends(&mut self) -> Result<(), RunError>;
    /// What the job explains of a trial's disturbance.
    fn allowance(&self, spec: &TrialSpec<S>, outcome: &O) -> Allowance;
}

/// No job.
#[derive(Debug)]
pub struct NoJob;

impl<S> BackgroundJob<S, ()> for NoJob {
    fn starts(&mut self, _spec: &TrialSpec<S>) -> Result<(), RunError> {
        Ok(())
    }

    fn window_opens(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    fn is_unfinished(&self) -> bool {
        false
    }

    fn window_closes(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    fn outcome(&mut self, _stop: &AtomicBool) -> Result<Option<()>, RunError> {
        Ok(Some(()))
    }

    fn ends(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    fn allowance(&self, _spec: &TrialSpec<S>, (): &()) -> Allowance {
        Allowance::default()
    }
}
