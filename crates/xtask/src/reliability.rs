//! Runs the test that gives faults to real runs, in network and mount namespaces of its
//! own, so that a network that goes down and a read-only /sys are not the machine's.

use crate::error::XtaskError;
use crate::tools::{self, IP, NGINX, PRLIMIT, SETPRIV, UNSHARE, output};
use crate::{cargo, show};
use std::process::Stdio;

// The whole workspace, so that dependencies have the features that `cargo test
// --workspace` builds them with.
const TEST: [&str; 5] = ["test", "--quiet", "--workspace", "--test", "reliability"];

pub(crate) fn run() -> Result<u8, XtaskError> {
    tools::require(&[IP, NGINX, PRLIMIT, SETPRIV, UNSHARE])?;
    // Outside, because there is no network inside.
    let mut build = cargo::command();
    output(build.args(TEST).arg("--no-run").stderr(Stdio::inherit()))?;
    let workspace = cargo::workspace()?;
    let folder = workspace
        .target
        .join(format!("reliability-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(XtaskError::on(&folder))?;
    let mut inside = cargo::without_package(UNSHARE.command());
    inside
        .args([
            "--net",
            "--mount",
            "sh",
            "-c",
            "ip link set lo up && exec \"$@\"",
            "sh",
        ])
        .arg(cargo::program())
        .args(TEST)
        .args(["--", "--ignored", "--nocapture"])
        .env("TMPDIR", &folder)
        .env("PLIMSOLL_NAMESPACES", "1")
        .stderr(Stdio::inherit());
    let said = output(&mut inside);
    // A folder on which something was mounted stays until the namespace is gone.
    let _ = std::fs::remove_dir_all(&folder);
    show(said?.trim_end()).map(|()| 0)
}
