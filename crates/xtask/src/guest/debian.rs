//! What the guest has of Debian, downloaded once and cached: its kernel, and for another
//! architecture busybox.

use crate::dist::Target;
use crate::error::XtaskError;
use crate::tools::{APT_CACHE, APT_GET, DPKG_DEB, Tool, XZ, output, require};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prefix of a kernel image's file name.
const KERNEL: &str = "vmlinuz-";

const BUSYBOX: &str = "busybox";

/// A package that always depends on the newest kernel of its line: small, with
/// PSI, CFS bandwidth, and all controllers of cgroup v2 built in.
fn kernel_package(target: Target) -> &'static str {
    match target {
        Target::X86 => "linux-image-6.12-cloud-amd64",
        Target::Arm => "linux-image-6.12-cloud-arm64",
    }
}

/// The kernel in `cache`, downloaded if there is none.
pub(crate) fn kernel(cache: &Path, target: Target) -> Result<PathBuf, XtaskError> {
    let package = kernel_package(target);
    let no_kernel = || XtaskError::NoKernel { package };
    cached(cache, target, KERNEL, "boot", |apt| {
        // apt-cache fails for an unknown name.
        let depends = output(apt.command(APT_CACHE).args(["depends", package]));
        let depends = depends.map_err(|_| no_kernel())?;
        Ok(dependency(&depends).ok_or_else(no_kernel)?.to_owned())
    })
}

/// The static busybox of another architecture, downloaded if `cache` has none.
pub(crate) fn busybox(cache: &Path, target: Target) -> Result<PathBuf, XtaskError> {
    cached(cache, target, BUSYBOX, "bin", |_| {
        Ok("busybox-static".to_owned())
    })
}

/// The file in `cache` whose name begins with `prefix`; if there is none, that in `folder`
/// of the package that `name` finds.
fn cached(
    cache: &Path,
    target: Target,
    prefix: &str,
    folder: &str,
    name: impl FnOnce(&Apt) -> Result<String, XtaskError>,
) -> Result<PathBuf, XtaskError> {
    if let Some(kept) = first(cache, |name| name.starts_with(prefix))? {
        return Ok(kept);
    }
    let scratch = cache.join("fetch");
    let tree = fetched(target, &scratch, name)?;

    let place = tree.join(folder);
    let fetched = first(&place, |name| name.starts_with(prefix))?;
    let fetched = fetched.ok_or_else(|| nothing(prefix.trim_end_matches('-'), &place))?;
    // Renamed last, so that a cached file is complete.
    let kept = cache.join(fetched.file_name().unwrap_or_default());
    fs::rename(&fetched, &kept).map_err(XtaskError::on(&kept))?;
    fs::remove_dir_all(&scratch).map_err(XtaskError::on(&scratch))?;
    Ok(kept)
}

/// The files of a package, downloaded to a folder below `scratch`.
fn fetched(
    target: Target,
    scratch: &Path,
    name: impl FnOnce(&Apt) -> Result<String, XtaskError>,
) -> Result<PathBuf, XtaskError> {
    require(&[APT_CACHE, APT_GET, DPKG_DEB])?;
    // Remove remains of an interrupted run.
    if scratch.exists() {
        fs::remove_dir_all(scratch).map_err(XtaskError::on(scratch))?;
    }
    let apt = Apt::new(target, scratch)?;
    let package = name(&apt)?;
    let mut fetch = apt.command(APT_GET);
    output(fetch.args(["download", &package]).current_dir(scratch))?;
    let archive = first(scratch, |name| name.ends_with(".deb"))?;
    let archive = archive.ok_or_else(|| nothing(".deb", scratch))?;
    let tree = scratch.join("tree");
    output(DPKG_DEB.command().arg("--extract").args([&archive, &tree]))?;
    Ok(tree)
}

fn nothing(wanted: &str, place: &Path) -> XtaskError {
    XtaskError::NotInPackage {
        wanted: wanted.to_owned(),
        place: place.to_owned(),
    }
}

/// Modules of a kernel in `cache`, by their paths below kernel/ without the end of their names, as
/// files that the kernel takes. They are downloaded if there are none: then the package of the
/// same version, because a kernel takes no others.
pub(crate) fn modules(
    cache: &Path,
    kernel: &Path,
    paths: &[&str],
) -> Result<Vec<PathBuf>, XtaskError> {
    let name = kernel.file_name().unwrap_or_default().to_string_lossy();
    let version = name.strip_prefix(KERNEL).unwrap_or_default().to_owned();
    let folder = cache.join(format!("modules-{version}"));
    let file = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        folder.join(format!("{name}.ko"))
    };
    let files: Vec<PathBuf> = paths.iter().map(file).collect();
    if files.iter().all(|file| file.exists()) {
        return Ok(files);
    }
    let scratch = cache.join("fetch");
    let tree = fetched(Target::X86, &scratch, |_| {
        Ok(format!("linux-image-{version}"))
    });
    let tree = tree.map_err(|why| {
        let kernel = kernel.display();
        XtaskError::Unexpected(format!(
            "{why}; if apt has a newer kernel now, remove {kernel}"
        ))
    })?;
    let place = tree.join(format!("lib/modules/{version}/kernel"));
    fs::create_dir_all(&folder).map_err(XtaskError::on(&folder))?;
    for (path, file) in paths.iter().zip(&files) {
        let packed = place.join(format!("{path}.ko.xz"));
        output(
            XZ.command()
                .args(["--decompress", "--keep", "--force"])
                .arg(&packed),
        )?;
        let unpacked = packed.with_extension("");
        fs::rename(&unpacked, file).map_err(XtaskError::on(&unpacked))?;
    }
    fs::remove_dir_all(&scratch).map_err(XtaskError::on(&scratch))?;
    Ok(files)
}

/// apt for one architecture. For another than this machine's it has lists and caches of its
/// own, so that the machine stays as it is.
struct Apt {
    options: Vec<OsString>,
}

impl Apt {
    fn new(target: Target, scratch: &Path) -> Result<Apt, XtaskError> {
        fs::create_dir_all(scratch).map_err(XtaskError::on(scratch))?;
        let mut apt = Apt {
            options: Vec::new(),
        };
        if target == Target::X86 {
            return Ok(apt);
        }
        let arch = target.debian();
        let mut option = |key: &str, value: OsString| {
            let mut text = OsString::from(format!("{key}="));
            text.push(value);
            apt.options.extend(["-o".into(), text]);
        };
        option("APT::Architecture", arch.into());
        option("APT::Architectures", arch.into());
        // What is installed is of this machine's architecture.
        option("Dir::State::status", "/dev/null".into());
        for (key, name) in [("Dir::State::lists", "lists"), ("Dir::Cache", "cache")] {
            let folder = scratch.join(name);
            fs::create_dir_all(&folder).map_err(XtaskError::on(&folder))?;
            option(key, folder.into());
        }
        output(apt.command(APT_GET).arg("update"))?;
        Ok(apt)
    }

    fn command(&self, tool: Tool) -> Command {
        let mut command = tool.command();
        command.args(&self.options);
        command
    }
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
