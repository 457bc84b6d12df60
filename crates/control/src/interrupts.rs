//! Moves the interrupts of devices to chosen CPUs, and back.
//!
//! A task that waits for a device is woken on the CPU that handles the device's interrupt, or by
//! it: if that CPU sleeps deeply, an awake CPU for the task alone does not help.

use crate::error::ControlError;
use crate::idle::{Hands, Held, Knob, Machine};
use crate::journal::Journal;
use plimsoll_model::CpuSet;
use std::sync::Arc;

/// Interrupts that are handled by chosen CPUs until this is dropped. One that another program
/// has moved on meanwhile is left where it is.
#[derive(Debug)]
pub struct MovedInterrupts {
    moved: Vec<Held>,
    refused: Vec<String>,
}

impl MovedInterrupts {
    /// Moves interrupts to `cpus`. The kernel manages those of some devices itself (the queues of
    /// NVMe disks), and refuses: they stay ([`MovedInterrupts::refused`]).
    ///
    /// # Errors
    /// This user may not, or the journal cannot be written.
    pub fn to(
        cpus: &CpuSet,
        irqs: &[u32],
        journal: &Journal,
    ) -> Result<MovedInterrupts, ControlError> {
        let hands: Arc<dyn Hands> = Arc::new(Machine);
        let (mut moved, mut refused) = (Vec::new(), Vec::new());
        for irq in irqs {
            let knob = Knob::InterruptCpus { irq: *irq };
            match Held::take(knob, cpus.to_string(), journal, &hands) {
                Ok(held) => moved.push(held),
                Err(error @ (ControlError::NoIdleFile { .. } | ControlError::Refused { .. })) => {
                    refused.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(MovedInterrupts { moved, refused })
    }

    /// How many were moved.
    pub fn len(&self) -> usize {
        self.moved.len()
    }

    pub fn is_empty(&self) -> bool {
        self.moved.is_empty()
    }

    /// Why others were not, a sentence each.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Journals, Running};
    use crate::tasks::show_own;
    use plimsoll_host::Root;
    use std::fs;

    fn tree() -> (tempfile::TempDir, Root, Journals) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        show_own(&root);
        for irq in [41, 42] {
            let folder = root.path(format!("/proc/irq/{irq}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("smp_affinity_list"), "0-1\n").unwrap();
        }
        let journals = Journals::at(dir.path().join("journals"));
        (dir, root, journals)
    }

    fn cpus_of(root: &Root, irq: u32) -> String {
        let path = root.path(format!("/proc/irq/{irq}/smp_affinity_list"));
        fs::read_to_string(path).unwrap().trim().to_owned()
    }

    #[test]
    fn they_are_moved_and_given_back_unless_moved_on() {
        let (_dir, root, journals) = tree();
        let journal = journals.open(&root).unwrap();
        let pool: CpuSet = "1".parse().unwrap();
        let moved = MovedInterrupts::to(&pool, &[41, 42, 43], &journal).unwrap();
        assert_eq!(
            (moved.len(), moved.refused().len()),
            (2, 1),
            "there is no 43"
        );
        assert_eq!(
            (cpus_of(&root, 41), cpus_of(&root, 42)),
            ("1".into(), "1".into())
        );
        fs::write(root.path("/proc/irq/42/smp_affinity_list"), "0\n").unwrap();
        drop(moved);
        assert_eq!(
            (cpus_of(&root, 41), cpus_of(&root, 42)),
            ("0-1".into(), "0".into())
        );
    }

    #[test]
    fn those_of_a_killed_run_are_given_back() {
        let (_dir, root, journals) = tree();
        let own = journals.open(&root).unwrap();
        let dead =
            r#"{"journal":1,"owner":{"pid":77,"started":5},"boot_id":null,"pid_namespace":null}"#;
        let moved = r#"{"change":{"nth":1,"change":{"idle_knob_set":{"knob":{"interrupt_cpus":{"irq":41}},"former":"0-1","ours":"1"}}}}"#;
        fs::write(
            own.dir().join("77-5-abc.jsonl"),
            format!("{dead}\n{moved}\n"),
        )
        .unwrap();
        fs::write(root.path("/proc/irq/41/smp_affinity_list"), "1\n").unwrap();
        let repaired = journals.repair(&root, Running::Leave).unwrap();
        assert_eq!(cpus_of(&root, 41), "0-1", "{repaired:?}");
    }
}
