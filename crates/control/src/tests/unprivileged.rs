//! The fallbacks of a user who may not make cgroups: this test program again, run
//! as nobody.

use super::{Bench, skip};
use crate::idle::{IdleControl, IdleMeans, choose_means};
use crate::{ControlError, Journals, Mechanism};
use plimsoll_host::idle::ResumeLatency;
use plimsoll_host::own_allowed_cpus;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

const DIR: &str = "PLIMSOLL_TEST_NOBODY_DIR";

/// Not a test: the checks that run as nobody.
#[test]
#[ignore = "started by the test below"]
fn nobody() {
    let Some(dir) = std::env::var_os(DIR) else {
        return;
    };
    let bench = Bench {
        journals: Journals::at(dir),
        ..Bench::new()
    };
    let all: BTreeSet<Mechanism> = Mechanism::ALL.into_iter().collect();
    let capabilities = bench.layout().capabilities(&all);
    assert!(!capabilities.support.has_group(), "{capabilities:?}");
    for need in Mechanism::ALL {
        let reason = capabilities.reason(need).unwrap();
        assert!(!reason.is_empty() && !reason.ends_with('.'), "{reason}");
    }
    assert!(capabilities.losses().len() > 4);
    only_a_spinner_keeps_a_cpu_awake(&bench);
}

fn only_a_spinner_keeps_a_cpu_awake(bench: &Bench) {
    let cpus = own_allowed_cpus(&bench.root).unwrap();
    let limit = ResumeLatency::PollOnly;
    for here in choose_means(&bench.root, &cpus, limit).unwrap() {
        let is_spinner = here.means == IdleMeans::Spinner;
        assert_eq!(here.works(), is_spinner, "{here:?}");
        let control = IdleControl::new(&bench.root, &bench.journal, here.means);
        let kept = control.keep_awake(cpus.iter().next().unwrap(), limit);
        match kept {
            Err(ControlError::IdleDenied { .. } | ControlError::NoIdleFile { .. }) => {
                assert!(!is_spinner);
            }
            Err(other) => panic!("{here:?}: {other}"),
            // Where nothing had to be written: no state is deeper, or another is as strict.
            Ok(_) => {}
        }
    }
}

#[test]
fn a_user_without_permission_gets_the_fallbacks() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can become nobody");
    }
    let dir = tempfile::tempdir().unwrap();
    // Nobody cannot read the build directory.
    let program = dir.path().join("tests");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir.path(), open).unwrap();
    let run = |name: &str, ignored: &[&str]| {
        // This also drops root's supplementary groups.
        Command::new(&program)
            .uid(65534)
            .gid(65534)
            .args(["--exact", name, "--nocapture"])
            .args(ignored)
            .env(DIR, "/tmp/plimsoll-test-nobody")
            .current_dir("/")
            .output()
            .unwrap()
    };
    let output = run("tests::unprivileged::nobody", &["--ignored"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    // Tests that need no cgroup pass as well.
    for test in [
        "tests::lifecycle::a_frozen_command_stops_and_continues_when_thawed",
        "tests::limits::without_a_cgroup_a_child_has_the_lowest_class_and_nice",
    ] {
        let output = run(test, &[]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("1 passed"), "{text}");
    }
}
