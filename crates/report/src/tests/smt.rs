//! What is said of threads that share a core, as a file has it.

use super::sample::{copies, imported, imported_copies, sweep, within};
use super::sentences::Cases;
use plimsoll_model::{CpuSet, NoSpeedup, RunPlan, SmtFinding, Speedup};

/// Two cores of two threads.
fn two_cores(run: &mut RunPlan) {
    run.cpus.cores = ["0,2", "1,3"].map(|list| list.parse().unwrap()).to_vec();
}

fn speedups(cases: &mut Cases) {
    let mut with = |name: &str, change: fn(&mut Speedup)| {
        cases.add(name, copies(), |sample| {
            change(sample.findings.smt.speedup.as_mut().unwrap());
        });
    };
    with("unknown clock, no interval", |speedup| {
        speedup.clock_ratio = None;
        speedup.ratio.low = None;
    });
    with("a clock that rises", |speedup| {
        speedup.clock_ratio = Some(within(1.02, 0.01, 0.01));
    });
    with("a second thread that may add nothing", |speedup| {
        speedup.ratio = within(1.1, 0.2, 0.2);
    });
    with("a second thread that adds nothing", |speedup| {
        speedup.ratio = within(0.9, 0.05, 0.05);
    });
    cases.add("copies without a speedup", copies(), |sample| {
        sample.findings.smt = SmtFinding::unknown(NoSpeedup::NotOurs);
    });
}

fn lacks(cases: &mut Cases) {
    for why in [
        NoSpeedup::NotOurs,
        NoSpeedup::OneThreadUsed,
        NoSpeedup::UnevenCores,
        NoSpeedup::NotSaturated,
        NoSpeedup::LevelMissing,
        NoSpeedup::MoreThanTwoThreads,
    ] {
        cases.add(&format!("a sweep, {why:?}"), copies_as_sweep(), |sample| {
            sample.findings.smt = SmtFinding::unknown(why);
        });
    }
    cases.add("a server that is not ours to place", sweep(), |sample| {
        two_cores(&mut sample.plan.run);
    });
    cases.add("a service elsewhere", sweep(), |sample| {
        sample.findings.smt = SmtFinding::unknown(NoSpeedup::CoresUnknown);
        sample.plan.run.cpus.service = CpuSet::default();
    });
    cases.add("copies without valid trials", copies(), |sample| {
        two_cores(&mut sample.plan.run);
        sample.findings.smt = SmtFinding::unknown(NoSpeedup::LevelMissing);
    });
    cases.add("one thread per core", copies(), |sample| {
        sample.provenance.topology.threads_per_core = Some(1);
        sample.findings.smt = SmtFinding::unknown(NoSpeedup::OneThreadPerCore);
    });
}

/// A sweep whose speedup is known, so that each lack shows in full.
fn copies_as_sweep() -> super::sample::Sample {
    let mut sample = sweep();
    sample.findings.smt = copies().findings.smt;
    sample
}

fn tables(cases: &mut Cases) {
    for (why, cores) in [(NoSpeedup::CoresUnknown, false), (NoSpeedup::NotOurs, true)] {
        cases.add(
            &format!("a table of rates, {why:?}"),
            imported(),
            |sample| {
                if cores {
                    two_cores(&mut sample.plan.run);
                }
                sample.findings.smt = SmtFinding::unknown(why);
            },
        );
    }
    for (why, cores) in [
        (NoSpeedup::CoresUnknown, false),
        (NoSpeedup::LevelMissing, true),
    ] {
        cases.add(
            &format!("a table of copies, {why:?}"),
            imported_copies(),
            |sample| {
                if cores {
                    two_cores(&mut sample.plan.run);
                }
                sample.findings.smt = SmtFinding::unknown(why);
            },
        );
    }
}

#[test]
fn sentences_about_threads_are_as_in_the_file() {
    let mut cases = Cases::default();
    speedups(&mut cases);
    lacks(&mut cases);
    tables(&mut cases);
    cases.are_as_in("tests/smt");
}

#[test]
fn without_a_speedup_there_is_no_column_of_work() {
    let mut sample = copies();
    assert!(sample.text(200).contains("work  efficiency"));
    sample.findings.smt = SmtFinding::unknown(NoSpeedup::OneThreadPerCore);
    assert!(!sample.text(200).contains("work  efficiency"));
}
