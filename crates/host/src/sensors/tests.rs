use super::*;
use crate::cgroup::tests::{V2, mounted};
use crate::fake_tree::{FakeProcess, FakeTree};
use crate::reading::difference;
use plimsoll_model::{CpuTime, Energy};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

const MS: u64 = 1_000_000;

fn ms(n: u64) -> CpuTime {
    CpuTime(Duration::from_millis(n))
}

fn here(service: ServiceSource) -> Subject {
    Subject::Here {
        cpus: "0".parse().unwrap(),
        service,
    }
}

/// A machine with two CPUs and this process, with the threads 100 (observer),
/// 101 (generator) and 102 (server).
fn machine(tree: &FakeTree, used: u64) {
    let cpu = format!("{used} 0 0 1000 0 0 0 0 0 0");
    let stat = format!("cpu  {cpu}\ncpu0 {cpu}\ncpu1 {cpu}\nctxt {used}\n");
    tree.write("proc/stat", &stat);
    let threads = [
        (100, used * MS, 0, 1),
        (101, 2 * used * MS, 0, 1),
        (102, 3 * used * MS, 5 * used, used),
    ];
    tree.process(&FakeProcess {
        own_ticks: 6 * used / 10,
        threads: &threads,
        ..FakeProcess::ANY
    });
    let line = std::fs::read_to_string(tree.root().path("/proc/100/stat")).unwrap();
    tree.write("proc/self/stat", &line);
    tree.write("proc/self/schedstat", "5 0 1\n");
    let limits = "Limit   Soft Limit  Hard Limit  Units\nMax open files   20   40   files\n";
    tree.write("proc/self/limits", limits);
}

fn missing(sensors: &Sensors) -> Vec<Counter> {
    sensors.missing().map(|(counter, _)| counter).collect()
}

#[test]
fn own_threads_are_split_by_role() {
    let tree = FakeTree::new();
    machine(&tree, 100);
    let service = here(ServiceSource::Threads(vec![102]));
    let mut sensors = Sensors::new(tree.root(), service, &[101]).unwrap();
    let earlier = sensors.read();
    machine(&tree, 110);
    let window = difference(&earlier, &sensors.read());
    assert_eq!(window.machine.observer_cpu, Some(ms(10)));
    assert_eq!(window.generator_cpu, Some(ms(20)));
    let service = window.service.unwrap();
    assert_eq!(service.cpu, ms(30));
    assert_eq!(service.run_delay, Some(Duration::from_nanos(50)));
    assert_eq!(service.context_switches, Some(10));
    assert_eq!(window.machine.cpu.unwrap().user, ms(200));
    assert_eq!(window.machine.service_cpu.unwrap().user, ms(100));
}

#[test]
fn without_a_generator_there_is_no_generator_time() {
    let tree = FakeTree::new();
    machine(&tree, 100);
    let mut sensors = Sensors::new(tree.root(), here(ServiceSource::None), &[]).unwrap();
    let earlier = sensors.read();
    machine(&tree, 110);
    let window = difference(&earlier, &sensors.read());
    assert_eq!((window.service, window.generator_cpu), (None, None));
    assert_eq!(window.machine.observer_cpu, Some(ms(60)));
}

#[test]
fn unsupported_counter_is_reported_and_not_read_again() {
    let tree = FakeTree::new();
    machine(&tree, 100);
    let mut sensors = Sensors::new(tree.root(), here(ServiceSource::None), &[]).unwrap();
    let reading = sensors.read();
    let lacks = [
        Counter::Pressure,
        Counter::Frequency,
        Counter::Clock,
        Counter::Energy,
    ];
    assert_eq!(missing(&sensors), lacks);
    assert_eq!((reading.pressure, reading.frequency_hz), (None, None));
    tree.write("proc/pressure/cpu", "some total=5\n");
    assert_eq!(sensors.read().pressure, None);
}

#[test]
fn failed_read_is_reported_and_retried() {
    let tree = FakeTree::new();
    machine(&tree, 100);
    let mut sensors = Sensors::new(tree.root(), here(ServiceSource::None), &[]).unwrap();
    tree.write("proc/stat", "garbage\n");
    assert_eq!(sensors.read().cpu, None);
    let (_, why) = sensors.missing().last().unwrap();
    assert!(why.contains("proc/stat"), "{why}");
    machine(&tree, 110);
    assert!(sensors.read().cpu.is_some());
    assert!(!missing(&sensors).contains(&Counter::MachineCpu));
}

#[test]
fn ended_service_stays_missing() {
    let tree = FakeTree::new();
    machine(&tree, 100);
    tree.process(&FakeProcess {
        pid: 200,
        threads: &[(200, 5 * MS, 0, 1)],
        ..FakeProcess::ANY
    });
    let service = here(ServiceSource::Processes(vec![200]));
    let mut sensors = Sensors::new(tree.root(), service, &[]).unwrap();
    let earlier = sensors.read();
    tree.process(&FakeProcess {
        pid: 200,
        threads: &[(200, 9 * MS, 0, 1)],
        ..FakeProcess::ANY
    });
    let later = sensors.read();
    assert_eq!(difference(&earlier, &later).service.unwrap().cpu, ms(4));
    tree.remove("proc/200");
    assert_eq!(difference(&earlier, &sensors.read()).service, None);
    assert!(missing(&sensors).contains(&Counter::ServiceCpu));
}

