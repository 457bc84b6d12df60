//! Texts with places for values, and how a value is written in each place.

use super::values::{DataSet, Value};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::http) enum Place {
    /// Path and query: values are percent-encoded.
    Target,
    Header,
    /// A body in JSON: strings are escaped as between quotes.
    Json,
    /// A body as forms send it: values are percent-encoded.
    Form,
    Body,
}

/// A text whose values are known when it is sent.
pub(in crate::http) type Text = Vec<Piece>;

#[derive(Debug, Clone)]
pub(in crate::http) enum Piece {
    Bytes(Vec<u8>),
    Counter,
    /// From the first to before the second.
    Random(i64, i64),
    Uuid,
    /// Seconds since 1970.
    Timestamp,
    /// Values of a column, as this place has them.
    Column {
        set: usize,
        values: Arc<[Box<[u8]>]>,
        /// Bytes of the longest.
        longest: usize,
    },
    /// What a login captured under this name.
    Captured(String, Place),
}

/// What names within `{{` and `}}` stand for.
#[derive(Default)]
pub(super) struct Names<'a> {
    pub(super) sets: &'a [DataSet],
    pub(super) captured: &'a [String],
    /// Columns as their places have them: one of many rows may stand in many places.
    pub(super) columns: Rc<RefCell<Columns>>,
}

type Column = Arc<[Box<[u8]>]>;
/// With the bytes of the longest value.
pub(super) type Columns = HashMap<(usize, String, Place), (Column, usize)>;

impl Names<'_> {
    /// # Errors
    /// What of the text makes no sense.
    pub(super) fn text(&self, text: &str, place: Place) -> Result<Text, String> {
        let mut pieces = Text::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, after)) = after.split_once("}}") else {
                break;
            };
            push_bytes(&mut pieces, before.as_bytes());
            pieces.push(self.piece(name.trim(), place)?);
            rest = after;
        }
        push_bytes(&mut pieces, rest.as_bytes());
        Ok(pieces)
    }

    fn piece(&self, name: &str, place: Place) -> Result<Piece, String> {
        let words: Vec<&str> = name.split_whitespace().collect();
        match words.as_slice() {
            ["$counter"] => return Ok(Piece::Counter),
            ["$uuid" | "$guid"] => return Ok(Piece::Uuid),
            ["$timestamp"] => return Ok(Piece::Timestamp),
            ["$randomInt", from, to] => {
                let range = from.parse().ok().zip(to.parse().ok());
                return match range.filter(|(from, to): &(i64, i64)| from < to) {
                    Some((from, to)) => Ok(Piece::Random(from, to)),
                    None => Err(format!(
                        "'{{{{{name}}}}}' needs two whole numbers, the first below the second"
                    )),
                };
            }
            [word, ..] if word.starts_with('$') => {
                return Err(format!(
                    "'{{{{{name}}}}}' is not known; there are $counter, $randomInt FROM TO, $uuid and $timestamp"
                ));
            }
            _ => {}
        }
        if self.captured.iter().any(|captured| captured == name) {
            return Ok(Piece::Captured(name.to_owned(), place));
        }
        let unknown = || {
            format!(
                "nothing gives '{{{{{name}}}}}' a value; write '@{name} = value', or '# @data NAME FILE' and {{{{NAME.column}}}}"
            )
        };
        let (set, column) = name.split_once('.').ok_or_else(unknown)?;
        let at = self.sets.iter().position(|other| other.name == set);
        let at = at.ok_or_else(unknown)?;
        let of = &self.sets[at];
        let values = of.column(column).ok_or_else(|| {
            format!(
                "the data set {set} has no column '{column}'; it has {}",
                of.columns()
            )
        })?;
        let key = (at, column.to_owned(), place);
        let piece = |values: &Column, longest: usize| Piece::Column {
            set: at,
            values: Arc::clone(values),
            longest,
        };
        if let Some((values, longest)) = self.columns.borrow().get(&key) {
            return Ok(piece(values, *longest));
        }
        let written: Result<Column, String> =
            values.iter().map(|value| written(value, place)).collect();
        let values = written.map_err(|why| format!("{{{{{name}}}}}: {why}"))?;
        let longest = values.iter().map(|value| value.len()).max().unwrap_or(0);
        let piece = piece(&values, longest);
        self.columns.borrow_mut().insert(key, (values, longest));
        Ok(piece)
    }
}

/// A value as it stands in a place.
pub(super) fn written(value: &Value, place: Place) -> Result<Box<[u8]>, String> {
    let text = value.text.as_str();
    let text = match place {
        Place::Target | Place::Form => percent_encoded(text),
        Place::Header if text.chars().any(char::is_control) => {
            return Err("a value has control characters, which a header cannot have".to_owned());
        }
        Place::Json if !value.is_json => {
            let quoted = serde_json::Value::from(text).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        }
        Place::Header | Place::Json | Place::Body => text.to_owned(),
    };
    Ok(text.into_bytes().into_boxed_slice())
}

/// All but the unreserved characters of RFC 3986, section 2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A text as it stands in a query: all but letters, digits and `-._~` is percent-encoded.
pub fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The most bytes that a text comes to, without what a login gives.
pub(super) fn most_bytes(text: &[Piece]) -> usize {
    let bytes = |piece: &Piece| match piece {
        Piece::Bytes(bytes) => bytes.len(),
        Piece::Column { longest, .. } => *longest,
        // The longest is a UUID.
        _ => 36,
    };
    text.iter().map(bytes).fold(0, usize::saturating_add)
}

