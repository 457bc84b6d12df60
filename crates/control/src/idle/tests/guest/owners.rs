//! Others that limit the same CPU: programs that do not know us, processes of Plimsoll,
//! and what is left of those that were killed.

use super::{Guest, HELD, PER_CPU, wait};
use crate::idle::{IdleControl, IdleMeans, Standing};
use crate::{Journals, Running};
use plimsoll_host::Root;
use plimsoll_host::idle::{
    DmaLatency, DmaLatencyHolders, ResumeLatency, disable_file, dma_latency, resume_latency_file,
};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn the_holder_of_a_limit_on_all_cpus_is_found() {
    let guest = Guest::new();
    let script = "exec 3>/dev/cpu_dma_latency; printf 0x00000014 >&3; echo ready; read line";
    let mut holder = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let held = DmaLatency::AtMost(Duration::from_micros(20));
    wait("the limit", || {
        dma_latency(&guest.root).unwrap() == Some(held)
    });
    let found = DmaLatencyHolders::find(&guest.root).unwrap();
    let pids: Vec<u32> = found.processes.iter().map(|(pid, _)| *pid).collect();
    assert_eq!((pids, found.unseen), (vec![holder.id()], 0));
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(dma_latency(&guest.root).unwrap(), Some(DmaLatency::NoLimit));
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_foreign_value_is_named_and_left_alone() {
    let guest = Guest::new();
    let limit = guest.limits()[1];
    let slot = guest.root.path(resume_latency_file(HELD));
    let deepest = guest.states(HELD).last().unwrap().latency;
    let looser = deepest.as_micros().to_string();
    for foreign in [looser.as_str(), "n/a"] {
        let control = guest.control(IdleMeans::ResumeLatency);
        let mut awake = control.keep_awake(HELD, limit).unwrap();
        fs::write(&slot, foreign).unwrap();
        let (Standing::Overruled(named) | Standing::ByOther(named)) = awake.check().unwrap() else {
            panic!("{foreign} is not noticed");
        };
        let words = format!("of CPU {HELD} is '{foreign}', by another program");
        assert!(named.contains(&words), "{named}");
        let said = awake.give_back().unwrap().join(" ");
        assert!(said.contains("left alone"), "{said}");
        assert_eq!(fs::read_to_string(&slot).unwrap().trim(), foreign);
        fs::write(&slot, "0").unwrap();
    }
    let control = guest.control(IdleMeans::DisableStates);
    let mut awake = control.keep_awake(HELD, limit).unwrap();
    let last = guest.states(HELD).last().unwrap().index;
    fs::write(guest.root.path(disable_file(HELD, last)), "0").unwrap();
    let standing = awake.check().unwrap();
    assert!(
        matches!(&standing, Standing::Overruled(named) if named.contains("by another program")),
        "{standing:?}"
    );
    drop(awake);
    guest.assert_given_back();
}

/// Another process that holds the CPU, until its standard input ends or it is killed.
struct Owner {
    child: Child,
    _output: ChildStdout,
}

impl Owner {
    const DIR: &str = "PLIMSOLL_TEST_OWNER_DIR";
    const MEANS: &str = "PLIMSOLL_TEST_OWNER_MEANS";
    const LIMIT: &str = "PLIMSOLL_TEST_OWNER_LIMIT";

    fn start(guest: &Guest, means: usize, limit: ResumeLatency) -> Owner {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "idle::tests::guest::owners::owner", "--ignored"])
            .arg("--nocapture")
            .env(Owner::DIR, guest.journals.dir())
            .env(Owner::MEANS, means.to_string())
            .env(Owner::LIMIT, limit.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = output.by_ref().lines().map_while(Result::ok);
        assert!(lines.any(|line| line.ends_with("ready")));
        Owner {
            child,
            _output: output.into_inner(),
        }
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Not a test: the process that [`Owner`] starts.
#[test]
#[ignore = "started by the tests below"]
fn owner() {
    let Ok(dir) = std::env::var(Owner::DIR) else {
        return;
    };
    let given = |name: &str| std::env::var(name).unwrap();
    let root = Root::machine();
    let journal = Journals::at(dir).open(&root).unwrap();
    let means = PER_CPU[given(Owner::MEANS).parse::<usize>().unwrap()];
    let control = IdleControl::new(&root, &journal, means);
    let limit = given(Owner::LIMIT).parse().unwrap();
    let _awake = control.keep_awake(HELD, limit).unwrap();
    println!("ready");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn what_a_killed_owner_left_is_given_back_by_the_repair() {
    let guest = Guest::new();
    let limit = guest.limits()[0];
    for (nth, means) in PER_CPU.iter().enumerate() {
        Owner::start(&guest, nth, limit).kill();
        guest.assert_within(HELD, limit, &format!("{means}, after the kill"));
        let repaired = guest.journals.repair(&guest.root, Running::Leave).unwrap();
        assert!(repaired[0].is_whole(), "{means}: {repaired:?}");
        guest.assert_given_back();
        guest.wait_until_deep(HELD);
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn of_two_owners_the_stricter_counts_until_it_ends() {
    let guest = Guest::new();
    let limits = guest.limits();
    let (strict, wide) = (limits[0], limits[1]);
    for strict_ends_first in [true, false] {
        let wide_one = Owner::start(&guest, 0, wide);
        let strict_one = Owner::start(&guest, 0, strict);
        guest.assert_within(HELD, strict, "both");
        let (first, second, left) = match strict_ends_first {
            true => (strict_one, wide_one, wide),
            false => (wide_one, strict_one, strict),
        };
        first.end();
        assert_eq!(guest.slot(), Some(left));
        guest.assert_within(HELD, left, "the one that is left");
        second.end();
        guest.assert_given_back();
    }
}
