//! Every kept input, through its function; and every input cut and doubled.

#![allow(
    clippy::unwrap_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

use plimsoll_fuzz::TARGETS;
use std::fs;
use std::path::{Path, PathBuf};

/// A corpus is for the shapes of input, not for its bulk.
const MOST_BYTES: u64 = 1 << 20;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn kept_inputs_of_each_target_are_survived() {
    for target in &TARGETS {
        let kept = files(&corpus().join(target.name));
        assert!(kept.len() > 1, "{} has no inputs", target.name);
        for path in kept {
            let input = fs::read(path).unwrap();
            (target.run)(&input);
            for part in 0..8 {
                (target.run)(&input[..input.len() * part / 8]);
            }
        }
    }
}

#[test]
fn the_corpus_is_small_and_each_folder_has_a_target() {
    let folders = files(&corpus());
    assert_eq!(folders.len(), TARGETS.len(), "{folders:?}");
    let files = folders.iter().flat_map(|folder| files(folder));
    let bytes: u64 = files.map(|file| fs::metadata(file).unwrap().len()).sum();
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
}
