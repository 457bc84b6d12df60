//! The faults, in the order of the table.

use crate::common::{Arguments, Folder, LOUD, send, wait};
use crate::nginx::Nginx;
use crate::scene::{Fault, RECORD, Row, ended, lost, spawn, trials};
use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Command;
use std::time::Duration;

const LATE: usize = 6;
/// Of the network namespace of these tests.
const PORTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";

const NONE: Fault = Fault {
    name: "none",
    after: LATE,
    started: |_, command| command,
    give: |_| (),
    mend: |_| (),
};

pub(crate) const ALL: &[Fault] = &[
    Fault {
        name: "Ctrl-C (SIGINT)",
        give: |scene| send(&scene.child, &[Signal::INT]),
        ..NONE
    },
    Fault {
        name: "Ctrl-C twice, 1 s apart",
        give: |scene| {
            send(&scene.child, &[Signal::INT]);
            std::thread::sleep(Duration::from_secs(1));
            // It may have ended.
            let _ = kill_process(Pid::from_child(&scene.child), Signal::INT);
        },
        ..NONE
    },
    Fault {
        name: "SIGTERM",
        give: |scene| send(&scene.child, &[Signal::TERM]),
        ..NONE
    },
    Fault {
        name: "the terminal closes (SIGHUP)",
        give: |scene| send(&scene.child, &[Signal::HUP]),
        ..NONE
    },
    Fault {
        name: "SIGQUIT",
        give: |scene| send(&scene.child, &[Signal::QUIT]),
        ..NONE
    },
    Fault {
        name: "all of Plimsoll stands still for 3 s (SIGSTOP, a paused machine)",
        give: |scene| {
            send(&scene.child, &[Signal::STOP]);
            std::thread::sleep(Duration::from_secs(3));
            send(&scene.child, &[Signal::CONT]);
        },
        ..NONE
    },
    Fault {
        name: "SIGKILL; the machine boots and is up for a day longer (time namespace)",
        give: |scene| send(&scene.child, &[Signal::KILL]),
        started: |_, command| {
            let mut inside = Command::new("unshare");
            inside.args([
                "--time",
                "--monotonic",
                "86400",
                "--boottime",
                "86400",
                "--",
            ]);
            wrapped(inside, &command)
        },
        ..NONE
    },
    Fault {
        name: "the disk is full",
        started: |folder, command| {
            mount(folder, "tmpfs", &["-o", "size=192k"]);
            command
        },
        give: |scene| {
            std::fs::write(scene.folder.path("run/other"), vec![0; 1 << 20]).unwrap_or(())
        },
        mend: |scene| std::fs::remove_file(scene.folder.path("run/other")).unwrap(),
        ..NONE
    },
    Fault {
        name: "no more file descriptors (RLIMIT_NOFILE 8)",
        give: |scene| {
            let pid = scene.child.id().to_string();
            run("prlimit", &["--pid", &pid, "--nofile=8"]);
        },
        ..NONE
    },
    Fault {
        name: "four ports for connections (`ip_local_port_range`)",
        give: |_| std::fs::write(PORTS, "61000 61003").unwrap(),
        mend: |_| std::fs::write(PORTS, "32768 60999").unwrap(),
        ..NONE
    },
    Fault {
        name: "no more threads (RLIMIT_NPROC 1, as nobody)",
        started: |folder, command| {
            chown(folder);
            as_nobody(&command)
        },
        // As nobody, too: not every root may limit others.
        give: |scene| {
            let pid = scene.child.id().to_string();
            let user = "--reuid=65534 --regid=65534 --clear-groups".words();
            let limit = ["prlimit", "--pid", &pid, "--nproc=1"].words();
            run("setpriv", &[user, limit].concat());
        },
        mend: |scene| own(&scene.folder),
        ..NONE
    },
    Fault {
        name: "/sys is read-only",
        after: 0,
        started: |_, command| {
            let script = "mount -o remount,bind,ro /sys && exec \"$@\"";
            let mut inside = Command::new("unshare");
            inside.args(["--mount", "sh", "-c", script, "sh"]);
            wrapped(inside, &command)
        },
        ..NONE
    },
    Fault {
        name: "the service is killed",
        give: |scene| scene.nginx.kill(),
        mend: |scene| scene.nginx.restart(),
        ..NONE
    },
    Fault {
        name: "the service is stopped for 3 s and continues",
        give: |scene| {
            signal_all(&scene.nginx, Signal::STOP);
            std::thread::sleep(Duration::from_secs(3));
            signal_all(&scene.nginx, Signal::CONT);
        },
        ..NONE
    },
    Fault {
        name: "the service is started anew",
        give: |scene| scene.nginx.restart(),
        ..NONE
    },
    Fault {
        name: "the network is down for 3 s (`ip link set lo down`)",
        give: |_| {
            loopback("down");
            std::thread::sleep(Duration::from_secs(3));
            loopback("up");
        },
        ..NONE
    },
];

