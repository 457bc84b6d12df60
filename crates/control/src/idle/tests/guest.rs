//! A kernel with idle states, of which CPU 1 is held and CPU 0 is not. Counters of the
//! states say which the kernel chose, on any host and however slow it is.

mod owners;

use super::machine::wait;
use crate::idle::{IdleControl, IdleMeans, Standing, choose_means};
use crate::schedule::set_affinity;
use crate::{Journals, Running};
use plimsoll_host::Root;
use plimsoll_host::idle::{
    DmaLatency, IdleState, ResumeLatency, dma_latency, idle_setup, idle_states, resume_latency,
};
use plimsoll_model::CpuId;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

const HELD: CpuId = 1;
const OTHER: CpuId = 0;

const PER_CPU: [IdleMeans; 2] = [IdleMeans::ResumeLatency, IdleMeans::DisableStates];

struct Guest {
    root: Root,
    journals: Journals,
    _dir: TempDir,
}

impl Guest {
    fn new() -> Guest {
        let dir = tempfile::tempdir().unwrap();
        Guest {
            root: Root::machine(),
            journals: Journals::at(dir.path().join("plimsoll")),
            _dir: dir,
        }
    }

    fn control(&self, means: IdleMeans) -> IdleControl {
        IdleControl::new(&self.root, &self.journals.open(&self.root).unwrap(), means)
    }

    fn states(&self, cpu: CpuId) -> Vec<IdleState> {
        idle_states(&self.root, cpu).unwrap()
    }

    /// A limit at each boundary between two states, the shallowest first.
    fn limits(&self) -> Vec<ResumeLatency> {
        let states = self.states(HELD);
        let (_deepest, rest) = states.split_last().unwrap();
        let latencies = rest.iter().map(|state| state.latency);
        latencies.map(ResumeLatency::at_most).collect()
    }

    /// Whether the CPU used states that take longer to leave than the limit, and how often
    /// it slept, while it woke up often.
    fn used(&self, cpu: CpuId, limit: ResumeLatency) -> Used {
        self.used_in(cpu, limit, 50, Duration::from_millis(2))
    }

    /// As [`Guest::used`], with so many sleeps of this length.
    fn used_in(&self, cpu: CpuId, limit: ResumeLatency, times: u32, each: Duration) -> Used {
        // What it chose before the limit changed is over once a thread has run on it.
        wake(cpu, 1, each);
        let before = self.states(cpu);
        wake(cpu, times, each);
        let mut used = Used::default();
        for (before, after) in before.iter().zip(self.states(cpu)) {
            let times = after.usage - before.usage;
            match after.index > 0 && Some(after.latency) > limit.longest() {
                true => used.deeper += times,
                false => used.within += times,
            }
        }
        used
    }

    fn assert_within(&self, cpu: CpuId, limit: ResumeLatency, what: &str) {
        let used = self.used(cpu, limit);
        assert!(
            used.deeper == 0 && used.within > 0,
            "{what}, {limit}: {used:?}"
        );
    }

    /// Waits until the CPU uses its deepest state, which only a limit could prevent.
    fn wait_until_deep(&self, cpu: CpuId) {
        let limits = self.limits();
        let widest = *limits.last().unwrap();
        // After short sleeps, on a slow machine, the governor expects only short ones.
        let long = Duration::from_millis(100);
        wait("the deepest state", || {
            self.used_in(cpu, widest, 5, long).deeper > 0
        });
    }

    fn slot(&self) -> Option<ResumeLatency> {
        resume_latency(&self.root, HELD).unwrap()
    }

    fn disabled(&self) -> usize {
        let states = self.states(HELD);
        states.iter().filter(|state| state.disabled).count()
    }

    fn assert_given_back(&self) {
        let found = (self.slot(), self.disabled());
        assert_eq!(found, (Some(ResumeLatency::NoLimit), 0));
    }
}

#[derive(Debug, Default)]
struct Used {
    within: u64,
    deeper: u64,
}

