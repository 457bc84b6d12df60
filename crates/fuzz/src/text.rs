//! What is read from a socket, a file or an argument at once.

use plimsoll_experiments::import::{About, Table};
use plimsoll_host::NodeMetrics;
use plimsoll_law::{replay, replay_awake};
use plimsoll_load::http::answers;
use plimsoll_side::{GuardSpec, prometheus_number};

/// The answers of a server. How they are cut into pieces must not matter.
pub(crate) fn http(input: &[u8]) {
    let Some((how, sent)) = input.split_first() else {
        return;
    };
    let (to_head, piece) = (how & 1 == 1, usize::from(how >> 1) + 1);
    let whole = answers(sent, to_head, sent.len().max(1));
    assert_eq!(answers(sent, to_head, piece), whole, "in pieces of {piece}");
}

pub(crate) fn metrics(input: &[u8]) {
    let _ = NodeMetrics::parse(&String::from_utf8_lossy(input));
}

pub(crate) fn prometheus(input: &[u8]) {
    if let Ok(number) = prometheus_number(&String::from_utf8_lossy(input)) {
        assert!(number.is_finite());
    }
}

pub(crate) fn guard(input: &[u8]) {
    let parsed: Result<GuardSpec, _> = String::from_utf8_lossy(input).parse();
    match parsed {
        Ok(guard) => drop(guard.name()),
        Err(error) => drop(error.to_string()),
    }
}

pub(crate) fn log(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for replayed in [replay(text.lines()), replay_awake(text.lines())] {
        if let Err(difference) = replayed {
            drop(difference.to_string());
        }
    }
}

/// A table, imported as of a machine that its first byte describes.
pub(crate) fn table(input: &[u8]) {
    let Some((machine, table)) = input.split_first() else {
        return;
    };
    let about = About {
        name: "fuzz".to_owned(),
        cpus: (machine & 0xf > 0).then_some(u32::from(machine & 0xf)),
        threads_per_core: (machine >> 4 > 0).then_some(u32::from(machine >> 4)),
        note: None,
        plimsoll_version: String::new(),
    };
    if let Err(error) = Table::read(table).and_then(|table| table.run(about)) {
        drop(error.to_string());
    }
}
