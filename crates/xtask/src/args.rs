//! Command line arguments, parsed by hand: a few flags do not justify a
//! dependency.

use crate::dist::Target;
use crate::error::XtaskError;
use crate::guest::burst::{self, BurstArgs};
use crate::guest::pressure::Pressure;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const HELP: &str = "\
cargo xtask guest [--arm64] [--package NAME]... [--time-limit SECONDS] [--kernel FILE]
                  [-- FILTER...]

Runs tests in a virtual machine with cgroup v2 and idle states, on emulated x86-64 CPUs.
  --arm64               on emulated arm64 CPUs: tests of control, built for musl
  --package NAME        only tests of this package; may be repeated
  --time-limit SECONDS  time limit of the guest, including its boot (1200)
  --kernel FILE         a vmlinuz to boot instead of Debian's cloud kernel
  -- FILTER...          passed to each test program, as with cargo test

cargo xtask guest burst [--quick] [--only SERVICE]... [--out DIR] [-- FLAGS...]

Runs plimsoll burst on servers in virtual machines and on this one: what each burns while idle,
seen from outside and from inside; under KVM where guests boot with it, otherwise emulated.
  --quick               cycles of 7 s in place of 20 s
  --only SERVICE        only process, nginx, appliance, debian-halt, debian-poll, debian-haltpoll;
                        may be repeated
  --out DIR             where records and the picture go (target/guest/burst)
  -- FLAGS...           more flags of plimsoll burst

cargo xtask guest memory|disk [-- FLAGS...]

Runs plimsoll yield in a virtual machine. memory: a service with 512 MiB of 1,200 MiB, and swap,
beside a job that takes all memory, without care, with the least CPU weight, and with memory.high.
disk: a service with files beside a job that uses the same disk of 20 MB/s, without care, with the
least CPU weight, and with the least io.weight, by the scheduler bfq and then by io.cost.
  -- FLAGS...           flags of plimsoll yield, more of them or in place of these

cargo xtask dist [--target TRIPLE] [--check]

Makes a tarball and a Debian package of a static program, in target/dist.
  --target TRIPLE       x86_64-unknown-linux-musl (default) or
                        aarch64-unknown-linux-musl
  --check               runs the program in an empty container, and compares
                        with a build in another folder

cargo xtask reliability

Gives faults to real sweeps of an nginx, as root in namespaces of its own, and
prints what was lost; with BLESS=1 into docs/reliability.md.

cargo xtask fuzz [--seconds N] [TARGET...]

Runs parsers under libFuzzer, two at a time: each target of crates/fuzz for N seconds (60).
New inputs, logs, and inputs that crash are in target/fuzz.

Exit status: that of the tests; 1 if a task failed, 2 if it cannot be started.
";

