//! A fake /sys: owners, hotplug, errors and what is journalled.

use crate::idle::knob::{Hands, Knob};
use crate::idle::{IdleControl, IdleMeans, KeptAwake, Standing};
use crate::tasks::show_own;
use crate::{ControlError, Journal, Journals, Running};
use plimsoll_host::Root;
use plimsoll_host::idle::ResumeLatency;
use rustix::io::Errno;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

const POLL: ResumeLatency = ResumeLatency::PollOnly;

fn us(n: u64) -> ResumeLatency {
    ResumeLatency::at_most(Duration::from_micros(n))
}

/// Writes to the fake tree, fails where told to, and counts.
#[derive(Debug, Default)]
struct FakeHands {
    fail: Mutex<Option<Errno>>,
    writes: Mutex<Vec<String>>,
    kicked: Mutex<Vec<u32>>,
}

impl Hands for FakeHands {
    fn write(&self, path: &Path, value: &str) -> io::Result<()> {
        if let Some(errno) = *self.fail.lock().unwrap() {
            return Err(errno.into());
        }
        if !path.exists() {
            return Err(Errno::NOENT.into());
        }
        self.writes.lock().unwrap().push(value.to_owned());
        fs::write(path, format!("{value}\n"))
    }

    fn kick(&self, cpu: u32) {
        self.kicked.lock().unwrap().push(cpu);
    }
}

/// CPUs 0 and 1, each with POLL, C1 (2 us) and C6 (170 us).
struct Tree {
    dir: TempDir,
    root: Root,
    journal: Journal,
    hands: Arc<FakeHands>,
}

impl Tree {
    fn new() -> Tree {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        show_own(&root);
        put(&root, "sys/devices/system/cpu/online", "0-1\n");
        for cpu in [0, 1] {
            put_cpu(&root, cpu);
        }
        put(
            &root,
            "sys/module/haltpoll/parameters/guest_halt_poll_ns",
            "0\n",
        );
        let journal = Journals::at(dir.path().join("journals"))
            .open(&root)
            .unwrap();
        Tree {
            dir,
            root,
            journal,
            hands: Arc::default(),
        }
    }

    fn control(&self, means: IdleMeans) -> IdleControl {
        let mut control = IdleControl::new(&self.root, &self.journal, means);
        control.hands = Arc::clone(&self.hands) as Arc<dyn Hands>;
        control
    }

    fn limit(&self, cpu: u32) -> String {
        self.text(Knob::ResumeLatency { cpu })
    }

    fn text(&self, knob: Knob) -> String {
        let text = fs::read_to_string(knob.path(&self.root)).unwrap();
        text.trim().to_owned()
    }

    fn set(&self, knob: Knob, value: &str) {
        fs::write(knob.path(&self.root), format!("{value}\n")).unwrap();
    }

    fn awake(&self, limit: ResumeLatency) -> KeptAwake {
        let control = self.control(IdleMeans::ResumeLatency);
        control.keep_awake(1, limit).unwrap()
    }

    fn journals(&self) -> Journals {
        Journals::at(self.dir.path().join("journals"))
    }

    /// A journal of process 77, with values for the limit of CPU 1.
    fn other_journal(&self, former: &str, ours: &str) -> PathBuf {
        let header =
            r#"{"journal":1,"owner":{"pid":77,"started":5},"boot_id":null,"pid_namespace":null}"#;
        let change = format!(
            r#"{{"change":{{"nth":1,"change":{{"idle_knob_set":{{"knob":{{"resume_latency":{{"cpu":1}}}},"former":"{former}","ours":"{ours}"}}}}}}}}"#
        );
        let path = self.dir.path().join("journals/77-5-abc.jsonl");
        fs::write(&path, format!("{header}\n{change}\n")).unwrap();
        path
    }

    fn other_lives(&self, lives: bool) {
        let fields = "S 1 77 77 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0";
        match lives {
            true => put(&self.root, "proc/77/stat", &format!("77 (gate) {fields}")),
            false => fs::remove_file(self.root.path("/proc/77/stat")).unwrap(),
        }
    }
}

