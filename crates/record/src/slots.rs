//! Latency slots after load steps. Each row has a small histogram as LEB128
//! numbers, about 2 bytes per non-empty bucket.

use crate::cell::{count_in, insert, int, natural, ns, wrong};
use plimsoll_model::Slot;
use rusqlite::{Connection, Result, Row, ToSql, Transaction};

pub(crate) fn write(tx: &Transaction<'_>, trial: i64, steps: &[Vec<Slot>]) -> Result<()> {
    for (step, slots) in (1i64..).zip(steps) {
        for (number, slot) in (1i64..).zip(slots) {
            let row: &[(&str, &dyn ToSql)] = &[
                ("trial", &trial),
                ("step", &step),
                ("number", &number),
                ("requests", &int(slot.requests())),
                ("sum_ns", &int(slot.sum_ns())),
                ("p50_ns", &slot.quantile(0.5).map(ns)),
                ("p99_ns", &slot.quantile(0.99).map(ns)),
                ("buckets", &encode(slot)),
            ];
            insert(tx, "slot", row)?;
        }
    }
    Ok(())
}

/// The slots of a trial. Records of versions 1 and 2 have none.
pub(crate) fn of_trial(conn: &Connection, trial: i64) -> Result<Vec<Vec<Slot>>> {
    if !conn.table_exists(None, "slot")? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare("SELECT * FROM slot WHERE trial = ? ORDER BY step, number")?;
    let mut rows = statement.query([trial])?;
    let mut steps: Vec<Vec<Slot>> = Vec::new();
    while let Some(row) = rows.next()? {
        let (step, number) = (count_in(row, "step")?, count_in(row, "number")?);
        if step == steps.len() as u64 + 1 && number == 1 {
            steps.push(Vec::new());
        }
        if step != steps.len() as u64 {
            return Err(wrong("step"));
        }
        let slots = steps.last_mut().ok_or_else(|| wrong("step"))?;
        if number != slots.len() as u64 + 1 {
            return Err(wrong("number"));
        }
        slots.push(slot(row)?);
    }
    Ok(steps)
}

fn slot(row: &Row<'_>) -> Result<Slot> {
    let blob: Vec<u8> = row.get("buckets")?;
    let buckets = decode(&blob).ok_or_else(|| wrong("buckets"))?;
    let slot = Slot::from_parts(natural(row, "sum_ns")?, buckets);
    let slot = slot.ok_or_else(|| wrong("buckets"))?;
    match slot.requests() == count_in(row, "requests")? {
        true => Ok(slot),
        false => Err(wrong("requests")),
    }
}

fn encode(slot: &Slot) -> Vec<u8> {
    let mut blob = Vec::new();
    let mut before = 0;
    for (at, count) in slot.buckets() {
        put(&mut blob, u64::from(at - before));
        put(&mut blob, count);
        before = at;
    }
    blob
}

fn decode(mut blob: &[u8]) -> Option<Vec<(u16, u64)>> {
    let mut buckets: Vec<(u16, u64)> = Vec::new();
    while !blob.is_empty() {
        let distance = u16::try_from(take(&mut blob)?).ok()?;
        let count = take(&mut blob)?;
        let at = match buckets.last() {
            None => distance,
            // Buckets must be strictly ascending.
            Some((before, _)) if distance > 0 => before.checked_add(distance)?,
            Some(_) => return None,
        };
        buckets.push((at, count));
    }
    Some(buckets)
}

fn put(blob: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        blob.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    blob.push(number as u8);
}

fn take(blob: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = blob.split_first()?;
        *blob = rest;
        let part = u64::from(byte & 0x7f);
        number |= part << shift;
        if (number >> shift) != part {
            return None;
        }
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slot_round_trip(values in prop::collection::vec(any::<u32>(), 0..50)) {
            let mut slot = Slot::default();
            values.iter().for_each(|ns| slot.record_ns(u64::from(*ns)));
            let buckets = decode(&encode(&slot)).unwrap();
            prop_assert_eq!(Slot::from_parts(slot.sum_ns(), buckets), Some(slot));
        }

        #[test]
        fn damaged_slot_blob_does_not_panic(
            blob in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Some(buckets) = decode(&blob) {
                let _ = Slot::from_parts(0, buckets);
            }
        }
    }

    #[test]
    fn duplicate_buckets_and_truncated_numbers_are_refused() {
        assert_eq!(decode(&[3, 1, 0, 1]), None);
        assert_eq!(decode(&[3]), None);
        assert_eq!(decode(&[0x80]), None);
        assert_eq!(decode(&[0xff; 12]), None);
        assert_eq!(decode(&[0, 1, 0x81, 1, 2]), Some(vec![(0, 1), (129, 2)]));
    }
}
