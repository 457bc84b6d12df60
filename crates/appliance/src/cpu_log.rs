//! What the kernel says of CPU use, second by second: the view of those inside.

use crate::Failure;
use std::collections::VecDeque;
use std::fmt::Write;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Waking up costs CPU time, in an emulated machine most of all.
const EVERY: Duration = Duration::from_secs(1);
/// An hour: older seconds are forgotten.
const KEPT: usize = 3600;
const CPUIDLE: &str = "/sys/devices/system/cpu/cpuidle";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Second {
    at_ms: u128,
    /// Time of all CPUs, in ticks.
    all: u64,
    /// Of it idle.
    idle: u64,
    /// TCP segments that have come in: none in a second without requests.
    segments: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct CpuLog {
    began: Instant,
    seconds: Arc<Mutex<VecDeque<Second>>>,
}

impl CpuLog {
    /// Begins a log that a thread of its own writes.
    pub(crate) fn start() -> Result<CpuLog, Failure> {
        let log = CpuLog {
            began: Instant::now(),
            seconds: Arc::default(),
        };
        let writer = log.clone();
        let thread = std::thread::Builder::new().spawn(move || {
            loop {
                writer.note();
                std::thread::sleep(EVERY);
            }
        });
        thread.map_err(Failure::of("the thread of the CPU log"))?;
        Ok(log)
    }

    fn note(&self) {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let stat = cpu_ticks(&read("/proc/stat"));
        let segments = segments_in(&read("/proc/net/snmp"));
        // What cannot be read is left out.
        let (Some((all, idle)), Some(segments)) = (stat, segments) else {
            return;
        };
        let mut seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        if seconds.len() == KEPT {
            seconds.pop_front();
        }
        seconds.push_back(Second {
            at_ms: self.began.elapsed().as_millis(),
            all,
            idle,
            segments,
        });
    }

    /// The log as text: how the kernel waits, then a line `MS ALL IDLE SEGMENTS` per second.
    pub(crate) fn text(&self) -> String {
        let named = |name| match fs::read_to_string(format!("{CPUIDLE}/{name}")) {
            Ok(text) => text.trim().to_owned(),
            Err(_) => "none".to_owned(),
        };
        let mut out = format!(
            "driver {}\ngovernor {}\n",
            named("current_driver"),
            named("current_governor")
        );
        let seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        for second in seconds.iter() {
            let Second {
                at_ms,
                all,
                idle,
                segments,
            } = second;
            // A string takes all that is written.
            let _ = writeln!(out, "{at_ms} {all} {idle} {segments}");
        }
        out
    }
}

/// All ticks of /proc/stat, and those that were idle.
fn cpu_ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields = line.split_whitespace().map(str::parse);
    // The last two, guest and guest_nice, are within user and nice.
    let fields: Vec<u64> = fields.take(8).collect::<Result<_, _>>().ok()?;
    Some((fields.iter().sum(), *fields.get(3)?))
}

/// InSegs of /proc/net/snmp.
fn segments_in(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|name| name == "InSegs")?;
    values.split(' ').nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_segments_are_read() {
        let stat = "cpu  5 1 4 900 7 2 1 3 99 99\ncpu0 1 1 1 1\n";
        assert_eq!(cpu_ticks(stat), Some((923, 900)));
        assert_eq!(cpu_ticks("cpu0 1 1 1 1\n"), None);
        let snmp = "Ip: InReceives\nIp: 9\nTcp: RtoMin MaxConn InSegs OutSegs\nTcp: 200 -1 78 5\n";
        assert_eq!(segments_in(snmp), Some(78));
        assert_eq!(segments_in("Tcp: RtoMin\nTcp: 200\n"), None);
    }
}
