use super::*;
use crate::fake_tree::{FakeProcess, FakeTree};
use plimsoll_model::CpuTime;
use std::time::Duration;

const MS: u64 = 1_000_000;

fn ms(n: u64) -> CpuTime {
    CpuTime(Duration::from_millis(n))
}

fn open(tree: &FakeTree, pid: Pid) -> Result<ServiceProcesses, HostError> {
    ServiceProcesses::open(tree.root(), &[pid], Source::Schedstat, &mut 100)
}

#[test]
fn descendants_are_found_at_open_and_later_but_not_unrelated_processes() {
    let tree = FakeTree::new();
    let put = |pid, ppid, used: u64| {
        tree.process(&FakeProcess {
            pid,
            ppid,
            own_ticks: used / 10,
            threads: &[(pid, used * MS, 0, 1)],
            ..FakeProcess::ANY
        });
    };
    put(100, 1, 50);
    put(30, 100, 50);
    put(7, 1, 50);
    let mut service = open(&tree, 100).unwrap();
    let read = |s: &mut ServiceProcesses| s.read(tree.root(), &mut 100).unwrap().cpu;
    put(100, 1, 60);
    put(30, 100, 70);
    put(7, 1, 9999);
    assert_eq!(read(&mut service), ms(30));
    put(31, 30, 5);
    put(32, 7, 9999);
    put(29, 31, 3);
    assert_eq!(read(&mut service), ms(38));
    tree.remove("proc/30");
    put(31, 1, 6);
    assert_eq!(read(&mut service), ms(39));
}

#[test]
fn missing_or_ended_service_is_an_error() {
    let tree = FakeTree::new();
    assert!(matches!(
        open(&tree, 100),
        Err(HostError::NoProcess { pid: 100 })
    ));
    tree.process(&FakeProcess::ANY);
    let mut service = open(&tree, 100).unwrap();
    tree.remove("proc/100");
    let ended = service.read(tree.root(), &mut 100).unwrap_err();
    assert!(matches!(ended, HostError::ServiceEnded));
}

#[test]
fn end_of_a_worker_is_counted_and_end_of_the_root_is_an_error() {
    let tree = FakeTree::new();
    let put = |pid, ppid| {
        tree.process(&FakeProcess {
            pid,
            ppid,
            threads: &[(pid, MS, 0, 1)],
            ..FakeProcess::ANY
        });
    };
    put(100, 1);
    put(101, 100);
    put(102, 100);
    let source = Source::Schedstat;
    let mut service =
        ServiceProcesses::open(tree.root(), &[100, 101, 102], source, &mut 100).unwrap();
    tree.remove("proc/101");
    assert!(service.read(tree.root(), &mut 100).is_ok());
    tree.remove("proc/100");
    put(102, 1);
    assert!(service.read(tree.root(), &mut 100).is_err());
    put(100, 102);
    let after = service.read(tree.root(), &mut 100);
    assert!(after.is_err(), "another has its number");
}

#[test]
fn own_process_is_excluded_but_new_children_count() {
    let tree = FakeTree::new();
    let put = |pid, ppid| {
        tree.process(&FakeProcess {
            pid,
            ppid,
            ..FakeProcess::ANY
        });
    };
    put(100, 1);
    let mut service = open(&tree, 100).unwrap();
    put(101, 100);
    put(200, 1);
    let mut has_all = |pids: &[Pid]| service.has_all(tree.root(), pids).unwrap();
    assert!(has_all(&[100, 101]));
    assert!(!has_all(&[100, 200]));
}

#[test]
fn failed_reading_does_not_stop_tracking() {
    let tree = FakeTree::new();
    let put = |used| {
        tree.process(&FakeProcess {
            threads: &[(100, used * MS, 0, 1)],
            ..FakeProcess::ANY
        });
    };
    put(5);
    let mut service = open(&tree, 100).unwrap();
    tree.write("proc/100/task/100/schedstat", "garbage");
    assert!(service.read(tree.root(), &mut 100).is_err());
    put(9);
    assert_eq!(service.read(tree.root(), &mut 100).unwrap().cpu, ms(4));
}

#[test]
fn reused_pid_is_not_the_service() {
    let tree = FakeTree::new();
    tree.process(&FakeProcess::ANY);
    let mut service = open(&tree, 100).unwrap();
    tree.process(&FakeProcess {
        started: 6,
        ..FakeProcess::ANY
    });
    assert!(service.read(tree.root(), &mut 100).is_err());
}

#[test]
fn unknown_own_thread_is_an_error() {
    let tree = FakeTree::new().file(
        "proc/self/stat",
        "100 (me) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n",
    );
    tree.process(&FakeProcess {
        threads: &[(100, 0, 0, 1)],
        ..FakeProcess::ANY
    });
    let open = |tid| {
        let roles = ThreadRoles {
            generator: BTreeSet::from([tid]),
            ..ThreadRoles::default()
        };
        OwnProcess::open(tree.root(), roles, Source::Schedstat, &mut 9)
    };
    assert!(open(100).is_ok());
    assert!(matches!(open(101), Err(HostError::NoThread { tid: 101 })));
}

/// Burns CPU until the kernel has counted `least` for this thread.
fn burn(least: Duration) {
    let clock = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let end = clock() + least;
    while clock() < end {
        std::hint::black_box(0);
    }
}

#[test]
fn time_of_short_lived_own_threads_is_counted() {
    let root = Root::machine();
    let source = Source::of(&root);
    let mut allowance = 100;
    let mut own = OwnProcess::open(&root, ThreadRoles::default(), source, &mut allowance).unwrap();
    let before = own.read(&root, &mut allowance).unwrap();
    for _ in 0..4 {
        let thread = std::thread::spawn(|| burn(Duration::from_millis(50)));
        thread.join().unwrap();
    }
    let after = own.read(&root, &mut allowance).unwrap();
    let used = after.other.since(before.other).cpu;
    // Four ticks may be lost to truncation, and one to the tick in which the
    // kernel updates its counters.
    assert!(used >= ms(200 - 50), "{used:?}");
}

#[test]
fn child_process_counts_while_running_and_after_its_end() {
    let root = Root::machine();
    let source = Source::of(&root);
    let mut allowance = 100;
    let mut service = ServiceProcesses::children(&root, source, &mut allowance).unwrap();
    let before = service.read(&root, &mut allowance).unwrap();
    let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read x";
    let mut child = std::process::Command::new("sh")
        .args(["-c", script])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let during = service.read(&root, &mut allowance).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    let after = service.read(&root, &mut allowance).unwrap();
    assert!(during.cpu >= before.cpu && after.cpu >= during.cpu);
    assert!(after.cpu > before.cpu, "{before:?} {after:?}");
}

#[test]
fn workers_may_have_smaller_pids_than_their_master() {
    let tree = FakeTree::new();
    let put = |pid, ppid, started, reaped_ticks| {
        tree.process(&FakeProcess {
            pid,
            ppid,
            started,
            reaped_ticks,
            threads: &[(pid, 0, 0, 1)],
            ..FakeProcess::ANY
        });
    };
    put(900, 1, 5, 0);
    put(20, 900, 6, 0);
    let pids = [20, 900, 900];
    let source = Source::Schedstat;
    let service = ServiceProcesses::open(tree.root(), &pids, source, &mut 9).unwrap();
    let order: Vec<Pid> = service.members.iter().map(|m| m.pid).collect();
    assert_eq!(order, [900, 20]);
}
