//! The effect of memory limits on a sideload, for the summary.

use plimsoll_control::{Group, MemoryEvents, MemoryLimits};
use std::fmt;

/// The effect of a sideload's memory limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryHeld {
    pub limits: MemoryLimits,
    pub events: MemoryEvents,
}

impl MemoryHeld {
    /// `None` if the group does not count events.
    pub(crate) fn of(limits: MemoryLimits, group: &Group) -> Option<MemoryHeld> {
        let events = group.memory_events().ok()?;
        Some(MemoryHeld { limits, events })
    }
}

impl fmt::Display for MemoryHeld {
    /// Empty without events, else a clause that begins with a semicolon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let felt = |count: Option<u64>| count.filter(|n| *n > 0);
        if let Some(high) = self
            .limits
            .high
            .filter(|_| felt(self.events.high).is_some())
        {
            write!(f, "; slowed down at its {high} of memory")?;
        }
        if let Some(killed) = felt(self.events.killed) {
            let processes = match killed {
                1 => "process",
                _ => "processes",
            };
            write!(
                f,
                "; the kernel killed {killed} {processes} of it for want of memory"
            )?;
            if let Some(max) = self.limits.max {
                write!(f, ", of which it may have {max}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Bytes;

    #[test]
    fn memory_that_held_it_or_had_it_killed_is_said_and_no_other() {
        let mib = |n: u64| Some(Bytes(n << 20));
        let said = |high, killed| {
            let held = MemoryHeld {
                limits: MemoryLimits {
                    high: mib(16),
                    max: mib(32),
                    swap_max: None,
                },
                events: MemoryEvents { high, killed },
            };
            held.to_string()
        };
        assert_eq!(said(Some(0), Some(0)), "");
        assert_eq!(said(None, None), "");
        let slowed = "; slowed down at its 16.0 MiB of memory";
        assert_eq!(said(Some(3), Some(0)), slowed);
        assert_eq!(
            said(Some(3), Some(2)),
            format!(
                "{slowed}; the kernel killed 2 processes of it for want of memory, of which it may \
                 have 32.0 MiB"
            )
        );
    }
}
