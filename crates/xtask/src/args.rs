//! Command line arguments, parsed by hand: a few flags do not justify a
//! dependency.

use crate::error::XtaskError;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const HELP: &str = "\
cargo xtask guest [--package NAME]... [--time-limit SECONDS] [--kernel FILE] [-- FILTER...]

Runs tests in a virtual machine with cgroup v2, on an emulated x86-64 CPU.
  --package NAME        only tests of this package; may be repeated
  --time-limit SECONDS  time limit of the guest, including its boot (180)
  --kernel FILE         a vmlinuz to boot instead of Debian's cloud kernel
  -- FILTER...          passed to each test program, as with cargo test

Exit status: that of the tests; 1 if the guest failed, 2 if it cannot be started.
";

const TIME_LIMIT: Duration = Duration::from_secs(180);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Guest(GuestArgs),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GuestArgs {
    /// Packages whose tests run; empty means all on the list.
    pub(crate) packages: Vec<String>,
    /// Time limit of the guest, including its boot.
    pub(crate) time_limit: Duration,
    /// The kernel image; `None` means Debian's.
    pub(crate) kernel: Option<PathBuf>,
    /// Arguments of each test program.
    pub(crate) filter: Vec<String>,
}

pub(crate) fn parse(mut typed: impl Iterator<Item = String>) -> Result<Task, XtaskError> {
    match typed.next().as_deref() {
        Some("guest") => guest(typed),
        None | Some("-h" | "--help" | "help") => Ok(Task::Help),
        Some(other) => Err(XtaskError::Usage(format!("there is no task '{other}'"))),
    }
}

fn guest(mut typed: impl Iterator<Item = String>) -> Result<Task, XtaskError> {
    let mut args = GuestArgs {
        packages: Vec::new(),
        time_limit: TIME_LIMIT,
        kernel: None,
        filter: Vec::new(),
    };
    while let Some(flag) = typed.next() {
        match flag.as_str() {
            "-h" | "--help" => return Ok(Task::Help),
            "-p" | "--package" => args.packages.push(value(&flag, &mut typed)?),
            "--kernel" => args.kernel = Some(value(&flag, &mut typed)?.into()),
            "--time-limit" => args.time_limit = seconds(&value(&flag, &mut typed)?)?,
            "--" => args.filter = typed.by_ref().collect(),
            _ => {
                return Err(XtaskError::Usage(format!(
                    "unknown argument '{flag}'; give test names after --"
                )));
            }
        }
    }
    Ok(Task::Guest(args))
}

fn value(flag: &str, typed: &mut impl Iterator<Item = String>) -> Result<String, XtaskError> {
    let value = typed.next();
    value.ok_or_else(|| XtaskError::Usage(format!("{flag} needs a value")))
}

fn seconds(text: &str) -> Result<Duration, XtaskError> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(Duration::from_secs(n)),
        _ => Err(XtaskError::Usage(format!(
            "--time-limit takes whole seconds from 1, not '{text}'"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task, XtaskError> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_after_two_dashes_go_to_the_tests() {
        let asked = parsed("guest -p plimsoll-host --time-limit 7 --kernel k -- cgroup --package");
        let expected = GuestArgs {
            packages: vec!["plimsoll-host".to_owned()],
            time_limit: Duration::from_secs(7),
            kernel: Some("k".into()),
            filter: vec!["cgroup".to_owned(), "--package".to_owned()],
        };
        assert_eq!(asked.unwrap(), Task::Guest(expected));
    }

    #[test]
    fn no_arguments_and_help_flags_show_the_help() {
        for line in ["", "--help", "guest --help"] {
            assert_eq!(parsed(line).unwrap(), Task::Help, "{line}");
        }
    }

    #[test]
    fn usage_errors_are_reported() {
        for (line, word) in [
            ("gust", "gust"),
            ("guest cgroup", "after --"),
            ("guest --package", "needs a value"),
            ("guest --time-limit 0", "from 1"),
            ("guest --time-limit soon", "soon"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.to_string().contains(word), "{line}: {error}");
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }
}
