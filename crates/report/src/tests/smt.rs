//! What is said of threads that share a core.

use super::sample::{Sample, copies, imported, imported_copies, sweep, within};
use crate::tests::shown::{has, has_not};
use plimsoll_model::{CopiesPlan, CpuSet, NoSpeedup, SmtFinding};

/// What is said of a sweep, on one line.
fn said(sample: &Sample) -> Option<String> {
    crate::smt::of_sweep(&sample.report()).map(|sentence| sentence.text)
}

/// What is said of copies.
fn said_of_copies(sample: &Sample<CopiesPlan>) -> Option<String> {
    crate::smt::of_copies(&sample.report()).map(|sentence| sentence.text)
}

fn lacking(why: NoSpeedup) -> Sample {
    let mut sample = sweep();
    sample.findings.smt = SmtFinding::unknown(why);
    sample
}

fn cores(lists: &[&str]) -> Vec<CpuSet> {
    lists.iter().map(|list| list.parse().unwrap()).collect()
}

#[test]
fn a_speedup_says_how_much_work_half_the_cpu_use_is() {
    let text = said_of_copies(&copies()).unwrap();
    has(
        &text,
        &[
            "1.27 (1.26 to 1.28) times the work of one",
            "at 50 % CPU use, with one busy thread on each core, 79 % of the work is done",
            "The clock falls by 3.1 %",
            "at equal clock they do 1.31 (1.30 to 1.33) times the work",
        ],
    );
    let mut unknown_clock = copies();
    let speedup = unknown_clock.findings.smt.speedup.as_mut().unwrap();
    speedup.clock_ratio = None;
    speedup.ratio.low = None;
    let text = said_of_copies(&unknown_clock).unwrap();
    assert!(text.contains("do 1.27 (no interval: too few trials) times"));
    has_not(&text, "clock");
    let speedup = unknown_clock.findings.smt.speedup.as_mut().unwrap();
    speedup.clock_ratio = Some(within(1.02, 0.01, 0.01));
    assert!(
        said_of_copies(&unknown_clock)
            .unwrap()
            .contains("rises by 2.0 %")
    );
}

#[test]
fn a_second_thread_that_adds_nothing_is_not_sold_as_work() {
    let with = |ratio| {
        let mut sample = copies();
        sample.findings.smt.speedup.as_mut().unwrap().ratio = ratio;
        said_of_copies(&sample).unwrap()
    };
    let unsure = with(within(1.1, 0.2, 0.2));
    assert!(unsure.contains("not significantly different from 1"));
    let less = with(within(0.9, 0.05, 0.05));
    has(&less, &["the second one adds nothing"]);
    for text in [unsure, less] {
        has_not(&text, "of the work is done");
    }
}

#[test]
fn a_server_that_is_not_ours_to_place_gets_the_way_to_find_out() {
    let mut sample = lacking(NoSpeedup::NotOurs);
    let text = said(&sample).unwrap();
    assert!(text.ends_with("catches up at the end."), "{text}");
    sample.plan.run.cpus.cores = cores(&["0,2", "1,3"]);
    let text = said(&sample).unwrap();
    has(
        &text,
        &["taskset -c 0-1", "taskset -c 0-3", "plimsoll compare"],
    );
}

#[test]
fn each_lack_says_what_can_be_done_about_it() {
    for (why, part) in [
        (NoSpeedup::OneThreadUsed, "as long as the others are idle"),
        (NoSpeedup::UnevenCores, "choose --cpus"),
        (NoSpeedup::NotSaturated, "leave --rated out"),
        (NoSpeedup::LevelMissing, "no valid trial at full load"),
        (NoSpeedup::MoreThanTwoThreads, "catches up at the end"),
    ] {
        let text = said(&lacking(why)).unwrap();
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
    let mut few = copies();
    few.plan.run.cpus.cores = cores(&["0,2", "1,3"]);
    few.findings.smt = SmtFinding::unknown(NoSpeedup::LevelMissing);
    assert!(
        said_of_copies(&few)
            .unwrap()
            .contains("at 2 and at 4 copies")
    );
}

#[test]
fn without_smt_it_is_one_short_sentence_and_no_column() {
    let mut sample = copies();
    sample.provenance.topology.threads_per_core = Some(1);
    sample.findings.smt = SmtFinding::unknown(NoSpeedup::OneThreadPerCore);
    let text = said_of_copies(&sample).unwrap();
    assert_eq!(
        text,
        "One thread per core here: CPU use needs no correction for SMT."
    );
    assert!(!sample.text(200).contains("work  efficiency"));
    assert!(copies().text(200).contains("work  efficiency"));
    let mut elsewhere = lacking(NoSpeedup::CoresUnknown);
    elsewhere.plan.run.cpus.service = CpuSet::default();
    assert_eq!(said(&elsewhere), None);
}

#[test]
fn a_table_is_asked_for_rows_only_where_its_cores_are_known() {
    let mut table = imported();
    table.findings.smt = SmtFinding::unknown(NoSpeedup::CoresUnknown);
    assert_eq!(said(&table), None);
    table.plan.run.cpus.cores = cores(&["0,2", "1,3"]);
    table.findings.smt = SmtFinding::unknown(NoSpeedup::NotOurs);
    assert_eq!(said(&table), None, "of rates none follows");
    let mut copies = imported_copies();
    copies.findings.smt = SmtFinding::unknown(NoSpeedup::CoresUnknown);
    assert_eq!(said_of_copies(&copies), None);
    copies.plan.run.cpus.cores = cores(&["0,2", "1,3"]);
    copies.findings.smt = SmtFinding::unknown(NoSpeedup::LevelMissing);
    let text = said_of_copies(&copies).unwrap();
    has(&text, &["rows with 2 and with 4 copies"]);
}
