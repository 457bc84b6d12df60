//! Builds the program, and lists what it is made of.

use crate::cargo;
use crate::dist::Target;
use crate::error::XtaskError;
use crate::tools::output;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Folders whose names must not be in a program.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) root: PathBuf,
    pub(super) target: PathBuf,
    /// Cargo's home, and in it the sources of registries, whose folders are named after
    /// their addresses.
    home: PathBuf,
    registries: Vec<PathBuf>,
}

impl Places {
    pub(super) fn of(root: PathBuf, target: PathBuf) -> Result<Places, XtaskError> {
        let in_home = || std::env::home_dir().map(|home| home.join(".cargo"));
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(in_home).ok_or_else(|| {
            XtaskError::Unexpected("there is no home directory: set CARGO_HOME".to_owned())
        })?;
        let registries = home.join("registry/src");
        // There are none before the first build without vendored sources.
        let registries = std::fs::read_dir(registries).map_or(Vec::new(), |entries| {
            entries.flatten().map(|entry| entry.path()).collect()
        });
        Ok(Places {
            root,
            target,
            home,
            registries,
        })
    }

    pub(super) fn moved(&self, root: PathBuf, target: PathBuf) -> Places {
        Places {
            root,
            target,
            ..self.clone()
        }
    }

    /// Each folder with the name that stands for it. The last that fits counts, for
    /// rustc as for gcc.
    fn names(&self) -> Vec<(&Path, &'static str)> {
        let mut names = vec![
            (self.root.as_path(), "/plimsoll"),
            (self.target.as_path(), "/target"),
            (self.home.as_path(), "/cargo"),
        ];
        names.extend(
            self.registries
                .iter()
                .map(|at| (at.as_path(), "/cargo/src")),
        );
        names
    }

    /// Flags of this form, one for each folder.
    fn flags(&self, form: &str, between: &str) -> OsString {
        let mut flags = OsString::new();
        for (folder, name) in self.names() {
            if !flags.is_empty() {
                flags.push(between);
            }
            flags.push(form);
            flags.push(folder);
            flags.push("=");
            flags.push(name);
        }
        flags
    }
}

/// The program.
pub(super) fn build(places: &Places, target: Target) -> Result<PathBuf, XtaskError> {
    let mut flags = places.flags("--remap-path-prefix=", "\x1f");
    for flag in target.link_flags() {
        flags.push("\x1f");
        flags.push(flag);
    }
    let mut c_flags = places.flags("-ffile-prefix-map=", " ");
    // No panic passes through C: rusqlite catches those of its callbacks.
    c_flags.push(" -fno-asynchronous-unwind-tables");
    let mut build = cargo::command();
    build
        .current_dir(&places.root)
        .args(["build", "--quiet", "--locked", "--profile", "dist"])
        .args(["--package", "plimsoll", "--target", target.triple()])
        .env("CARGO_TARGET_DIR", &places.target)
        // In place of the user's RUSTFLAGS, which would make another program.
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .env("TARGET_CFLAGS", c_flags)
        .stderr(Stdio::inherit());
    output(&mut build)?;
    let folder = places.target.join(target.triple());
    Ok(folder.join("dist/plimsoll"))
}

/// A CycloneDX bill of the program's dependencies.
pub(super) fn bill_of_materials(
    places: &Places,
    target: Target,
    made_at: &str,
) -> Result<String, XtaskError> {
    let name = "plimsoll-bill";
    let mut bill = cargo::command();
    bill.current_dir(&places.root)
        .args(["cyclonedx", "--quiet", "--format", "json"])
        .args(["--spec-version", "1.5", "--no-build-deps"])
        .args(["--override-filename", name, "--target", target.triple()])
        .args(["--manifest-path", "crates/plimsoll/Cargo.toml"])
        .env("SOURCE_DATE_EPOCH", made_at);
    output(&mut bill)?;
    let mut taken = String::new();
    let crates = places.root.join("crates");
    // It writes one for each crate of the workspace, beside its manifest.
    for entry in std::fs::read_dir(&crates).map_err(XtaskError::on(&crates))? {
        let entry = entry.map_err(XtaskError::on(&crates))?;
        let path = entry.path().join(format!("{name}.json"));
        if entry.file_name() == "plimsoll" {
            taken = std::fs::read_to_string(&path).map_err(XtaskError::on(&path))?;
        }
        // Crates that plimsoll does not use have none.
        let _ = std::fs::remove_file(path);
    }
    Ok(taken.replace(&places.root.to_string_lossy().into_owned(), "/plimsoll"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_has_a_name_and_the_inner_one_counts() {
        let places = Places {
            root: "/s".into(),
            target: "/s/target".into(),
            home: "/h".into(),
            registries: vec!["/h/registry/src/a".into()],
        };
        let expected = "-f=/s=/plimsoll -f=/s/target=/target -f=/h=/cargo \
                        -f=/h/registry/src/a=/cargo/src";
        assert_eq!(places.flags("-f=", " "), expected);
    }
}
