//! What is heard while a sideload runs.

use std::time::Duration;

/// A signal that is passed on, or acted upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C. A second one, or one after [`Signal::Terminate`], kills.
    Interrupt,
    /// SIGTERM. A second one, or one after [`Signal::Interrupt`], kills.
    Terminate,
    /// SIGQUIT, as from Ctrl-\\ at the terminal. It counts as [`Signal::Interrupt`].
    Quit,
    /// The terminal is gone. It is passed on, and the command may stay.
    HangUp,
    /// Ctrl-Z at the terminal.
    Pause,
}

/// Who waits for signals and for the command's end: a program by signals, a
/// thread of an experiment by a channel.
pub trait SignalSource {
    /// Waits, at most so long, and tells what came. To return when a child has
    /// ended makes the end prompt; whoever does not need that need not.
    fn wait(&mut self, at_most: Duration) -> Vec<Signal>;

    /// Stops this process, after [`Signal::Pause`]; returns when it goes on.
    fn pause(&mut self) {}
}
