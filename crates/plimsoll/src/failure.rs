//! From errors to one sentence and an exit code, in one place.

use plimsoll_engine::RunError;
use plimsoll_host::HostError;
use plimsoll_load::LoadError;
use plimsoll_record::RecordError;
use plimsoll_side::SideError;
use std::process::ExitCode;

/// Why the command ends without having done what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user can put it right by asking differently: exit code 2.
    Mistake(String),
    /// The run failed: exit code 1.
    Run(String),
    /// The user stopped the run: exit code 130, as shells expect after Ctrl-C.
    Interrupted(String),
    /// A command that was run for the user has ended with this code: no message.
    Command(u8),
    /// The reader of our output is gone, as with `head`: no message, exit code 0.
    OutputClosed,
}

impl Failure {
    /// 128 + SIGINT.
    pub(crate) const INTERRUPTED: u8 = 130;

    /// The exit code, as the help documents it.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Mistake(_) => ExitCode::from(2),
            Failure::Run(_) => ExitCode::from(1),
            Failure::Interrupted(_) => ExitCode::from(Failure::INTERRUPTED),
            Failure::Command(code) => ExitCode::from(*code),
            Failure::OutputClosed => ExitCode::SUCCESS,
        }
    }

    /// The same failure, with another sentence on a line of its own.
    pub(crate) fn with(self, more: &str) -> Failure {
        let and = |sentence: String| format!("{sentence}\nplimsoll: {more}");
        match self {
            Failure::Mistake(s) => Failure::Mistake(and(s)),
            Failure::Run(s) => Failure::Run(and(s)),
            Failure::Interrupted(s) => Failure::Interrupted(and(s)),
            Failure::Command(_) | Failure::OutputClosed => self,
        }
    }

    /// The same failure, about this file.
    pub(crate) fn about(self, file: &dyn std::fmt::Display) -> Failure {
        match self {
            Failure::Mistake(s) => Failure::Mistake(format!("{file}: {s}")),
            other => other,
        }
    }

    /// The sentence, if there is one.
    pub(crate) fn sentence(&self) -> Option<&str> {
        match self {
            Failure::Mistake(s) | Failure::Run(s) | Failure::Interrupted(s) => Some(s),
            Failure::Command(_) | Failure::OutputClosed => None,
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        match error {
            LoadError::Mistake(_) => Failure::Mistake(error.to_string()),
            LoadError::Service(_) | LoadError::System { .. } => Failure::Run(error.to_string()),
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Failure {
        if error.is_mistake() {
            Failure::Mistake(error.to_string())
        } else {
            Failure::Run(error.to_string())
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::Usage(sentence) => Failure::Mistake(sentence),
            RunError::Load(error) => error.into(),
            RunError::Host(HostError::NoProcess { .. } | HostError::NoCgroup { .. }) => {
                Failure::Mistake(error.to_string())
            }
            RunError::Sensor(_) | RunError::Host(_) | RunError::Control(_) | RunError::Stuck(_) => {
                Failure::Run(error.to_string())
            }
        }
    }
}

impl From<SideError> for Failure {
    fn from(error: SideError) -> Failure {
        match error.is_mistake() {
            true => Failure::Mistake(error.to_string()),
            false => Failure::Run(error.to_string()),
        }
    }
}

impl From<std::io::Error> for Failure {
    /// Errors of writing to standard output.
    fn from(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Failure::OutputClosed
        } else {
            Failure::Run(format!("standard output cannot be written: {error}"))
        }
    }
}

impl From<plimsoll_host::HostError> for Failure {
    fn from(error: plimsoll_host::HostError) -> Failure {
        RunError::from(error).into()
    }
}

impl From<plimsoll_control::ControlError> for Failure {
    fn from(error: plimsoll_control::ControlError) -> Failure {
        RunError::from(error).into()
    }
}
