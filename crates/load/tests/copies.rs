//! Copies of real commands.

#![cfg(test)]

use plimsoll_control::{Journals, Scratch};
use plimsoll_host::Root;
use plimsoll_load::LoadError;
use plimsoll_load::copies::{CopiesError, start};
use plimsoll_model::{Copies, CpuId};
use plimsoll_pool::allowed_cpus;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(600);

/// Longer than any wait here, unless something is broken.
const DEADLINE: Duration = Duration::from_secs(60);

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

/// A directory, and one in it for the copies' working directories.
fn directories() -> (TempDir, Scratch) {
    let dir = tempfile::tempdir().unwrap();
    let journals = Journals::at(dir.path().join("journals"));
    let journal = journals.open(&Root::machine()).unwrap();
    let work = Scratch::make(&journal, dir.path(), "test").unwrap();
    (dir, work)
}

fn run(copies: &Copies, n: u32, dir: &Scratch) -> Result<Vec<Duration>, CopiesError> {
    start(copies, n, &cpus(), dir)?.wait(&AtomicBool::new(false))
}

fn run_one(copies: &Copies, dir: &Scratch) -> Result<Duration, CopiesError> {
    run(copies, 1, dir).map(|times| times[0])
}

/// Descending, so that a lost order shows.
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
            _ => assert!(
                began.elapsed() < DEADLINE,
                "{} did not appear",
                path.display()
            ),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a process has ended; its parent may not have reaped it.
fn wait_until_gone(pid: &str) {
    let began = Instant::now();
    // The state follows the name, which is in brackets.
    while let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", pid.trim())) {
        if stat.contains(") Z ") || stat.contains(") X ") {
            return;
        }
        assert!(began.elapsed() < DEADLINE, "process {pid} still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn successful_copies_leave_their_times_and_no_files() {
    let (_dir, work) = directories();
    let n = cpus().len();
    let times = run(&command(&["true"], LONG), n as u32, &work).unwrap();
    assert_eq!(times.len(), n);
    assert!(times.iter().all(|wall| *wall > Duration::ZERO));
    assert!(is_empty(work.path()));
}

#[test]
fn a_copy_takes_at_least_as_long_as_its_command() {
    let (_dir, work) = directories();
    let wall = run_one(&command(&["sleep", "0.2"], LONG), &work).unwrap();
    assert!(wall >= Duration::from_millis(200), "{wall:?}");
}

#[test]
fn each_copy_has_its_number_directory_cpu_and_process_group() {
    let (_dir, work) = directories();
    let seen = tempfile::tempdir().unwrap();
    // Standard input is empty.
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
fn failed_copy_is_named_with_its_status_and_last_errors() {
    let (dir, work) = directories();
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
fn a_failed_copy_ends_the_others() {
    let (dir, work) = directories();
    let script = r#"[ "$PLIMSOLL_COPY" = 1 ] && exit 7; exec sleep 600"#;
    if cpus().len() < 2 {
        return;
    }
    let copies = shell(script, dir.path(), LONG);
    let running = start(&copies, 2, &cpus(), &work).unwrap();
    let pids = running.pids();
    let error = running.wait(&AtomicBool::new(false)).unwrap_err();
    assert!(error.to_string().contains("copy 1"), "{error}");
    wait_until_gone(&pids[0].to_string());
}

#[test]
fn timed_out_copy_is_ended_with_its_children() {
    let (dir, work) = directories();
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
fn background_processes_of_a_copy_are_ended_with_it() {
    let (dir, work) = directories();
    let script = r#"sleep 600 & echo $! > "$1/child""#;
    run_one(&shell(script, dir.path(), LONG), &work).unwrap();
    wait_until_gone(&read_when_there(&dir.path().join("child")));
}

#[test]
fn what_has_left_the_process_group_of_a_copy_is_ended_with_it() {
    let (dir, work) = directories();
    let script = r#"setsid -f sh -c 'echo $$ > "$1/child"; exec sleep 600' sh "$1"
        while [ ! -s "$1/child" ]; do sleep 0.01; done"#;
    run_one(&shell(script, dir.path(), LONG), &work).unwrap();
    wait_until_gone(&read_when_there(&dir.path().join("child")));
}

#[test]
fn stop_flag_ends_copies_and_removes_their_files() {
    let (dir, work) = directories();
    let script = r#"echo $$ > "$1/child"; exec sleep 600"#;
    let running = start(&shell(script, dir.path(), LONG), 1, &cpus(), &work).unwrap();
    let child = read_when_there(&dir.path().join("child"));
    let stop = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| stop.store(true, Ordering::Relaxed));
        running.wait(&stop)
    });
    assert!(matches!(ended, Err(CopiesError::Interrupted)));
    wait_until_gone(&child);
    assert!(is_empty(work.path()));
}

#[test]
fn dropping_copies_ends_them() {
    let (_dir, work) = directories();
    let running = start(&command(&["sleep", "600"], LONG), 1, &cpus(), &work).unwrap();
    let pid = running.pids()[0].to_string();
    drop(running);
    wait_until_gone(&pid);
    assert!(is_empty(work.path()));
}

#[test]
fn usage_errors_leave_no_files() {
    let (dir, work) = directories();
    let no_interpreter = dir.path().join("script");
    fs::write(&no_interpreter, "#!/surely/not/there\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&no_interpreter, mode).unwrap();
    let too_many = cpus().len() as u32 + 1;
    for (words, n, message) in [
        (&["surely-no-such-command"][..], 1, "surely-no-such-command"),
        (&["true"][..], 0, "ask for 1 to"),
        (&["true"][..], too_many, "ask for 1 to"),
        (&[no_interpreter.to_str().unwrap()][..], 1, "interpreter"),
    ] {
        let refused = run(&command(words, LONG), n, &work);
        let Err(CopiesError::Load(LoadError::Mistake(text))) = refused else {
            panic!("{words:?}: {refused:?}");
        };
        assert!(text.contains(message), "{text}");
    }
    assert!(is_empty(work.path()));
}

#[test]
fn unavailable_cpu_is_an_error_before_anything_runs() {
    let (_dir, work) = directories();
    let nowhere: [CpuId; 1] = [8000];
    let error = start(&command(&["true"], LONG), 1, &nowhere, &work).unwrap_err();
    assert!(matches!(error, LoadError::System { .. }), "{error}");
    assert!(error.to_string().contains("CPU 8000"), "{error}");
    assert!(is_empty(work.path()));
}
