//! Histograms as blobs: HdrHistogram's V2 encoding, uncompressed.
//!
//! The format is described in HdrHistogram's `V2` encoder: a header of 40 bytes
//! (cookie, length, offset, digits, lowest, highest, ratio; big endian), then
//! counts as zig-zag LEB128 numbers, where a negative number stands for that
//! many empty buckets.

use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use plimsoll_model::Histogram;

const HEAD_BYTES: usize = 40;
/// The bytes before the length: V2, uncompressed.
const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];

pub(crate) fn encode(histogram: &Histogram) -> Result<Vec<u8>, String> {
    let mut blob = Vec::new();
    V2Serializer::new()
        .serialize(histogram.as_hdr(), &mut blob)
        .map_err(|e| e.to_string())?;
    Ok(blob)
}

/// Decodes a blob that must hold `count` values.
///
/// The blob may be damaged, and the decoder trusts its input (it allocates what
/// the header says), so header and numbers are checked first.
pub(crate) fn decode(blob: &[u8], count: u64) -> Result<Histogram, String> {
    check_head(blob)?;
    check_counts(&blob[HEAD_BYTES..])?;
    let hdr = Deserializer::new()
        .deserialize::<u64, _>(&mut &*blob)
        .map_err(|e| e.to_string())?;
    let histogram = Histogram::from_hdr(&hdr);
    if histogram.count() != count {
        return Err(format!(
            "a histogram has {} values instead of {count}",
            histogram.count()
        ));
    }
    Ok(histogram)
}

fn check_head(blob: &[u8]) -> Result<(), String> {
    let own = encode(&Histogram::new())?;
    let length = blob.len().checked_sub(HEAD_BYTES);
    let length = length.and_then(|n| u32::try_from(n).ok());
    let length = length.ok_or("a histogram is truncated")?;
    let same_bounds = blob.get(8..HEAD_BYTES) == own.get(8..HEAD_BYTES);
    if blob[..4] != COOKIE || blob[4..8] != length.to_be_bytes() || !same_bounds {
        return Err("a histogram has an unexpected header".to_owned());
    }
    Ok(())
}

/// Rejects truncated numbers and the one that cannot be negated.
fn check_counts(mut bytes: &[u8]) -> Result<(), String> {
    while !bytes.is_empty() {
        // Seven bits each in eight bytes with the high bit set, then eight
        // bits.
        let length = bytes.iter().take(8).take_while(|b| **b >= 0x80).count() + 1;
        let number = bytes.get(..length).ok_or("a histogram is truncated")?;
        if number.iter().all(|b| *b == 0xff) && length == 9 {
            return Err("a histogram has an invalid count".to_owned());
        }
        bytes = &bytes[length..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(values: &[u64]) -> Histogram {
        let mut h = Histogram::new();
        values.iter().for_each(|ns| h.record_ns(*ns));
        h
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn histogram_round_trip(values in prop::collection::vec(64u64.., 0..50)) {
            let h = filled(&values);
            prop_assert_eq!(decode(&encode(&h).unwrap(), h.count()).unwrap(), h);
        }

        #[test]
        fn damaged_histogram_blob_does_not_panic(
            values in prop::collection::vec(64u64..10_000_000, 0..50),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let h = filled(&values);
            let mut blob = encode(&h).unwrap();
            for (at, byte) in &damage {
                let at = at.index(blob.len());
                blob[at] = *byte;
            }
            let _ = decode(&blob, h.count());
            blob.truncate(cut.index(blob.len()));
            let _ = decode(&blob, h.count());
        }
    }

    #[test]
    fn values_below_the_lowest_keep_their_count_and_quantiles() {
        let h = filled(&[0, 1, 63, 1000]);
        let back = decode(&encode(&h).unwrap(), 4).unwrap();
        for q in [0.0, 0.5, 0.75, 1.0] {
            assert_eq!(back.quantile(q), h.quantile(q));
        }
    }

    #[test]
    fn a_wrong_count_a_foreign_head_and_garbage_are_refused() {
        let blob = encode(&filled(&[100, 200])).unwrap();
        assert!(decode(&blob, 3).is_err());
        assert!(decode(&blob[..39], 2).is_err());
        assert!(decode(&blob[..blob.len() - 1], 2).is_err());
        let mut huge = blob.clone();
        huge[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(decode(&huge, 2).is_err());
        let mut impossible = blob[..HEAD_BYTES].to_vec();
        impossible[4..8].copy_from_slice(&9u32.to_be_bytes());
        impossible.extend([0xff; 9]);
        assert!(decode(&impossible, 0).is_err());
    }
}
