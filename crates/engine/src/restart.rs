//! Restarts the service between passes.

use crate::conduct::RunError;
use plimsoll_load::Load;
use plimsoll_model::TrialSpec;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How soon after its restart the service must answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// Between two checks.
const BETWEEN_CHECKS: Duration = Duration::from_millis(50);

/// The command that restarts the service, and the pass it was last run for.
#[derive(Debug)]
pub(crate) struct Restart {
    command: String,
    pass: Option<u32>,
}

impl Restart {
    /// `command` is run by `sh -c`.
    pub(crate) fn new(command: &str) -> Restart {
        Restart {
            command: command.to_owned(),
            pass: None,
        }
    }

    /// Restarts the service if `spec` begins a pass, and waits until it answers.
    /// A resumed run restarts it, too, because it is unknown which start it has.
    ///
    /// # Errors
    /// The command fails, or the service does not answer after it.
    pub(crate) fn before<S>(
        &mut self,
        spec: &TrialSpec<S>,
        load: &mut dyn Load,
    ) -> Result<(), RunError> {
        let begins = spec.phase.is_level() && self.pass != Some(spec.pass);
        if !begins {
            return Ok(());
        }
        self.run()?;
        self.pass = Some(spec.pass);
        let began = Instant::now();
        while let Err(error) = load.check() {
            if began.elapsed() > ANSWERS_WITHIN {
                return Err(RunError::Stuck(format!(
                    "{} s after --restart '{}' the service does not answer: {error}",
                    ANSWERS_WITHIN.as_secs(),
                    self.command
                )));
            }
            std::thread::sleep(BETWEEN_CHECKS);
        }
        Ok(())
    }

    fn run(&self) -> Result<(), RunError> {
        // The service gets the limit on open files that it would have without us.
        let limit = plimsoll_load::open_files::soft_before();
        let limit = limit.map_or(String::new(), |soft| format!("ulimit -S -n {soft}; "));
        let status = Command::new("sh")
            .args(["-c", &format!("{limit}{}", self.command)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        let why = match status {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        Err(RunError::Stuck(format!(
            "the service could not be restarted: --restart '{}' ended with {why}; try the command by hand",
            self.command
        )))
    }
}
