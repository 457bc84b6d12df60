//! Runs the functions of `crates/fuzz` under libFuzzer, two at a time, each for a
//! bounded time.

use crate::args::FuzzArgs;
use crate::cargo;
use crate::error::XtaskError;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread::Builder;

/// The targets, as `plimsoll_fuzz::TARGETS` has them: a test compares their folders.
const TARGETS: [&str; 8] = [
    "record",
    "host",
    "http",
    "table",
    "log",
    "metrics",
    "prometheus",
    "guard",
];
const AT_ONCE: usize = 2;
/// Lines of a log that are shown of a target that failed.
const SHOWN: usize = 30;

/// Where things are.
struct Places {
    program: PathBuf,
    /// `crates/fuzz/corpus`
    kept: PathBuf,
    /// `target/fuzz`: new inputs, logs, and inputs that crash.
    found: PathBuf,
}

/// Fuzzes the targets; 1 if one of them crashed, hung or took too much memory.
pub(crate) fn run(args: &FuzzArgs) -> Result<u8, XtaskError> {
    let targets = select(&args.targets)?;
    let workspace = cargo::workspace()?;
    let places = Places {
        program: workspace.target.join("debug/plimsoll-fuzz"),
        kept: folder().join("corpus"),
        found: workspace.target.join("fuzz"),
    };
    build()?;
    let queue = Mutex::new(targets.iter());
    let failed = Mutex::new(Vec::new());
    let work = || -> Result<(), XtaskError> {
        let next = || queue.lock().ok().and_then(|mut queue| queue.next());
        while let Some(target) = next() {
            if !fuzz(target, args.seconds, &places)?
                && let Ok(mut failed) = failed.lock()
            {
                failed.push(*target);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let start = || Builder::new().spawn_scoped(scope, work);
        let workers = (0..AT_ONCE).map(|_| start().map_err(|e| started("a thread", e)));
        let workers: Vec<_> = workers.collect::<Result<_, _>>()?;
        let gone = || XtaskError::Unexpected("a thread panicked".to_owned());
        let ended = workers
            .into_iter()
            .map(|w| w.join().unwrap_or_else(|_| Err(gone())));
        ended.collect::<Result<(), XtaskError>>()
    })?;
    Ok(u8::from(
        failed.lock().is_ok_and(|failed| !failed.is_empty()),
    ))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("fuzz")
}

fn started(program: &str, source: std::io::Error) -> XtaskError {
    let program = program.to_owned();
    XtaskError::Start { program, source }
}

/// The targets of these names; all if none is named.
fn select(names: &[String]) -> Result<Vec<&'static str>, XtaskError> {
    let known = |name: &String| {
        let found = TARGETS.iter().find(|target| *target == name).copied();
        let all = TARGETS.join(", ");
        found.ok_or_else(|| XtaskError::Usage(format!("there is no target '{name}', only {all}")))
    };
    match names.is_empty() {
        true => Ok(TARGETS.to_vec()),
        false => names.iter().map(known).collect(),
    }
}

/// The whole workspace's features, so that the crates of others are those that
/// `cargo test` built. Without optimization where it pays: it is built for minutes of fuzzing.
fn build() -> Result<(), XtaskError> {
    let mut build = cargo::command();
    build.args(["build", "--workspace", "--locked", "--bin", "plimsoll-fuzz"]);
    build.args(["--features", "plimsoll-fuzz/libfuzzer"]);
    for profile in [
        "dev",
        "dev.package.plimsoll-study",
        "dev.package.plimsoll-simulate",
    ] {
        build.args(["--config", &format!("profile.{profile}.opt-level=0")]);
    }
    build.env(
        "RUSTC_WORKSPACE_WRAPPER",
        folder().join("rustc-with-coverage"),
    );
    let status = build.status().map_err(|e| started("cargo", e))?;
    match status.success() {
        true => Ok(()),
        false => Err(XtaskError::Command {
            command: "cargo build".to_owned(),
            status,
            output: "see above; libFuzzer takes a C++ compiler".to_owned(),
        }),
    }
}

