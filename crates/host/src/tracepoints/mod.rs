//! When CPUs leave idle states, and when tasks are woken and run: the kernel's tracepoints,
//! recorded by perf_event_open.
//!
//! It takes CAP_PERFMON (root) and Linux 6.0, which counts what buffers lose; and recording costs each of these events about a
//! microsecond, so what is recorded is never what is timed otherwise.

mod format;
mod tracefs;

use crate::error::HostError;
use crate::root::Root;
use format::Field;
use perf_event::data::Record;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, ReadFormat, SampleFlag, Sampler};
use plimsoll_model::{CpuEvent, CpuEventKind, CpuId, CpuSet};
use tracefs::Tracefs;
pub(crate) use tracefs::refused;

/// The size of a buffer, in bytes: 4,096 events of 64 bytes.
const BUFFER: usize = 1 << 18;

/// In `state` of cpu_idle: the CPU has left the state (PWR_EVENT_EXIT).
const LEFT: u32 = u32::MAX;

/// An event, the field that is read of it, and what it says.
type Event = (&'static str, &'static str, fn(u32) -> CpuEventKind);

/// `sched_waking` is in the context of the waker; `sched_wakeup` is where the task becomes
/// runnable, which a CPU that sleeps does itself after it has left its idle state.
const EVENTS: [Event; 4] = [
    ("sched/sched_waking", "pid", |tid| CpuEventKind::Waking {
        tid,
    }),
    ("sched/sched_wakeup", "pid", |tid| CpuEventKind::Runnable {
        tid,
    }),
    ("sched/sched_switch", "next_pid", |tid| CpuEventKind::Runs {
        tid,
    }),
    ("power/cpu_idle", "state", |state| match state {
        LEFT => CpuEventKind::IdleLeft,
        _ => CpuEventKind::IdleEntered,
    }),
];

/// Events of some CPUs, recorded from [`Tracepoints::open`] to [`Tracepoints::finish`].
pub struct Tracepoints(Vec<Ring>);

struct Ring {
    event: Event,
    cpu: CpuId,
    field: Field,
    sampler: Sampler,
}

impl Tracepoints {
    /// Begins to record.
    ///
    /// # Errors
    /// The kernel has no such events, or does not permit it.
    pub fn open(root: &Root, cpus: &CpuSet) -> Result<Tracepoints, HostError> {
        let mut rings = Vec::new();
        let tracefs = Tracefs::open(root).map_err(refused(EVENTS[0].0))?;
        for event in EVENTS {
            let name = event.0;
            let read = |file| tracefs.read(name, file).map_err(refused(name));
            let at = |file| root.path(format!("/sys/kernel/tracing/events/{name}/{file}"));
            let id = crate::error::number(&read("id")?, "an event's number")
                .map_err(|malformed| malformed.at(&at("id")))?;
            let field = Field::find(&read("format")?, event.1)
                .map_err(|malformed| malformed.at(&at("format")))?;
            for cpu in cpus.iter() {
                let sampler = recorder(id, cpu).map_err(refused(name))?;
                rings.push(Ring {
                    event,
                    cpu,
                    field,
                    sampler,
                });
            }
        }
        for ring in &mut rings {
            ring.sampler.enable().map_err(refused(ring.event.0))?;
        }
        Ok(Tracepoints(rings))
    }

    /// Ends the recording: all events in the order of time.
    ///
    /// # Errors
    /// Events were lost: more came than the buffers hold.
    pub fn finish(mut self) -> Result<Vec<CpuEvent>, HostError> {
        for ring in &mut self.0 {
            ring.sampler.disable().map_err(refused(ring.event.0))?;
        }
        let mut all = Vec::new();
        for ring in self.0 {
            ring.drain(&mut all)?;
        }
        all.sort_by_key(|event| event.at_ns);
        Ok(all)
    }
}

fn recorder(id: u64, cpu: CpuId) -> std::io::Result<Sampler> {
    let mut builder = Builder::new(Tracepoint::with_id(id));
    let builder = builder
        .any_pid()
        .one_cpu(cpu as usize)
        .include_kernel()
        .clockid(Clock::MONOTONIC)
        .sample_period(1)
        .sample(SampleFlag::TIME | SampleFlag::RAW)
        .read_format(ReadFormat::LOST);
    builder.build()?.sampled(BUFFER)
}

impl Ring {
    fn drain(mut self, all: &mut Vec<CpuEvent>) -> Result<(), HostError> {
        let (name, _, kind) = self.event;
        while let Some(record) = self.sampler.next_record() {
            let Ok(Record::Sample(sample)) = record.parse_record() else {
                continue;
            };
            let field = sample.raw().and_then(|raw| self.field.read(raw));
            if let (Some(at_ns), Some(value)) = (sample.time(), field) {
                all.push(CpuEvent {
                    at_ns,
                    cpu: self.cpu,
                    kind: kind(value),
                });
            }
        }
        // A full buffer says nothing of what it left out, but the counter does. How often the event
        // came is no measure: some are counted that no CPU event gets (seen on Linux 6.18).
        let counter = self.sampler.as_counter_mut();
        let counted = counter.read_full().map_err(refused(name))?;
        match counted.lost() {
            None | Some(0) => Ok(()),
            Some(lost) => Err(HostError::EventsLost { name, lost }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_kernel_without_tracepoints_is_said() {
        let tree = FakeTree::new();
        let failed = Tracepoints::open(tree.root(), &"0".parse().unwrap())
            .err()
            .unwrap();
        assert!(
            failed.to_string().contains("sched/sched_waking"),
            "{failed}"
        );
    }

    #[test]
    fn a_description_that_is_none_is_refused() {
        let tree = FakeTree::new();
        let event = "sys/kernel/tracing/events/sched/sched_waking";
        tree.write(&format!("{event}/id"), "many\n");
        tree.write(&format!("{event}/format"), "\n");
        let failed = Tracepoints::open(tree.root(), &"0".parse().unwrap())
            .err()
            .unwrap();
        assert!(failed.to_string().contains("/id holds 'many'"), "{failed}");
    }

    /// Where it is permitted: a sleep of this thread is seen as waking, runnable, run. On busy
    /// CPUs: of some that sleep, Linux 6.18 in a virtual machine records nothing.
    #[test]
    fn an_own_wake_up_is_recorded_where_permitted() {
        let cpus = crate::own_allowed_cpus(&Root::machine()).unwrap();
        let Ok(recording) = Tracepoints::open(&Root::machine(), &cpus) else {
            return;
        };
        let tid = rustix::thread::gettid()
            .as_raw_nonzero()
            .get()
            .unsigned_abs();
        let is_over = AtomicBool::new(false);
        let events = std::thread::scope(|scope| {
            for _ in cpus.iter() {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            let events = recording.finish();
            is_over.store(true, Ordering::Relaxed);
            events
        });
        let Ok(events) = events else {
            return;
        };
        let mut own = events.iter().map(|event| event.kind);
        for wanted in [
            CpuEventKind::Waking { tid },
            CpuEventKind::Runnable { tid },
            CpuEventKind::Runs { tid },
        ] {
            assert!(own.any(|kind| kind == wanted), "{wanted:?} in {events:?}");
        }
    }
}
