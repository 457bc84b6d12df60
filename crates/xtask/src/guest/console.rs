//! The guest's serial console: what is shown of it, and its result.

use crate::error::XtaskError;
use std::collections::VecDeque;
use std::time::Duration;

/// Prefix of messages from the guest's init script.
pub(crate) const MARK: &str = "plimsoll-guest:";

/// Lines of a boot that are kept for a failure: enough for a kernel panic with
/// its call trace.
const KEPT: usize = 60;

/// The beginning of a kernel's panic message.
const PANIC: &str = "Kernel panic";

/// A message from the guest's init script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptMessage {
    Begin,
    /// The tests have ended with this status.
    Exit(u8),
}

/// The message in a line, possibly after unfinished output of a test or the
/// kernel.
pub(crate) fn script_message(line: &str) -> Option<ScriptMessage> {
    let (_, message) = line.split_once(MARK)?;
    match message.trim().split_once(' ') {
        None if message.trim() == "begin" => Some(ScriptMessage::Begin),
        Some(("exit", status)) => status.parse().ok().map(ScriptMessage::Exit),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Boot,
    Tests,
    Over(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The emulator closed it, or the tests are over.
    Closed,
    TimeLimit(Duration),
}

#[derive(Debug, Default)]
pub(crate) struct Console {
    phase: Phase,
    boot: VecDeque<String>,
    last: String,
    panic: Option<String>,
    passed_or_failed: u64,
}

impl Console {
    /// Processes one line and returns the text to show: nothing during boot,
    /// everything during tests.
    pub(crate) fn line(&mut self, bytes: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(bytes);
        let line = text.trim_end_matches(['\r', '\n']);
        match script_message(line) {
            Some(ScriptMessage::Begin) => self.phase = Phase::Tests,
            Some(ScriptMessage::Exit(status)) if self.phase == Phase::Tests => {
                self.phase = Phase::Over(status);
            }
            _ => return self.record(line),
        }
        None
    }

    fn record(&mut self, line: &str) -> Option<String> {
        // After a panic the kernel writes long traces; the relevant line is the
        // test that was running.
        let is_news = !is_kernels(line) || is_kernels(&self.last) || self.last.is_empty();
        if is_news && !line.trim().is_empty() {
            line.clone_into(&mut self.last);
        }
        if let Some((_, panic)) = line.split_once(PANIC) {
            self.panic = Some(panic.trim_start_matches([' ', '-']).to_owned());
        }
        self.passed_or_failed += tests_ran(line).unwrap_or(0);
        if self.phase == Phase::Boot {
            if self.boot.len() == KEPT {
                self.boot.pop_front();
            }
            self.boot.push_back(line.to_owned());
            return None;
        }
        Some(line.to_owned())
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    /// The retained output of a boot that did not reach the tests.
    pub(crate) fn failed_boot(&self) -> impl Iterator<Item = &str> {
        let failed = self.phase == Phase::Boot;
        self.boot.iter().filter(move |_| failed).map(String::as_str)
    }

    /// The exit status of the tests; an error if they did not complete, or none ran.
    pub(crate) fn verdict(&self, end: End) -> Result<u8, XtaskError> {
        match self.status(end)? {
            0 if self.passed_or_failed == 0 => Err(XtaskError::NothingRan),
            status => Ok(status),
        }
    }

    /// The exit status of what ran; an error if it did not complete.
    pub(crate) fn status(&self, end: End) -> Result<u8, XtaskError> {
        let last = self.last.clone();
        match (self.phase, end) {
            (Phase::Over(status), _) => Ok(status),
            (_, End::Closed) => Err(match self.panic.clone() {
                Some(panic) => XtaskError::Panic { panic, last },
                None => XtaskError::Died { last },
            }),
            (_, End::TimeLimit(limit)) => Err(XtaskError::TimeLimit {
                seconds: limit.as_secs(),
                last,
            }),
        }
    }
}

/// Whether a line starts with a kernel time stamp: `[    8.374425] `.
fn is_kernels(line: &str) -> bool {
    let stamp = line.strip_prefix('[').and_then(|l| l.split_once("] "));
    stamp.is_some_and(|(time, _)| time.trim().parse::<f64>().is_ok())
}

/// How many tests passed or failed, from the last line of a test program: `test
/// result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn tests_ran(line: &str) -> Option<u64> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |what: &str| {
        let mut parts = counts.split("; ");
        let part = parts.find_map(|part| part.strip_suffix(what))?;
        part.trim().parse::<u64>().ok()
    };
    Some(count("passed")? + count("failed")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAN: &str = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out";

    const NONE: &str = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out";
    const BEGIN: &str = "plimsoll-guest: begin";

    /// The console after these lines, and what it showed of them.
    fn after(lines: &[&str]) -> (Console, Vec<String>) {
        let mut console = Console::default();
        let shown = lines
            .iter()
            .filter_map(|line| console.line(format!("{line}\r\n").as_bytes()))
            .collect();
        (console, shown)
    }

    #[test]
    fn tests_are_shown_but_not_the_boot() {
        let lines = ["[0.1] Linux", BEGIN, "test a ... ok", RAN];
        let (mut console, shown) = after(&lines);
        assert_eq!(shown, ["test a ... ok", RAN]);
        assert_eq!(console.failed_boot().count(), 0);
        assert!(!console.is_over());
        assert_eq!(console.line(b"plimsoll-guest: exit 0\r\n"), None);
        assert!(console.is_over());
        assert_eq!(console.verdict(End::Closed).unwrap(), 0);
    }

    #[test]
    fn exit_status_is_that_of_the_tests() {
        let (console, _) = after(&[BEGIN, "half a lineplimsoll-guest: exit 101"]);
        assert_eq!(console.verdict(End::Closed).unwrap(), 101);
    }

    #[test]
    fn a_panic_during_boot_shows_the_last_lines_before_it() {
        let panic = "Kernel panic - not syncing: no init";
        let many: Vec<String> = (0..100).map(|n| format!("[{n}]")).collect();
        let mut lines: Vec<&str> = many.iter().map(String::as_str).collect();
        lines.extend([panic, "", "plimsoll-guest: exit 0"]);
        let (console, shown) = after(&lines);
        assert!(shown.is_empty());
        let held: Vec<&str> = console.failed_boot().collect();
        assert_eq!(held.len(), KEPT);
        assert!(held.contains(&panic));
        let error = console.verdict(End::Closed).unwrap_err().to_string();
        assert!(error.contains("exit 0"), "{error}");
    }

    #[test]
    fn a_failed_guest_is_explained_by_its_last_lines() {
        let panic = [
            BEGIN,
            "test bold ... [    8.1] sysrq: Trigger a crash",
            "[    8.2] Kernel panic - not syncing: sysrq triggered crash",
            "[    8.3] Kernel Offset: 0x2dc00000",
        ];
        let boot = ["[    0.1] Linux", "[    0.2] evm", ""];
        let too_long = End::TimeLimit(Duration::from_secs(9));
        let cases: [(&[&str], End, &[&str]); 4] = [
            (
                &panic,
                End::Closed,
                &["(not syncing: sysrq triggered crash)", "'test bold"],
            ),
            (&boot, too_long, &["0.2] evm"]),
            (&[BEGIN, "test slow ... "], too_long, &["9 s", "test slow"]),
            (
                &[BEGIN, NONE, "plimsoll-guest: exit 0"],
                End::Closed,
                &["no test ran"],
            ),
        ];
        for (lines, end, parts) in cases {
            let error = after(lines).0.verdict(end).unwrap_err().to_string();
            for part in parts {
                assert!(error.contains(part), "{part}: {error}");
            }
        }
        assert_eq!(after(&panic).1.len(), 3);
    }

    #[test]
    fn only_complete_messages_are_parsed() {
        let begin = script_message("plimsoll-guest: begin ");
        assert_eq!(begin, Some(ScriptMessage::Begin));
        for line in [
            "begin",
            "plimsoll-guest: beginning",
            "plimsoll-guest: exit",
            "plimsoll-guest: exit x",
            "plimsoll-guest: exit 256",
        ] {
            assert_eq!(script_message(line), None, "{line}");
        }
    }

    #[test]
    fn passed_and_failed_tests_are_counted() {
        assert_eq!(tests_ran(RAN), Some(3));
        let failed = "test result: FAILED. 1 passed; 4 failed; 0 ignored; finished in 0.1s";
        assert_eq!(tests_ran(failed), Some(5));
        assert_eq!(tests_ran("test a ... ok"), None);
    }
}
