//! Signals that arrive while a sideload runs.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C. Kills if it follows another one or [`Signal::Terminate`].
    Interrupt,
    /// SIGTERM, and each signal that would end this process otherwise: nothing would
    /// restrict or thaw the command then. Kills if it follows another one or [`Signal::Interrupt`].
    Terminate,
    /// SIGQUIT, as from Ctrl-\\ at the terminal. Counts as [`Signal::Interrupt`].
    Quit,
    /// The terminal is gone. Forwarded; the command may continue.
    HangUp,
    /// Ctrl-Z at the terminal.
    Pause,
}

/// Where signals come from: a program receives them from the kernel, a thread of an
/// experiment from a channel.
pub trait SignalSource {
    /// Waits at most `at_most` and returns the signals received. An implementation that
    /// also returns when a child has ended makes the end prompt; this is optional.
    fn wait(&mut self, at_most: Duration) -> Vec<Signal>;

    /// Stops this process after [`Signal::Pause`]; returns when it is continued.
    fn pause(&mut self) {}
}
