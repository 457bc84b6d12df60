//! Sets the limits of a group, by cgroup or by the fallback.

use super::{Group, Made};
use crate::error::ControlError;
use crate::files;
use crate::folder;
use crate::layout::Version;
use crate::mechanism::Mechanism;
use crate::schedule;
use crate::settings::{Quota, Weight};
use crate::tree;
use plimsoll_model::CpuSet;

impl Group {
    /// Sets its CPU weight relative to other groups. Without a cgroup this sets nice,
    /// which an unprivileged user can only raise. Under [idle
    /// scheduling](Group::set_idle) the weight applies once idle scheduling ends.
    pub fn set_weight(&mut self, weight: Weight) -> Result<(), ControlError> {
        if let Some(made) = self.serving(Mechanism::Weight)? {
            // While cpu.idle is 1 the kernel refuses a weight (EINVAL).
            if !self.current.idle {
                write_weight(made, weight)?;
            }
            self.current.weight = weight;
            return Ok(());
        }
        self.current.weight = weight;
        if self.current.idle {
            return Ok(());
        }
        let nice = self.nice();
        for tree in self.trees() {
            tree::each_thread(&self.root, tree, |tid| schedule::set_nice(tid, nice))?;
        }
        Ok(())
    }

    /// Turns idle scheduling on or off: the group runs only when no other task wants
    /// the CPU.
    ///
    /// # Errors
    /// If it cannot be set here; without a cgroup, also after a command was started.
    pub fn set_idle(&mut self, on: bool) -> Result<(), ControlError> {
        const HINT: &str = "the uppermost group cannot be idle";
        if let Some(made) = self.serving(Mechanism::Idle)? {
            let file = made.folder.join("cpu.idle");
            files::write(&file, if on { "1" } else { "0" }, HINT)?;
            // The kernel resets the weight to its default.
            if !on && self.current.weight != Weight::NORMAL {
                write_weight(made, self.current.weight)?;
            }
        } else if on != self.current.idle && !self.leaders.is_empty() {
            return Err(ControlError::TooLate {
                mechanism: Mechanism::Idle,
                reason: "without a cgroup it is a scheduling class that commands inherit",
            });
        }
        self.current.idle = on;
        Ok(())
    }

    /// Limits CPU time per period; `None` removes the limit.
    ///
    /// # Errors
    /// If it cannot be set here, or an ancestor has a smaller quota.
    pub fn set_quota(&mut self, quota: Option<Quota>) -> Result<(), ControlError> {
        const HINT: &str = "a group above may have a smaller quota";
        let Some(made) = self.serving(Mechanism::Quota)? else {
            return Err(self.not_here(Mechanism::Quota));
        };
        let write = |name, value: &str| files::write(&made.folder.join(name), value, HINT);
        match (made.place.version, quota) {
            (Version::V2, None) => write("cpu.max", "max"),
            (Version::V2, Some(q)) => {
                write("cpu.max", &format!("{} {}", q.time_us(), q.period_us()))
            }
            (Version::V1, None) => write("cpu.cfs_quota_us", "-1"),
            (Version::V1, Some(q)) => {
                let period = q.period_us().to_string();
                let known = files::read(&made.folder.join("cpu.cfs_period_us"))?;
                if known.trim() != period {
                    // The new period with the old quota may exceed the limit of an
                    // ancestor.
                    write("cpu.cfs_quota_us", "-1")?;
                    write("cpu.cfs_period_us", &period)?;
                }
                write("cpu.cfs_quota_us", &q.time_us().to_string())
            }
        }
    }

