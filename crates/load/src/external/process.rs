//! An external load generator as a process.

use super::shell_line::{Variable, with_variables};
use super::values::LoadParameters;
use super::{Output, read};
use crate::LoadError;
use crate::output_tail::last_lines;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use percent_encoding::percent_decode_str;
use plimsoll_control::{Scratch, Working};
use plimsoll_model::{
    CpuSet, HIDDEN, LoadCommand, LoadFormat, human_duration, secrets_of_url, shown_url,
};
use plimsoll_pool::keep_this_thread_on;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How much longer than it was asked for a command may take, to start and to write its output.
const GRACE: Duration = Duration::from_secs(30);
/// One that ends after less than this share of its time has failed.
const LEAST_SHARE: f64 = 0.9;
const POLL: Duration = Duration::from_millis(20);
/// Lines of its output that an error has.
const LAST_LINES: usize = 3;
/// The folder of a trial in the scratch directory.
const FOLDER: &str = "trial";

/// A running command. Dropping it ends all its processes.
#[derive(Debug)]
pub struct RunningCommand {
    load: LoadCommand,
    asked: LoadParameters,
    began: Instant,
    child: Option<Child>,
    working: Working,
    scratch: Scratch,
}

/// Starts the command of `load` on `cpus`, with its files in `scratch`.
///
/// # Errors
/// It cannot be started.
pub fn start(
    load: &LoadCommand,
    asked: LoadParameters,
    cpus: &CpuSet,
    scratch: &Scratch,
) -> Result<RunningCommand, LoadError> {
    let failed = |what: &str, error: io::Error| {
        LoadError::system(what, error, "look at TMPDIR, free space and `ulimit -u`")
    };
    let files = "the files of the load command cannot be made";
    let folder = scratch.held().join(FOLDER);
    fs::create_dir(&folder).map_err(|error| failed(files, error))?;
    let file = |name: &str| File::create(folder.join(name)).map_err(|error| failed(files, error));
    let out = scratch.path().join(FOLDER).join("out");
    let variables = [
        Variable {
            placeholder: "{url}",
            name: "PLIMSOLL_URL",
            value: load.url.clone().into(),
        },
        Variable {
            placeholder: "{out}",
            name: "PLIMSOLL_OUT",
            value: out.into(),
        },
    ];
    let line = with_variables(&asked.substitute_into(&load.command), &variables);
    let mut command = Command::new("sh");
    command
        .args(["-c", &line])
        .envs(variables.map(|variable| (variable.name, variable.value)))
        .stdin(Stdio::null())
        .stdout(file("stdout")?)
        .stderr(file("stderr")?);
    let spawn = || {
        if !cpus.is_empty() {
            keep_this_thread_on(cpus).map_err(io::Error::other)?;
        }
        scratch.start(&mut command)
    };
    // A process inherits the CPUs of the thread that starts it.
    let started = thread::scope(|scope| {
        let lost = || io::Error::other("its thread is gone");
        let thread = thread::Builder::new().spawn_scoped(scope, spawn)?;
        thread.join().unwrap_or_else(|_| Err(lost()))
    });
    let (child, working) =
        started.map_err(|error| failed("the load command cannot be started", error))?;
    Ok(RunningCommand {
        load: load.clone(),
        asked,
        began: Instant::now(),
        child: Some(child),
        working,
        scratch: scratch.clone(),
    })
}

impl RunningCommand {
    /// Waits until `until`; `false` if `stop` is raised before.
    ///
    /// # Errors
    /// It ends long before it should.
    pub fn runs_until(&mut self, until: Instant, stop: &AtomicBool) -> Result<bool, LoadError> {
        while Instant::now() < until {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let (ended, took) = (self.ended()?, self.began.elapsed());
            if let Some(status) = ended
                && took < self.asked.duration.mul_f64(LEAST_SHARE)
            {
                let asked = human_duration(self.asked.duration);
                let took = human_duration(took);
                return Err(self.failed(&format!("ended after {took} of {asked} ({status})")));
            }
            thread::sleep(POLL.min(until.saturating_duration_since(Instant::now())));
        }
        Ok(true)
    }

