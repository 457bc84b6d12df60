//! `plimsoll copies` for real: where the copies work, and that nothing of
//! them is left, whatever ends the run.

use crate::common::side_folder::{is_root, lives};
use crate::common::{Arguments, Folder, LOUD, marker, send, sleepers, under_env, unignoring, wait};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::chown;
use std::process::{Child, Command, Stdio};

/// Three trials of the idle machine and of copies, each as short as its command.
const COPIES: &str = "copies --quick --plain";

/// The binary in `/bin/sh`, which first runs `before`: it has the same process id.
fn after(folder: &Folder, before: &str, args: impl Arguments) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &format!("{before}; exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_plimsoll"))
        .args(args.words())
        .current_dir(folder.0.path())
        .env("XDG_STATE_HOME", folder.path("state"))
        .env("TMPDIR", folder.path("tmp"));
    fs::create_dir_all(folder.path("tmp")).unwrap();
    command
}

#[test]
fn a_folder_that_exists_already_is_not_used() {
    let folder = Folder::new();
    let theirs = folder.path("theirs");
    fs::create_dir(&theirs).unwrap();
    let output = folder.path("output");
    let script = r#"{ pwd; stat -c %a ../..; } >"$1""#;
    let copies = ["--", "sh", "-c", script, "sh", output.to_str().unwrap()];
    let args = [COPIES.words(), copies.words()].concat();
    // What an attacker can foresee is the process id.
    for squat in [
        r#"mkdir -m 777 "$TMPDIR/plimsoll-copies-$$""#,
        r#"ln -s "$PWD/theirs" "$TMPDIR/plimsoll-copies-$$""#,
    ] {
        let ended = after(&folder, squat, &args).output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        let text = fs::read_to_string(&output).expect(&stderr);
        let (place, mode) = text.trim().split_once('\n').unwrap();
        assert_eq!(mode, "700", "{place}");
        let squatted = fs::read_dir(folder.path("tmp")).unwrap().flatten();
        for squatted in squatted.map(|entry| entry.path()) {
            assert!(!place.starts_with(squatted.to_str().unwrap()), "{place}");
        }
        assert!(!place.contains("theirs"), "{place}");
        fs::remove_file(&output).unwrap();
        fs::remove_dir_all(folder.path("tmp")).unwrap();
    }
}

#[test]
fn what_copies_protect_or_write_elsewhere_in_the_folder_is_removed() {
    let folder = Folder::new();
    let script = "mkdir -p m/x; : >m/x/f; chmod 555 m/x; chmod 0 m; : >../../elsewhere";
    let args = [
        COPIES,
        "--max-other 99% --numbers 1 -o n.plimsoll --no-html",
    ]
    .join(" ");
    let args = [args.words(), ["--", "sh", "-c", script].words()].concat();
    let (tmp, of_nobody) = (folder.path("tmp"), tempfile::tempdir().unwrap());
    let mut runs = vec![(after(&folder, "true", &args), tmp)];
    let other = Folder::new();
    if is_root() {
        chown(of_nobody.path(), Some(65534), Some(65534)).unwrap();
        let mut run = other.of_nobody(&args);
        run.env("TMPDIR", of_nobody.path());
        runs.push((run, of_nobody.path().to_owned()));
    }
    for (mut run, tmp) in runs {
        let ended = run.output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{stderr}");
        assert_eq!(fs::read_dir(tmp).unwrap().count(), 0);
    }
}

/// Copies that sleep, in a folder of their own; the run itself is silent.
struct Sleeping {
    folder: Folder,
    marker: String,
}

impl Sleeping {
    fn new() -> Sleeping {
        Sleeping {
            folder: Folder::new(),
            marker: marker(),
        }
    }

    fn command(&self) -> Command {
        let args = format!("{COPIES} -- sleep {}", self.marker);
        after(&self.folder, ":", args)
    }

    /// Starts it and waits until a copy runs.
    fn started(&self, mut command: Command) -> Child {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        wait("a copy", || sleepers(&self.marker) > 0);
        child.unwrap()
    }

    /// Whatever ended the run, nothing of it is there.
    fn is_over(&self) {
        wait("the copies to be gone", || sleepers(&self.marker) == 0);
        for (folder, begins) in [
            (self.folder.path("tmp"), "plimsoll"),
            (self.folder.path("plimsoll"), ""),
        ] {
            let left = fs::read_dir(folder).into_iter().flatten().flatten();
            let mut names = left.map(|entry| entry.file_name().into_string().unwrap());
            assert_eq!(names.find(|name| name.starts_with(begins)), None);
        }
    }
}

#[test]
fn signals_that_end_a_run_end_its_copies() {
    use Signal as S;
    for signals in [
        &[S::HUP][..],
        &[S::QUIT],
        &[S::TERM],
        &[S::USR1],
        &[S::ALARM],
        &[S::XCPU],
        &[S::INT, S::INT],
        &[S::HUP, S::HUP],
    ] {
        let sleeping = Sleeping::new();
        let mut child = sleeping.started(unignoring(
            "HUP,QUIT,TERM,INT,USR1,ALRM,XCPU",
            &sleeping.command(),
        ));
        send(&child, signals);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signals:?}");
        sleeping.is_over();
    }
}

#[test]
fn repeated_signals_end_the_copies() {
    let sleeping = Sleeping::new();
    let mut child = sleeping.started(unignoring("INT", &sleeping.command()));
    wait("the run to end", || {
        send(&child, &[Signal::INT]);
        child.try_wait().unwrap().is_some()
    });
    sleeping.is_over();
}

#[test]
fn signals_that_were_ignored_stay_ignored() {
    let sleeping = Sleeping::new();
    let command = under_env("--ignore-signal=HUP,QUIT,INT", &sleeping.command());
    let mut child = sleeping.started(command);
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    for signal in [Signal::HUP, Signal::QUIT, Signal::INT] {
        assert_ne!(ignored & (1 << (signal.as_raw() - 1)), 0, "{status}");
    }
    send(&child, &[Signal::TERM]);
    child.wait().unwrap();
    sleeping.is_over();
}

#[test]
fn copies_that_kill_9_left_are_ended_by_the_next_start() {
    let sleeping = Sleeping::new();
    let mut child = sleeping.started(sleeping.command());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(sleepers(&sleeping.marker) > 0);
    let args = format!("{COPIES} -- true");
    let next = after(&sleeping.folder, ":", args).output().unwrap();
    let stderr = String::from_utf8_lossy(&next.stderr);
    assert!(stderr.contains("an earlier run was killed"), "{stderr}");
    sleeping.is_over();
}

#[test]
fn what_a_copy_detaches_without_its_environment_ends_with_the_trial() {
    let folder = Folder::new();
    let mut run = after(&folder, ":", COPIES);
    let script = r#"setsid -f env -i sh -c 'echo $$ >>"$0"; exec sleep 1000' "$0"; sleep 0.5"#;
    let path = folder.path("detached");
    run.args(LOUD)
        .args(["--numbers", "1", "--", "sh", "-c", script])
        .arg(&path);
    let ended = run.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let detached = fs::read_to_string(path).unwrap();
    assert!(detached.lines().count() > 0);
    assert!(!detached.lines().any(lives), "{detached}");
}
