//! The cpio archive that the kernel unpacks as its initial file system.
//!
//! Written here because an initramfs needs little of the format (the kernel's
//! Documentation/driver-api/early-userspace/buffer-format.rst, "newc"), crates
//! for it are much larger, and cpio(1) needs a tree on disk laid out as in the
//! guest. This way nothing needs root, and the same files give the same bytes.

use crate::error::XtaskError;
use std::collections::BTreeMap;
use std::path::{Component, Path};

#[derive(Debug, PartialEq, Eq)]
enum Node {
    Folder,
    /// Content; all files are executable.
    File(Vec<u8>),
}

/// Files and folders by their paths in the guest. Sorted, because the kernel
/// requires a folder before its content.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    nodes: BTreeMap<String, Node>,
}

impl Archive {
    /// Adds a folder and its parents. Fails for a path that contains `..` or is not
    /// UTF-8.
    pub(crate) fn folder(&mut self, path: &Path) -> Result<(), XtaskError> {
        let name = name_of(path)?;
        let ends = name.match_indices('/').map(|(end, _)| end);
        for end in ends.chain([name.len()]) {
            let above = name[..end].to_owned();
            self.nodes.entry(above).or_insert(Node::Folder);
        }
        Ok(())
    }

    /// Adds an executable file and its parent folders; fails as for a folder.
    pub(crate) fn file(&mut self, path: &Path, bytes: Vec<u8>) -> Result<(), XtaskError> {
        if let Some(parent) = path.parent().filter(|p| *p != Path::new("/")) {
            self.folder(parent)?;
        }
        self.nodes.insert(name_of(path)?, Node::File(bytes));
        Ok(())
    }

    /// Fails if a file exceeds the format's limit of 4 GiB.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, XtaskError> {
        let mut out = Vec::new();
        for (inode, (name, node)) in (1..).zip(&self.nodes) {
            match node {
                Node::Folder => entry(&mut out, inode, 0o040_755, name, &[])?,
                Node::File(bytes) => entry(&mut out, inode, 0o100_755, name, bytes)?,
            }
        }
        entry(&mut out, 0, 0, "TRAILER!!!", &[])?;
        Ok(out)
    }
}

/// The archive's form of a path: from the root, without a leading slash.
fn name_of(path: &Path) -> Result<String, XtaskError> {
    let mut parts = Vec::new();
    for part in path.components() {
        match (part, part.as_os_str().to_str()) {
            (Component::RootDir, _) => (),
            (Component::Normal(_), Some(name)) => parts.push(name),
            _ => {
                let path = path.display();
                return Err(XtaskError::Unexpected(format!(
                    "{path} cannot be added to the guest: use a path without '..'"
                )));
            }
        }
    }
    Ok(parts.join("/"))
}

/// One entry: thirteen numbers of eight hexadecimal digits, the name with a
/// terminating zero, the bytes; both padded to a multiple of four.
fn entry(
    out: &mut Vec<u8>,
    inode: u32,
    mode: u32,
    name: &str,
    bytes: &[u8],
) -> Result<(), XtaskError> {
    let too_large = |_| XtaskError::Unexpected(format!("{name} is too large for the guest"));
    let size = u32::try_from(bytes.len()).map_err(too_large)?;
    let name_size = u32::try_from(name.len() + 1).map_err(too_large)?;
    let (owner, group, links, time, device, check) = (0, 0, 1, 0, 0, 0);
    out.extend(b"070701");
    for number in [
        inode, mode, owner, group, links, time, size, device, device, device, device, name_size,
        check,
    ] {
        out.extend(format!("{number:08x}").as_bytes());
    }
    out.extend(name.as_bytes());
    out.push(0);
    pad(out);
    out.extend(bytes);
    pad(out);
    Ok(())
}

/// Entries start at multiples of four, so the archive's length determines the
/// padding.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The archive's entries: name, mode, bytes.
    fn read(mut bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut seen = Vec::new();
        loop {
            assert_eq!(&bytes[..6], b"070701");
            let number = |n: usize| {
                let digits = std::str::from_utf8(&bytes[6 + 8 * n..14 + 8 * n]).unwrap();
                u32::from_str_radix(digits, 16).unwrap()
            };
            let (mode, size, name_size) = (number(1), number(6) as usize, number(11) as usize);
            let name = &bytes[110..110 + name_size];
            assert_eq!(name.last(), Some(&0));
            let name = String::from_utf8(name[..name_size - 1].to_vec()).unwrap();
            let start = (110 + name_size).next_multiple_of(4);
            let end = (start + size).next_multiple_of(4);
            if name == "TRAILER!!!" {
                assert_eq!(bytes.len(), end);
                return seen;
            }
            seen.push((name, mode, bytes[start..start + size].to_vec()));
            bytes = &bytes[end..];
        }
    }

    #[test]
    fn archive_contains_files_and_parent_folders() {
        let mut archive = Archive::default();
        for (path, bytes) in [("/init", "12345"), ("/a/b/c", ""), ("/a/b.so", "x")] {
            archive.file(Path::new(path), bytes.into()).unwrap();
        }
        archive.folder(Path::new("/proc")).unwrap();
        let folder = |name: &str| (name.to_owned(), 0o040_755, Vec::new());
        let file = |name: &str, bytes: &str| (name.to_owned(), 0o100_755, bytes.into());
        let seen = read(&archive.bytes().unwrap());
        let expected = [
            folder("a"),
            folder("a/b"),
            file("a/b.so", "x"),
            file("a/b/c", ""),
            file("init", "12345"),
            folder("proc"),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn existing_folder_is_kept() {
        let mut archive = Archive::default();
        archive.file(Path::new("/a/x"), b"1".into()).unwrap();
        archive.folder(Path::new("/a/x")).unwrap();
        archive.file(Path::new("/a/y"), b"2".into()).unwrap();
        let names = read(&archive.bytes().unwrap()).into_iter().map(|e| e.0);
        assert_eq!(names.collect::<Vec<_>>(), ["a", "a/x", "a/y"]);
    }

    #[test]
    fn parent_components_are_refused() {
        let refused = Archive::default().folder(Path::new("/a/../b"));
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("/a/../b"), "{error}");
    }
}