#[test]
fn unknown_process_thread_or_cgroup_is_an_error() {
    let tree = mounted(V2);
    machine(&tree, 100);
    for service in [
        ServiceSource::Processes(vec![77]),
        ServiceSource::Cgroup("none".to_owned()),
        ServiceSource::Threads(vec![77]),
    ] {
        let sensors = Sensors::new(tree.root(), here(service.clone()), &[]);
        assert!(sensors.is_err(), "{service:?}");
    }
    assert!(Sensors::new(tree.root(), Subject::Elsewhere, &[77]).is_err());
}

#[test]
fn cgroup_provides_cpu_time_only() {
    let tree = mounted(V2);
    machine(&tree, 100);
    let file = "sys/fs/cgroup/a/cpu.stat";
    tree.write(file, "usage_usec 1000\n");
    let service = here(ServiceSource::Cgroup("a".to_owned()));
    let mut sensors = Sensors::new(tree.root(), service, &[]).unwrap();
    let earlier = sensors.read();
    tree.write(file, "usage_usec 6000\n");
    let service = difference(&earlier, &sensors.read()).service.unwrap();
    assert_eq!((service.cpu, service.run_delay), (ms(5), None));
    assert!(missing(&sensors).contains(&Counter::RunDelay));
}

#[test]
fn remote_service_does_not_read_local_counters() {
    let tree = FakeTree::new();
    machine(&tree, 100);
    let mut sensors = Sensors::new(tree.root(), Subject::Elsewhere, &[101]).unwrap();
    let earlier = sensors.read();
    machine(&tree, 110);
    let window = difference(&earlier, &sensors.read());
    assert_eq!(
        (window.machine.cpu, window.machine.service_cpu),
        (None, None)
    );
    assert_eq!(window.generator_cpu, Some(ms(20)));
    assert_eq!(missing(&sensors), []);
}

#[test]
fn energy_is_added_up_between_readings() {
    let tree = FakeTree::new();
    machine(&tree, 100);
    let zone = "sys/class/powercap/intel-rapl:0";
    let joules = |n: u64| tree.write(&format!("{zone}/energy_uj"), &format!("{n}000000\n"));
    tree.write(&format!("{zone}/name"), "package-0\n");
    tree.write(&format!("{zone}/max_energy_range_uj"), "10000000\n");
    joules(8);
    let mut sensors = Sensors::new(tree.root(), here(ServiceSource::None), &[]).unwrap();
    let earlier = sensors.read();
    joules(9);
    sensors.read();
    joules(7);
    sensors.read();
    joules(6);
    let window = difference(&earlier, &sensors.read());
    // From 8 to 9, past 10 to 7, and past 10 to 6.
    assert_eq!(window.machine.energy, Some(Energy(18.0)));
}

/// A thread that uses CPU on request and reports when it is done.
fn worker() -> (Tid, Sender<()>, std::sync::mpsc::Receiver<Tid>) {
    let (go, told) = channel::<()>();
    let (say, said) = channel();
    std::thread::spawn(move || {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        say.send(tid as Tid).unwrap();
        while told.recv().is_ok() {
            let clock = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            let nanos = |t: rustix::time::Timespec| t.tv_sec * 1_000_000_000 + t.tv_nsec;
            let end = nanos(clock()) + 100_000_000;
            while nanos(clock()) < end {
                std::hint::black_box(0);
            }
            say.send(0).unwrap();
        }
    });
    let tid = said.recv().unwrap();
    (tid, go, said)
}

#[test]
fn busy_thread_is_attributed_to_its_role() {
    let (busy, go, done) = worker();
    let (idle, _keep, _) = worker();
    let service = here(ServiceSource::Threads(vec![busy]));
    let mut sensors = Sensors::new(&Root::machine(), service, &[idle]).unwrap();
    let earlier = sensors.read();
    go.send(()).unwrap();
    done.recv().unwrap();
    let window = difference(&earlier, &sensors.read());
    // It used 100 ms; a kernel without schedstat truncates to ticks.
    assert!(window.service.unwrap().cpu >= ms(70));
    assert!(window.generator_cpu.unwrap() < ms(70));
    assert!(window.machine.cpu.is_some());
}

#[test]
fn clock_is_read_only_at_window_edges() {
    let tree = FakeTree::new();
    machine(&tree, 100);
    // A quarter of the limit may be kept open, and threads take theirs first.
    tree.write("proc/self/limits", "Max open files   400   400   files\n");
    crate::clock::tests::write(&tree, 0, 1, 1);
    let mut sensors = Sensors::new(tree.root(), here(ServiceSource::None), &[]).unwrap();
    let earlier = sensors.read_edge();
    crate::clock::tests::write(&tree, 0, 5, 7);
    let between = sensors.read();
    assert_eq!(difference(&earlier, &between).machine.clock_ratio, None);
    let later = sensors.read_edge();
    let ratio = difference(&earlier, &later).machine.clock_ratio.unwrap();
    assert!((ratio - (1.5 + 1.0 / 256.0)).abs() < 1e-12, "{ratio}");
    assert!(!missing(&sensors).contains(&Counter::Clock));
}

#[test]
fn missing_clock_registers_are_reported() {
    let tree = FakeTree::new();
    machine(&tree, 100);
    let mut sensors = Sensors::new(tree.root(), here(ServiceSource::None), &[]).unwrap();
    let (earlier, later) = (sensors.read_edge(), sensors.read_edge());
    assert_eq!(difference(&earlier, &later).machine.clock_ratio, None);
    assert!(missing(&sensors).contains(&Counter::Clock));
}
