//! How long threads waited for CPUs.

use plimsoll_host::{DelayScope, Root, RunDelays, pressure};
use std::time::{Duration, Instant};

pub(super) struct WaitSensors {
    root: Root,
    /// `None` where the kernel does not count it.
    delays: Option<RunDelays>,
    /// When it was read last, and the time since boot in which some task waited.
    pressure: Option<(Instant, Duration)>,
}

/// In percent; `None` where the kernel does not count it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waits {
    /// Of the time that the threads of this process wanted a CPU.
    pub(super) run_delay_pct: Option<f64>,
    /// Of the time, for any task.
    pub(super) pressure_pct: Option<f64>,
}

impl WaitSensors {
    pub(super) fn new(root: &Root) -> WaitSensors {
        WaitSensors {
            root: root.clone(),
            delays: RunDelays::new(root, DelayScope::Own),
            pressure: None,
        }
    }

    /// Since the last reading.
    pub(super) fn read(&mut self) -> Waits {
        // What cannot be read is not shown.
        let waited = self.delays.as_mut().and_then(|d| d.read(&[]).ok()?);
        let run_delay = waited.and_then(|w| percent(w.waited, w.waited + w.ran.0));
        let now = Instant::now();
        let total = pressure(&self.root).ok().flatten();
        let total = total.and_then(|pressure| Some((now, pressure.cpu_some?)));
        let before = std::mem::replace(&mut self.pressure, total);
        let pressure = total
            .zip(before)
            .and_then(|(now, before)| percent(now.1.saturating_sub(before.1), now.0 - before.0));
        Waits {
            run_delay_pct: run_delay,
            pressure_pct: pressure,
        }
    }
}

fn percent(part: Duration, whole: Duration) -> Option<f64> {
    let share = 100.0 * part.as_secs_f64() / whole.as_secs_f64();
    share.is_finite().then(|| share.min(100.0))
}