/// Has a thread sleep on the CPU so many times.
fn wake(cpu: CpuId, times: u32, each: Duration) {
    let sleeper = std::thread::spawn(move || {
        set_affinity(0, &[cpu].into_iter().collect()).unwrap();
        for _ in 0..times {
            std::thread::sleep(each);
        }
    });
    sleeper.join().unwrap();
}

/// Takes the held CPU off, until this is dropped.
struct Offline;

impl Offline {
    const SWITCH: &str = "/sys/devices/system/cpu/cpu1/online";

    fn new() -> Offline {
        fs::write(Self::SWITCH, "0").unwrap();
        Offline
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        fs::write(Self::SWITCH, "1").unwrap();
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn the_guest_has_idle_states_and_both_means_work() {
    let guest = Guest::new();
    let setup = idle_setup(&guest.root).unwrap();
    let driver = setup.driver.unwrap();
    assert!(
        ["acpi_idle", "psci_idle"].contains(&&*driver),
        "the driver is {driver}"
    );
    for limit in guest.limits() {
        let cpus = [HELD].into_iter().collect();
        let all = choose_means(&guest.root, &cpus, limit).unwrap();
        let working = all.iter().filter(|one| one.works()).map(|one| one.means);
        let working: Vec<IdleMeans> = working.collect();
        assert_eq!(working[..2], PER_CPU, "{limit}: {all:?}");
        assert!(working.contains(&IdleMeans::DmaLatency), "{limit}: {all:?}");
    }
    let states = guest.states(OTHER);
    assert!(states.len() >= 3, "{states:?}");
    assert!(states.is_sorted_by(|a, b| a.latency < b.latency));
    guest.assert_given_back();
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_limit_leaves_its_cpu_the_shallow_states_and_the_other_cpu_all() {
    let guest = Guest::new();
    for means in PER_CPU {
        let control = guest.control(means);
        for limit in guest.limits() {
            guest.wait_until_deep(HELD);
            let mut awake = control.keep_awake(HELD, limit).unwrap();
            guest.assert_within(HELD, limit, &means.to_string());
            guest.wait_until_deep(OTHER);
            assert_eq!(awake.check().unwrap(), Standing::Kept);
            drop(awake);
            guest.assert_given_back();
        }
        guest.wait_until_deep(HELD);
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_limit_on_all_cpus_holds_on_each_and_ends_with_its_file() {
    let guest = Guest::new();
    let control = guest.control(IdleMeans::DmaLatency);
    let limit = guest.limits()[1];
    let awake = control.keep_awake(HELD, limit).unwrap();
    for cpu in [OTHER, HELD] {
        guest.assert_within(cpu, limit, "all CPUs");
    }
    drop(awake);
    assert_eq!(dma_latency(&guest.root).unwrap(), Some(DmaLatency::NoLimit));
    guest.wait_until_deep(OTHER);
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_cpu_that_comes_back_is_within_its_limit_again() {
    let guest = Guest::new();
    for means in PER_CPU {
        for limit in guest.limits() {
            let control = guest.control(means);
            let mut awake = control.keep_awake(HELD, limit).unwrap();
            let offline = Offline::new();
            assert_eq!(awake.check().unwrap(), Standing::Offline, "{means}");
            drop(offline);
            // Whether the kernel has kept the value differs by driver and version.
            let back = awake.check().unwrap();
            assert!(
                [Standing::Kept, Standing::Restored].contains(&back),
                "{means}: {back:?}"
            );
            assert_eq!(awake.check().unwrap(), Standing::Kept, "{means}");
            guest.assert_within(HELD, limit, &means.to_string());
            awake.give_back().unwrap();
            guest.assert_given_back();
        }
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn what_an_offline_cpu_had_is_given_back_by_the_repair() {
    let guest = Guest::new();
    for means in PER_CPU {
        let control = guest.control(means);
        let awake = control.keep_awake(HELD, guest.limits()[0]).unwrap();
        let offline = Offline::new();
        let said = awake.give_back().unwrap();
        assert!(!said.is_empty(), "{means}");
        drop(control);
        drop(offline);
        guest.journals.repair(&guest.root, Running::Leave).unwrap();
        guest.assert_given_back();
        guest.wait_until_deep(HELD);
    }
}