    /// Restricts it to these CPUs.
    ///
    /// # Errors
    /// If it cannot be set here, or an ancestor lacks these CPUs.
    pub fn set_cpus(&mut self, cpus: &CpuSet) -> Result<(), ControlError> {
        if cpus.is_empty() {
            return Err(ControlError::OutOfRange {
                what: "an empty set of CPUs".to_owned(),
                range: "at least one CPU",
            });
        }
        if let Some(made) = self.serving(Mechanism::CpuSet)? {
            // Version 1 refuses other CPUs with a permission error; version 2 accepts
            // them and lets the group run anywhere.
            let given = cpus_above(made)?;
            if !cpus.without(&given).is_empty() {
                return Err(ControlError::NotHere {
                    mechanism: Mechanism::CpuSet,
                    reason: format!("of the CPUs {cpus} the groups above have only {given}"),
                });
            }
            const HINT: &str = "name CPUs that the group above has";
            let file = made.folder.join("cpuset.cpus");
            files::write(&file, &cpus.to_string(), HINT)?;
        } else {
            for tree in self.trees() {
                tree::each_thread(&self.root, tree, |tid| schedule::set_affinity(tid, cpus))?;
            }
        }
        self.current.cpus = Some(cpus.clone());
        Ok(())
    }

    /// Sets its I/O weight. Only disks whose scheduler or cost model supports weights
    /// (`io.cost.qos`, BFQ) apply it.
    pub fn set_io_weight(&mut self, weight: Weight) -> Result<(), ControlError> {
        const HINT: &str = "no disk here shares by weight";
        let Some(made) = self.serving(Mechanism::Io)? else {
            return Err(self.not_here(Mechanism::Io));
        };
        let [any, bfq] = ["io.weight", "io.bfq.weight"].map(|name| made.folder.join(name));
        // The maximum of BFQ is 1000.
        let (file, value) = match !any.exists() && bfq.exists() {
            true => (bfq, weight.get().min(1000)),
            false => (any, weight.get()),
        };
        files::write(&file, &format!("default {value}"), HINT)
    }

    /// Stops all its processes and waits until none runs.
    ///
    /// # Errors
    /// [`ControlError::NotFrozen`] if a process does not stop in time; it may stop
    /// later.
    pub fn freeze(&mut self) -> Result<(), ControlError> {
        self.set_frozen(true)
    }

    /// Continues all its processes.
    pub fn thaw(&mut self) -> Result<(), ControlError> {
        self.set_frozen(false)
    }

    fn set_frozen(&mut self, on: bool) -> Result<(), ControlError> {
        let done = match self.serving(Mechanism::Freeze)? {
            // Version 2 has no freezer before Linux 5.2.
            Some(made) => {
                if let Some(holder) = self.holder().filter(|_| on) {
                    folder::move_into(&holder.folder, &made.folder)?;
                }
                folder::freeze(&made.folder, on)?
            }
            None => false,
        };
        if !done {
            // A thaw does not depend on the journal.
            if on {
                self.record_unmarked()?;
            }
            for tree in self.trees() {
                tree::freeze(&self.root, tree, on)?;
            }
        }
        self.current.frozen = on;
        match on && !done {
            // What was started meanwhile.
            true => self.record_unmarked(),
            false => Ok(()),
        }
    }

    /// The folder that provides a mechanism; `None` if it is provided without a cgroup.
    pub(super) fn serving(&self, mechanism: Mechanism) -> Result<Option<&Made>, ControlError> {
        if !self.capabilities.can(mechanism) {
            return Err(self.not_here(mechanism));
        }
        let serves = |made: &&Made| made.place.serves.contains(&mechanism);
        let made = self.made.iter().find(serves);
        made.map_or(Ok(()), Made::is_there)?;
        Ok(made)
    }

    pub(super) fn not_here(&self, mechanism: Mechanism) -> ControlError {
        let reason = self.capabilities.reason(mechanism).unwrap_or_default();
        ControlError::NotHere {
            mechanism,
            reason: reason.to_owned(),
        }
    }
}

fn write_weight(made: &Made, weight: Weight) -> Result<(), ControlError> {
    const HINT: &str = "a group that is idle takes no weight";
    let (name, value) = match made.place.version {
        Version::V2 => ("cpu.weight", u32::from(weight.get())),
        Version::V1 => ("cpu.shares", weight.shares()),
    };
    files::write(&made.folder.join(name), &value.to_string(), HINT)
}

fn cpus_above(made: &Made) -> Result<CpuSet, ControlError> {
    let name = match made.place.version {
        Version::V2 => "cpuset.cpus.effective",
        Version::V1 => "cpuset.effective_cpus",
    };
    files::parse(&made.place.parent.join(name))
}
