//! A journal that stays short, however long its process changes and undoes things.

use super::{ENDING, Header, Line, Open, append};
use crate::random::random;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Beyond this a journal is written anew: some thousand changes.
pub(super) const LARGE: u64 = 1 << 20;

/// Makes a journal with its header, locked for the life of the file, so that no other
/// process repairs it meanwhile.
pub(super) fn create(dir: &Path, header: &Header) -> (PathBuf, io::Result<File>) {
    let owner = header.owner;
    let name = format!("{}-{}-{:016x}{ENDING}", owner.pid, owner.started, random());
    let path = dir.join(name);
    let make = || {
        let mut options = OpenOptions::new();
        options.create_new(true).append(true).mode(0o600);
        let mut file = options.open(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        append(&mut file, header)?;
        Ok(file)
    };
    let file = make();
    (path, file)
}

impl Open {
    /// Moves to a new file what is not undone, if the old one is large and mostly something
    /// else. Killed in between
    /// it leaves two whole journals, of which the repair undoes one and finds nothing to
    /// undo in the other.
    pub(super) fn compact(&mut self) -> io::Result<()> {
        if self.written < LARGE || self.written < 2 * self.kept {
            return Ok(());
        }
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        let (path, file) = create(dir, &self.header);
        let mut file = file?;
        let mut written = 0;
        for (nth, change) in &self.outstanding {
            let line = Line::Change {
                nth: *nth,
                change: change.clone(),
            };
            written += append(&mut file, &line)?;
        }
        fs::remove_file(&self.path)?;
        (self.path, self.file) = (path, file);
        (self.written, self.kept) = (written, written);
        Ok(())
    }
}