/// It takes 5 minutes alone, and twice that beside other tests.
const TIME_LIMIT: Duration = Duration::from_secs(1200);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Guest(GuestArgs),
    GuestBurst(BurstArgs),
    /// With flags of `plimsoll yield`.
    GuestPressure(Pressure, Vec<String>),
    Dist(DistArgs),
    Reliability,
    Fuzz(FuzzArgs),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DistArgs {
    pub(crate) target: Target,
    /// Whether to run it in a container and to make it a second time.
    pub(crate) check: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FuzzArgs {
    /// Per target.
    pub(crate) seconds: u64,
    /// Empty means all.
    pub(crate) targets: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GuestArgs {
    /// For `Arm` static programs; for `X86` those of `cargo test`.
    pub(crate) target: Target,
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
        Some("dist") => dist(typed),
        Some("reliability") => match typed.next() {
            None => Ok(Task::Reliability),
            Some(_) => Ok(Task::Help),
        },
        Some("fuzz") => fuzz(typed),
        None | Some("-h" | "--help" | "help") => Ok(Task::Help),
        Some(other) => Err(XtaskError::Usage(format!("there is no task '{other}'"))),
    }
}

fn guest(typed: impl Iterator<Item = String>) -> Result<Task, XtaskError> {
    let mut typed = typed.peekable();
    if typed.next_if(|word| word == "burst").is_some() {
        return Ok(burst::parse(typed)?.map_or(Task::Help, Task::GuestBurst));
    }
    if let Some(pressure) = typed.peek().and_then(|word| Pressure::of(word)) {
        typed.next();
        return under_pressure(pressure, typed);
    }
    let mut args = GuestArgs {
        target: Target::X86,
        packages: Vec::new(),
        time_limit: TIME_LIMIT,
        kernel: None,
        filter: Vec::new(),
    };
    while let Some(flag) = typed.next() {
        match flag.as_str() {
            "-h" | "--help" => return Ok(Task::Help),
            "--arm64" => args.target = Target::Arm,
            "-p" | "--package" => args.packages.push(value(&flag, &mut typed)?),
            "--kernel" => args.kernel = Some(value(&flag, &mut typed)?.into()),
            "--time-limit" => args.time_limit = seconds(&flag, &value(&flag, &mut typed)?)?,
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

fn under_pressure(
    pressure: Pressure,
    mut typed: impl Iterator<Item = String>,
) -> Result<Task, XtaskError> {
    match typed.next().as_deref() {
        None => Ok(Task::GuestPressure(pressure, Vec::new())),
        Some("--") => Ok(Task::GuestPressure(pressure, typed.collect())),
        Some("-h" | "--help") => Ok(Task::Help),
        Some(word) => Err(XtaskError::Usage(format!(
            "unknown argument '{word}'; give flags of plimsoll yield after --"
        ))),
    }
}

fn dist(mut typed: impl Iterator<Item = String>) -> Result<Task, XtaskError> {
    let mut args = DistArgs {
        target: Target::X86,
        check: false,
    };
    while let Some(flag) = typed.next() {
        match flag.as_str() {
            "-h" | "--help" => return Ok(Task::Help),
            "--target" => args.target = target(&value(&flag, &mut typed)?)?,
            "--check" => args.check = true,
            _ => return Err(XtaskError::Usage(format!("unknown argument '{flag}'"))),
        }
    }
    Ok(Task::Dist(args))
}

fn target(triple: &str) -> Result<Target, XtaskError> {
    let mut known = Target::ALL.into_iter();
    known
        .find(|target| target.triple() == triple)
        .ok_or_else(|| {
            let known = Target::ALL.map(Target::triple).join(" and ");
            XtaskError::Usage(format!("nothing is made for '{triple}', only for {known}"))
        })
}

fn fuzz(mut typed: impl Iterator<Item = String>) -> Result<Task, XtaskError> {
    let mut args = FuzzArgs {
        seconds: 60,
        targets: Vec::new(),
    };
    while let Some(word) = typed.next() {
        match word.as_str() {
            "-h" | "--help" => return Ok(Task::Help),
            "--seconds" => args.seconds = seconds(&word, &value(&word, &mut typed)?)?.as_secs(),
            flag if flag.starts_with('-') => {
                return Err(XtaskError::Usage(format!("unknown argument '{flag}'")));
            }
            _ => args.targets.push(word),
        }
    }
    Ok(Task::Fuzz(args))
}

pub(crate) fn value(
    flag: &str,
    typed: &mut impl Iterator<Item = String>,
) -> Result<String, XtaskError> {
    let value = typed.next();
    value.ok_or_else(|| XtaskError::Usage(format!("{flag} needs a value")))
}

fn seconds(flag: &str, text: &str) -> Result<Duration, XtaskError> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(Duration::from_secs(n)),
        _ => Err(XtaskError::Usage(format!(
            "{flag} takes whole seconds from 1, not '{text}'"
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
        let asked =
            parsed("guest --arm64 -p plimsoll-host --time-limit 7 --kernel k -- cgroup --package");
        let expected = GuestArgs {
            target: Target::Arm,
            packages: vec!["plimsoll-host".to_owned()],
            time_limit: Duration::from_secs(7),
            kernel: Some("k".into()),
            filter: vec!["cgroup".to_owned(), "--package".to_owned()],
        };
        assert_eq!(asked.unwrap(), Task::Guest(expected));
    }

    #[test]
    fn flags_of_a_measurement_in_a_guest_follow_two_dashes() {
        let flags = ["--passes", "3"].map(str::to_owned).to_vec();
        let asked = parsed("guest memory -- --passes 3").unwrap();
        assert_eq!(asked, Task::GuestPressure(Pressure::Memory, flags));
        assert_eq!(
            parsed("guest disk").unwrap(),
            Task::GuestPressure(Pressure::Disk, Vec::new())
        );
    }

    #[test]
    fn a_program_is_made_for_the_target_that_was_asked_for() {
        let dist = |target, check| Task::Dist(DistArgs { target, check });
        assert_eq!(parsed("dist").unwrap(), dist(Target::X86, false));
        let asked = parsed("dist --check --target aarch64-unknown-linux-musl");
        assert_eq!(asked.unwrap(), dist(Target::Arm, true));
    }

    #[test]
    fn no_arguments_and_help_flags_show_the_help() {
        for line in [
            "",
            "--help",
            "guest --help",
            "guest burst -h",
            "dist -h",
            "fuzz -h",
        ] {
            assert_eq!(parsed(line).unwrap(), Task::Help, "{line}");
        }
    }

    #[test]
    fn targets_and_their_time_are_taken() {
        let asked = |line| match parsed(line).unwrap() {
            Task::Fuzz(args) => (args.seconds, args.targets.join(" ")),
            other => panic!("{other:?}"),
        };
        assert_eq!(asked("fuzz"), (60, String::new()));
        assert_eq!(
            asked("fuzz http --seconds 5 log"),
            (5, "http log".to_owned())
        );
    }

    #[test]
    fn usage_errors_are_reported() {
        for (line, word) in [
            ("gust", "gust"),
            ("guest cgroup", "after --"),
            ("guest --package", "needs a value"),
            ("guest memory --passes", "after --"),
            ("guest --time-limit 0", "from 1"),
            ("guest --time-limit soon", "soon"),
            ("dist --target arm", "aarch64-unknown-linux-musl"),
            ("dist arm", "'arm'"),
            ("fuzz --seconds 0", "from 1"),
            ("fuzz --second 5", "--second"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.to_string().contains(word), "{line}: {error}");
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }
}
