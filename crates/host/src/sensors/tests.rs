use super::*;
use crate::cgroup::tests::{V2, mounted};
use crate::fake_tree::{FakeProcess, FakeTree, MS, ms};
use crate::reading::{Window, difference};
use crate::tracking::tests::burn;
use plimsoll_model::Energy;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

fn here(service: ServiceSource) -> Subject {
    Subject::Here {
        cpus: "0".parse().unwrap(),
        generator: "1".parse().unwrap(),
        service,
    }
}

/// Updates the tree of a machine with two CPUs and this process, with the
/// threads 100 (observer), 101 (generator) and 102 (server).
fn update(tree: &FakeTree, used: u64) {
    let cpu = format!("{used} 0 0 1000 0 0 0 0 0 0");
    let stat = format!("cpu  {cpu}\ncpu0 {cpu}\ncpu1 {cpu}\nctxt {used}\n");
    tree.write("proc/stat", &stat);
    let threads = [
        (100, used * MS, 0, 1),
        (101, 2 * used * MS, 0, 1),
        (102, 3 * used * MS, 5 * used, used),
    ];
    tree.process(FakeProcess {
        own_ticks: 6 * used / 10,
        threads: &threads,
        ..FakeProcess::ANY
    });
    let line = tree.root().text("/proc/100/stat").unwrap();
    tree.write("proc/self/stat", &line);
}

fn machine() -> FakeTree {
    let limits = "Limit   Soft Limit  Hard Limit  Units\nMax open files   20   40   files\n";
    let tree = mounted(V2).files(&[
        ("proc/self/schedstat", "5 0 1\n"),
        ("proc/self/limits", limits),
    ]);
    update(&tree, 100);
    tree
}

/// What is used while the tree's counters rise by a tenth.
fn window(subject: Subject, generator: &[Tid]) -> Window {
    let tree = machine();
    let mut sensors = Sensors::new(tree.root(), subject, generator).unwrap();
    let earlier = sensors.read();
    update(&tree, 110);
    let mut later = sensors.read();
    // The counters have not risen with the clock.
    if let Some(cpu) = &mut later.cpu {
        cpu.at = None;
    }
    difference(&earlier, &later)
}

#[test]
fn own_threads_are_split_by_role() {
    let served = here(ServiceSource::Threads(vec![102]));
    let unserved = here(ServiceSource::None);
    for (subject, generator, times) in [
        (served.clone(), &[101][..], [Some(30), Some(20), Some(10)]),
        (unserved, &[], [None, None, Some(60)]),
        (Subject::Elsewhere, &[101], [None, Some(20), Some(40)]),
    ] {
        let window = window(subject.clone(), generator);
        let service = window.service.map(|service| service.cpu);
        let found = [service, window.generator_cpu, window.machine.observer_cpu];
        assert_eq!(found, times.map(|time| time.map(ms)), "{subject:?}");
        // The counters of this machine do not describe another one.
        let is_here = subject != Subject::Elsewhere;
        let used = |n| is_here.then(|| ms(n));
        assert_eq!(window.machine.cpu.map(|cpu| cpu.user), used(200));
        assert_eq!(window.machine.service_cpu.map(|cpu| cpu.user), used(100));
    }
    let service = window(served, &[]).service.unwrap();
    assert_eq!(service.run_delay, Some(Duration::from_nanos(50)));
    assert_eq!(service.context_switches, Some(10));
}

#[test]
fn unsupported_counter_is_not_read_again() {
    let tree = machine();
    let mut sensors = Sensors::new(tree.root(), here(ServiceSource::None), &[]).unwrap();
    let reading = sensors.read_edge();
    assert_eq!((reading.pressure, reading.frequency_hz), (None, None));
    assert_eq!((reading.clock, reading.energy), (None, None));
    tree.write("proc/pressure/cpu", "some total=5\n");
    assert_eq!(sensors.read().pressure, None);
}

#[test]
fn failed_read_is_retried() {
    let tree = machine();
    let mut sensors = Sensors::new(tree.root(), here(ServiceSource::None), &[]).unwrap();
    tree.write("proc/stat", "garbage\n");
    assert_eq!(sensors.read().cpu, None);
    update(&tree, 110);
    assert!(sensors.read().cpu.is_some());
}

#[test]
fn ended_service_has_no_cpu_time() {
    let tree = machine();
    let put = |used| tree.process(FakeProcess::new(200, 1).threads(&[(200, used * MS, 0, 1)]));
    put(5);
    let service = here(ServiceSource::Processes(vec![200]));
    let mut sensors = Sensors::new(tree.root(), service, &[]).unwrap();
    let earlier = sensors.read();
    put(9);
    let later = sensors.read();
    assert_eq!(difference(&earlier, &later).service.unwrap().cpu, ms(4));
    tree.remove("proc/200");
    assert_eq!(difference(&earlier, &sensors.read()).service, None);
}