/// A sweep with all phases, killed in each and resumed.
pub(crate) fn kill_9_at_every_stage() -> Vec<Row> {
    let nginx = Nginx::start();
    let folder = Folder::new();
    std::fs::create_dir(folder.path("run")).unwrap();
    let sweep = "sweep --quick --plain --duration 200ms --seed 1 --levels 20,40 --trials 2 \
                 --cpus 1 --goal p90<50ms";
    let words = format!("{sweep} {} -o {RECORD} {}", LOUD.join(" "), nginx.url()).words();
    let mut child = spawn(folder.command(words));
    let mut rows = Vec::new();
    for (phase, stage) in [
        ("idle", "without load"),
        ("calibration", "in the calibration"),
        ("level", "in the levels"),
        ("search", "in the search"),
    ] {
        wait(phase, || {
            assert!(
                child.try_wait().unwrap().is_none(),
                "it ended before: {phase}"
            );
            is_in(&folder, phase)
        });
        let before = trials(&folder);
        send(&child, &[Signal::KILL]);
        let (status, _) = ended(&mut child);
        assert!(!status.success());
        let lost = lost(&before, &folder);
        rows.push(Row::killed(stage, lost));
        child = spawn(folder.command(["sweep", "--plain", "--resume", RECORD]));
    }
    let (status, stderr) = ended(&mut child);
    assert!(status.success(), "{stderr}");
    rows
}

/// Whether the record has a trial of this phase.
fn is_in(folder: &Folder, phase: &str) -> bool {
    // Read-only: it must not make a file that the run then refuses.
    let db = Connection::open_with_flags(folder.path(RECORD), OpenFlags::SQLITE_OPEN_READ_ONLY);
    let asked = "SELECT count(*) FROM trial WHERE phase = ?1";
    let counted = db.and_then(|db| db.query_row(asked, [phase], |row| row.get::<_, i64>(0)));
    counted.unwrap_or(0) > 0
}

/// `command` behind another that becomes it.
fn wrapped(mut outer: Command, command: &Command) -> Command {
    outer.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer.current_dir(command.get_current_dir().unwrap());
    outer
}

#[track_caller]
fn run(program: &str, args: &[impl AsRef<str>]) {
    let words = args.words();
    let status = Command::new(program).args(&words).status().unwrap();
    assert!(status.success(), "{program} {words:?}");
}

fn mount(folder: &Folder, kind: &str, options: &[&str]) {
    let at = folder.path("run");
    let at = at.to_str().unwrap();
    run("mount", &[&["-t", kind], options, &[kind, at]].concat());
    run("chmod", &["700", at]);
}

fn signal_all(nginx: &Nginx, signal: Signal) {
    for pid in nginx.pids() {
        kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
    }
}

fn loopback(state: &str) {
    run("ip", &["link", "set", "lo", state]);
}

/// The folder and what is in it are nobody's, and the program is where nobody reaches it.
fn chown(folder: &Folder) {
    let program = folder.path("plimsoll-copy");
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), program).unwrap();
    run(
        "chown",
        &["-R", "65534:65534", folder.0.path().to_str().unwrap()],
    );
}

fn own(folder: &Folder) {
    run("chown", &["-R", "0:0", folder.0.path().to_str().unwrap()]);
}

fn as_nobody(command: &Command) -> Command {
    let mut inside = Command::new("setpriv");
    inside.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let mut copy = Command::new("./plimsoll-copy");
    copy.args(command.get_args()).envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    copy.current_dir(command.get_current_dir().unwrap());
    wrapped(inside, &copy)
}