    /// Waits until it has ended, and reads its output; `None` if `stop` is raised before. Returns also
    /// how long it ran.
    ///
    /// # Errors
    /// It takes too long, or its output cannot be read.
    pub fn wait(mut self, stop: &AtomicBool) -> Result<Option<(Output, Duration)>, LoadError> {
        let until = self.began + self.asked.duration + GRACE;
        let status = loop {
            match self.ended()? {
                Some(status) => break status,
                None if stop.load(Ordering::Relaxed) => return Ok(None),
                None if Instant::now() >= until => {
                    let asked = human_duration(self.asked.duration);
                    return Err(self.failed(&format!(
                        "does not end; it was asked for {asked}: does it use {{duration}}?"
                    )));
                }
                None => thread::sleep(POLL),
            }
        };
        let ran = self.began.elapsed();
        let folder = self.scratch.held().join(FOLDER);
        let format = self.load.format;
        let output = read(format, &folder.join("out"), &folder.join("stdout"));
        let output = output.map_err(|why| {
            self.failed(&format!(
                "ended ({status}), and its output could not be read as that of {format}: {why}"
            ))
        })?;
        match is_whole(format, status) {
            true => Ok(Some((output, ran))),
            false => Err(self.failed(&format!(
                "ended ({status}), so that its output may lack something; let it end with 0"
            ))),
        }
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, LoadError> {
        let ended = self.child.as_mut().map(Child::try_wait).transpose();
        ended
            .map(Option::flatten)
            .map_err(|error| self.failed(&format!("cannot be waited for: {error}")))
    }

    fn failed(&self, what: &str) -> LoadError {
        let (command, tail) = (&self.load.command, self.output_tail());
        LoadError::Service(format!("the load command `{command}` {what}{tail}"))
    }

    /// The end of its standard error, or else of its standard output, as a clause.
    fn output_tail(&self) -> String {
        let folder = self.scratch.held().join(FOLDER);
        let lines = ["stderr", "stdout"]
            .iter()
            .filter_map(|name| {
                let hide = |text: String| without_secrets(&text, &self.load.url);
                last_lines(&folder.join(name), LAST_LINES, hide).ok()
            })
            .find(|lines| !lines.is_empty());
        let Some(lines) = lines else {
            return String::new();
        };
        format!("; it says: {}", lines.join(" / "))
    }
}

/// What a generator says without the secrets of the URL that it got: as it got them, decoded, or as
/// the credentials of a request (RFC 7617).
fn without_secrets(text: &str, url: &str) -> String {
    let text = text.replace(url, &shown_url(url));
    secrets_of_url(url).into_iter().fold(text, |text, secret| {
        let decoded = percent_decode_str(secret).decode_utf8_lossy().into_owned();
        // A user without a password has a colon, too.
        let basic = [decoded.clone() + ":", decoded.clone()];
        let basic = basic.map(|credentials| BASE64_STANDARD.encode(credentials));
        let forms = basic.iter().map(String::as_str).chain([&*decoded, secret]);
        forms.fold(text, |text, form| text.replace(form, HIDDEN))
    })
}

/// Whether a generator that ends so has done all that it was asked for.
fn is_whole(format: LoadFormat, status: ExitStatus) -> bool {
    // The script's own thresholds are broken, which a search for a limit brings about.
    const K6_THRESHOLDS: i32 = 99;
    status.success() || (format == LoadFormat::K6 && status.code() == Some(K6_THRESHOLDS))
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // First what the command shows to be its own, as long as it is there.
        let _ = self.working.end_rest();
        if let Some(mut child) = self.child.take() {
            // Fails if its process group is empty, which is the goal.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
        }
        let _ = self.working.end_rest();
        // The directory says at the end if something is left.
        let _ = self.scratch.remove(Path::new(FOLDER));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_generator_says_has_no_secret_of_the_url_in_any_form() {
        let url = "http://bob:S3cret%40PW@h:80/?key=abc%21";
        // As curl and others print them: `bob:S3cret@PW`.
        for form in [
            url,
            "S3cret@PW",
            "S3cret%40PW",
            "abc!",
            "Basic Ym9iOlMzY3JldEBQVw==",
        ] {
            let shown = without_secrets(&format!("failed: {form}."), url);
            assert!(shown.contains(HIDDEN), "{shown}");
            let parts = ["S3cret", "abc", "Ym9i", "bob"];
            assert!(!parts.iter().any(|part| shown.contains(part)), "{shown}");
        }
        // `token:`
        let shown = without_secrets("Basic dG9rZW46", "http://token@h/");
        assert_eq!(shown, format!("Basic {HIDDEN}"));
    }
}
