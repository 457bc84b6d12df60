//! `plimsoll burst` for real, in cycles so short that their figures mean nothing: what is asserted is
//! what noise cannot change.

use crate::common::{Folder, LOUD, has, keeps_to_schema, send, trials_in, unwrapped, wait};
use plimsoll_load::known::{Behaviour, KnownServer, Waits};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

fn cycles(count: u32, more: &str) -> String {
    let loud = LOUD.join(" ");
    format!(
        "burst --burst 400ms --break 400ms --step 20ms --cycles {count} --seed 1 -o run.plimsoll {loud} {more}"
    )
}

fn server() -> KnownServer {
    KnownServer::start(Behaviour::Answer {
        after: Duration::from_micros(100),
    })
    .unwrap()
}

#[test]
fn two_servers_are_compared_and_the_json_keeps_to_its_schema() {
    let (one, other) = (server(), server());
    let (one, other) = (one.addr(), other.addr());
    let folder = Folder::new();
    let more = format!("--format json --against http://{other}/ http://{one}/");
    let found = folder.run(cycles(3, &more)).json();
    let schema = include_str!("../../../../docs/schema/burst.schema.json");
    keeps_to_schema(&found, schema);
    let findings = &found["findings"];
    for target in [findings, &findings["against"]] {
        assert_eq!(
            (&target["cycles"], &target["breaks"]),
            (&3.into(), &3.into())
        );
        let kinds: Vec<&Value> = target["phases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| &p["phase"])
            .collect();
        assert_eq!(kinds, ["burst", "break"]);
        assert!(target["idle_burn_pct"]["value"].is_number(), "{target}");
        assert!(
            target["first_after_break_us"]["value"].is_number(),
            "{target}"
        );
        assert_eq!(
            target["first_after_break_us"]["low"],
            Value::Null,
            "of three"
        );
    }
    let text = folder
        .run("report run.plimsoll")
        .says(0, &[])
        .stdout
        .clone();
    has(
        &text,
        &[
            "CPU use in bursts and breaks",
            "A less B",
            "fewer than 6 breaks",
        ],
    );
    has(
        &folder.read("run.html"),
        &["<svg", "CPU use in bursts and breaks"],
    );
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let folder = Folder::new();
    let mut killed = folder.spawn(cycles(12, ""));
    let record = folder.path("run.plimsoll");
    wait("two trials", || trials_in(&record) >= 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(trials_in(&record) < 13, "it ended by itself");
    let resumed = folder.run("burst --resume run.plimsoll --format json");
    let found = resumed.json();
    assert_eq!(found["record"]["ended"], "complete");
    assert_eq!(found["findings"]["cycles"], 12);
}

#[test]
fn a_server_that_dies_in_a_break_ends_the_run_and_its_trials_are_kept() {
    let server = server();
    let folder = Folder::new();
    let url = format!("http://{}/", server.addr());
    let loud = LOUD.join(" ");
    let run = format!(
        "burst --pattern 300ms@100,3s@0 --step 20ms --cycles 50 -o run.plimsoll {loud} {url}"
    );
    let mut child = folder.command(run);
    let child = child
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let record = folder.path("run.plimsoll");
    wait("a cycle", || trials_in(&record) >= 2);
    drop(server);
    let ended = child.wait_with_output().unwrap();
    let says = unwrapped(&String::from_utf8(ended.stderr).unwrap());
    assert_eq!(ended.status.code(), Some(1), "{says}");
    assert!(trials_in(&record) >= 2);
    let found = folder.run("report run.plimsoll --format json").json();
    assert_eq!(found["record"]["ended"], "failed");
}

#[test]
fn what_cannot_be_measured_is_refused_in_a_sentence() {
    let server = server();
    let url = format!("http://{}/", server.addr());
    let mut paused = Command::new("sleep").arg("100").spawn().unwrap();
    let pid = Pid::from_child(&paused);
    kill_process(pid, Signal::STOP).unwrap();
    let stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", paused.id())).unwrap();
        stat.contains(") T ")
    };
    wait("the stop", stopped);
    let paused_pid = format!("{url} --service-pid {}", paused.id());
    for (args, code, says) in [
        ("--pattern 1s@100,0s@0", 2, "zero length"),
        ("--burst 0s", 2, "zero length"),
        ("--pattern 5s@0", 2, "no burst"),
        ("--pattern 5s@10", 2, "no break"),
        (
            "--break 10ms --step 50ms",
            2,
            "shorter than 4 sampling steps of 50ms",
        ),
        ("--pattern soon", 2, "TIME@RATE"),
        (
            &format!("{url} --service-pid 4194300"),
            2,
            "no process 4194300",
        ),
        (&paused_pid, 1, "is paused (state T)"),
    ] {
        let folder = Folder::new();
        let ended = folder.run(format!("burst -o run.plimsoll {args}"));
        ended.says(code, &[]);
        let text = unwrapped(&ended.stderr);
        assert!(text.contains(says), "{args}: {text}");
        assert!(!folder.path("run.plimsoll").exists(), "{args}");
    }
    paused.kill().unwrap();
    paused.wait().unwrap();
}

/// Not a test of its own: the server that [`command`] starts.
#[test]
fn serves_until_it_is_ended() {
    let Some(port) = std::env::var(PORT).ok().and_then(|port| port.parse().ok()) else {
        return;
    };
    let behaviour = Behaviour::Answer {
        after: Duration::ZERO,
    };
    let _server = KnownServer::start_at(behaviour, port, Waits::Asleep).unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

const PORT: &str = "PLIMSOLL_TEST_SERVES_AT";

/// A free port, and the command of a server there.
fn command() -> (u16, String) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let tests = std::env::current_exe().unwrap();
    let tests = tests.to_str().unwrap();
    let test = "--exact burst::serves_until_it_is_ended";
    (port, format!("env {PORT}={port} {tests} {test}"))
}

#[test]
fn a_command_is_started_followed_and_ended() {
    let (port, command) = command();
    let folder = Folder::new();
    let url = format!("http://127.0.0.1:{port}/");
    // A shell in between: the process that answers is a child of it.
    let shell = format!("sh -c '{command}; exit 3'");
    let run = format!("{} {url} -- {shell}", cycles(2, "--format json"));
    let found = folder.run(run).json();
    assert_eq!(found["findings"]["cycles"], 2);
    assert!(found["findings"]["idle_burn_pct"]["value"].is_number());
    let cpu = &found["findings"]["phases"][0]["cpu_pct"]["value"];
    assert!(cpu.as_f64().unwrap() > 0.0, "{found}");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it runs");
    assert_eq!(folder.journals(), 0);
}

#[test]
fn a_run_that_is_resumed_starts_its_command_again() {
    let (port, command) = command();
    let folder = Folder::new();
    let url = format!("http://127.0.0.1:{port}/");
    let mut child = folder.spawn(format!("{} {url} -- {command}", cycles(50, "")));
    let record = folder.path("run.plimsoll");
    wait("two trials", || trials_in(&record) >= 2);
    send(&child, &[Signal::INT]);
    child.wait().unwrap();
    let (before, port_is_free) = (trials_in(&record), || {
        TcpStream::connect(("127.0.0.1", port)).is_err()
    });
    assert!(port_is_free());
    let other = folder.run("burst --resume run.plimsoll -- sleep 9");
    other.says(2, &["another command"]);
    let mut child = folder.spawn("burst --resume run.plimsoll");
    wait("another trial", || trials_in(&record) > before);
    send(&child, &[Signal::INT]);
    child.wait().unwrap();
    assert!(port_is_free());
}

/// Who has the port may be another user, and a request may hold secrets.
#[test]
fn nothing_is_sent_to_a_server_that_is_not_of_the_command() {
    let theirs = TcpListener::bind("127.0.0.1:0").unwrap();
    theirs.set_nonblocking(true).unwrap();
    let folder = Folder::new();
    let url = format!("http://{}/", theirs.local_addr().unwrap());
    let ended = folder.run(format!(
        "burst -o run.plimsoll {url} -H 'X-Key: swordfish' -- true"
    ));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(theirs.accept().is_err(), "it was connected to");
}

/// Another process takes the port while the command starts. In the second case its socket is in flight
/// between two others, so that no process in /proc has it.
#[test]
fn nothing_is_sent_to_a_server_that_takes_the_port_while_the_command_starts() {
    for (is_hidden, secret) in [(false, "-H 'X-Key: swordfish'"), (true, "")] {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = free.local_addr().unwrap();
        drop(free);
        let folder = Folder::new();
        let (started, taken) = (folder.path("started"), folder.path("taken"));
        let script = "touch started; until [ -e taken ]; do sleep 0.02; done; sleep 0.5";
        std::thread::scope(|scope| {
            let theirs = scope.spawn(|| {
                wait("the command", || started.exists());
                let listener = TcpListener::bind(addr).unwrap();
                let theirs = match is_hidden {
                    true => Theirs::InFlight(InFlight::of(listener)),
                    false => Theirs::Held(listener),
                };
                std::fs::write(&taken, "").unwrap();
                theirs
            });
            let ended = folder.run(format!(
                "burst -o run.plimsoll http://{addr}/ {secret} -- sh -c '{script}'"
            ));
            assert_eq!(ended.code, Some(2), "{ended:?}");
            assert!(ended.stderr.contains("ended (exit status: 0)"), "{ended:?}");
            let listener = theirs.join().unwrap().listener();
            listener.set_nonblocking(true).unwrap();
            assert!(listener.accept().is_err(), "it was connected to");
        });
    }
}

enum Theirs {
    Held(TcpListener),
    InFlight(InFlight),
}

impl Theirs {
    fn listener(self) -> TcpListener {
        match self {
            Theirs::Held(listener) => listener,
            Theirs::InFlight(sent) => sent.receive(),
        }
    }
}

/// A listener that was sent over a socket and is not received.
struct InFlight {
    to: UnixStream,
    /// Open, so that what was sent is kept.
    _from: UnixStream,
}

impl InFlight {
    fn of(listener: TcpListener) -> InFlight {
        let (from, to) = UnixStream::pair().unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [listener.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let data = [IoSlice::new(b"x")];
        sendmsg(&from, &data, &mut control, SendFlags::empty()).unwrap();
        InFlight { to, _from: from }
    }

    fn receive(self) -> TcpListener {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut data = [IoSliceMut::new(&mut byte)];
        recvmsg(&self.to, &mut data, &mut control, RecvFlags::empty()).unwrap();
        let fd = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        TcpListener::from(fd.unwrap())
    }
}

#[test]
fn a_command_that_serves_nothing_is_refused_in_a_sentence() {
    let server = server();
    let taken = format!("http://{}/", server.addr());
    let (port, command) = command();
    let free = format!("http://127.0.0.1:{port}/");
    for (args, says) in [
        (
            format!("{taken} -- {command}"),
            "answers before the command is started",
        ),
        (format!("{free} -- true"), "ended (exit status: 0) before"),
        (format!("{free} -- /nowhere/server"), "/nowhere/server"),
        (format!("-- {command}"), "required"),
        (
            format!("{free} --service-pid 1 -- {command}"),
            "cannot be used with",
        ),
        (
            format!("{taken} --against {taken} --against-cgroup /none/such"),
            "/none/such",
        ),
        (format!("{free} --against-cgroup /a"), "--against"),
    ] {
        let folder = Folder::new();
        let ended = folder.run(format!("burst -o run.plimsoll {args}"));
        let text = unwrapped(&ended.stderr);
        assert!(text.contains(says), "{args}: {text}");
        assert_eq!(ended.code, Some(2), "{args}: {text}");
        assert!(!folder.path("run.plimsoll").exists(), "{args}");
    }
}
