//! Limits the memory of a group and reads its memory events.

use super::Group;
use crate::error::ControlError;
use crate::files;
use crate::layout::Version;
use crate::mechanism::Mechanism::{self, MemoryHigh, MemoryMax};
use crate::settings::{MemoryEvents, MemoryLimits};
use plimsoll_model::Bytes;

impl Group {
    /// Limits its memory. Limits that were not requested when the group was made must
    /// be `None`.
    ///
    /// # Errors
    /// If it cannot be set here; version 1 has no limit `high`.
    pub fn set_memory(&mut self, limits: &MemoryLimits) -> Result<(), ControlError> {
        const HINT: &str = "what is in use already may not fit below it";
        let kills = limits.max.is_some() || limits.swap_max.is_some();
        let mut serving = None;
        for (mechanism, wanted) in [(MemoryHigh, limits.high.is_some()), (MemoryMax, kills)] {
            if wanted || self.capabilities.can(mechanism) {
                serving = self.serving(mechanism)?;
            }
        }
        let Some(made) = serving else {
            return Err(self.not_here(MemoryMax));
        };
        let files: &[(&str, Option<Bytes>, &str)] = match made.place.version {
            Version::V2 => &[
                ("memory.high", limits.high, "max"),
                ("memory.max", limits.max, "max"),
                ("memory.swap.max", limits.swap_max, "max"),
            ],
            Version::V1 if limits.swap_max.is_some() => {
                return Err(ControlError::NotHere {
                    mechanism: MemoryMax,
                    reason: "cgroup version 1 has no limit on swap alone".to_owned(),
                });
            }
            Version::V1 => &[("memory.limit_in_bytes", limits.max, "-1")],
        };
        for (name, limit, none) in files {
            let file = made.folder.join(name);
            match limit {
                Some(bytes) => files::write(&file, &bytes.0.to_string(), HINT)?,
                // A kernel without swap has no such file and no such limit.
                None if file.exists() => files::write(&file, none, HINT)?,
                None => {}
            }
        }
        Ok(())
    }

    /// How often the group hit its memory limits; unknown if no cgroup limits it.
    ///
    /// # Errors
    /// If the file is unreadable, or the group was removed.
    pub fn memory_events(&self) -> Result<MemoryEvents, ControlError> {
        let limits = |need: &Mechanism| matches!(need, MemoryHigh | MemoryMax);
        let limited = |made: &&super::Made| made.place.serves.iter().any(limits);
        let Some(made) = self.made.iter().find(limited) else {
            return Ok(MemoryEvents::default());
        };
        let name = match made.place.version {
            Version::V2 => "memory.events",
            Version::V1 => "memory.oom_control",
        };
        let text = files::read(&made.folder.join(name))?;
        Ok(MemoryEvents {
            high: files::keyed(&text, "high"),
            killed: files::keyed(&text, "oom_kill"),
        })
    }
}
