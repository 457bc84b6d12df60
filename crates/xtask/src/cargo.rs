//! The cargo that started this program.

use crate::error::XtaskError;
use crate::tools::output;
use crate::workspace::Workspace;
use std::process::Command;

/// It, without the variables that describe this package: build scripts (ring's)
/// read them and would rebuild each time tests are built alternately here and by
/// hand.
pub(crate) fn command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
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
