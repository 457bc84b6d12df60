//! The mount table, from /proc/self/mountinfo (proc(5)).

use crate::{HostError, Root};
use std::path::{Path, PathBuf};

/// A line: `ID PARENT DEV ROOT POINT OPTIONS [OPTIONAL…] - TYPE SOURCE SUPER_OPTIONS`.
pub(crate) struct Line<'a> {
    pub(crate) root: String,
    pub(crate) point: String,
    pub(crate) kind: &'a str,
    pub(crate) super_options: &'a str,
}

/// The lines of a table; malformed ones are ignored.
pub(crate) fn lines(mountinfo: &str) -> impl Iterator<Item = Line<'_>> {
    mountinfo.lines().filter_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let mut filesystem = filesystem.split(' ');
        Some(Line {
            root: unescape(mount.next()?),
            point: unescape(mount.next()?),
            kind: filesystem.next()?,
            super_options: filesystem.nth(1).unwrap_or_default(),
        })
    })
}

/// A mount at a folder or below it, whose files are not the folder's: the first one.
///
/// # Errors
/// If the table cannot be read.
pub fn mounted_within(root: &Root, folder: &Path) -> Result<Option<PathBuf>, HostError> {
    let table = root.text("/proc/self/mountinfo")?;
    let mut points = lines(&table).map(|line| PathBuf::from(line.point));
    Ok(points.find(|point| point.starts_with(folder)))
}

/// Blanks and backslashes are encoded as `\040` and `\134`.
fn unescape(text: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn a_mount_below_a_folder_is_found_and_one_beside_it_is_not() {
        let table = "1 0 8:1 / / rw - ext4 /dev/vda rw\n\
                     2 1 8:1 /data /tmp/a\\040b/m rw - ext4 /dev/vda rw\n";
        let tree = FakeTree::new().file("proc/self/mountinfo", table);
        let within = |folder: &str| mounted_within(tree.root(), Path::new(folder)).unwrap();
        assert_eq!(within("/tmp/a b"), Some("/tmp/a b/m".into()));
        assert_eq!(within("/tmp/a b/m"), Some("/tmp/a b/m".into()));
        assert_eq!(within("/tmp/a"), None);
    }
}
