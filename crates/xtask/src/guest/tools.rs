//! External programs needed to make a guest.

use crate::error::XtaskError;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    name: &'static str,
    package: &'static str,
}

pub(crate) const QEMU: Tool = Tool::new("qemu-system-x86_64", "qemu-system-x86");
pub(crate) const BUSYBOX: Tool = Tool::new("busybox", "busybox-static");
pub(crate) const LDD: Tool = Tool::new("ldd", "libc-bin");
pub(crate) const STRIP: Tool = Tool::new("strip", "binutils");
pub(crate) const APT_CACHE: Tool = Tool::new("apt-cache", "apt");
pub(crate) const APT_GET: Tool = Tool::new("apt-get", "apt");
pub(crate) const DPKG_DEB: Tool = Tool::new("dpkg-deb", "dpkg");

impl Tool {
    const fn new(name: &'static str, package: &'static str) -> Self {
        Self { name, package }
    }

    pub(crate) fn command(self) -> Command {
        Command::new(self.name)
    }

    /// Its path, from the folders of PATH.
    pub(crate) fn path(self) -> Option<PathBuf> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut places = std::env::split_paths(&folders).map(|folder| folder.join(self.name));
        places.find(|place| place.is_file())
    }
}

/// # Errors
///
/// Lists all tools for which `is_there` is false.
pub(crate) fn require(tools: &[Tool], is_there: impl Fn(Tool) -> bool) -> Result<(), XtaskError> {
    let missing: Vec<Tool> = tools.iter().copied().filter(|t| !is_there(*t)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|tool| tool.name).collect();
    let mut packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    packages.dedup();
    Err(XtaskError::Missing {
        missing: names.join(", "),
        packages: packages.join(" "),
    })
}

/// Runs a command and returns its standard output.
///
/// # Errors
///
/// If it does not start, or its status is a failure.
pub(crate) fn output(command: &mut Command) -> Result<String, XtaskError> {
    command.stdin(Stdio::null());
    let ended = command.output().map_err(|source| XtaskError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
    Err(XtaskError::Command {
        command: display(command),
        status: ended.status,
        said: if said.is_empty() {
            "see its output above".to_owned()
        } else {
            format!("its output: {said}")
        },
    })
}

fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<OsString> = words.map(OsStr::to_owned).collect();
    words.join(OsStr::new(" ")).to_string_lossy().into_owned()
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, XtaskError> {
    std::fs::read(path).map_err(|source| XtaskError::File {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tools_are_listed_with_packages() {
        let wanted = [QEMU, BUSYBOX, APT_CACHE, APT_GET];
        assert!(require(&wanted, |_| true).is_ok());
        let error = require(&wanted, |tool| tool.name == "busybox").unwrap_err();
        let said = error.to_string();
        assert!(
            said.starts_with("qemu-system-x86_64, apt-cache, apt-get not"),
            "{said}"
        );
        assert!(
            said.ends_with("--no-install-recommends qemu-system-x86 apt"),
            "{said}"
        );
    }

    #[test]
    fn failed_command_is_reported_with_its_output() {
        let error = output(Command::new("sh").args(["-c", "echo so it is >&2; exit 3"]));
        let said = error.unwrap_err().to_string();
        assert!(
            said.contains("sh -c") && said.contains("so it is"),
            "{said}"
        );
        assert_eq!(output(Command::new("echo").arg("x")).unwrap(), "x\n");
    }
}
