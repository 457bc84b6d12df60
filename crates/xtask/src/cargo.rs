//! The cargo that started this program.

use crate::error::XtaskError;
use crate::tools::output;
use crate::workspace::Workspace;
use std::ffi::OsString;
use std::process::Command;

/// It, with the environment of its caller.
pub(crate) fn command() -> Command {
    without_package(Command::new(program()))
}

pub(crate) fn program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// A command that runs cargo, without the variables that describe this package: build
/// scripts (ring's) read them. With them all that needs ring would be built anew, and
/// its files would vanish under a `cargo test` that runs beside this.
pub(crate) fn without_package(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if describes_package(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command
}

pub(crate) fn workspace() -> Result<Workspace, XtaskError> {
    let metadata = ["metadata", "--no-deps", "--format-version=1"];
    Workspace::read(&output(command().args(metadata))?)
}

/// Whether `cargo run` sets this variable to describe the package.
fn describes_package(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_environment_is_passed_to_cargo() {
        assert!(describes_package("CARGO_PKG_NAME") && describes_package("CARGO_MANIFEST_DIR"));
        for kept in [
            "CARGO_TARGET_DIR",
            "CARGO_PROFILE_DEV_DEBUG",
            "CARGO_HOME",
            "PATH",
        ] {
            assert!(!describes_package(kept), "{kept}");
        }
    }
}
