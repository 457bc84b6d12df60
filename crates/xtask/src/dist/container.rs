//! The program alone in an empty container: no library, no shell, no /etc, no /dev, no /sys.

use crate::dist::Target;
use crate::error::XtaskError;
use crate::tools::{UNSHARE, output};
use std::fs;
use std::path::Path;

/// Mounts /proc, as every container has it, and runs what follows in the folder.
const SCRIPT: &str = r#"mount -t proc proc "$0/proc" && cd "$0" && exec chroot . "$@""#;

/// What must work there, and a word that shows it.
const RUNS: [(&[&str], &str); 5] = [
    (&["--help"], "Usage: plimsoll"),
    (&["doctor"], "pressure stall information"),
    (
        &[
            "sweep",
            "--quick",
            "--trials",
            "1",
            "--duration",
            "200ms",
            "--levels",
            "20,40",
            "--max-slip",
            "10s",
            "--max-steal",
            "100%",
            "--max-other",
            "100%",
            "-o",
            "run.plimsoll",
        ],
        "CPU",
    ),
    (&["report", "run.plimsoll"], "CPU"),
    (&["side", "--", "/plimsoll", "--version"], "plimsoll "),
];

pub(super) fn check(program: &Path, target: Target, near: &Path) -> Result<(), XtaskError> {
    let root = near.join(format!("container-{}", std::process::id()));
    let checked = fill(&root, program, target).and_then(|command| run(&root, &command));
    // Whatever it found.
    let _ = fs::remove_dir_all(&root);
    checked
}

/// Puts the program there, and the emulator where one is needed: the words that start it.
fn fill(root: &Path, program: &Path, target: Target) -> Result<Vec<String>, XtaskError> {
    let proc = root.join("proc");
    fs::create_dir_all(&proc).map_err(XtaskError::on(&proc))?;
    let mut command = Vec::new();
    let emulator = target.emulator();
    let emulator = emulator.as_deref().map(|from| (from, "emulator"));
    for (from, name) in emulator.into_iter().chain([(program, "plimsoll")]) {
        fs::copy(from, root.join(name)).map_err(XtaskError::on(from))?;
        command.push(format!("/{name}"));
    }
    Ok(command)
}

fn run(root: &Path, command: &[String]) -> Result<(), XtaskError> {
    for (args, word) in RUNS {
        let mut contained = UNSHARE.command();
        contained
            .args([
                "--user",
                "--map-root-user",
                "--mount",
                "--pid",
                "--net",
                "--fork",
            ])
            .args(["sh", "-c", SCRIPT])
            .arg(root)
            .args(command)
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let said = output(&mut contained)?;
        if !said.contains(word) {
            return Err(XtaskError::Unexpected(format!(
                "in an empty container, `plimsoll {}` does not say '{word}': {said}",
                args.join(" ")
            )));
        }
    }
    Ok(())
}
