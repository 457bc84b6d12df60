//! `plimsoll sweep --copies` for real: where the copies work, and that nothing of
//! them is left, whatever ends the run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::Folder;
use std::fs;
use std::process::Command;

/// Three trials of the idle machine and of copies, each as short as its command.
const SWEEP: [&str; 8] = [
    "sweep",
    "--quick",
    "--plain",
    "--trials",
    "1",
    "--duration",
    "100ms",
    "--copies",
];

/// The binary in `/bin/sh`, which first runs `before`: it has the same process id.
fn after(folder: &Folder, before: &str, args: &[&str]) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &format!("{before}; exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_plimsoll"))
        .args(args)
        .current_dir(folder.0.path())
        .env("XDG_STATE_HOME", folder.path("state"))
        .env("XDG_RUNTIME_DIR", folder.0.path())
        .env("TMPDIR", folder.path("tmp"));
    fs::create_dir_all(folder.path("tmp")).unwrap();
    command
}

#[test]
fn a_folder_that_somebody_prepared_is_not_worked_in() {
    let folder = Folder::new();
    let theirs = folder.path("theirs");
    fs::create_dir(&theirs).unwrap();
    let said = folder.path("said");
    let script = r#"{ pwd; stat -c %a ../..; } >"$1""#;
    let mut args = SWEEP.to_vec();
    args.extend(["--", "sh", "-c", script, "sh", said.to_str().unwrap()]);
    // What an attacker can foresee is the process id.
    for squat in [
        r#"mkdir -m 777 "$TMPDIR/plimsoll-copies-$$""#,
        r#"ln -s "$PWD/theirs" "$TMPDIR/plimsoll-copies-$$""#,
    ] {
        let output = after(&folder, squat, &args).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let text = fs::read_to_string(&said).expect(&told);
        let (place, mode) = text.trim().split_once('\n').unwrap();
        assert_eq!(mode, "700", "{place}");
        let squatted = fs::read_dir(folder.path("tmp")).unwrap().flatten();
        for squatted in squatted.map(|entry| entry.path()) {
            assert!(!place.starts_with(squatted.to_str().unwrap()), "{place}");
        }
        assert!(!place.contains("theirs"), "{place}");
        fs::remove_file(&said).unwrap();
        fs::remove_dir_all(folder.path("tmp")).unwrap();
    }
}
