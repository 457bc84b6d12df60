//! Requests that are refused, and arms that are left out.

use super::{names, tiny};
use crate::common::side_folder::is_root;
use crate::common::{Ended, Folder};

#[test]
fn a_job_that_the_shell_cannot_read_is_refused() {
    let unclosed = Folder::new().run(["yield", "--quick", "--job", "echo 'a"]);
    unclosed.says(2, &["cannot be read by the shell"]);
}

#[test]
fn a_user_without_cgroups_reads_which_arms_are_left_out_and_why() {
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    let ended = Ended::of(folder.of_nobody(tiny("--format json")));
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
