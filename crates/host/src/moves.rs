//! When threads begin to run on another CPU, told by the kernel as it happens: the software
//! event `cpu-migrations` of perf_event_open, one for each thread.
//!
//! It takes `perf_event_paranoid` below 2 or CAP_PERFMON, for the threads of other users also
//! the right to trace them.

use crate::error::HostError;
use crate::process::Tid;
use crate::root::Root;
use crate::tracepoints::refused;
use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use plimsoll_model::CpuId;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// The data of a buffer, in bytes: 100 events. What a full one loses is no matter: that it has
/// any says that the thread moves.
const BUFFER: usize = 1 << 12;

/// Threads that are watched; each takes a descriptor and two pages.
const MOST: usize = 256;

/// Of these, how many are asked for at once whether they are ready.
const AT_ONCE: usize = 16;

const NAME: &str = "cpu-migrations";

/// A thread runs on another CPU than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// Until now.
    pub ago: Duration,
    /// The CPU on which it runs now.
    pub cpu: CpuId,
}

/// What happened since it was asked last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Moved {
    pub moves: Vec<Move>,
    /// A watched thread has started another one.
    pub new_threads: bool,
}

/// Watches some threads for moves to other CPUs.
pub struct MoveEvents {
    /// Readable when something has happened.
    ready: OwnedFd,
    /// This process, to have descriptors of its own events duplicated.
    own: OwnedFd,
    threads: BTreeMap<Tid, Sampler>,
    /// Threads that the kernel does not let us watch.
    refused: BTreeSet<Tid>,
}

impl MoveEvents {
    /// # Errors
    /// The kernel does not permit it, as a try on this thread shows; or `root` is a fake tree.
    pub fn open(root: &Root) -> Result<MoveEvents, HostError> {
        let fail = refused(NAME);
        if root.path("/") != std::path::Path::new("/") {
            return Err(fail(std::io::ErrorKind::NotFound.into()));
        }
        let open = || -> std::io::Result<MoveEvents> {
            let mut events = MoveEvents {
                ready: epoll::create(epoll::CreateFlags::CLOEXEC)?,
                own: pidfd_open(getpid(), PidfdFlags::empty())?,
                threads: BTreeMap::new(),
                refused: BTreeSet::new(),
            };
            let own = rustix::thread::gettid().as_raw_nonzero().get();
            events.watch(own.unsigned_abs())?;
            events.threads.clear();
            Ok(events)
        };
        open().map_err(fail)
    }

    /// Watches these threads, or the first 256 of them, and no others.
    pub fn follow(&mut self, tids: impl Iterator<Item = Tid>) {
        let tids: BTreeSet<Tid> = tids.take(MOST).collect();
        self.threads.retain(|tid, _| tids.contains(tid));
        self.refused.retain(|tid| tids.contains(tid));
        for tid in tids {
            let known = self.threads.contains_key(&tid) || self.refused.contains(&tid);
            // One that ended meanwhile is refused, too.
            if !known && self.watch(tid).is_err() {
                self.refused.insert(tid);
            }
        }
    }

    fn watch(&mut self, tid: Tid) -> std::io::Result<()> {
        let mut builder = Builder::new(Software::CPU_MIGRATIONS);
        let builder = builder
            .observe_pid(tid.cast_signed())
            .any_cpu()
            .include_kernel()
            .clockid(Clock::MONOTONIC)
            .sample_period(1)
            .sample(SampleFlag::TIME | SampleFlag::CPU)
            .task(true)
            .wakeup_watermark(1);
        let mut sampler = builder.build()?.sampled(BUFFER)?;
        // The sampler lends its descriptor as a number only, which safe code cannot wait for.
        let descriptor = pidfd_getfd(&self.own, sampler.as_raw_fd(), PidfdGetfdFlags::empty())?;
        // Told once each time: an event whose thread has ended stays ready for ever.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&self.ready, &descriptor, data, flags)?;
        sampler.enable()?;
        self.threads.insert(tid, sampler);
        Ok(())
    }

    /// What happened since it was called last.
    pub fn take(&mut self) -> Moved {
        let mut moved = Moved::default();
        self.clear_readiness();
        let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
        // All of them: the kernel reports an event once, and a `poll` of the set uses that up.
        for thread in self.threads.values_mut() {
            drain(thread, now, &mut moved);
        }
        moved
    }

