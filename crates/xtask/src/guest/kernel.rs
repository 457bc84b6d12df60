//! Debian's cloud kernel, downloaded once and cached.

use crate::error::XtaskError;
use crate::tools::{APT_CACHE, APT_GET, DPKG_DEB, output, require};
use std::fs;
use std::path::{Path, PathBuf};

/// A package that always depends on the newest kernel of its line: small, with
/// PSI, CFS bandwidth, and all controllers of cgroup v2 built in.
const PACKAGE: &str = "linux-image-6.12-cloud-amd64";

/// Prefix of a kernel image's file name.
const PREFIX: &str = "vmlinuz-";

/// The kernel in `cache`, downloaded if there is none.
pub(crate) fn kernel(cache: &Path) -> Result<PathBuf, XtaskError> {
    if let Some(kept) = kernel_in(cache)? {
        return Ok(kept);
    }
    require(&[APT_CACHE, APT_GET, DPKG_DEB])?;
    let no_kernel = || XtaskError::NoKernel { package: PACKAGE };
    // apt-cache fails for an unknown name.
    let depends =
        output(APT_CACHE.command().args(["depends", PACKAGE])).map_err(|_| no_kernel())?;
    let package = dependency(&depends).ok_or_else(no_kernel)?;

    // Remove remains of an interrupted run.
    let scratch = cache.join("fetch");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(XtaskError::on(&scratch))?;
    }
    fs::create_dir_all(&scratch).map_err(XtaskError::on(&scratch))?;
    let mut fetch = APT_GET.command();
    output(fetch.args(["download", package]).current_dir(&scratch))?;
    let archive = first(&scratch, |name| name.ends_with(".deb"))?;
    let archive = archive.ok_or_else(|| XtaskError::NoImage {
        place: scratch.clone(),
    })?;
    let tree = scratch.join("tree");
    output(DPKG_DEB.command().arg("--extract").args([&archive, &tree]))?;

    let boot = tree.join("boot");
    let fetched = kernel_in(&boot)?.ok_or(XtaskError::NoImage { place: boot })?;
    // Renamed last, so that a cached file is complete.
    let kept = cache.join(fetched.file_name().unwrap_or_default());
    fs::rename(&fetched, &kept).map_err(XtaskError::on(&kept))?;
    fs::remove_dir_all(&scratch).map_err(XtaskError::on(&scratch))?;
    Ok(kept)
}

fn kernel_in(folder: &Path) -> Result<Option<PathBuf>, XtaskError> {
    first(folder, |name| name.starts_with(PREFIX))
}

/// The first file of a folder, by name, that is wanted.
fn first(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Option<PathBuf>, XtaskError> {
    if !folder.exists() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(XtaskError::on(folder))? {
        let entry = entry.map_err(XtaskError::on(folder))?;
        if wanted(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    Ok(found.into_iter().min())
}

/// The package in the first `Depends:` line of `apt-cache depends`.
fn dependency(depends: &str) -> Option<&str> {
    let mut lines = depends.lines().map(str::trim);
    lines.find_map(|line| line.strip_prefix("Depends: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_what_the_package_depends_on() {
        let depends = "linux-image-6.12-cloud-amd64\n  Depends: linux-image-6.12.1-cloud-amd64\n";
        assert_eq!(dependency(depends), Some("linux-image-6.12.1-cloud-amd64"));
        assert_eq!(dependency("linux-image-6.12-cloud-amd64\n"), None);
    }
}
