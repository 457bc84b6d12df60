//! A service that listens at 127.0.0.1:80, on a machine made for the test.

use super::*;
use plimsoll_model::CpuTime;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

struct Machine(TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(TempDir::new().unwrap());
        let localhost = u32::from_ne_bytes([127, 0, 0, 1]);
        let sockets = format!(
            "  sl  local_address rem_address   st\n   \
             0: {localhost:08X}:0050 00000000:0000 0A 0:0 00:0 0 0 0 77 1 0 100\n"
        );
        machine.write("proc/net/tcp", &sockets);
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A process with one thread that has used so much CPU time.
    fn runs(&self, pid: Pid, used_ms: u64) {
        let (zeros, ticks) = ("0 ".repeat(9), used_ms / 10);
        let stat = format!("{pid} (web) S 1 {zeros}{ticks} 0 0 0 20 0 1 0 {pid} 0 0\n");
        self.write(&format!("proc/{pid}/stat"), &stat);
        let schedstat = format!("{} 0 1\n", used_ms * 1_000_000);
        self.write(&format!("proc/{pid}/task/{pid}/schedstat"), &schedstat);
    }

    fn listens(&self, pid: Pid) {
        self.runs(pid, 0);
        self.holds(pid);
    }

    /// It has the listening socket.
    fn holds(&self, pid: Pid) {
        let folder = self.0.path().join(format!("proc/{pid}/fd"));
        fs::create_dir_all(&folder).unwrap();
        symlink("socket:[77]", folder.join("3")).unwrap();
    }

    fn ends(&self, pid: Pid) {
        fs::remove_dir_all(self.0.path().join(format!("proc/{pid}"))).unwrap();
    }

    fn sensors(&self, target: ServiceTarget) -> TrialSensors {
        let cpus = [0].into_iter().collect();
        TrialSensors::new(Root::at(self.0.path()), cpus, target)
    }

    /// The service's CPU time in a trial in which this happens.
    fn trial(&self, target: &ServiceTarget, happens: impl FnOnce()) -> Option<u128> {
        let mut sensors = self.sensors(target.clone()).open(&[], &[]).unwrap();
        let first = sensors.read().unwrap();
        happens();
        let last = sensors.read().unwrap();
        let window = sensors.whole(&first, &last).unwrap();
        window.service.map(|service| service.cpu.0.as_millis())
    }
}

fn listening() -> ServiceTarget {
    ServiceTarget::Listening("127.0.0.1:80".parse().unwrap())
}

#[test]
fn a_service_that_was_started_again_between_trials_is_found_again() {
    let machine = Machine::new();
    machine.listens(100);
    let used = |happens: &dyn Fn()| machine.trial(&listening(), happens);
    assert_eq!(used(&|| machine.runs(100, 30)), Some(30));
    machine.ends(100);
    assert_eq!(used(&|| ()), None, "nobody listens: requests fail");
    machine.listens(200);
    assert_eq!(used(&|| machine.runs(200, 50)), Some(50));
}

#[test]
fn a_trial_in_which_the_service_was_started_again_has_no_service_cpu() {
    let machine = Machine::new();
    machine.listens(100);
    let replaced = || {
        machine.runs(100, 30);
        machine.ends(100);
        machine.listens(200);
        machine.runs(200, 30);
    };
    assert_eq!(machine.trial(&listening(), replaced), None);
    let joined = || machine.listens(300);
    assert_eq!(
        machine.trial(&listening(), joined),
        None,
        "another serves beside it, and is not counted"
    );
}

#[test]
fn a_process_that_was_named_is_not_replaced_by_another() {
    let machine = Machine::new();
    machine.listens(100);
    let named = ServiceTarget::Process(100);
    let used = machine.trial(&named, || machine.runs(100, 30));
    assert_eq!(used, Some(30));
    machine.ends(100);
    machine.listens(200);
    let error = machine.sensors(named).open(&[], &[]).unwrap_err();
    assert!(error.to_string().contains("no process 100"), "{error}");
}

#[test]
fn a_process_for_each_request_is_no_service_of_its_own() {
    let machine = Machine::new();
    machine.listens(100);
    let zeros = "0 ".repeat(9);
    let stat = format!("101 (web) S 100 {zeros}0 0 0 0 20 0 1 0 101 0 0\n");
    machine.write("proc/101/stat", &stat);
    machine.write("proc/101/task/101/schedstat", "0 0 1\n");
    machine.holds(101);
    // It has ended since processes were listed.
    machine.holds(102);
    let used = machine.trial(&listening(), || {
        machine.ends(101);
        machine.runs(100, 30);
    });
    assert_eq!(used, Some(30));
    let meter = ServiceMeter::new(&Root::at(machine.0.path()), &listening());
    assert!(meter.open(&[]).unwrap().is_some());
    assert_eq!(meter.stopped().unwrap(), None);
}

