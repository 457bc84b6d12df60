//! Copies of real commands.

#![cfg(test)]

use plimsoll_control::{Journals, Scratch};
use plimsoll_host::Root;
use plimsoll_load::LoadError;
use plimsoll_load::copies::{CopiesError, CopiesRun, run, start};
use plimsoll_model::{Copies, CpuId};
use plimsoll_pool::allowed_cpus;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(600);

/// Longer than anything waits here that is not broken.
const PATIENCE: Duration = Duration::from_secs(60);

fn command(words: &[&str], timeout: Duration) -> Copies {
    Copies {
        command: words.iter().map(|w| (*w).to_owned()).collect(),
        timeout,
    }
}

fn shell(script: &str, dir: &Path, timeout: Duration) -> Copies {
    let place = dir.to_str().unwrap();
    command(&["sh", "-c", script, "sh", place], timeout)
}

/// A folder for working directories below `dir`.
fn scratch(dir: &TempDir) -> Scratch {
    let journals = Journals::at(dir.path().join("journals"));
    let journal = journals.open(&Root::machine()).unwrap();
    Scratch::make(&journal, dir.path(), "test").unwrap()
}

fn run_one(copies: &Copies, dir: &Scratch) -> Result<CopiesRun, CopiesError> {
    run(copies, 1, &cpus(), dir, &AtomicBool::new(false))
}

/// Not ascending, for an order is to be kept.
fn cpus() -> Vec<CpuId> {
    let mut cpus: Vec<CpuId> = allowed_cpus().unwrap().iter().collect();
    cpus.reverse();
    cpus
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

/// Waits for a file that a copy writes, and reads it.
fn read_when_there(path: &Path) -> String {
    let began = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(began.elapsed() < PATIENCE, "{} never came", path.display()),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a process is gone, or is dead and waits for its parent.
fn wait_until_gone(pid: &str) {
    let began = Instant::now();
    // The state follows the name, which is in brackets.
    while let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", pid.trim())) {
        if stat.contains(") Z ") || stat.contains(") X ") {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "process {pid} goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn copies_that_end_well_leave_their_times_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let work = scratch(&dir);
    let stop = AtomicBool::new(false);
    let n = cpus().len();
    let ran = run(&command(&["true"], LONG), n as u32, &cpus(), &work, &stop).unwrap();
    assert_eq!(ran.copies.len(), n);
    assert!(ran.copies.iter().map(|c| c.cpu).eq(cpus()));
    assert!(ran.copies.iter().all(|c| c.wall > Duration::ZERO));
    assert_eq!(ran.copies.iter().map(|c| c.wall).max(), Some(ran.wall));
    assert_eq!(ran.left_behind, None);
    assert!(is_empty(work.path()));
}

#[test]
fn a_copy_takes_at_least_as_long_as_its_command() {
    let dir = tempfile::tempdir().unwrap();
    let work = scratch(&dir);
    let ran = run_one(&command(&["sleep", "0.2"], LONG), &work).unwrap();
    assert!(ran.wall >= Duration::from_millis(200), "{ran:?}");
}

#[test]
fn each_copy_knows_its_number_its_place_and_its_cpu() {
    let dir = tempfile::tempdir().unwrap();
    let work = scratch(&dir);
    let seen = tempfile::tempdir().unwrap();
    // Reading ends at once, for there is nothing to read.
    let script = r#"cat; {
        pwd
        grep Cpus_allowed_list /proc/self/status | cut -f2
        cut -d' ' -f5 /proc/$$/stat
    } > "$1/$PLIMSOLL_COPY""#;
    let stop = AtomicBool::new(false);
    let n = cpus().len();
    let copies = shell(script, seen.path(), LONG);
    let running = start(&copies, n as u32, &cpus(), &work).unwrap();
    let pids = running.pids();
    running.wait(&stop).unwrap();
    for (i, cpu) in cpus().into_iter().enumerate() {
        let text = fs::read_to_string(seen.path().join(i.to_string())).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let [place, allowed, group] = lines[..] else {
            panic!("{text}");
        };
        let expected = work.path().join(format!("copies-1/copy-{i}"));
        assert_eq!(Path::new(place), expected);
        assert_eq!(allowed, cpu.to_string());
        assert_eq!(group, pids[i].to_string(), "a process group of its own");
    }
}

#[test]
fn a_copy_that_fails_is_named_with_its_status_and_its_last_words() {
    let dir = tempfile::tempdir().unwrap();
    let work = scratch(&dir);
    let script = "echo out; echo 'no such input' >&2; exit 3";
    let error = run_one(&shell(script, dir.path(), LONG), &work).unwrap_err();
    assert!(matches!(error, CopiesError::Load(LoadError::Service(_))));
    let text = error.to_string();
    let kept = work.path().join("copies-1/copy-0");
    for part in [
        "copy 0",
        "exit status: 3",
        "    no such input",
        kept.to_str().unwrap(),
    ] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    let output = fs::read_to_string(kept.join("stdout.txt")).unwrap();
    assert_eq!(output, "out\n");
    let error = run_one(&command(&["false"], LONG), &work).unwrap_err();
    assert!(error.to_string().contains("exit status: 1"), "{error}");
}

#[test]
fn one_copy_that_fails_ends_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let work = scratch(&dir);
    let script = r#"[ "$PLIMSOLL_COPY" = 1 ] && exit 7; exec sleep 600"#;
    let stop = AtomicBool::new(false);
    if cpus().len() < 2 {
        return;
    }
    let copies = shell(script, dir.path(), LONG);
    let running = start(&copies, 2, &cpus(), &work).unwrap();
    let pids = running.pids();
    let error = running.wait(&stop).unwrap_err();
    assert!(error.to_string().contains("copy 1"), "{error}");
    wait_until_gone(&pids[0].to_string());
}

#[test]
fn a_copy_beyond_its_time_is_ended_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let work = scratch(&dir);
    let script = r#"sleep 600 & echo $! > "$1/child"; wait"#;
    let copies = shell(script, dir.path(), Duration::from_millis(300));
    let running = start(&copies, 1, &cpus(), &work).unwrap();
    let child = read_when_there(&dir.path().join("child"));
    let error = running.wait(&AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, CopiesError::Load(LoadError::Service(_))));
    assert!(error.to_string().contains("longer than 300ms"), "{error}");
    wait_until_gone(&child);
    assert!(work.path().join("copies-1/copy-0/stderr.txt").is_file());
}

