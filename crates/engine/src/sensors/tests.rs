//! A service that listens at 127.0.0.1:80, on a machine made for the test.

use super::*;
use std::fs;
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
