//! Errors as one sentence and an exit code.

use crate::note::note;
use plimsoll_engine::RunError;
use plimsoll_host::HostError;
use plimsoll_lab::LabError;
use plimsoll_load::LoadError;
use plimsoll_record::RecordError;
use plimsoll_side::SideError;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

#[derive(Debug)]
pub(crate) enum Failure {
    /// The user can put it right by asking differently: exit code 2.
    Mistake(String),
    /// The run failed: exit code 1.
    Run(String),
    /// The user stopped the run: exit code 130, as shells expect after Ctrl-C.
    Interrupted(String),
    /// One of these, and a sentence after its own.
    With(Box<Failure>, String),
    /// A command that was run for the user has ended with this code: no message.
    Command(u8),
    /// The reader of our output is gone, as with `head`: no message, exit code 0.
    OutputClosed,
}

impl Failure {
    fn of(is_mistake: bool, error: &dyn Display) -> Failure {
        match is_mistake {
            true => Failure::Mistake(error.to_string()),
            false => Failure::Run(error.to_string()),
        }
    }

    /// A file cannot be written. Another file can be asked for, but that does
    /// not help if the disk is full.
    pub(crate) fn of_writing(error: &io::Error, sentence: &str) -> Failure {
        let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
        Failure::of(!full.contains(&error.kind()), &sentence)
    }

    pub(crate) const INTERRUPTED: u8 = 130;

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Mistake(_) => ExitCode::from(2),
            Failure::Run(_) => ExitCode::from(1),
            Failure::Interrupted(_) => ExitCode::from(Failure::INTERRUPTED),
            Failure::With(failure, _) => failure.exit_code(),
            Failure::Command(code) => ExitCode::from(*code),
            Failure::OutputClosed => ExitCode::SUCCESS,
        }
    }

    /// The same failure, with another sentence on a line of its own.
    pub(crate) fn with(self, more: impl Into<String>) -> Failure {
        match self {
            Failure::Command(_) | Failure::OutputClosed => self,
            failure => Failure::With(Box::new(failure), more.into()),
        }
    }

    pub(crate) fn about(self, file: &dyn Display) -> Failure {
        match self {
            Failure::Mistake(s) => Failure::Mistake(format!("{file}: {s}")),
            other => other,
        }
    }

    /// What went wrong, without what was added.
    pub(crate) fn sentence(&self) -> Option<&str> {
        match self {
            Failure::Mistake(s) | Failure::Run(s) | Failure::Interrupted(s) => Some(s),
            Failure::With(failure, _) => failure.sentence(),
            Failure::Command(_) | Failure::OutputClosed => None,
        }
    }

    /// Prints its sentences, a line each.
    pub(crate) fn print(&self) {
        match self {
            Failure::Mistake(s) | Failure::Run(s) | Failure::Interrupted(s) => {
                note(&format!("plimsoll: {s}"));
            }
            Failure::With(failure, more) => {
                failure.print();
                note(&format!("plimsoll: {more}"));
            }
            Failure::Command(_) | Failure::OutputClosed => {}
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        Failure::of(matches!(error, LoadError::Mistake(_)), &error)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        match error {
            LabError::Load(error) => error.into(),
            LabError::Listen { .. } => Failure::Mistake(error.to_string()),
            LabError::Stopped => Failure::Interrupted(error.to_string()),
            other => Failure::Run(other.to_string()),
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Failure {
        Failure::of(error.is_mistake(), &error)
    }
}

impl From<SideError> for Failure {
    fn from(error: SideError) -> Failure {
        Failure::of(error.is_mistake(), &error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        use HostError::{NoCgroup, NoProcess};
        if matches!(error, RunError::Interrupted) {
            return Failure::Interrupted(error.to_string());
        }
        let is_mistake = matches!(
            error,
            RunError::Usage(_)
                | RunError::Load(LoadError::Mistake(_))
                | RunError::Host(NoProcess { .. } | NoCgroup { .. })
        );
        Failure::of(is_mistake, &error)
    }
}

impl From<io::Error> for Failure {
    /// Errors of writing to standard output.
    fn from(error: io::Error) -> Failure {
        if error.kind() == ErrorKind::BrokenPipe {
            Failure::OutputClosed
        } else {
            Failure::Run(format!("standard output cannot be written: {error}"))
        }
    }
}
