//! Command line arguments, parsed by hand: a few flags do not justify a
//! dependency.

use crate::error::XtaskError;
use std::path::PathBuf;
use std::time::Duration;

/// The output of `--help`.
pub(crate) const HELP: &str = "\
cargo xtask guest [--package NAME]... [--time-limit SECONDS] [--kernel FILE] [-- FILTER...]

Runs tests in a virtual machine with cgroup v2, on an emulated x86-64 CPU.
  --package NAME        only tests of this package; may be repeated
  --time-limit SECONDS  how long the guest may take, boot included (180)
  --kernel FILE         a vmlinuz to boot instead of Debian's cloud kernel
  -- FILTER...          goes to each test program, as with cargo test

Exit status: that of the tests; 1 if the guest failed, 2 if it cannot be started.
";

const TIME_LIMIT: Duration = Duration::from_secs(180);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
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

pub(crate) fn parse(mut typed: impl Iterator<Item = String>) -> Result<Asked, XtaskError> {
    match typed.next().as_deref() {
        Some("guest") => guest(typed),
        None | Some("-h" | "--help" | "help") => Ok(Asked::Help),
        Some(other) => Err(XtaskError::Usage(format!("there is no chore '{other}'"))),
    }
}

fn guest(mut typed: impl Iterator<Item = String>) -> Result<Asked, XtaskError> {
    let mut args = GuestArgs {
        packages: Vec::new(),
        time_limit: TIME_LIMIT,
        kernel: None,
        filter: Vec::new(),
    };
    while let Some(flag) = typed.next() {
        match flag.as_str() {
            "-h" | "--help" => return Ok(Asked::Help),
            "-p" | "--package" => args.packages.push(value(&flag, &mut typed)?),
            "--kernel" => args.kernel = Some(value(&flag, &mut typed)?.into()),
            "--time-limit" => args.time_limit = seconds(&value(&flag, &mut typed)?)?,
            "--" => args.filter = typed.by_ref().collect(),
            _ => {
                return Err(XtaskError::Usage(format!(
                    "'{flag}' is not understood; names of tests go behind --"
                )));
            }
        }
    }
    Ok(Asked::Guest(args))
}

fn value(flag: &str, typed: &mut impl Iterator<Item = String>) -> Result<String, XtaskError> {
    let value = typed.next();
    value.ok_or_else(|| XtaskError::Usage(format!("{flag} needs a value")))
}

fn seconds(text: &str) -> Result<Duration, XtaskError> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(Duration::from_secs(n)),
        _ => Err(XtaskError::Usage(format!(
            "--time-limit takes whole seconds from 1, and not '{text}'"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Asked, XtaskError> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_stands_behind_two_dashes_is_for_the_tests() {
        let asked = parsed("guest -p plimsoll-host --time-limit 7 --kernel k -- cgroup --package");
        let expected = GuestArgs {
            packages: vec!["plimsoll-host".to_owned()],
            time_limit: Duration::from_secs(7),
            kernel: Some("k".into()),
            filter: vec!["cgroup".to_owned(), "--package".to_owned()],
        };
        assert_eq!(asked.unwrap(), Asked::Guest(expected));
    }

    #[test]
    fn nothing_and_questions_get_the_help() {
        for line in ["", "--help", "guest --help"] {
            assert_eq!(parsed(line).unwrap(), Asked::Help, "{line}");
        }
    }

    #[test]
    fn mistakes_are_told_and_not_guessed_at() {
        for (line, word) in [
            ("gust", "gust"),
            ("guest cgroup", "behind --"),
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