/// Fuzzes one target and prints how it went; whether it went well.
fn fuzz(target: &str, seconds: u64, places: &Places) -> Result<bool, XtaskError> {
    let new = places.found.join("corpus").join(target);
    fs::create_dir_all(&new).map_err(XtaskError::on(&new))?;
    let log = places.found.join(format!("{target}.log"));
    let output = File::create(&log).map_err(XtaskError::on(&log))?;
    let errors = output.try_clone().map_err(XtaskError::on(&log))?;
    let mut fuzzer = Command::new(&places.program);
    fuzzer
        .env("PLIMSOLL_FUZZ", target)
        .args(limits(seconds))
        .arg(format!(
            "-artifact_prefix={}/{target}-",
            places.found.display()
        ))
        .args([&new, &places.kept.join(target)])
        .stdout(output)
        .stderr(errors);
    let status = fuzzer.status().map_err(|e| started("the fuzzer", e))?;
    let text = String::from_utf8_lossy(&fs::read(&log).map_err(XtaskError::on(&log))?).into_owned();
    let shown = match status.success() {
        true => format!("{target}: {}\n", summary(&text)),
        false => format!(
            "{target} FAILED ({status}); the end of {}:\n{}\n",
            log.display(),
            tail(&text)
        ),
    };
    let printed = std::io::stdout().write_all(shown.as_bytes());
    printed.map_err(XtaskError::Output)?;
    Ok(status.success())
}

/// What takes longer is a hang, on CPUs as slow as CI's, and what takes more memory than
/// this is out of proportion to an input of 64 KiB.
fn limits(seconds: u64) -> Vec<String> {
    let total = format!("-max_total_time={seconds}");
    let others = [
        "-timeout=20",
        "-rss_limit_mb=1024",
        "-max_len=65536",
        "-print_final_stats=1",
    ];
    std::iter::once(total)
        .chain(others.map(str::to_owned))
        .collect()
}

/// How many inputs were run, and the coverage at the end.
fn summary(log: &str) -> String {
    let stat = |name: &str| {
        let line = log.lines().find_map(|line| line.strip_prefix(name));
        line.map_or("?", str::trim).to_owned()
    };
    let words: Vec<&str> = log
        .lines()
        .rev()
        .find(|l| l.contains(" cov: "))
        .map_or(vec![], |l| l.split_whitespace().collect());
    let after = |word: &str| {
        words
            .iter()
            .position(|w| *w == word)
            .and_then(|at| words.get(at + 1))
            .copied()
    };
    format!(
        "{} inputs, {} edges reached, up to {} MB",
        stat("stat::number_of_executed_units:"),
        after("cov:").unwrap_or("?"),
        stat("stat::peak_rss_mb:"),
    )
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_those_with_a_corpus() {
        let mut targets = TARGETS.map(str::to_owned);
        targets.sort();
        let entries = fs::read_dir(folder().join("corpus")).unwrap();
        let mut folders: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        folders.sort();
        assert_eq!(folders, targets);
        assert_eq!(select(&["log".to_owned()]).unwrap(), ["log"]);
        assert!(select(&["lag".to_owned()]).is_err());
    }

    #[test]
    fn the_summary_is_of_the_last_lines() {
        let log = "#2\tINITED cov: 7 ft: 8 corp: 1/1b exec/s: 0 rss: 30Mb\n\
                   #900\tDONE   cov: 12 ft: 30 corp: 5/9b lim: 4 exec/s: 90 rss: 31Mb\n\
                   stat::number_of_executed_units: 900\nstat::peak_rss_mb:              31\n";
        assert_eq!(summary(log), "900 inputs, 12 edges reached, up to 31 MB");
        assert_eq!(tail("a\nb"), "a\nb");
    }
}
