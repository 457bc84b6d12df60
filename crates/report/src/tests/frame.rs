//! What the frame says of any run, in every document and in text and page alike.

use super::sample::{Experiment, Sample, copies, imported, imported_copies, provenance, sweep};
use super::shown::{as_text, shown, tally};
use crate::tests::shown::has;
use crate::yields::tests::sample::{self as yields, curve, step};
use crate::{Document, Format, RecordFacts, Report, TrialTally};
use plimsoll_model::{Outcome, Requirement, RunEnd};
use std::path::Path;

struct Trouble {
    ended: Option<RunEnd>,
    trials: TrialTally,
    requirements: Vec<Requirement>,
}

fn trouble(ended: Option<RunEnd>) -> Trouble {
    Trouble {
        ended,
        trials: tally(34, 3),
        requirements: vec![Requirement {
            name: "energy counter".to_owned(),
            outcome: Outcome::Missed {
                lost: "no work per joule".to_owned(),
                remedy: "run as root".to_owned(),
            },
        }],
    }
}

/// The text on one line, and the page.
fn forms(document: &Document<'_>) -> [String; 2] {
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = shown(document, Format::Html).replace('\u{a0}', " ");
    [
        flat(as_text(document, 80)),
        page.replace("<span class=\"flag\">", "")
            .replace("</span>", ""),
    ]
}

fn in_trouble<P: Experiment>(sample: Sample<P>, trouble: &Trouble) -> [String; 2] {
    let sample = Sample {
        ended: trouble.ended.clone(),
        trials: trouble.trials,
        requirements: trouble.requirements.clone(),
        provenance: provenance(),
        ..sample
    };
    sample.with(None, forms)
}

/// Both forms of each document, with its name.
fn every_document(trouble: &Trouble) -> Vec<(&'static str, [String; 2])> {
    let beside = |name, sample: yields::Sample| {
        let report = Report {
            experiment: "yield",
            workload: sample.plan.load.workload.to_string(),
            findings: &sample.findings,
            plan: &sample.plan,
            seed: sample.plan.load.run.seed,
            provenance: &provenance(),
            requirements: &trouble.requirements,
            record: RecordFacts {
                file: Path::new("run.plimsoll"),
                created_unix_ms: 0,
                ended: trouble.ended.as_ref(),
                trials: trouble.trials,
                command_line: &[],
            },
        };
        (name, forms(&crate::yields::document(&report, None)))
    };
    vec![
        ("sweep", in_trouble(sweep(), trouble)),
        ("copies", in_trouble(copies(), trouble)),
        ("import", in_trouble(imported(), trouble)),
        ("import of copies", in_trouble(imported_copies(), trouble)),
        beside("yield", yields::sample()),
        beside("yield --curve", curve::curve()),
        beside("yield --step", step::stepped()),
    ]
}

#[test]
fn every_document_says_how_its_run_ended_and_how_to_resume_it() {
    let failed = RunEnd::Failed("the server is gone.".to_owned());
    for (ended, words) in [
        (Some(RunEnd::Interrupted), "The run was interrupted:"),
        (Some(failed), "The run failed: the server is gone."),
        (None, "The record has no end:"),
    ] {
        for (name, forms) in every_document(&trouble(ended)) {
            for form in forms {
                assert!(form.contains(words), "{name}: {form}");
                let command = name.split(' ').next().unwrap();
                let resume = format!("plimsoll {command} --resume run.plimsoll");
                let is_told = form.contains(&resume);
                assert_eq!(is_told, !name.starts_with("import"), "{name}: {form}");
            }
        }
    }
    for (name, forms) in every_document(&trouble(Some(RunEnd::Complete))) {
        for form in forms {
            assert!(!form.contains("--resume"), "{name}: {form}");
        }
    }
}

#[test]
fn every_document_says_what_the_host_lacks_and_how_many_trials_are_invalid() {
    for (name, forms) in every_document(&trouble(Some(RunEnd::Complete))) {
        for form in forms {
            has(
                &form,
                &[
                    "Unavailable on this host",
                    "energy counter",
                    "no work per joule",
                    "run.plimsoll",
                    "web1",
                    "AMD EPYC 9B14",
                ],
            );
            let invalid = "3 of 34 trials are invalid, most often because the hypervisor took";
            let is_told = form.contains(invalid);
            assert_eq!(is_told, !name.starts_with("import"), "{name}: {form}");
        }
    }
}
