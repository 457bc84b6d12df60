use super::*;
use crate::fake_tree::{FakeProcess, FakeTree, MS, ms};
use crate::task::Source;
use plimsoll_model::CpuTime;
use std::time::Duration;

fn open(tree: &FakeTree, pids: &[Pid]) -> Result<ServiceProcesses, HostError> {
    ServiceProcesses::open(&mut tree.task_files(), pids)
}

fn read(service: &mut ServiceProcesses, tree: &FakeTree) -> Result<CpuTime, HostError> {
    Ok(service.read(&mut tree.task_files())?.cpu)
}

/// This machine, without a fake tree.
fn machine() -> TaskFiles {
    let root = Root::machine();
    TaskFiles {
        source: Source::of(&root),
        root,
        allowance: 100,
    }
}

#[test]
fn descendants_are_found_at_open_and_later_but_not_unrelated_processes() {
    let tree = FakeTree::new();
    let put = |pid, ppid, used: u64| {
        tree.process(FakeProcess {
            own_ticks: used / 10,
            threads: &[(pid, used * MS, 0, 1)],
            ..FakeProcess::new(pid, ppid)
        });
    };
    put(100, 1, 50);
    put(30, 100, 50);
    put(7, 1, 50);
    let mut service = open(&tree, &[100]).unwrap();
    put(100, 1, 60);
    put(30, 100, 70);
    put(7, 1, 9999);
    assert_eq!(read(&mut service, &tree).unwrap(), ms(30));
    put(31, 30, 5);
    put(32, 7, 9999);
    put(29, 31, 3);
    assert_eq!(read(&mut service, &tree).unwrap(), ms(38));
    tree.remove("proc/30");
    put(31, 1, 6);
    assert_eq!(read(&mut service, &tree).unwrap(), ms(39));
}

#[test]
fn missing_ended_or_replaced_service_is_an_error() {
    let tree = FakeTree::new();
    let missing = open(&tree, &[100]).unwrap_err();
    assert!(matches!(missing, HostError::NoProcess { pid: 100 }));
    tree.process(FakeProcess::ANY);
    let mut services = [(); 2].map(|()| open(&tree, &[100]).unwrap());
    tree.process(FakeProcess::ANY.started(6));
    assert!(read(&mut services[0], &tree).is_err(), "its PID is reused");
    tree.remove("proc/100");
    let ended = read(&mut services[1], &tree).unwrap_err();
    assert!(matches!(ended, HostError::ServiceEnded));
}

#[test]
fn end_of_a_worker_is_counted_and_end_of_the_root_is_an_error() {
    let tree = FakeTree::new();
    let put = |pid, ppid| tree.process(FakeProcess::new(pid, ppid).threads(&[(pid, MS, 0, 1)]));
    put(100, 1);
    put(101, 100);
    put(102, 100);
    let mut service = open(&tree, &[100, 101, 102]).unwrap();
    tree.remove("proc/101");
    assert!(read(&mut service, &tree).is_ok());
    tree.remove("proc/100");
    put(102, 1);
    assert!(read(&mut service, &tree).is_err());
    put(100, 102);
    assert!(read(&mut service, &tree).is_err(), "its PID is reused");
}

#[test]
fn membership_includes_new_children_only() {
    let tree = FakeTree::new();
    tree.process(FakeProcess::ANY);
    let mut service = open(&tree, &[100]).unwrap();
    tree.process(FakeProcess::new(101, 100));
    tree.process(FakeProcess::new(200, 1));
    let mut has_all = |pids: &[Pid]| service.has_all(tree.root(), pids).unwrap();
    assert!(has_all(&[100, 101]));
    assert!(!has_all(&[100, 200]));
}

#[test]
fn failed_reading_does_not_stop_tracking() {
    let tree = FakeTree::new();
    tree.process(FakeProcess::ANY.threads(&[(100, 5 * MS, 0, 1)]));
    let mut service = open(&tree, &[100]).unwrap();
    tree.write("proc/100/task/100/schedstat", "garbage");
    assert!(read(&mut service, &tree).is_err());
    tree.process(FakeProcess::ANY.threads(&[(100, 9 * MS, 0, 1)]));
    assert_eq!(read(&mut service, &tree).unwrap(), ms(4));
}

#[test]
fn workers_may_have_smaller_pids_than_their_master() {
    let tree = FakeTree::new();
    tree.process(FakeProcess::new(900, 1).started(5));
    tree.process(FakeProcess::new(20, 900).started(6));
    let service = open(&tree, &[20, 900, 900]).unwrap();
    let order: Vec<Pid> = service.members.iter().map(|m| m.stat.pid).collect();
    assert_eq!(order, [900, 20]);
}

/// Burns CPU until the kernel has counted `least` for this thread.
pub(crate) fn burn(least: Duration) {
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
    let mut files = machine();
    let mut own = OwnProcess::open(&mut files, ThreadRoles::default()).unwrap();
    let before = own.read(&mut files).unwrap();
    // Each for less than a tick of /proc/PID/stat.
    for _ in 0..4 {
        let thread = std::thread::spawn(|| burn(Duration::from_millis(5)));
        thread.join().unwrap();
    }
    let after = own.read(&mut files).unwrap();
    let used = crate::task::since(after.other, before.other).cpu;
    // What a reading itself takes may be missing: 50 us where the CPU is emulated.
    assert!(used >= ms(19), "{used:?}");
}

#[test]
fn child_process_counts_while_running_and_after_its_end() {
    let mut files = machine();
    let mut service = ServiceProcesses::children(&mut files).unwrap();
    let before = service.read(&mut files).unwrap();
    let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read x";
    let mut child = std::process::Command::new("sh")
        .args(["-c", script])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let during = service.read(&mut files).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    let after = service.read(&mut files).unwrap();
    assert!(during.cpu >= before.cpu && after.cpu >= during.cpu);
    assert!(after.cpu > before.cpu, "{before:?} {after:?}");
}
