//! Documents in each form.

use crate::{Document, Format, Look, TrialTally, render};
use jsonschema::Validator;
use plimsoll_model::InvalidKind;
use serde_json::Value;

/// For a terminal without colours and charts.
pub(crate) fn as_text(document: &Document<'_>, width: usize) -> String {
    in_form(document, Format::Text, width)
}

pub(crate) fn shown(document: &Document<'_>, format: Format) -> String {
    in_form(document, format, 80)
}

fn in_form(document: &Document<'_>, format: Format, width: usize) -> String {
    let look = Look {
        width,
        colour: false,
        charts: None,
    };
    render(document, format, look).unwrap()
}

/// Compares a text with the file of this name in `src`, to the letter. `BLESS=1`
/// writes the file anew; read the difference before you commit it.
#[track_caller]
pub(crate) fn is_snapshot(name: &str, width: usize, text: &str) {
    let is_wide = |line: &&str| line.chars().count() > width;
    assert_eq!(
        text.lines().find(is_wide),
        None,
        "{name} is wider than {width}"
    );
    let path = format!("{}/src/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    let case = text
        .lines()
        .zip(expected.lines())
        .find(|(is, was)| is != was);
    assert!(
        text == expected,
        "{name} differs first in {case:?}: got\n{text}\ninstead of\n{expected}"
    );
}

/// What is between the first `from` and the next `to`.
pub(crate) fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(from)?;
    rest.split_once(to).map(|(part, _)| part)
}

/// So many trials, of which the invalid ones had CPU time stolen.
pub(crate) fn tally(all: u64, invalid: u64) -> TrialTally {
    TrialTally {
        all,
        invalid,
        commonest: (invalid > 0).then_some(InvalidKind::Steal),
        ..TrialTally::default()
    }
}

/// Asserts that a text has all of these words.
#[track_caller]
pub(crate) fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
}

#[track_caller]
pub(crate) fn has_not(text: &str, words: &str) {
    assert!(!text.contains(words), "'{words}' is there: {text}");
}

pub(crate) struct Schema(Validator);

impl Schema {
    pub(crate) fn of(schema: &str) -> Schema {
        Schema(jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap())
    }

    #[track_caller]
    pub(crate) fn accepts(&self, output: &Value) {
        let wrong = self.0.iter_errors(output);
        let wrong: Vec<String> = wrong
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{output:#}");
    }

    /// Asserts that a good output is refused with each of these values instead.
    #[track_caller]
    pub(crate) fn refuses(&self, good: &Value, wrong: &[(&str, Value)]) {
        self.accepts(good);
        for (at, wrong) in wrong {
            let mut bad = good.clone();
            *bad.pointer_mut(at).unwrap() = wrong.clone();
            assert!(!self.0.is_valid(&bad), "{at}: {wrong}");
        }
    }
}
