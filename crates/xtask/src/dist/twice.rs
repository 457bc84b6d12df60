//! The same again in another folder, and a comparison.

use crate::dist::Made;
use crate::dist::build::Places;
use crate::error::XtaskError;
use crate::tools::output;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A copy of the sources below a folder of another name and length.
pub(super) fn elsewhere(places: &Places) -> Result<Places, XtaskError> {
    let folder = places.target.join("dist/another-folder");
    let root = folder.join("sources");
    // Of the last time.
    let _ = fs::remove_dir_all(&root);
    let mut git = Command::new("git");
    git.current_dir(&places.root).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let mut files: Vec<String> = output(&mut git)?.split('\0').map(str::to_owned).collect();
    files.sort();
    // While there is a conflict, a file is listed more than once.
    files.dedup();
    for file in files.iter().filter(|file| !file.is_empty()) {
        copy(&places.root.join(file), &root.join(file))?;
    }
    Ok(places.moved(root, folder.join("built")))
}

fn copy(from: &Path, to: &Path) -> Result<(), XtaskError> {
    // It may be deleted and not yet committed.
    if !from.exists() {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(XtaskError::on(folder))?;
    }
    fs::copy(from, to).map(drop).map_err(XtaskError::on(from))
}

/// Fails if the two have not the same bytes, and says where both are.
pub(super) fn compare(one: &Made, other: &Made) -> Result<(), XtaskError> {
    if one.checksums == other.checksums {
        return Ok(());
    }
    Err(XtaskError::Unexpected(format!(
        "two builds differ: compare {} with {}",
        one.folder.display(),
        other.folder.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_with_other_checksums_are_an_error_with_both_places() {
        let made = |folder: &str, checksums: &str| Made {
            program: "p".into(),
            folder: folder.into(),
            checksums: checksums.to_owned(),
        };
        assert!(compare(&made("/a", "1"), &made("/b", "1")).is_ok());
        let error = compare(&made("/a", "1"), &made("/b", "2")).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("/a") && error.contains("/b"), "{error}");
    }
}