fn put(root: &Root, path: &str, text: &str) {
    let path = root.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn put_cpu(root: &Root, cpu: u32) {
    let dir = format!("sys/devices/system/cpu/cpu{cpu}");
    put(
        root,
        &format!("{dir}/power/pm_qos_resume_latency_us"),
        "0\n",
    );
    for (state, name, latency) in [(0, "POLL", "0"), (1, "C1", "2"), (2, "C6", "170")] {
        let dir = format!("{dir}/cpuidle/state{state}");
        put(root, &format!("{dir}/name"), name);
        put(root, &format!("{dir}/latency"), latency);
        for counter in ["usage", "time", "disable"] {
            put(root, &format!("{dir}/{counter}"), "0\n");
        }
    }
}

#[test]
fn a_limit_is_written_with_a_kick_and_given_back() {
    let tree = Tree::new();
    for (limit, written) in [(us(5), "5"), (POLL, "n/a"), (us(0), "n/a")] {
        let awake = tree.awake(limit);
        assert_eq!(
            (tree.limit(1).as_str(), tree.limit(0).as_str()),
            (written, "0")
        );
        drop(awake);
        assert_eq!(tree.limit(1), "0");
    }
    assert_eq!(*tree.hands.kicked.lock().unwrap(), [1, 1, 1]);
    let none = tree.control(IdleMeans::ResumeLatency);
    let error = none.keep_awake(1, ResumeLatency::NoLimit).unwrap_err();
    assert!(matches!(error, ControlError::OutOfRange { .. }), "{error}");
}

#[test]
fn a_former_limit_is_kept_even_if_it_is_not_the_default() {
    let tree = Tree::new();
    let knob = Knob::ResumeLatency { cpu: 1 };
    tree.set(knob, "100");
    let sentences = tree.awake(us(5)).give_back().unwrap();
    assert_eq!(tree.limit(1), "100");
    assert!(
        sentences[0].contains("from '5' back to '100'"),
        "{sentences:?}"
    );
}

#[test]
fn a_stricter_value_of_another_program_is_left_alone_and_followed_when_it_goes() {
    let tree = Tree::new();
    let knob = Knob::ResumeLatency { cpu: 1 };
    for stricter in ["n/a", "3", "5"] {
        tree.set(knob, stricter);
        let mut awake = tree.awake(us(5));
        assert_eq!(tree.limit(1), stricter);
        let Standing::ByOther(who) = awake.check().unwrap() else {
            panic!("{stricter} is not another's");
        };
        let expected = format!("CPU 1 is '{stricter}', by another program");
        assert!(who.contains(&expected), "{who}");
        tree.set(knob, "0");
        assert_eq!(awake.check().unwrap(), Standing::Restored);
        assert_eq!(tree.limit(1), "5");
        drop(awake);
        assert_eq!(tree.limit(1), "0");
    }
}

#[test]
fn a_foreign_write_is_left_alone_and_named() {
    let tree = Tree::new();
    let knob = Knob::ResumeLatency { cpu: 1 };
    let mut awake = tree.awake(us(5));
    tree.set(knob, "70");
    let Standing::Overruled(who) = awake.check().unwrap() else {
        panic!("nobody noticed");
    };
    assert!(who.contains("'70', by another program"), "{who}");
    let sentences = awake.give_back().unwrap();
    assert_eq!(tree.limit(1), "70");
    assert!(
        sentences[0].contains("left alone: it holds '70'"),
        "{sentences:?}"
    );
    // What another program has already given back needs no sentence.
    let awake = tree.awake(us(5));
    tree.set(knob, "70");
    assert_eq!(awake.give_back().unwrap(), [] as [String; 0]);
}

#[test]
fn the_stricter_of_two_runs_leaves_what_the_other_wants() {
    let tree = Tree::new();
    let knob = Knob::ResumeLatency { cpu: 1 };
    // Process 77 wants 5 us, and 0 was there before it.
    tree.other_journal("0", "5");
    tree.other_lives(true);
    tree.set(knob, "5");
    let sentences = tree.awake(POLL).give_back().unwrap();
    assert_eq!(tree.limit(1), "5");
    assert!(sentences[0].contains("process 77 wants"), "{sentences:?}");
    // It ends first, and finds a value that is not its own.
    let awake = tree.awake(POLL);
    tree.other_lives(false);
    drop(awake);
    assert_eq!(tree.limit(1), "0");
    // It is the stricter one.
    tree.other_lives(true);
    tree.set(knob, "5");
    let Standing::ByOther(who) = tree.awake(us(9)).check().unwrap() else {
        panic!("5 us are stricter than 9 us");
    };
    assert!(who.contains("process 77 of Plimsoll"), "{who}");
}

#[test]
fn a_value_is_written_again_after_the_cpu_was_offline() {
    let tree = Tree::new();
    let online = |cpus| put(&tree.root, "sys/devices/system/cpu/online", cpus);
    let mut awake = tree.awake(us(5));
    online("0\n");
    assert_eq!(awake.check().unwrap(), Standing::Offline);
    // Most drivers keep the file and its value.
    online("0-1\n");
    assert_eq!(awake.check().unwrap(), Standing::Kept);
    // The file goes with the CPU, and its value with it.
    fs::remove_dir_all(tree.root.path("/sys/devices/system/cpu/cpu1/power")).unwrap();
    assert_eq!(awake.check().unwrap(), Standing::Offline);
    put_cpu(&tree.root, 1);
    assert_eq!(awake.check().unwrap(), Standing::Restored);
    assert_eq!(tree.limit(1), "5");
    drop(awake);
    assert_eq!(tree.limit(1), "0");
    online("0\n");
    fs::remove_dir_all(tree.root.path("/sys/devices/system/cpu/cpu1/power")).unwrap();
    let control = tree.control(IdleMeans::ResumeLatency);
    let error = control.keep_awake(1, us(5)).unwrap_err();
    assert!(matches!(error, ControlError::NoIdleFile { .. }), "{error}");
}

#[test]
fn states_that_take_longer_are_switched_off_but_never_state_0() {
    let tree = Tree::new();
    let disabled = || [0, 1, 2].map(|state| tree.text(Knob::DisabledState { cpu: 1, state }));
    let control = tree.control(IdleMeans::DisableStates);
    for (limit, expected) in [(us(5), ["0", "0", "1"]), (POLL, ["0", "1", "1"])] {
        let mut awake = control.keep_awake(1, limit).unwrap();
        assert_eq!(disabled(), expected);
        assert_eq!(awake.check().unwrap(), Standing::Kept);
        drop(awake);
        assert_eq!(disabled(), ["0", "0", "0"]);
    }
    // Another program has switched one off: it stays off.
    tree.set(Knob::DisabledState { cpu: 1, state: 2 }, "1");
    drop(control.keep_awake(1, POLL).unwrap());
    assert_eq!(disabled(), ["0", "0", "1"]);
}

#[test]
fn the_polling_time_is_set_once_for_all_cpus() {
    let tree = Tree::new();
    let control = tree.control(IdleMeans::HaltPoll);
    let control = control.with_halt_poll(Duration::from_millis(2));
    let both = [0, 1].map(|cpu| control.keep_awake(cpu, POLL).unwrap());
    assert_eq!(tree.text(Knob::HaltPollNs), "2000000");
    let [first, mut second] = both;
    drop(first);
    assert_eq!(second.check().unwrap(), Standing::Kept);
    assert_eq!(tree.text(Knob::HaltPollNs), "2000000");
    drop(second);
    assert_eq!(tree.text(Knob::HaltPollNs), "0");
    assert_eq!(*tree.hands.writes.lock().unwrap(), ["2000000", "0"]);
}

#[test]
fn the_limit_on_all_cpus_is_written_as_a_number() {
    let tree = Tree::new();
    let device = tree.root.path("/dev/cpu_dma_latency");
    let control = tree.control(IdleMeans::DmaLatency);
    let absent = control.keep_awake(1, POLL).unwrap_err();
    assert!(
        matches!(absent, ControlError::NoIdleFile { .. }),
        "{absent}"
    );
    put(&tree.root, "dev/cpu_dma_latency", "");
    for (limit, us) in [(POLL, 0), (us(5), 5)] {
        let mut awake = control.keep_awake(1, limit).unwrap();
        assert_eq!(fs::read(&device).unwrap()[..4], i32::to_ne_bytes(us));
        assert_eq!(awake.check().unwrap(), Standing::Kept);
        assert_eq!(awake.give_back().unwrap(), [] as [String; 0]);
        fs::write(&device, "").unwrap();
    }
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing_behind() {
    let tree = Tree::new();
    let control = tree.control(IdleMeans::ResumeLatency);
    for (errno, expected) in [
        (Errno::ACCESS, "this user may not write"),
        (Errno::ROFS, "this user may not write"),
        (Errno::INVAL, "the kernel does not take '5'"),
        (Errno::NODEV, "is not there"),
    ] {
        *tree.hands.fail.lock().unwrap() = Some(errno);
        let error = control.keep_awake(1, us(5)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("pm_qos_resume_latency_us"), "{error}");
    }
    tree.set(Knob::ResumeLatency { cpu: 1 }, "soon");
    let error = control.keep_awake(1, us(5)).unwrap_err().to_string();
    assert!(error.contains("holds 'soon'"), "{error}");
    let journals = tree.dir.path().join("journals");
    let Tree {
        journal,
        hands,
        dir,
        ..
    } = tree;
    assert_eq!(hands.writes.lock().unwrap().len(), 0);
    drop((control, journal));
    assert_eq!(fs::read_dir(journals).unwrap().count(), 0);
    drop(dir);
}

#[test]
fn a_failed_write_back_stays_in_the_journal() {
    let tree = Tree::new();
    let awake = tree.awake(us(5));
    *tree.hands.fail.lock().unwrap() = Some(Errno::BUSY);
    assert!(awake.give_back().is_err());
    let journal = fs::read_dir(tree.dir.path().join("journals")).unwrap();
    let text = fs::read_to_string(journal.flatten().next().unwrap().path()).unwrap();
    assert!(!text.contains("given_back"), "{text}");
}

#[test]
fn the_repair_gives_back_only_what_is_still_ours() {
    let tree = Tree::new();
    let knob = Knob::ResumeLatency { cpu: 1 };
    for (found, after, told) in [
        ("n/a", "0", "from 'n/a' back to '0'"),
        ("50", "50", "left alone: it holds '50'"),
        ("0", "0", ""),
    ] {
        let journal = tree.other_journal("0", "n/a");
        tree.set(knob, found);
        let listed = tree.journals().leftovers(&tree.root).unwrap();
        let listed = listed.iter().flat_map(|one| &one.left).count();
        assert_eq!(listed, usize::from(found == "n/a"), "{found}");
        let repaired = tree.journals().repair(&tree.root, Running::Leave).unwrap();
        let done: Vec<String> = repaired.into_iter().flat_map(|one| one.done).collect();
        assert!(done.join(" ").contains(told), "{found}: {done:?}");
        assert_eq!(done.is_empty(), told.is_empty());
        assert_eq!(tree.limit(1), after);
        assert!(!journal.exists());
    }
    // The CPU is offline: later.
    let journal = tree.other_journal("0", "n/a");
    tree.set(knob, "n/a");
    fs::rename(knob.path(&tree.root), tree.root.path("/aside")).unwrap();
    let repaired = tree.journals().repair(&tree.root, Running::Leave).unwrap();
    assert!(repaired[0].left[0].contains("offline"), "{repaired:?}");
    assert!(journal.exists());
    fs::rename(tree.root.path("/aside"), knob.path(&tree.root)).unwrap();
    tree.journals().repair(&tree.root, Running::Leave).unwrap();
    assert_eq!(tree.limit(1), "0");
}