#[test]
fn unknown_process_thread_or_cgroup_is_an_error() {
    let tree = machine();
    let error = |subject, generator| {
        let opened = Sensors::new(tree.root(), subject, generator);
        opened.unwrap_err()
    };
    let no_process = error(here(ServiceSource::Processes(vec![77])), &[]);
    assert!(matches!(no_process, HostError::NoProcess { pid: 77 }));
    let no_cgroup = error(here(ServiceSource::Cgroup("none".to_owned())), &[]);
    assert!(matches!(no_cgroup, HostError::NoCgroup { .. }));
    let threads = here(ServiceSource::Threads(vec![77]));
    for (subject, generator) in [(threads, &[][..]), (Subject::Elsewhere, &[77])] {
        let no_thread = error(subject, generator);
        assert!(matches!(no_thread, HostError::NoThread { tid: 77 }));
    }
}

#[test]
fn cgroup_provides_cpu_time_only() {
    let file = "sys/fs/cgroup/a/cpu.stat";
    let tree = machine().file(file, "usage_usec 1000\n");
    let service = here(ServiceSource::Cgroup("a".to_owned()));
    let mut sensors = Sensors::new(tree.root(), service, &[]).unwrap();
    let earlier = sensors.read();
    tree.write(file, "usage_usec 6000\n");
    let service = difference(&earlier, &sensors.read()).service.unwrap();
    assert_eq!((service.cpu, service.run_delay), (ms(5), None));
}

#[test]
fn energy_is_added_up_between_readings() {
    let tree = machine();
    let zone = "sys/class/powercap/intel-rapl:0";
    let joules = |n: u64| tree.write(&format!("{zone}/energy_uj"), &format!("{n}000000\n"));
    tree.write(&format!("{zone}/name"), "package-0\n");
    tree.write(&format!("{zone}/max_energy_range_uj"), "10000000\n");
    joules(8);
    let mut sensors = Sensors::new(tree.root(), here(ServiceSource::None), &[]).unwrap();
    let earlier = sensors.read();
    for now in [9, 7] {
        joules(now);
        sensors.read();
    }
    joules(6);
    let window = difference(&earlier, &sensors.read());
    // From 8 to 9, past 10 to 7, and past 10 to 6.
    assert_eq!(window.machine.energy, Some(Energy(18.0)));
}

/// A thread that uses 100 ms of CPU time on request and reports when it has.
fn worker() -> (Tid, Sender<()>, Receiver<Tid>) {
    let (start, requests) = channel::<()>();
    let (report, done) = channel();
    std::thread::spawn(move || {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        report.send(tid as Tid).unwrap();
        while requests.recv().is_ok() {
            burn(Duration::from_millis(100));
            report.send(0).unwrap();
        }
    });
    (done.recv().unwrap(), start, done)
}

#[test]
fn busy_thread_is_attributed_to_its_role() {
    let (busy, start, done) = worker();
    let (idle, _keep, _) = worker();
    let service = here(ServiceSource::Threads(vec![busy]));
    let mut sensors = Sensors::new(&Root::machine(), service, &[idle]).unwrap();
    let earlier = sensors.read();
    start.send(()).unwrap();
    done.recv().unwrap();
    let window = difference(&earlier, &sensors.read());
    // A kernel without schedstat truncates to ticks.
    assert!(window.service.unwrap().cpu >= ms(70));
    assert!(window.generator_cpu.unwrap() < ms(70));
    assert!(window.machine.cpu.is_some());
}

#[test]
fn clock_is_read_only_at_window_edges() {
    // A quarter of the limit may be kept open, and threads take theirs first.
    let tree = machine().file("proc/self/limits", "Max open files   400   400   files\n");
    crate::clock::tests::write(&tree, 0, 1, 1);
    let mut sensors = Sensors::new(tree.root(), here(ServiceSource::None), &[]).unwrap();
    let earlier = sensors.read_edge();
    crate::clock::tests::write(&tree, 0, 5, 7);
    let between = sensors.read();
    assert_eq!(difference(&earlier, &between).machine.clock_ratio, None);
    let later = sensors.read_edge();
    let ratio = difference(&earlier, &later).machine.clock_ratio.unwrap();
    assert!((ratio - (1.5 + 1.0 / 256.0)).abs() < 1e-12, "{ratio}");
}
