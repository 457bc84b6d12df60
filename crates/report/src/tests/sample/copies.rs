//! Copies of a command at once.

use super::imported::table;
use super::run::run;
use super::{Sample, sweep, within};
use crate::tests::shown::tally;
use plimsoll_model::{
    Copies, CopiesFinding, CopiesFindings, CopiesPlan, CopiesWork, CopiesWorkload, Estimate,
    SmtFinding, Speedup, TableRows,
};
use std::time::Duration;

/// A run of copies of a compiler.
pub(in crate::tests) fn copies() -> Sample<CopiesPlan> {
    let row = |copies, seconds, slowest_seconds, cpu_pct, efficiency: Option<f64>| CopiesFinding {
        copies,
        seconds,
        slowest_seconds,
        cpu_pct,
        efficiency_ratio: efficiency.map(|e: f64| Estimate::within(e, e - 0.02, e + 0.02)),
        trials: 2,
        invalid_trials: u32::from(copies == 4),
    };
    let of = sweep();
    Sample {
        findings: CopiesFindings {
            idle_cpu_pct: None,
            copies: vec![
                row(1, 223.0, 223.0, Some(12.9), Some(1.0)),
                row(4, 262.4, 271.33, None, Some(0.85)),
                row(8, 354.0, 360.1, Some(99.6), Some(0.63)),
            ],
            smt: two_threads(),
        },
        plan: CopiesPlan {
            workload: CopiesWorkload::Copies(Copies {
                command: ["make", "-C", "/src"].map(str::to_owned).to_vec(),
                timeout: Duration::from_secs(3600),
            }),
            numbers: vec![1, 4, 8],
            run: run(),
        },
        provenance: of.provenance,
        requirements: Vec::new(),
        trials: tally(6, 0),
        ended: of.ended,
        command_line: Vec::new(),
        drawn: (),
    }
}

/// A table of copies that somebody else measured.
pub(in crate::tests) fn imported_copies() -> Sample<CopiesPlan> {
    let mut sample = copies();
    sample.plan.workload = CopiesWorkload::Imported(table(TableRows::Copies));
    for row in &mut sample.findings.copies {
        row.trials = 1;
        row.efficiency_ratio = row.efficiency_ratio.map(|e| Estimate::alone(e.value));
    }
    sample
}

/// Both threads of a core do more than one, at a lower clock. What four copies
/// come to is not known.
fn two_threads() -> SmtFinding {
    let work = |copies, work_pct| CopiesWork {
        copies,
        work_pct,
        clock_ratio: None,
    };
    SmtFinding {
        speedup: Ok(Speedup {
            ratio: within(1.271, 0.012, 0.014),
            at_equal_clock_ratio: Some(within(1.312, 0.012, 0.014)),
            clock_ratio: Some(within(0.969, 0.001, 0.001)),
        }),
        levels: vec![],
        copies: vec![work(1, 19.67), work(8, 100.0)],
    }
}
