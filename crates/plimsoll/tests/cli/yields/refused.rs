//! Requests that are refused, and arms that are left out.

use super::{names, tiny};
use crate::common::{Arguments, Ended, Folder};
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

#[test]
fn a_job_that_the_shell_cannot_read_is_refused() {
    let unclosed = Folder::new().run(["yield", "--quick", "--job", "echo 'a"]);
    unclosed.says(2, &["cannot be read by the shell"]);
}

#[test]
fn a_user_without_cgroups_reads_which_arms_are_left_out_and_why() {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can become somebody with fewer rights");
        return;
    }
    let folder = Folder::new();
    let nobody = 65_534;
    fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(folder.0.path(), Some(nobody), Some(nobody)).unwrap();
    let program = folder.path("plimsoll");
    fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &program).unwrap();
    let runtime = folder.path("runtime");
    fs::create_dir(&runtime).unwrap();
    chown(&runtime, Some(nobody), Some(nobody)).unwrap();
    let mut command = Command::new(program);
    command
        .args(tiny("--format json").words())
        .current_dir(folder.0.path())
        .env("XDG_RUNTIME_DIR", &runtime)
        .uid(nobody)
        .gid(nobody);
    let ended = Ended::of(command);
    let findings = &ended.json()["findings"];
    let (tried, missing) = (names(&findings["arms"]), names(&findings["missing_arms"]));
    assert!(
        tried.contains("none") && tried.contains("nice"),
        "{tried:?}"
    );
    for arm in ["weight", "cpu-idle", "quota-10ms", "quota-100ms"] {
        assert!(missing.contains(arm), "{missing:?}");
    }
    ended.says(0, &["weight is left out: this user may not make a cgroup"]);
}
