//! Arguments that are not UTF-8, and a user who may start no thread: one sentence with
//! the way out, and no panic.

use crate::common::server::{self, Server};
use crate::common::side_folder::is_root;
use crate::common::{Ended, Folder, send, under};
use rustix::process::Signal;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStringExt;
use std::process::Stdio;
use std::time::Duration;

/// The arguments of a line, in which `@` stands for two bytes that are no UTF-8.
fn not_utf8(line: &str) -> Vec<OsString> {
    let word = |word: &str| {
        let parts: Vec<&[u8]> = word.split('@').map(str::as_bytes).collect();
        OsString::from_vec(parts.join(&b"\xff\xfe"[..]))
    };
    line.split_whitespace().map(word).collect()
}

fn run(folder: &Folder, line: &str) -> Ended {
    let mut command = folder.command("");
    command.args(not_utf8(line));
    Ended::of(command)
}

#[test]
fn an_argument_that_is_not_utf8_is_refused_in_a_sentence() {
    let folder = Folder::new();
    for line in [
        "sweep @",
        "sweep -H @",
        "sweep -d a@ http://127.0.0.1:9/",
        "copies -- true @",
        "yield --job @",
        "yield @",
        "side --guard @ -- true",
        "compare a b --goal @",
    ] {
        let ended = run(&folder, line);
        ended.says(2, &["plimsoll: the argument '", "is not UTF-8"]);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
    // Where only some words are accepted, or none.
    for line in [
        "@",
        "-@",
        "--@",
        "--color @ doctor",
        "sweep --@=1",
        "completions @",
        "doctor @",
    ] {
        run(&folder, line).says(2, &["error: "]);
    }
}

#[test]
fn a_limit_on_files_ends_no_command_and_leaves_no_part_of_an_output() {
    let folder = Folder::new();
    let limited =
        |args: &str| Ended::of(under(&["prlimit", "--fsize=4096"], &folder.command(args)));
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/nginx.plimsoll");
    let page = limited(&format!("report {example} -o page.html"));
    page.says(2, &["page.html cannot be written", "File too large"]);
    let files = std::fs::read_dir(folder.path("")).unwrap().flatten();
    let names: Vec<OsString> = files.map(|entry| entry.file_name()).collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().contains("part")),
        "{names:?}"
    );
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let folder = Folder::new();
    folder.write(
        "t.csv",
        "rate_rps,cpu_pct,latency_us\n1000,12,800\n4000,41,950\n",
    );
    folder.run("import t.csv -o run --no-html").says(0, &[]);
    for line in [
        "--help",
        "--version",
        "-h",
        "sweep --help",
        "help side",
        "report run",
        "completions bash",
        "man",
        "doctor",
        "repair",
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = folder.command(line);
        let ended = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let ended = ended.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{line}: {stderr}");
        assert!(
            stderr.contains("standard output cannot be"),
            "{line}: {stderr}"
        );
    }
}

/// What a closed stream stands for is /dev/null: no file of a run takes its number, and no
/// message gets into a record. That it was closed is not visible later, see
/// docs/reliability.md.
#[test]
fn streams_that_are_closed_at_the_start_spoil_no_record() {
    let folder = Folder::new();
    folder.write(
        "t.csv",
        "rate_rps,cpu_pct,latency_us\n1000,12,800\n4000,41,950\n",
    );
    let closed = ["sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh"];
    for line in [
        "import t.csv -o run",
        "report run",
        "report run -o page.html",
    ] {
        let ended = Ended::of(under(&closed, &folder.command(line)));
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
    }
    folder.run("report run").says(0, &[]);
    assert!(folder.read("page.html").starts_with("<!doctype html>"));
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let folder = Folder::new();
    for line in ["--help", "doctor", "man"] {
        let mut child = folder.spawn(line);
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{line}: {ended:?}");
        assert!(ended.stderr.is_empty(), "{line}: {ended:?}");
    }
}

#[test]
fn side_with_few_descriptors_names_the_limit() {
    let folder = Folder::new();
    let script = "ulimit -n 6; exec \"$@\"";
    let side = under(
        &["sh", "-c", script, "sh"],
        &folder.command("side -- touch ran"),
    );
    Ended::of(side).says(2, &["only 6 files", "ulimit -n 32"]);
    assert!(!folder.path("ran").exists());
}

#[test]
fn names_of_files_and_the_arguments_of_a_command_need_not_be_utf8() {
    let folder = Folder::new();
    let table =
        "rate_rps,cpu_pct,latency_us\n1000,10,800\n2000,20,850\n4000,40,900\n8000,80,9000\n";
    let file = |name: &str| folder.0.path().join(&not_utf8(name)[0]);
    std::fs::write(file("t@.csv"), table).unwrap();
    run(&folder, "import t@.csv -o r@ --cpus 2 --no-html").says(0, &[]);
    run(&folder, "report r@").says(0, &[]);
    run(&folder, "report r@ -o r@.json").says(0, &[]);
    assert!(file("r@.json").exists());
    for missing in [
        "report @",
        "compare r@ @",
        "replay @",
        "export @ --hdr d@",
        "sweep --resume @",
    ] {
        run(&folder, missing).says(2, &[]);
    }
    let ended = run(&folder, "side -q --log l@ -- printf %s x@");
    assert_eq!(ended.says(0, &[]).stdout, "x\u{fffd}\u{fffd}");
    assert!(file("l@").exists());
}

/// The binary as a user who may have so many threads, which root may exceed.
fn with_threads(folder: &Folder, most: u32, args: &str) -> Ended {
    let limit = format!("--nproc={most}:{most}");
    let limit = ["prlimit", &limit];
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    Ended::of(match is_root() {
        true => under(&[&nobody[..], &limit].concat(), &folder.of_nobody(args)),
        false => under(&limit, &folder.command(args)),
    })
}

#[test]
fn threads_that_cannot_be_started_end_a_command_with_a_sentence() {
    let folder = Folder::new();
    let server = Server::start(server::ZERO);
    let guarded = format!("side --guard 'prometheus {} up<1' -- true", server.url());
    let guarded = guarded.as_str();
    // Nobody's other processes count, too, so more may fail than these limits say.
    for (most, line) in [
        (1, "sweep --quick"),
        (1, "copies --quick -- true"),
        (1, "side -- true"),
        (1, guarded),
        (2, "sweep --quick"),
        (2, "yield --quick"),
        (2, "side -- true"),
        (2, guarded),
    ] {
        with_threads(&folder, most, line).says(1, &["`ulimit -u`", "pids.max"]);
    }
}

#[test]
fn a_signal_ends_a_run_that_waits_for_a_pipe() {
    let folder = Folder::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.path("fifo"), rustix::fs::Mode::RWXU).unwrap();
    let mut command = folder.command("run http://127.0.0.1:9/ --rate 10 -H @fifo");
    let mut child = command
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id();
    let handles = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        caught.is_some_and(|mask| mask & (1 << 14) != 0)
    };
    while !handles() {
        std::thread::sleep(Duration::from_millis(5));
    }
    send(&child, &[Signal::TERM]);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn certificates_are_read_from_files_alone() {
    let folder = Folder::new();
    let url = "run https://127.0.0.1:9/ --rate 10";
    for flags in ["--cacert /dev/zero", "--cert /dev/zero"] {
        let ended = folder.run(format!("{url} {flags}"));
        ended.says(2, &["'/dev/zero' is no regular file"]);
    }
}
