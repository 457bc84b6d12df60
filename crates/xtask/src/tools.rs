//! External programs.

use crate::error::XtaskError;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    name: &'static str,
    package: &'static str,
}

pub(crate) const QEMU: Tool = Tool::new("qemu-system-x86_64", "qemu-system-x86");
pub(crate) const QEMU_SYSTEM_ARM64: Tool = Tool::new("qemu-system-aarch64", "qemu-system-arm");
pub(crate) const DTC: Tool = Tool::new("dtc", "device-tree-compiler");
pub(crate) const FDT_OVERLAY: Tool = Tool::new("fdtoverlay", "device-tree-compiler");
pub(crate) const IASL: Tool = Tool::new("iasl", "acpica-tools");
pub(crate) const BUSYBOX: Tool = Tool::new("busybox", "busybox-static");
pub(crate) const MKE2FS: Tool = Tool::new("mke2fs", "e2fsprogs");
pub(crate) const LDD: Tool = Tool::new("ldd", "libc-bin");
pub(crate) const STRIP: Tool = Tool::new("strip", "binutils");
pub(crate) const STRIP_ARM64: Tool =
    Tool::new("aarch64-linux-gnu-strip", "binutils-aarch64-linux-gnu");
pub(crate) const APT_CACHE: Tool = Tool::new("apt-cache", "apt");
pub(crate) const APT_GET: Tool = Tool::new("apt-get", "apt");
pub(crate) const DPKG_DEB: Tool = Tool::new("dpkg-deb", "dpkg");
pub(crate) const AR: Tool = Tool::new("ar", "binutils");
pub(crate) const MUSL_GCC: Tool = Tool::new("musl-gcc", "musl-tools");
pub(crate) const GCC_ARM64: Tool = Tool::new("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu");
pub(crate) const QEMU_ARM64: Tool = Tool::new("qemu-aarch64-static", "qemu-user-static");
pub(crate) const SHA256SUM: Tool = Tool::new("sha256sum", "coreutils");
pub(crate) const TAR: Tool = Tool::new("tar", "tar");
pub(crate) const XZ: Tool = Tool::new("xz", "xz-utils");
pub(crate) const GZIP: Tool = Tool::new("gzip", "gzip");
pub(crate) const CYCLONEDX: Tool = Tool::new("cargo-cyclonedx", "cargo-cyclonedx");
pub(crate) const IP: Tool = Tool::new("ip", "iproute2");
pub(crate) const NGINX: Tool = Tool::new("nginx", "nginx-light");
pub(crate) const PRLIMIT: Tool = Tool::new("prlimit", "util-linux");
pub(crate) const SETPRIV: Tool = Tool::new("setpriv", "util-linux");
pub(crate) const UNSHARE: Tool = Tool::new("unshare", "util-linux");

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

/// The path of a tool that must be there.
pub(crate) fn place(tool: Tool) -> Result<PathBuf, XtaskError> {
    require(&[tool])?;
    tool.path().ok_or_else(|| {
        XtaskError::Unexpected("a tool that was there a moment ago is gone".to_owned())
    })
}

/// Fails with all tools that are not there.
pub(crate) fn require(tools: &[Tool]) -> Result<(), XtaskError> {
    let missing: Vec<&Tool> = tools.iter().filter(|tool| tool.path().is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|tool| tool.name).collect();
    let mut packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    packages.dedup();
    let is_crate = |package: &&str| package.starts_with("cargo-");
    let (crates, packages): (Vec<&str>, Vec<&str>) = packages.into_iter().partition(is_crate);
    let install = [
        ("apt-get install --no-install-recommends", packages),
        ("cargo install --locked", crates),
    ];
    let install = install.into_iter().filter(|(_, list)| !list.is_empty());
    let install = install.map(|(command, list)| format!("{command} {}", list.join(" ")));
    Err(XtaskError::Missing {
        missing: names.join(", "),
        install: install.collect::<Vec<String>>().join(" && "),
    })
}

/// Runs a command and returns its standard output; an error if its status is a
/// failure.
pub(crate) fn output(command: &mut Command) -> Result<String, XtaskError> {
    command.stdin(Stdio::null());
    let ended = command.output().map_err(|source| XtaskError::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<&OsStr> = words.collect();
    Err(XtaskError::Command {
        command: words.join(OsStr::new(" ")).to_string_lossy().into_owned(),
        status: ended.status,
        output: match String::from_utf8_lossy(&ended.stderr).trim() {
            "" => "see its output above".to_owned(),
            output => format!("its output: {output}"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tools_are_listed_with_packages() {
        let there = Tool::new("sh", "dash");
        assert!(require(&[there]).is_ok());
        let missing = |name| Tool::new(name, "none");
        let wanted = [
            Tool::new("no-a", "some"),
            there,
            missing("no-b"),
            missing("no-c"),
        ];
        let error = require(&wanted).unwrap_err().to_string();
        assert!(error.starts_with("no-a, no-b, no-c not"), "{error}");
        assert!(
            error.ends_with("--no-install-recommends some none"),
            "{error}"
        );
        let both = [missing("no-a"), Tool::new("no-b", "cargo-b")];
        let error = require(&both).unwrap_err().to_string();
        let install =
            ": apt-get install --no-install-recommends none && cargo install --locked cargo-b";
        assert!(error.ends_with(install), "{error}");
    }

    #[test]
    fn failed_command_is_reported_with_its_output() {
        let error = output(Command::new("sh").args(["-c", "echo so it is >&2; exit 3"]));
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("sh -c") && error.contains("so it is"),
            "{error}"
        );
        assert_eq!(output(Command::new("echo").arg("x")).unwrap(), "x\n");
    }
}
