//! The best arm that `plimsoll yield` found on this machine, stored for `plimsoll
//! side` in a small JSON file in the user's state directory. It is optional: a read
//! or write error is reported once and is not fatal.

use plimsoll_host::Root;
use plimsoll_model::{Arm, Budget, BudgetVerdict, Provenance, YieldFindings, utc_date};
use plimsoll_record::state_file;
use plimsoll_side::{Advice, CpuMechanism};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const VERSION: u32 = 1;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Best {
    version: u32,
    arm: Arm,
    /// `None` where the arm leaves none.
    headroom_pct: Option<f64>,
    found_unix_ms: u64,
    kernel: String,
    cpu_model: String,
    /// The file of the trials.
    record: String,
    budget: Budget,
    /// Work of the job relative to the job alone.
    gained_share: f64,
    /// The increase of the budget's quantile.
    change_pct: f64,
}

/// The file; `None` if there is no state directory.
pub fn usual_file() -> Option<PathBuf> {
    state_file::usual("best.json")
}

/// Stores the recommendation of a complete run if it is within the budget: what is
/// only the best supported is for a person to decide. Returns a sentence with the
/// result.
pub(super) fn keep(
    findings: &YieldFindings,
    machine: &Provenance,
    record: &Path,
) -> Option<String> {
    let file = usual_file()?;
    let Some(best) = Best::of(findings, machine, record, SystemTime::now()) else {
        return not_kept(findings);
    };
    let shown = file.display();
    Some(match state_file::write(&best, &file) {
        Ok(()) => format!("note: plimsoll side --mechanism auto uses this from now on ({shown})"),
        Err(why) => format!("note: plimsoll side will not know of it: {shown}: {why}"),
    })
}

/// Why a recommendation is not stored.
fn not_kept(findings: &YieldFindings) -> Option<String> {
    let best = &findings.recommended;
    let (arm, budget) = (best.arm?, findings.budget);
    (best.verdict == BudgetVerdict::Inconclusive).then(|| {
        format!(
            "note: plimsoll side --mechanism auto does not use {arm}, which is not shown to be \
             within {budget}"
        )
    })
}

/// The advice for this machine. The second value is a warning.
pub fn advice(file: &Path, root: &Root) -> Result<Advice, String> {
    match read(file) {
        Ok(None) => Ok(Advice::Unknown),
        Ok(Some(best)) => {
            let here = plimsoll_host::provenance(root, env!("CARGO_PKG_VERSION"));
            Ok(best.advice(&here))
        }
        Err(why) => Err(format!(
            "what `plimsoll yield` found best here cannot be read from {} ({why}); remove that \
             file, or measure again",
            file.display()
        )),
    }
}

fn read(file: &Path) -> Result<Option<Best>, String> {
    match state_file::read::<Best>(file)? {
        Some(best) if !best.is_sound() => Err("it says what no run finds".to_owned()),
        best => Ok(best),
    }
}

impl Best {
    fn of(
        findings: &YieldFindings,
        machine: &Provenance,
        record: &Path,
        now: SystemTime,
    ) -> Option<Best> {
        let within = findings.recommended.verdict == BudgetVerdict::Within;
        let best = findings.best().filter(|_| within)?;
        let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(Best {
            version: VERSION,
            arm: best.arm,
            headroom_pct: findings.recommended.headroom_pct,
            found_unix_ms: since.as_millis() as u64,
            kernel: machine.kernel.clone()?,
            cpu_model: machine.cpu_model.clone()?,
            record: fs::canonicalize(record)
                .unwrap_or_else(|_| record.to_owned())
                .display()
                .to_string(),
            budget: findings.budget,
            gained_share: best.work_gained_share?.value,
            change_pct: best.latency_change_pct?.under(&findings.budget)?.value,
        })
    }

    fn is_sound(&self) -> bool {
        let gained = (0.0..=10.0).contains(&self.gained_share);
        let change = (-100.0..=1e6).contains(&self.change_pct);
        // The end of the year 9999.
        self.version == VERSION && gained && change && self.found_unix_ms < 253_402_300_800_000
    }

    /// Whether it applies to this machine and `plimsoll side` supports it.
    fn advice(&self, here: &Provenance) -> Advice {
        let found = self.found();
        let leave = |why: &str| Advice::Leave {
            why: format!("{}, {found}, {why}", self.arm),
        };
        if here.kernel.as_ref() != Some(&self.kernel) {
            return leave("was measured under another kernel");
        }
        if here.cpu_model.as_ref() != Some(&self.cpu_model) {
            return leave("was measured on another CPU");
        }
        let (mechanism, in_group) = match self.arm {
            Arm::Weight => (CpuMechanism::Weight, true),
            Arm::CpuIdle => (CpuMechanism::Idle, true),
            Arm::SchedIdle => (CpuMechanism::Idle, false),
            Arm::Quota10ms => (CpuMechanism::Quota, true),
            Arm::CpuSet => (CpuMechanism::CpuSet, false),
            _ => return leave("is not among what plimsoll side holds by"),
        };
        Advice::Take {
            mechanism,
            in_group,
            because: found,
        }
    }

    /// `which plimsoll yield found best here on 2026-11-21 (39 % gained, p99 +3 %)`
    fn found(&self) -> String {
        // Not -0.
        let change = self.change_pct.round() + 0.0;
        format!(
            "which `plimsoll yield` found best here on {} ({:.0} % gained, {} {change:+.0} %)",
            utc_date(self.found_unix_ms / 1000),
            self.gained_share * 100.0,
            self.budget.quantile,
        )
    }
}

#[cfg(test)]
mod tests;
