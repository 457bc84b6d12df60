//! The gate on fake trees, with the files of real idle control.

use super::*;
use plimsoll_law::{HoldRule, Price, replay_awake};
use plimsoll_model::Share;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const NO_LIMIT: &str = "0\n";

/// A machine with two CPUs and one process, 100, with one task.
struct Fake {
    dir: TempDir,
    slices: u64,
}

impl Fake {
    fn new() -> Fake {
        let fake = Fake {
            dir: tempfile::tempdir().unwrap(),
            slices: 0,
        };
        // The journal names its owner.
        let own = std::process::id();
        let own_stat = fs::read_to_string(format!("/proc/{own}/stat")).unwrap();
        fake.write(&format!("proc/{own}/stat"), &own_stat);
        std::os::unix::fs::symlink(own.to_string(), fake.path("proc/self")).unwrap();
        fake.write("proc/100/stat", &stat(0));
        fake.write("sys/devices/system/cpu/online", "0-1\n");
        for cpu in 0..2 {
            fake.write(&slot(cpu), NO_LIMIT);
        }
        fake
    }

    fn root(&self) -> Root {
        Root::at(self.dir.path())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The task has run on this CPU.
    fn ran_on(&mut self, cpu: u32) {
        self.slices += 1;
        let slices = self.slices;
        self.write("proc/100/task/100/stat", &stat(cpu));
        self.write(
            "proc/100/task/100/schedstat",
            &format!("{slices} 0 {slices}\n"),
        );
    }

    fn slots(&self) -> [String; 2] {
        [0, 1].map(|cpu| {
            fs::read_to_string(self.path(&slot(cpu)))
                .unwrap()
                .trim()
                .to_owned()
        })
    }

    fn gate(&self, log: Option<&Path>) -> Result<Gating, SideError> {
        let price = Price {
            wakeup: CpuTime(Duration::from_millis(5)),
            burn: Share::ONE,
        };
        let period = Duration::from_millis(1);
        let mut law = KeepAwake::new(HoldRule::BreakEven, price, Vec::new(), period);
        law.blind_after = Duration::ZERO;
        let journals = Journals::at(self.path("journals"));
        let request = GateRequest {
            follow: Follow::Process(100),
            law,
            period,
            limit: ResumeLatency::PollOnly,
            placed: None,
            log,
            only: only_gate(&journals)?,
        };
        let means = IdleMeans::ResumeLatency;
        Gating::start(&self.root(), &journals, request, means, &mut |_| {})
    }
}

fn stat(cpu: u32) -> String {
    let zeros = "0 ".repeat(15);
    // Parent, group, session; 20: threads, 22: start; 39: CPU.
    format!("100 (a) S 1 100 100 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 5 {zeros}0 {cpu} 0 0\n")
}

fn slot(cpu: u32) -> String {
    format!("sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us")
}

/// One round, as soon as it is due.
fn round(gating: &mut Gating, said: &mut Vec<String>) -> Followed {
    let due = gating.due().0.saturating_duration_since(Instant::now());
    std::thread::sleep(due);
    gating.round(&mut |notice| said.push(text(notice))).unwrap()
}

fn text(notice: Notice) -> String {
    match notice {
        Notice::Note(text) | Notice::Warning(text) | Notice::NotHeld(text) => text,
    }
}

fn until(mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < deadline, "it does not come");
    }
}

#[test]
fn held_cpu_follows_the_task_and_is_given_back() {
    let mut fake = Fake::new();
    fake.ran_on(0);
    let log = fake.path("log");
    let mut gating = fake.gate(Some(&log)).unwrap();
    let mut said = Vec::new();
    round(&mut gating, &mut said);
    assert_eq!(fake.slots(), ["n/a", "0"]);
    fake.ran_on(1);
    // In the next period.
    round(&mut gating, &mut said);
    assert_eq!(fake.slots()[1], "n/a");
    until(|| {
        round(&mut gating, &mut said);
        fake.slots() == ["0", "0"]
    });
    fake.ran_on(0);
    round(&mut gating, &mut said);
    assert_eq!(fake.slots(), ["n/a", "0"]);
    gating.suspend(true, &mut |_| {}).unwrap();
    assert_eq!(fake.slots(), ["0", "0"]);
    gating.suspend(false, &mut |_| {}).unwrap();
    let summary = gating.finish(&mut |_| {}).unwrap();
    assert_eq!(fake.slots(), ["0", "0"]);
    assert!(
        summary.changes >= 6 && said.is_empty(),
        "{summary} {said:?}"
    );
    let text = fs::read_to_string(log).unwrap();
    assert!(replay_awake(text.lines()).unwrap() >= 4);
}

