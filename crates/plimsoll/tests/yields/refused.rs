//! Requests that are refused, and arms that are left out.

use super::common::{Arguments, Ended, Folder};
use super::{names, run, tiny};
use plimsoll_load::known::{Behaviour, KnownServer};
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

#[test]
fn bad_flags_are_refused_before_anything_runs() {
    let folder = Folder::new();
    for (more, sentence) in [
        ("--load 0", "above 0 and below 100"),
        ("--load 200", "above 0 and below 100"),
        ("--load 100%", "above 0 and below 100"),
        ("--load abc", "above 0 and below 100"),
        ("--budget nonsense", "p99+5%"),
        ("--budget p99+0%", "p99+5%"),
        ("--budget p90+5%", "p99.9"),
        ("--headroom 99%", "below 95%"),
        ("--headroom much", "such as 20%"),
        ("--arms magic", "quota-10ms"),
        ("--arms job-alone", "in any case"),
        ("--curve --arms nice", "nice leaves none"),
        ("--curve --headrooms 20", "two headrooms at least"),
        ("--curve --headrooms 0,99", "below 95%"),
        ("--curve --headroom 20%", "cannot be used with"),
        ("--headrooms 0,20", "--curve"),
        ("--rate=-1", "requests per second"),
        ("--rate 10 --load 50", "cannot be used with"),
        ("--step=90%,20%", "the lower one first"),
        ("--step=20%", "--step=20%,90%"),
        ("--step --load 50", "cannot be used with"),
        ("--step --curve", "cannot be used with"),
        ("--passes 0", "--passes"),
        ("--job 'surely-no-such-program -x'", "is no command here"),
        ("--job ' '", "empty command"),
    ] {
        let ended = run(&folder, format!("yield --quick {more}"));
        ended.says(2, &[sentence]);
    }
    let unclosed = run(&folder, ["yield", "--quick", "--job", "echo 'a"]);
    unclosed.says(2, &["cannot be read by the shell"]);
    let missing = run(&folder, "yield --resume nowhere.plimsoll");
    missing.says(2, &["nowhere.plimsoll"]);
    assert!(!folder.path("plimsoll-runs").exists(), "no record was made");
}

#[test]
fn a_service_elsewhere_and_flags_of_a_sweep_are_refused() {
    let folder = Folder::new();
    let after = Duration::ZERO;
    let server = KnownServer::start(Behaviour::Answer { after }).unwrap();
    let url = format!("http://{}/", server.addr());
    for (flag, words) in [
        ("--restart true", "unexpected argument '--restart'"),
        (
            "--node-metrics http://127.0.0.1:1/metrics",
            "--node-metrics",
        ),
    ] {
        let refused = run(&folder, format!("yield {url} {flag}"));
        refused.says(2, &[words]);
    }
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
