//! What runs beside the service in a trial: told of the trial's edges by the
//! one who runs it, and asked what it did.

use crate::conduct::RunError;
use plimsoll_model::{JobWork, TrialSpec};
use std::sync::atomic::AtomicBool;

/// Something that runs beside the service.
pub(crate) trait Beside {
    /// A trial begins: before any request is offered.
    fn starts(&mut self, spec: &TrialSpec) -> Result<(), RunError>;
    /// The window opens.
    fn window_opens(&mut self) -> Result<(), RunError>;
    /// Whether the window is to last longer than was asked, because what it
    /// does is not told before it has come to an end.
    fn is_unfinished(&self) -> bool;
    /// The window closes.
    fn window_closes(&mut self) -> Result<(), RunError>;
    /// What it did. May wait until it can be told, while requests are still
    /// offered.
    fn work(&mut self, stop: &AtomicBool) -> Result<Told, RunError>;
    /// The trial is over, however it went: nothing of it may remain.
    fn ends(&mut self) -> Result<(), RunError>;
}

/// What it did in a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Told {
    /// There was nothing.
    Nothing,
    /// This much.
    Done(JobWork),
    /// It was stopped before it could be told.
    Stopped,
}

/// Nothing runs beside the service.
#[derive(Debug)]
pub(crate) struct Nothing;

impl Beside for Nothing {
    fn starts(&mut self, _spec: &TrialSpec) -> Result<(), RunError> {
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

    fn work(&mut self, _stop: &AtomicBool) -> Result<Told, RunError> {
        Ok(Told::Nothing)
    }

    fn ends(&mut self) -> Result<(), RunError> {
        Ok(())
    }
}
