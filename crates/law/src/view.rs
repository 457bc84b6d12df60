use crate::{Missing, Reading, Sample};
use plimsoll_model::{CpuTime, Share};

/// A sample as shares of the machine that the sideload may run on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// Idle, or preemptible sideload time, 0 to 1. Interrupts and steal are not
    /// idle.
    pub(crate) free: f64,
    /// The sideload's use that is not preemptible, 0 to 1; `None` if unknown.
    pub(crate) sideload: Option<f64>,
    /// Neither idle nor the sideload's, 0 to 1.
    pub(crate) others: f64,
}

impl View {
    /// The shares, or the input that is missing.
    ///
    /// The idle share is the smaller of the counted idle time and what the
    /// current number of CPUs leaves after the counted use. They differ if CPUs
    /// go online or offline within the period.
    pub(crate) fn of(sample: &Sample) -> Result<View, Missing> {
        let capacity = sample.period.as_secs_f64() * f64::from(sample.cpus);
        if capacity <= 0.0 {
            return Err(Missing::Period);
        }
        let machine = sample.machine.ok_or(Missing::Machine)?;
        let total = seconds(machine.total());
        // Less than half of the capacity was counted: the counters are stuck,
        // not late by a tick.
        if total < 0.5 * capacity {
            return Err(Missing::Stuck);
        }
        let (taken_back, sideload) = match (sample.gives_way, sample.sideload) {
            // The two clocks may disagree: use no more than the machine's own
            // time.
            (true, Some(used)) => (
                used.min(machine.user + machine.system + machine.unsampled),
                Some(CpuTime::ZERO),
            ),
            (_, sideload) => (CpuTime::ZERO, sideload),
        };
        let idle = seconds(machine.idle + machine.iowait + taken_back);
        let used = total - idle;
        let free = idle.min(capacity - used).max(0.0);
        let sideload = sideload.map(|t| seconds(t) / capacity);
        Ok(View {
            free: free / capacity,
            sideload: sideload.map(|s| s.min(1.0)),
            others: (used / capacity - sideload.unwrap_or(0.0)).clamp(0.0, 1.0),
        })
    }
}

fn seconds(time: CpuTime) -> f64 {
    time.0.as_secs_f64()
}

/// Clamps `x` to 0..=1; NaN becomes 0.
pub(crate) fn share(x: f64) -> Share {
    Share::new(x.clamp(0.0, 1.0)).unwrap_or(Share::ZERO)
}

pub(crate) fn missing(sample: &Sample, view: &Result<View, Missing>) -> Option<Missing> {
    let guard = || {
        sample.guards.iter().find_map(|guard| match &guard.reading {
            Reading::Unknown { why } => Some(Missing::Guard {
                name: guard.name.clone(),
                why: why.clone(),
            }),
            _ => None,
        })
    };
    match view {
        Err(missing) => Some(missing.clone()),
        Ok(view) if view.sideload.is_none() => Some(Missing::Sideload),
        Ok(_) => guard(),
    }
}
