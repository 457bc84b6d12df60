//! What the frame says of any run, in every document and in text and page alike.

use super::pages::count;
use super::sample::{Experiment, Sample, copies, imported, imported_copies, provenance, sweep};
use super::shown::{as_text, between, has, shown, tally};
use crate::yields::tests::sample::{self as yields, curve, step};
use crate::{Document, Format, TrialTally};
use plimsoll_model::{CpusOf, Outcome, Requirement, RunEnd};

type Forms = fn(&Document<'_>) -> [String; 2];

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

fn in_trouble<P: Experiment>(sample: Sample<P>, trouble: &Trouble, forms: Forms) -> [String; 2] {
    let sample = Sample {
        ended: trouble.ended.clone(),
        trials: trouble.trials,
        requirements: trouble.requirements.clone(),
        provenance: provenance(),
        ..sample
    };
    let picture = P::picture(&sample);
    sample.with(Some(&picture), forms)
}

/// Two forms of each document, with its name.
fn every_document(trouble: &Trouble, forms: Forms) -> Vec<(&'static str, [String; 2])> {
    vec![
        ("sweep", in_trouble(sweep(), trouble, forms)),
        ("copies", in_trouble(copies(), trouble, forms)),
        ("import", in_trouble(imported(), trouble, forms)),
        (
            "import of copies",
            in_trouble(imported_copies(), trouble, forms),
        ),
        ("yield", in_trouble(yields::sample(), trouble, forms)),
        ("yield --curve", in_trouble(curve::curve(), trouble, forms)),
        ("yield --step", in_trouble(step::stepped(), trouble, forms)),
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
        for (name, forms) in every_document(&trouble(ended), forms) {
            for form in forms {
                assert!(form.contains(words), "{name}: {form}");
                let command = name.split(' ').next().unwrap();
                let resume = format!("plimsoll {command} --resume run.plimsoll");
                let is_told = form.contains(&resume);
                assert_eq!(is_told, !name.starts_with("import"), "{name}: {form}");
            }
        }
    }
    for (name, forms) in every_document(&trouble(Some(RunEnd::Complete)), forms) {
        for form in forms {
            assert!(!form.contains("--resume"), "{name}: {form}");
        }
    }
}

#[test]
fn every_document_says_what_the_host_lacks_and_how_many_trials_are_invalid() {
    for (name, forms) in every_document(&trouble(Some(RunEnd::Complete)), forms) {
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

/// What a page has as data, with the JSON that the document is in.
#[test]
fn what_questions_the_figures_is_above_them_and_not_among_what_lacks() {
    let mut sample = sweep();
    sample.requirements.push(Requirement {
        name: Requirement::NO_OTHER_CLIENTS.to_owned(),
        outcome: Outcome::Missed {
            lost: "another connection was open: its requests count".to_owned(),
            remedy: "end it".to_owned(),
        },
    });
    const SAYS: &str = "Another connection was open: its requests count; end it.";
    let page = sample.shown(Format::Html);
    let (at, table) = (page.find(SAYS).unwrap(), page.find("<table").unwrap());
    assert!(at < table, "{at} {table}");
    assert_eq!(count(&page, SAYS), 1);
    let text = sample.flat();
    assert_eq!(count(&text, SAYS), 1, "{text}");
    assert!(!text.contains(Requirement::NO_OTHER_CLIENTS), "{text}");
}

fn page_and_json(document: &Document<'_>) -> [String; 2] {
    [Format::Html, Format::Json].map(|format| shown(document, format))
}

#[test]
fn every_page_has_its_findings_in_it_and_fetches_nothing() {
    for (name, [page, json]) in every_document(&trouble(Some(RunEnd::Complete)), page_and_json) {
        let begins = "<script type=\"application/json\" id=\"raw\">";
        let raw = between(&page, begins, "</script>").unwrap();
        let [raw, json] = [raw, json.as_str()]
            .map(|json| -> serde_json::Value { serde_json::from_str(json).unwrap() });
        assert_eq!(raw, json, "{name}");
        assert!(page.contains("default-src &#39;none&#39;"), "{name}");
        let style = between(&page, "<style>", "</style>").unwrap();
        let (urls, own) = (count(style, "url("), count(style, "url(#"));
        assert_eq!(urls, own, "{name}: only within the page");
        assert!(
            !style.contains("http") && !style.contains("@import"),
            "{name}"
        );
        for attribute in [" src=", "href=\"http", "href=\"//"] {
            assert_eq!(count(&page, attribute), 0, "{name}: {attribute}");
        }
    }
}

#[test]
fn every_document_says_how_much_time_went_unseen() {
    let with = |pct| {
        let mut trouble = trouble(Some(RunEnd::Complete));
        trouble.trials.unseen = Some((pct, CpusOf::Service));
        every_document(&trouble, forms)
    };
    let words = "s CPUs went to interrupts";
    for (name, forms) in with(28.0) {
        for form in forms {
            assert_eq!(
                form.contains(words),
                !name.starts_with("import"),
                "{name}: {form}"
            );
        }
    }
    for (name, forms) in with(4.9) {
        assert!(!forms.concat().contains("went to interrupts"), "{name}");
    }
}
