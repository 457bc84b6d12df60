//! Runs `plimsoll burst` on a service, and reads what it found.

use super::args::BurstArgs;
use super::machine::Running;
use super::service::Service;
use crate::cargo;
use crate::error::XtaskError;
use crate::tools::output;
use crate::workspace::Workspace;
use plimsoll_model::Estimate;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What `plimsoll burst` found.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Found {
    pub(super) idle_burn_pct: Option<Estimate>,
    pub(super) in_bursts_pct: Option<Estimate>,
    /// How long the burst at the beginning of a cycle lasts.
    pub(super) burst_s: f64,
    pub(super) burn_us_per_request: Option<Estimate>,
    pub(super) first_us: Option<Estimate>,
    pub(super) steady_us: Option<Estimate>,
    /// Valid cycles.
    pub(super) cycles: u64,
    pub(super) invalid_trials: u64,
    /// Time in a cycle in seconds, and CPU use in percent of one CPU.
    pub(super) line: Vec<(f64, f64)>,
}

/// The program, built as users build it.
pub(in crate::guest) fn build(workspace: &Workspace) -> Result<PathBuf, XtaskError> {
    let mut build = cargo::command();
    build.args([
        "build",
        "--quiet",
        "--release",
        "--workspace",
        "--bin",
        "plimsoll",
    ]);
    output(build.stderr(Stdio::inherit()))?;
    Ok(workspace.target.join("release/plimsoll"))
}

/// Bursts and breaks: a cycle of 20 s, or with --quick of 7 s.
pub(super) fn pattern(args: &BurstArgs) -> &'static [&'static str] {
    match args.quick {
        true => &["--burst", "2s", "--break", "5s", "--step", "50ms"],
        false => &["--burst", "8s", "--break", "12s"],
    }
}

pub(super) fn run(
    plimsoll: &Path,
    service: Service,
    running: &Running,
    args: &BurstArgs,
    folder: &Path,
) -> Result<Found, XtaskError> {
    let record = folder.join(format!("{}.plimsoll", service.name()));
    let plots = folder.join(service.name());
    // Those of an earlier run.
    if record.exists() {
        std::fs::remove_file(&record).map_err(XtaskError::on(&record))?;
    }
    if plots.exists() {
        std::fs::remove_dir_all(&plots).map_err(XtaskError::on(&plots))?;
    }
    let mut command = Command::new(plimsoll);
    command
        .arg("burst")
        .arg(format!("http://127.0.0.1:{}/", running.port()))
        .args(["--service-pid", &running.pid().to_string()])
        .args(pattern(args))
        .args(["--format", "json", "--no-html", "--plain", "--output"])
        .arg(&record)
        .args(&args.flags)
        .stderr(Stdio::inherit());
    let found = found(&output(&mut command)?)?;
    std::fs::create_dir_all(&plots).map_err(XtaskError::on(&plots))?;
    let mut export = Command::new(plimsoll);
    output(export.arg("export").arg(&record).arg("--plots").arg(&plots))?;
    let line = plots.join("timeline-1.csv");
    let line = match found.cycles {
        // No valid cycle has no time line.
        0 => Vec::new(),
        _ => points(&std::fs::read_to_string(&line).map_err(XtaskError::on(&line))?),
    };
    Ok(Found { line, ..found })
}

fn found(json: &str) -> Result<Found, XtaskError> {
    let all: Value = serde_json::from_str(json).map_err(|error| {
        XtaskError::Unexpected(format!("the findings of plimsoll are no JSON: {error}"))
    })?;
    let findings = &all["findings"];
    let of = |name: &str| estimate(&findings[name]);
    let burst = &findings["phases"][0];
    Ok(Found {
        idle_burn_pct: of("idle_burn_pct"),
        in_bursts_pct: estimate(&burst["cpu_pct"]),
        burst_s: burst["seconds"].as_f64().unwrap_or(0.0),
        burn_us_per_request: of("burn_us_per_request"),
        first_us: of("first_after_break_us"),
        steady_us: of("steady_us"),
        cycles: findings["cycles"].as_u64().unwrap_or(0),
        invalid_trials: all["record"]["invalid_trials"].as_u64().unwrap_or(0),
        line: Vec::new(),
    })
}

fn estimate(value: &Value) -> Option<Estimate> {
    let number = |name: &str| value[name].as_f64();
    Some(Estimate {
        value: number("value")?,
        low: number("low"),
        high: number("high"),
    })
}

/// The first two columns of a CSV file.
fn points(csv: &str) -> Vec<(f64, f64)> {
    let pair = |line: &str| {
        let mut fields = line.split(',').map(|field| field.parse().ok());
        Some((fields.next()??, fields.next()??))
    };
    csv.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_and_time_lines_are_read() {
        let json = r#"{"record":{"invalid_trials":2},"findings":{"cycles":6,
            "idle_burn_pct":{"value":0.8,"low":0.7,"high":0.9},"steady_us":null,
            "first_after_break_us":{"value":900.0,"low":null,"high":null},
            "phases":[{"phase":"burst","seconds":8,"cpu_pct":{"value":30.0,"low":29.0,"high":31.0}},
                      {"phase":"break","cpu_pct":null}]}}"#;
        let found = found(json).unwrap();
        assert_eq!(found.idle_burn_pct, Some(Estimate::within(0.8, 0.7, 0.9)));
        assert_eq!(found.in_bursts_pct.unwrap().value, 30.0);
        assert_eq!(found.burst_s, 8.0);
        assert_eq!(found.first_us, Some(Estimate::alone(900.0)));
        assert_eq!(
            (found.steady_us, found.cycles, found.invalid_trials),
            (None, 6, 2)
        );
        let csv = "x,y,y_low,y_high\r\n0.05,12.5,,\r\n0.15,13,,\r\n";
        assert_eq!(points(csv), [(0.05, 12.5), (0.15, 13.0)]);
    }
}