#[test]
fn a_meter_goes_on_until_the_service_is_started_again() {
    let machine = Machine::new();
    machine.write("proc/self/schedstat", "1 1 1\n");
    machine.listens(100);
    let meter = ServiceMeter::new(&Root::at(machine.0.path()), &listening());
    let kept = meter.open(&[]).unwrap();
    machine.runs(100, 30);
    let mut kept = meter.go_on(kept, &[]).unwrap().unwrap();
    assert_eq!(
        kept.read().unwrap().0.as_millis(),
        30,
        "since it was opened"
    );
    machine.ends(100);
    machine.listens(200);
    let mut new = meter.go_on(Some(kept), &[]).unwrap().unwrap();
    assert_eq!(new.read().unwrap().0.as_millis(), 0);
}

/// A node_exporter that answers with one line of user and idle seconds after the other.
fn node(answers: Vec<(f64, f64)>) -> ServiceTarget {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (user, idle) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 512]).unwrap() > 0);
            let mode = |mode, seconds| {
                format!("node_cpu_seconds_total{{cpu=\"0\",mode=\"{mode}\"}} {seconds}\n")
            };
            let modes = [mode("user", user), mode("system", 1.0), mode("idle", idle)];
            let head = "HTTP/1.0 200 OK\r\n\r\n";
            stream
                .write_all((head.to_owned() + &modes.concat()).as_bytes())
                .unwrap();
        }
    });
    ServiceTarget::Node(url)
}

/// The windows between three readings, and the whole of them.
fn node_windows(answers: [(f64, f64); 3]) -> [Window; 3] {
    let machine = Machine::new();
    let sensors = machine.sensors(node(answers.to_vec()));
    let mut sensors = sensors.open(&[], &[]).unwrap();
    let readings = [0; 3].map(|_| sensors.read().unwrap());
    let [first, second] = [0, 1].map(|i: usize| sensors.window(&readings[i], &readings[i + 1]));
    let whole = sensors.whole(&readings[0], &readings[2]).unwrap();
    [first, second, whole]
}

#[test]
fn all_time_of_a_node_is_its_services() {
    for window in node_windows([(500.0, 900.0), (500.01, 900.0), (500.02, 900.0)]) {
        let busy = window.machine.cpu.unwrap().busy();
        assert!(busy > CpuTime::ZERO);
        assert_eq!(window.service.unwrap().cpu, busy);
    }
}

#[test]
fn two_nodes_at_one_address_are_neither_ones_use() {
    let (busy, idle) = ((9000.0, 1000.0), (20.0, 50_000.0));
    let (busy_later, idle_later) = ((9000.01, 1000.0), (20.0, 50_000.01));
    for answers in [[busy, idle, busy_later], [idle, busy, idle_later]] {
        for window in node_windows(answers) {
            assert_eq!((window.service, window.machine.cpu), (None, None));
            assert!(window.machine.doubt.is_some());
        }
    }
}

#[test]
fn counters_that_outrun_the_clock_are_no_use() {
    let [first, second, whole] = node_windows([(500.0, 900.0), (550.0, 950.0), (550.0, 950.0)]);
    assert_eq!((first.service, whole.service), (None, None));
    let doubt = whole.machine.doubt.unwrap();
    assert!(doubt.starts_with("CPU 0 counted 100s in "), "{doubt}");
    assert!(second.service.is_some(), "within a moment");
}

#[test]
fn a_cpu_that_no_record_holds_is_an_error_with_the_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 512]).unwrap() > 0);
        let line = "node_cpu_seconds_total{cpu=\"8192\",mode=\"user\"} 1\n";
        let answer = format!("HTTP/1.0 200 OK\r\n\r\n{line}");
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let machine = Machine::new();
    let sensors = machine.sensors(ServiceTarget::Node(url.clone()));
    let error = sensors.open(&[], &[]).unwrap().read().unwrap_err();
    server.join().unwrap();
    let message = error.to_string();
    assert!(message.contains(&url), "{message}");
    assert!(message.contains("above 8191"), "{message}");
}

/// The processes of the machine have their numbers as start times.
#[test]
fn a_service_started_when_its_oldest_process_did() {
    let machine = Machine::new();
    let listening = ServiceTarget::Listening("127.0.0.1:80".parse().unwrap());
    let meter = ServiceMeter::new(&Root::at(machine.0.path()), &listening);
    assert_eq!(meter.started().unwrap(), None);
    machine.listens(70);
    machine.listens(50);
    assert_eq!(meter.started().unwrap(), Some(50));
    machine.ends(50);
    assert_eq!(meter.started().unwrap(), Some(70));
}
