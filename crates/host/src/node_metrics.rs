//! Counters of another host, parsed from its node_exporter.
//!
//! The input is Prometheus' text format (prometheus.io/docs/instrumenting/
//! exposition_formats) with node_exporter's names since 0.16. As in /proc/stat,
//! user time includes guest time; it is subtracted here.

use crate::stat::{CpuTimes, sum};
use plimsoll_model::{CpuId, CpuTime, CpuUse, MAX_CPU, Pressure};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// In seconds: no counter of time reaches 30 years. Sums over all CPUs and modes stay far
/// below what a [`Duration`] holds.
const HIGHEST_TIME: f64 = 1e9;

/// CPU counters of another host since its boot, and pressure.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeMetrics {
    pub cpu: CpuTimes,
    /// `None` if that host does not count it.
    pub pressure: Option<Pressure>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeMetricsError {
    #[error(
        "there is no node_cpu_seconds_total in these metrics; give the address of a node_exporter \
         0.16 or later with its cpu collector on, such as http://host:9100/metrics"
    )]
    NoCpus,
    /// A CPU lacks a counter that every Linux has.
    #[error("the metrics lack the {mode} time of CPU {cpu}; give the address of a Linux host")]
    NoMode { cpu: CpuId, mode: &'static str },
    #[error(
        "the metrics contain CPU {cpu} twice; give the address of one host's node_exporter, not of \
         a server that collects from many"
    )]
    Twice { cpu: CpuId },
    #[error(
        "the line '{line}' is not a metric in Prometheus' text format; give the address of a node_exporter"
    )]
    Malformed {
        /// Truncated to 80 characters.
        line: String,
    },
    #[error(
        "the line '{line}' has a CPU number above {MAX_CPU}, which Linux does not give; give the \
         address of a node_exporter"
    )]
    CpuNumber {
        /// Truncated to 80 characters.
        line: String,
    },
    #[error(
        "the value of the line '{line}' is not within 0 to {HIGHEST_TIME} s, so it is no counter of \
         time; give the address of a node_exporter"
    )]
    Time {
        /// Truncated to 80 characters.
        line: String,
    },
}

/// Time by CPU and mode.
type Modes<'a> = BTreeMap<(CpuId, &'a str), Duration>;

impl NodeMetrics {
    /// Parses the answer to a GET of `/metrics`.
    ///
    /// # Errors
    /// If a line is not a metric, a CPU counter is missing, a CPU's number is
    /// above [`MAX_CPU`], or a time is below 0 or above 1e9 s. A value that is
    /// not a number (NaN) counts as missing.
    pub fn parse(text: &str) -> Result<NodeMetrics, NodeMetricsError> {
        let mut modes = Modes::new();
        let mut guests = Modes::new();
        let mut context_switches = None;
        let mut waits = Pressure::default();
        for line in text.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let malformed = || NodeMetricsError::Malformed {
                line: shortened(line),
            };
            let name_ends = line.find(['{', ' ', '\t']).ok_or_else(malformed)?;
            let (name, rest) = line.split_at(name_ends);
            let sample = || Sample::parse(rest).ok_or_else(malformed);
            match name {
                "node_cpu_seconds_total" => add(&mut modes, &sample()?, line)?,
                "node_cpu_guest_seconds_total" => add(&mut guests, &sample()?, line)?,
                "node_context_switches_total" => context_switches = sample()?.count(),
                "node_pressure_cpu_waiting_seconds_total" => {
                    waits.cpu_some = sample()?.time(line)?;
                }
                "node_pressure_memory_waiting_seconds_total" => {
                    waits.memory_some = sample()?.time(line)?;
                }
                "node_pressure_io_waiting_seconds_total" => waits.io_some = sample()?.time(line)?,
                _ => {}
            }
        }
        Ok(NodeMetrics {
            cpu: cpu_times(&modes, &guests, context_switches)?,
            pressure: Some(waits).filter(|waits| *waits != Pressure::default()),
        })
    }
}

/// For messages.
fn shortened(line: &str) -> String {
    line.chars().take(80).collect()
}

