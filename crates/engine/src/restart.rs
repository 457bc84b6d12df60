//! Restarts the service between passes.

use crate::conduct::RunError;
use crate::sensors::TrialSensors;
use plimsoll_load::Load;
use plimsoll_model::TrialSpec;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How soon after its restart the service must answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// Between two checks.
const BETWEEN_CHECKS: Duration = Duration::from_millis(50);

/// How long the command itself may take.
const ENDS_WITHIN: Duration = Duration::from_secs(120);

/// How the wait for the command ended.
enum End {
    By(ExitStatus),
    Stopped,
    /// It goes on as this process.
    Runs(u32),
}

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

    /// Restarts the service if `spec` begins a pass, and waits until it answers; `false` if `stop` is
    /// raised before. A resumed run restarts it, too, because it is unknown which start it has.
    ///
    /// # Errors
    /// The command fails or does not end, or the service does not answer after it, or is not the one that was named.
    pub(crate) fn before<S>(
        &mut self,
        spec: &TrialSpec<S>,
        load: &mut dyn Load,
        sensors: &TrialSensors,
        stop: &AtomicBool,
    ) -> Result<bool, RunError> {
        let begins = spec.phase.is_level() && self.pass != Some(spec.pass);
        if !begins {
            return Ok(true);
        }
        let was_beside = sensors.other_listeners().is_some();
        if !self.run(ENDS_WITHIN, stop)? {
            return Ok(false);
        }
        self.pass = Some(spec.pass);
        let began = Instant::now();
        while let Err(error) = load.check() {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if began.elapsed() > ANSWERS_WITHIN {
                return Err(RunError::Stuck(format!(
                    "{} s after --restart '{}' the service does not answer: {error}",
                    ANSWERS_WITHIN.as_secs(),
                    self.command
                )));
            }
            std::thread::sleep(BETWEEN_CHECKS);
        }
        match sensors.other_listeners().filter(|_| !was_beside) {
            None => Ok(true),
            Some(beside) => Err(RunError::Stuck(format!(
                "after --restart '{}' {beside}; leave --service-pid and --service-cgroup out, and it is found by \
                 its address",
                self.command
            ))),
        }
    }

    fn run(&self, within: Duration, stop: &AtomicBool) -> Result<bool, RunError> {
        // The service gets the limit on open files that it would have without us.
        let limit = plimsoll_load::open_files::soft_before();
        let limit = limit.map_or(String::new(), |soft| format!("ulimit -S -n {soft}; "));
        let started = Command::new("sh")
            .args(["-c", &format!("{limit}{}", self.command)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        let ended = started.and_then(|mut child| self.ended(&mut child, within, stop));
        let why = match ended {
            Ok(End::By(status)) if status.success() => return Ok(true),
            // A signal at the terminal ends the command, too.
            Ok(End::By(_)) if stop.load(Ordering::Relaxed) => return Ok(false),
            Ok(End::By(status)) => format!("ended with {status}; try the command by hand"),
            Ok(End::Stopped) => return Ok(false),
            Ok(End::Runs(pid)) => format!(
                "has not ended after {} s, and goes on as process {pid}; put a server into the \
                 background, as in 'server &'",
                within.as_secs()
            ),
            Err(error) => format!("cannot be run: {error}"),
        };
        Err(RunError::Stuck(format!(
            "the service could not be restarted: --restart '{}' {why}",
            self.command
        )))
    }

    /// Waits for the command. One that is not waited for any more is left alone: it may be the service.
    fn ended(
        &self,
        child: &mut Child,
        within: Duration,
        stop: &AtomicBool,
    ) -> std::io::Result<End> {
        let began = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(End::By(status));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(End::Stopped);
            }
            if began.elapsed() > within {
                return Ok(End::Runs(child.id()));
            }
            std::thread::sleep(BETWEEN_CHECKS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, stop: bool) -> Result<bool, String> {
        let restart = Restart::new(command);
        let ran = restart.run(Duration::from_millis(200), &AtomicBool::new(stop));
        ran.map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_that_does_not_end_is_named_and_a_stop_is_seen() {
        assert_eq!(run("true", false), Ok(true));
        assert!(run("exit 3", false).unwrap_err().contains("exit status: 3"));
        let stays = run("exec sleep 3", false).unwrap_err();
        assert!(
            stays.contains("put a server into the background"),
            "{stays}"
        );
        assert_eq!(run("exec sleep 3", true), Ok(false));
    }
}