#[test]
fn dropped_gate_gives_back() {
    let mut fake = Fake::new();
    fake.ran_on(1);
    let mut gating = fake.gate(None).unwrap();
    round(&mut gating, &mut Vec::new());
    assert_eq!(fake.slots(), ["0", "n/a"]);
    drop(gating);
    assert_eq!(fake.slots(), ["0", "0"]);
}

#[test]
fn value_that_another_program_writes_meanwhile_is_left_alone_and_named() {
    let mut fake = Fake::new();
    fake.ran_on(0);
    let mut gating = fake.gate(None).unwrap();
    let mut said = Vec::new();
    round(&mut gating, &mut said);
    fake.write(&slot(0), "77\n");
    gating
        .finish(&mut |notice| said.push(text(notice)))
        .unwrap();
    assert_eq!(fake.slots(), ["77", "0"]);
    let named = |words: &str| said.iter().any(|line| line.contains(words));
    assert!(named("CPU 0 was left alone") && named("'77'"), "{said:?}");
}

#[test]
fn unreadable_tasks_release_everything() {
    let mut fake = Fake::new();
    fake.ran_on(0);
    let mut gating = fake.gate(None).unwrap();
    let mut said = Vec::new();
    round(&mut gating, &mut said);
    fake.write("proc/100/task/100/schedstat", "what is this\n");
    round(&mut gating, &mut said);
    round(&mut gating, &mut said);
    assert_eq!(fake.slots(), ["0", "0"]);
    assert!(said[0].contains("cannot be read"), "{said:?}");
    assert_eq!(said.len(), 1);
    fake.ran_on(1);
    until(|| {
        round(&mut gating, &mut said);
        fake.slots() == ["0", "n/a"]
    });
}

#[test]
fn it_ends_with_its_tasks_and_does_not_begin_without() {
    let mut fake = Fake::new();
    fake.ran_on(0);
    let mut gating = fake.gate(None).unwrap();
    round(&mut gating, &mut Vec::new());
    // As the kernel has it for a file that was opened before the task ended.
    fake.write("proc/100/task/100/schedstat", "");
    fs::remove_dir_all(fake.path("proc/100")).unwrap();
    let gone = round(&mut gating, &mut Vec::new());
    assert!(matches!(gone, Followed::Gone(why) if why.contains("process 100")));
    drop(gating);
    assert_eq!(fake.slots(), ["0", "0"]);
    let refused = fake.gate(None).unwrap_err().to_string();
    assert!(refused.contains("there is no process 100"), "{refused}");
}

#[test]
fn offline_cpu_is_neither_held_nor_an_error() {
    let mut fake = Fake::new();
    fake.ran_on(1);
    let mut gating = fake.gate(None).unwrap();
    let mut said = Vec::new();
    round(&mut gating, &mut said);
    assert_eq!(fake.slots(), ["0", "n/a"]);
    fake.write("sys/devices/system/cpu/online", "0\n");
    until(|| {
        fake.ran_on(0);
        round(&mut gating, &mut said);
        gating.held().to_string() == "0"
    });
    assert_eq!(said, [""; 0]);
    gating.finish(&mut |_| {}).unwrap();
    assert_eq!(fake.slots()[0], "0");
}

#[test]
fn second_gate_on_a_machine_is_refused() {
    let mut fake = Fake::new();
    fake.ran_on(0);
    let first = fake.gate(None).unwrap();
    let refused = fake.gate(None).unwrap_err();
    assert!(matches!(refused, SideError::OtherGate { .. }), "{refused}");
    drop(first);
    assert!(fake.gate(None).is_ok());
}
