//! The working directories of the copies of one run.

use crate::LoadError;
use crate::output_tail::last_lines;
use plimsoll_control::Scratch;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// How much of a failed copy's standard error is shown.
const LAST_LINES: usize = 8;

pub(super) const STDERR: &str = "stderr.txt";

/// A new directory with one subdirectory per copy. Dropping it removes it with its
/// content, unless it is kept.
#[derive(Debug)]
pub(super) struct WorkingDirectories {
    /// The parent; it stays open while paths by its descriptor are in use.
    scratch: Scratch,
    name: String,
    is_kept: bool,
}

impl WorkingDirectories {
    /// Makes directories for `n` copies in `scratch`, in the first of `copies-1`,
    /// `copies-2`, … that does not exist.
    pub(super) fn create(scratch: &Scratch, n: usize) -> Result<WorkingDirectories, LoadError> {
        let fail = |path: &Path, error: io::Error| {
            let what = format!("the working directory {} could not be made", path.display());
            let way_out = "choose a place that this user may write to and that has space";
            LoadError::system(what, error, way_out)
        };
        let name = fresh(&scratch.held()).map_err(|e| fail(scratch.path(), e))?;
        let directories = WorkingDirectories {
            scratch: scratch.clone(),
            name,
            is_kept: false,
        };
        for i in 0..n {
            fs::create_dir(directories.of(i)).map_err(|e| fail(&directories.shown(i), e))?;
        }
        Ok(directories)
    }

    pub(super) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The working directory of copy `i`, by descriptor.
    pub(super) fn of(&self, i: usize) -> PathBuf {
        self.root().join(copy(i))
    }

    /// Its path, for display.
    pub(super) fn shown(&self, i: usize) -> PathBuf {
        self.scratch.path().join(&self.name).join(copy(i))
    }

    fn root(&self) -> PathBuf {
        self.scratch.held().join(&self.name)
    }

    /// A new file in the working directory of copy `i`.
    pub(super) fn new_file(&self, i: usize, name: &str) -> Result<File, LoadError> {
        File::create_new(self.of(i).join(name)).map_err(|error| {
            let what = format!("{} could not be made", self.shown(i).join(name).display());
            let way_out = "choose a place that has space, and see `ulimit -n`";
            LoadError::system(what, error, way_out)
        })
    }

    /// Keeps the directory when this is dropped.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
        self.scratch.keep();
    }

    /// Describes the last lines of copy `i`'s standard error, and the path of the file.
    pub(super) fn last_words(&self, i: usize) -> String {
        let kept = format!("Its output is kept in {}", self.shown(i).display());
        match last_lines(&self.of(i).join(STDERR), LAST_LINES, |text| text) {
            Ok(lines) if lines.is_empty() => format!("It wrote no errors. {kept}"),
            Ok(lines) => format!("{kept}; its last errors:\n    {}", lines.join("\n    ")),
            Err(error) => format!("{kept}; its errors cannot be read: {error}"),
        }
    }
}

impl Drop for WorkingDirectories {
    fn drop(&mut self) {
        if !self.is_kept {
            // Errors cannot be reported from a drop.
            let _ = self.scratch.remove(Path::new(&self.name));
        }
    }
}

fn copy(i: usize) -> String {
    format!("copy-{i}")
}

fn fresh(dir: &Path) -> io::Result<String> {
    let mut number = 1u64;
    loop {
        let name = format!("copies-{number}");
        match fs::create_dir(dir.join(&name)) {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_control::Journals;
    use plimsoll_host::Root;

    fn scratch(dir: &tempfile::TempDir) -> Scratch {
        let journals = Journals::at(dir.path().join("journals"));
        let journal = journals.open(&Root::machine()).unwrap();
        Scratch::make(&journal, dir.path(), "test").unwrap()
    }

    #[test]
    fn each_run_gets_new_directories_that_are_removed_on_drop() {
        let dir = tempfile::tempdir().unwrap();
        let place = scratch(&dir);
        let first = WorkingDirectories::create(&place, 2).unwrap();
        let second = WorkingDirectories::create(&place, 2).unwrap();
        assert_ne!(first.of(0), second.of(0));
        assert!(first.of(1).is_dir() && second.of(1).is_dir());
        fs::write(first.of(1).join("output"), "of the copy").unwrap();
        drop((first, second));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_the_last_lines_are_shown() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = scratch(&dir);
        let directories = WorkingDirectories::create(&scratch, 1).unwrap();
        assert!(directories.last_words(0).contains("cannot be read"));
        let lines: Vec<String> = (0..1000).map(|i| format!("line {i}")).collect();
        let words_for = |errors: &[u8]| {
            fs::write(directories.of(0).join(STDERR), errors).unwrap();
            directories.last_words(0)
        };
        let words = words_for(lines.join("\n").as_bytes());
        assert!(words.ends_with("    line 998\n    line 999"), "{words}");
        assert!(!words.contains("line 991\n"), "{words}");
        let words = words_for(b"\xff\xfe broken");
        assert!(words.ends_with("\u{fffd}\u{fffd} broken"), "{words}");
        let words = words_for(b"");
        assert!(words.starts_with("It wrote no errors."), "{words}");
    }
}