    /// Before the buffers are read, so that what comes later makes the set readable again.
    /// Threads that move all the time make it readable again meanwhile: as often as all of
    /// them take is enough.
    fn clear_readiness(&self) {
        clear(|| {
            let mut ready = Vec::with_capacity(AT_ONCE);
            let at_once = Timespec::default();
            matches!(
                epoll::wait(&self.ready, spare_capacity(&mut ready), Some(&at_once)),
                Ok(1..)
            )
        });
    }
}

/// Calls `take`, which takes up to [`AT_ONCE`] of what is ready and says whether there was any.
fn clear(mut take: impl FnMut() -> bool) {
    for _ in 0..=MOST / AT_ONCE {
        if !take() {
            return;
        }
    }
}

fn drain(thread: &mut Sampler, now: Duration, moved: &mut Moved) {
    while let Some(record) = thread.next_record() {
        match record.parse_record() {
            Ok(Record::Sample(sample)) => {
                if let (Some(at_ns), Some(cpu)) = (sample.time(), sample.cpu()) {
                    moved.moves.push(Move {
                        ago: now.saturating_sub(Duration::from_nanos(at_ns)),
                        cpu,
                    });
                }
            }
            Ok(Record::Fork(_)) => moved.new_threads = true,
            _ => {}
        }
    }
}

impl AsFd for MoveEvents {
    /// Readable when [`MoveEvents::take`] has something to tell.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

impl fmt::Debug for MoveEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched: Vec<&Tid> = self.threads.keys().collect();
        f.debug_tuple("MoveEvents").field(&watched).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::thread::{CpuSet, gettid, sched_setaffinity};
    use std::sync::mpsc;

    #[test]
    fn a_fake_tree_has_no_events() {
        let failed = MoveEvents::open(FakeTree::new().root()).unwrap_err();
        assert!(failed.to_string().contains(NAME), "{failed}");
    }

    #[test]
    fn readiness_that_always_comes_back_is_cleared_in_bounded_time() {
        let mut rounds = 0;
        clear(|| {
            rounds += 1;
            assert!(rounds <= MOST / AT_ONCE + 1);
            true
        });
        assert_eq!(rounds, 17);
        let mut rounds = 0;
        clear(|| {
            rounds += 1;
            false
        });
        assert_eq!(rounds, 1);
    }

    /// Where it is permitted: a thread that is sent from one CPU to another is seen there, and so
    /// is one that it starts.
    #[test]
    fn a_thread_is_seen_on_the_cpu_that_it_moves_to() {
        let cpus = crate::own_allowed_cpus(&Root::machine()).unwrap();
        let cpus: Vec<CpuId> = cpus.iter().collect();
        let (Ok(mut events), [first, second, ..]) = (MoveEvents::open(&Root::machine()), &cpus[..])
        else {
            return;
        };
        let run_on = |cpu: CpuId| {
            let mut mask = CpuSet::new();
            mask.set(cpu as usize);
            sched_setaffinity(None, &mask).unwrap();
        };
        let (tell, told) = mpsc::channel();
        let (go, going) = mpsc::channel();
        std::thread::scope(move |scope| {
            scope.spawn(move || {
                let tell = || {
                    let tid = gettid().as_raw_nonzero().get().unsigned_abs();
                    tell.send(tid).unwrap();
                };
                run_on(*first);
                tell();
                going.recv().unwrap();
                run_on(*second);
                std::thread::spawn(|| {}).join().unwrap();
                tell();
                going.recv().unwrap();
            });
            events.follow([told.recv().unwrap()].into_iter());
            assert_eq!(events.take(), Moved::default());
            go.send(()).unwrap();
            told.recv().unwrap();
            // The thread still runs: the end of one makes its event readable for ever.
            poll(&mut [PollFd::new(&events, PollFlags::IN)], None).unwrap();
            let moved = events.take();
            let last = moved.moves.last().map(|one| one.cpu);
            assert_eq!((last, moved.new_threads), (Some(*second), true));
            assert_eq!(events.take(), Moved::default());
            go.send(()).unwrap();
        });
    }
}