#[test]
fn what_a_copy_leaves_running_is_ended_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let work = scratch(&dir);
    let script = r#"sleep 600 & echo $! > "$1/child""#;
    run_one(&shell(script, dir.path(), LONG), &work).unwrap();
    wait_until_gone(&read_when_there(&dir.path().join("child")));
}

#[test]
fn the_stop_flag_ends_copies_and_clears_up() {
    let dir = tempfile::tempdir().unwrap();
    let place = scratch(&dir);
    let script = r#"echo $$ > "$1/child"; exec sleep 600"#;
    let running = start(&shell(script, dir.path(), LONG), 1, &cpus(), &place).unwrap();
    let child = read_when_there(&dir.path().join("child"));
    let stop = Arc::new(AtomicBool::new(false));
    let setter = Arc::clone(&stop);
    let asked = std::thread::spawn(move || setter.store(true, Ordering::Relaxed));
    let ended = running.wait(&stop);
    assert!(matches!(ended, Err(CopiesError::Interrupted)));
    asked.join().unwrap();
    wait_until_gone(&child);
    assert!(is_empty(place.path()));
}

#[test]
fn dropping_copies_ends_them() {
    let dir = tempfile::tempdir().unwrap();
    let work = scratch(&dir);
    let running = start(&command(&["sleep", "600"], LONG), 1, &cpus(), &work).unwrap();
    let pid = running.pids()[0].to_string();
    drop(running);
    wait_until_gone(&pid);
    assert!(is_empty(work.path()));
}

#[test]
fn what_cannot_be_run_is_a_mistake_that_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let no_interpreter = dir.path().join("script");
    fs::write(&no_interpreter, "#!/surely/not/there\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&no_interpreter, mode).unwrap();
    let work = scratch(&dir);
    let too_many = cpus().len() as u32 + 1;
    for (words, n, said) in [
        (&["surely-no-such-command"][..], 1, "surely-no-such-command"),
        (&["true"][..], 0, "ask for 1 to"),
        (&["true"][..], too_many, "ask for 1 to"),
        (&[no_interpreter.to_str().unwrap()][..], 1, "interpreter"),
    ] {
        let refused = run(
            &command(words, LONG),
            n,
            &cpus(),
            &work,
            &AtomicBool::new(false),
        );
        let Err(CopiesError::Load(LoadError::Mistake(text))) = refused else {
            panic!("{words:?}: {refused:?}");
        };
        assert!(text.contains(said), "{text}");
    }
    assert!(is_empty(work.path()));
}

#[test]
fn a_cpu_that_cannot_be_had_is_told_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let work = scratch(&dir);
    let nowhere: [CpuId; 1] = [8000];
    let error = start(&command(&["true"], LONG), 1, &nowhere, &work).unwrap_err();
    assert!(matches!(error, LoadError::System { .. }), "{error}");
    assert!(error.to_string().contains("CPU 8000"), "{error}");
    assert!(is_empty(work.path()));
}
