//! The interrupts of `--irq`.

use crate::failure::Failure;
use plimsoll_control::{ControlError, Journals, MovedInterrupts};
use plimsoll_host::{Root, interrupts_of};
use plimsoll_model::CpuSet;
use plimsoll_side::Notice;

/// The interrupts of all these devices.
///
/// # Errors
/// A device has none.
pub(super) fn of(devices: &[String], root: &Root) -> Result<Vec<u32>, Failure> {
    let mut all = Vec::new();
    for device in devices {
        let found = interrupts_of(root, device).map_err(|e| Failure::Run(e.to_string()))?;
        if found.is_empty() {
            return Err(Failure::Mistake(format!(
                "--irq: '{device}' has no interrupts here; name a network interface or disk, or what /proc/interrupts has in its last column"
            )));
        }
        all.extend(found);
    }
    Ok(all)
}

/// Moves them for as long as the value lives.
pub(super) fn move_to(
    pool: Option<&CpuSet>,
    irqs: &[u32],
    (journals, root): (&Journals, &Root),
    notify: &mut dyn FnMut(Notice),
) -> Result<Option<MovedInterrupts>, Failure> {
    let Some(pool) = pool.filter(|_| !irqs.is_empty()) else {
        return Ok(None);
    };
    let fail = |error: ControlError| Failure::Run(error.to_string());
    let journal = journals.open(root).map_err(fail)?;
    let moved = MovedInterrupts::to(pool, irqs, &journal).map_err(fail)?;
    for why in moved.refused() {
        notify(Notice::Warning(format!("an interrupt is not moved: {why}")));
    }
    let text = match moved.len() {
        1 => format!("CPU {pool} handles 1 interrupt"),
        n => format!("CPU {pool} handles {n} interrupts"),
    };
    notify(Notice::Note(text));
    Ok(Some(moved))
}