pub(in crate::http) fn push_bytes(pieces: &mut Text, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    if let Some(Piece::Bytes(last)) = pieces.last_mut() {
        last.extend_from_slice(bytes);
    } else {
        pieces.push(Piece::Bytes(bytes.into()));
    }
}

/// What requests of one run take in turn, over all threads and trials.
#[derive(Debug, Default)]
pub(in crate::http) struct Supply {
    pub(super) sets: Vec<DataSet>,
    counter: AtomicU64,
}

impl Supply {
    pub(super) fn of(sets: Vec<DataSet>) -> Supply {
        Supply {
            sets,
            counter: AtomicU64::new(0),
        }
    }

    /// How many data sets there are.
    pub(in crate::http) fn sets(&self) -> usize {
        self.sets.len()
    }

    /// For one request.
    pub(in crate::http) fn filler<'a>(
        &'a self,
        rng: &'a mut Xoshiro256PlusPlus,
        rows: &'a mut [Option<usize>],
    ) -> Filler<'a> {
        Filler {
            supply: self,
            rng,
            rows,
        }
    }
}

/// Fills the places of one request: all values of a data set are of one row.
pub(in crate::http) struct Filler<'a> {
    supply: &'a Supply,
    rng: &'a mut Xoshiro256PlusPlus,
    /// By data set: the row, once it is chosen.
    rows: &'a mut [Option<usize>],
}

impl Filler<'_> {
    pub(in crate::http) fn fill(&mut self, text: &[Piece], into: &mut Vec<u8>) {
        for piece in text {
            self.piece(piece, into);
        }
    }

    fn piece(&mut self, piece: &Piece, into: &mut Vec<u8>) {
        // Writing to a vector does not fail.
        let _ = match piece {
            Piece::Bytes(bytes) => into.write_all(bytes),
            Piece::Counter => {
                let n = self.supply.counter.fetch_add(1, Ordering::Relaxed);
                write!(into, "{}", n + 1)
            }
            Piece::Random(from, to) => {
                let span = to.abs_diff(*from);
                let n = from.wrapping_add_unsigned(self.rng.next_u64() % span);
                write!(into, "{n}")
            }
            Piece::Uuid => write!(into, "{}", uuid(self.rng)),
            Piece::Timestamp => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                write!(into, "{}", now.unwrap_or_default().as_secs())
            }
            Piece::Column { set, values, .. } => {
                let Filler { supply, rng, rows } = self;
                let row =
                    *rows[*set].get_or_insert_with(|| supply.sets[*set].next(|| rng.next_u64()));
                into.write_all(&values[row])
            }
            // Replaced before a trial.
            Piece::Captured(..) => Ok(()),
        };
    }
}

/// Version 4 of RFC 9562.
fn uuid(rng: &mut Xoshiro256PlusPlus) -> String {
    let (high, low) = (rng.next_u64(), rng.next_u64());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::super::values::TableLimits;
    use super::*;
    use rand_core::SeedableRng;

    fn filled(text: &str, place: Place) -> Result<String, String> {
        let mut limits = TableLimits::default();
        let users = DataSet::read(
            "u",
            "u.csv",
            "name,n\n\"a \"\"b\"\"\",1\n",
            false,
            &mut limits,
        )?;
        let carts = "{\"items\": [1, \"x\"], \"note\": \"q\"}";
        let carts = DataSet::read("carts", "c.jsonl", carts, true, &mut limits)?;
        let supply = Supply::of(vec![users, carts]);
        let names = Names {
            sets: &supply.sets,
            captured: &["token".to_owned()],
            columns: Rc::default(),
        };
        let text = names.text(text, place)?;
        let mut into = Vec::new();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        supply
            .filler(&mut rng, &mut [None, None])
            .fill(&text, &mut into);
        Ok(String::from_utf8(into).unwrap())
    }

    #[test]
    fn values_are_written_as_their_place_asks() {
        let text = "x{{u.name}}y{{ carts.items }}";
        for (place, expected) in [
            (Place::Target, "xa%20%22b%22y%5B1%2C%22x%22%5D"),
            (Place::Json, "xa \\\"b\\\"y[1,\"x\"]"),
            (Place::Body, "xa \"b\"y[1,\"x\"]"),
            (Place::Header, "xa \"b\"y[1,\"x\"]"),
        ] {
            assert_eq!(filled(text, place).as_deref(), Ok(expected));
        }
        assert_eq!(
            filled("{{$counter}} {{$counter}}", Place::Body).unwrap(),
            "1 2"
        );
        let n: i64 = filled("{{$randomInt -3 3}}", Place::Body)
            .unwrap()
            .parse()
            .unwrap();
        assert!((-3..3).contains(&n));
        let uuid = filled("{{$uuid}}", Place::Body).unwrap();
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"), "{uuid}");
        assert_eq!(
            filled("{{ not closed", Place::Body).unwrap(),
            "{{ not closed"
        );
    }

    #[test]
    fn places_without_a_value_are_refused() {
        for (text, why) in [
            ("{{x}}", "@x = value"),
            ("{{u.x}}", "it has n, name"),
            ("{{v.x}}", "nothing gives"),
            ("{{$randomInt 3 3}}", "the first below"),
            ("{{$date}}", "$timestamp"),
        ] {
            let refused = filled(text, Place::Body).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