fn add<'a>(modes: &mut Modes<'a>, sample: &Sample<'a>, line: &str) -> Result<(), NodeMetricsError> {
    let malformed = || NodeMetricsError::Malformed {
        line: shortened(line),
    };
    let cpu = sample.label("cpu").ok_or_else(malformed)?;
    let cpu: CpuId = cpu.parse().map_err(|_| malformed())?;
    if cpu > MAX_CPU {
        let line = shortened(line);
        return Err(NodeMetricsError::CpuNumber { line });
    }
    let mode = sample.label("mode").ok_or_else(malformed)?;
    let Some(time) = sample.time(line)? else {
        return Ok(());
    };
    match modes.insert((cpu, mode), time) {
        Some(_) => Err(NodeMetricsError::Twice { cpu }),
        None => Ok(()),
    }
}

fn cpu_times(
    modes: &Modes<'_>,
    guests: &Modes<'_>,
    context_switches: Option<u64>,
) -> Result<CpuTimes, NodeMetricsError> {
    let cpus: BTreeSet<CpuId> = modes.keys().map(|(cpu, _)| *cpu).collect();
    let each: BTreeMap<CpuId, CpuUse> = cpus
        .into_iter()
        .map(|cpu| Ok((cpu, cpu_use(cpu, modes, guests)?)))
        .collect::<Result<_, NodeMetricsError>>()?;
    if each.is_empty() {
        return Err(NodeMetricsError::NoCpus);
    }
    Ok(CpuTimes {
        all: sum(&each).unwrap_or_default(),
        each,
        context_switches,
        at: None,
    })
}

fn cpu_use(cpu: CpuId, modes: &Modes<'_>, guests: &Modes<'_>) -> Result<CpuUse, NodeMetricsError> {
    let must = |mode: &'static str| {
        let time = modes.get(&(cpu, mode)).copied();
        time.ok_or(NodeMetricsError::NoMode { cpu, mode })
    };
    // Modes that some kernels do not distinguish, as in /proc/stat.
    let may = |all: &Modes<'_>, mode| all.get(&(cpu, mode)).copied().unwrap_or_default();
    let (guest, guest_nice) = (may(guests, "user"), may(guests, "nice"));
    let user = must("user")?.saturating_sub(guest);
    let nice = may(modes, "nice").saturating_sub(guest_nice);
    Ok(CpuUse {
        user: CpuTime(user + nice),
        system: CpuTime(must("system")?),
        irq: CpuTime(may(modes, "irq")),
        softirq: CpuTime(may(modes, "softirq")),
        iowait: CpuTime(may(modes, "iowait")),
        idle: CpuTime(must("idle")?),
        steal: CpuTime(may(modes, "steal")),
        guest: CpuTime(guest + guest_nice),
        ..CpuUse::default()
    })
}

#[derive(Debug, Clone, PartialEq)]
struct Sample<'a> {
    labels: Vec<(&'a str, &'a str)>,
    value: f64,
}

impl<'a> Sample<'a> {
    /// `{name="value",…} VALUE [TIMESTAMP]`, or without labels.
    fn parse(rest: &'a str) -> Option<Sample<'a>> {
        let mut labels = Vec::new();
        let mut rest = rest.trim_start();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside.trim_start();
            while !rest.starts_with('}') {
                let (name, value) = rest.split_once('=')?;
                let value = value.trim_start().strip_prefix('"')?;
                let end = closing_quote(value)?;
                labels.push((name.trim(), &value[..end]));
                rest = value[end + 1..].trim_start();
                rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            }
            rest = &rest[1..];
        }
        let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
        Some(Sample { labels, value })
    }

    fn label(&self, name: &str) -> Option<&'a str> {
        let found = self.labels.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| *value)
    }

    /// The value in seconds; `None` if it is not a number. `line` is for messages.
    fn time(&self, line: &str) -> Result<Option<Duration>, NodeMetricsError> {
        if self.value.is_nan() {
            return Ok(None);
        }
        let possible = (0.0..=HIGHEST_TIME).contains(&self.value);
        let time = possible.then(|| Duration::try_from_secs_f64(self.value).ok());
        time.flatten()
            .map(Some)
            .ok_or_else(|| NodeMetricsError::Time {
                line: shortened(line),
            })
    }

    fn count(&self) -> Option<u64> {
        let is_valid = self.value.is_finite() && self.value >= 0.0;
        is_valid.then_some(self.value as u64)
    }
}

/// The end of a label's value: the first quote without a backslash.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return Some(at),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

#[cfg(test)]
mod tests;
