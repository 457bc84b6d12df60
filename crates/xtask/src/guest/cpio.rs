//! The archive that the kernel unpacks into its first file system.
//!
//! Written here rather than by a crate or by GNU cpio: of the format an
//! initramfs needs one page (the kernel's
//! Documentation/driver-api/early-userspace/buffer-format.rst, "newc"), the
//! crates for it have much more, and cpio(1) would want a tree on disk in
//! which everything stands where it will stand in the guest. Like this,
//! nothing needs root, and the same files give the same bytes.

use crate::error::XtaskError;
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// What stands at a path.
#[derive(Debug, PartialEq, Eq)]
enum Node {
    Folder,
    /// Its bytes; all files can be executed.
    File(Vec<u8>),
}

/// Files and folders by their paths in the guest. Sorted, so that a folder
/// comes before what is in it, as the kernel wants it.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    nodes: BTreeMap<String, Node>,
}

impl Archive {
    /// A folder, and those that it is in.
    ///
    /// # Errors
    ///
    /// If the path goes up or is no UTF-8.
    pub(crate) fn folder(&mut self, path: &Path) -> Result<(), XtaskError> {
        let name = name_of(path)?;
        let ends = name.match_indices('/').map(|(end, _)| end);
        for end in ends.chain([name.len()]) {
            let above = name[..end].to_owned();
            self.nodes.entry(above).or_insert(Node::Folder);
        }
        Ok(())
    }

    /// A file that may be executed, and the folders that it is in.
    ///
    /// # Errors
    ///
    /// If the path goes up or is no UTF-8.
    pub(crate) fn file(&mut self, path: &Path, bytes: Vec<u8>) -> Result<(), XtaskError> {
        if let Some(parent) = path.parent().filter(|p| *p != Path::new("/")) {
            self.folder(parent)?;
        }
        self.nodes.insert(name_of(path)?, Node::File(bytes));
        Ok(())
    }

    /// The archive's bytes.
    ///
    /// # Errors
    ///
    /// If a file is larger than the format can say, 4 GiB.
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

/// A path as the archive has it: from the root, but without a slash in front.
fn name_of(path: &Path) -> Result<String, XtaskError> {
    let mut parts = Vec::new();
    for part in path.components() {
        match (part, part.as_os_str().to_str()) {
            (Component::RootDir, _) => (),
            (Component::Normal(_), Some(name)) => parts.push(name),
            _ => {
                return Err(XtaskError::Unexpected(format!(
                    "{} cannot be put into the guest: use a path of plain names",
                    path.display()
                )));
            }
        }
    }
    Ok(parts.join("/"))
}

/// One entry: thirteen numbers of eight hexadecimal digits, the name with a
/// zero, the bytes; both padded to a multiple of four.
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

/// Entries begin at multiples of four, so where in the archive one is does as
/// well as where in its entry.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The archive as a reader sees it: name, mode, bytes.
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
    fn what_is_put_in_comes_out_below_its_folders() {
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
    fn a_file_in_a_folder_that_is_there_leaves_the_folder() {
        let mut archive = Archive::default();
        archive.file(Path::new("/a/x"), b"1".into()).unwrap();
        archive.folder(Path::new("/a/x")).unwrap();
        archive.file(Path::new("/a/y"), b"2".into()).unwrap();
        let names = read(&archive.bytes().unwrap()).into_iter().map(|e| e.0);
        assert_eq!(names.collect::<Vec<_>>(), ["a", "a/x", "a/y"]);
    }

    #[test]
    fn a_path_that_goes_up_is_refused() {
        let error = Archive::default()
            .folder(Path::new("/a/../b"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("/a/../b"), "{error}");
    }
}
