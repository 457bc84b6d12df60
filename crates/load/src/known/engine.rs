//! The loop of a known server: accepts, reads, and runs each step when it is
//! due.

use super::conn::{Conn, ReadEvent, StepResult};
use super::queue::Queue;
use super::script::{Script, refusal, script};
use super::{Behaviour, WaitMode};
use crate::http::poller::{FIRST_TIMER, Poller, Ready, Until, Waker, token};
use crate::ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const BATCH: usize = 128;
const LISTENER: u64 = FIRST_TIMER - 1;
const BUFFER: usize = 64 << 10;
/// How long before a step is due the thread polls: longer than the wake-up
/// latency, even in most virtual machines.
const POLL_BEFORE: Duration = Duration::from_micros(100);

/// A connection: its slot and the slot's generation.
type Id = (usize, u32);

pub(super) struct Engine {
    listener: TcpListener,
    script: Script,
    refusal: Script,
    /// Times of answers; `None` for immediate ones.
    queue: Option<Queue>,
    stop: Arc<AtomicBool>,
    wait_mode: WaitMode,
    poller: Poller,
    began: Instant,
    /// When there was last something to do.
    idle_since: Duration,
    slots: Vec<Slot>,
    vacant: Vec<usize>,
    /// Connections by the time of their next step, earliest first; then by
    /// request order. Answers that a stall delayed thus come in the order of
    /// their requests, and the first one's latency is the length of the stall.
    due: BinaryHeap<Reverse<(Duration, u64, Id)>>,
    requests: u64,
    buf: Vec<u8>,
    filling: Vec<u8>,
}

#[derive(Debug, Default)]
struct Slot {
    conn: Option<Conn>,
    generation: u32,
}

impl Engine {
    pub(super) fn new(
        listener: TcpListener,
        behaviour: &Behaviour,
        waker: &Waker,
        stop: Arc<AtomicBool>,
        wait_mode: WaitMode,
    ) -> io::Result<Engine> {
        let began = Instant::now();
        let poller = Poller::new(BATCH, ns(began.elapsed()))?;
        poller.add(&listener, LISTENER)?;
        poller.add_waker(waker)?;
        Ok(Engine {
            listener,
            script: script(behaviour),
            refusal: refusal(),
            queue: match behaviour {
                Behaviour::Queue(discipline) => Some(Queue::new(discipline.clone())),
                _ => None,
            },
            stop,
            wait_mode,
            poller,
            began,
            idle_since: Duration::ZERO,
            slots: Vec::new(),
            vacant: Vec::new(),
            due: BinaryHeap::new(),
            requests: 0,
            buf: vec![0; BUFFER],
            filling: vec![b'.'; BUFFER],
        })
    }

    /// Serves until the stop flag is set.
    pub(super) fn run(mut self) {
        let mut ready = Vec::with_capacity(BATCH);
        while !self.stop.load(Ordering::Acquire) {
            let now = self.began.elapsed();
            let until = self.until(now);
            if self.poller.wait(ns(now), until, &mut ready).is_err() {
                // Without epoll nothing can be served.
                return;
            }
            let is_event = !ready.is_empty() || !self.due.is_empty();
            if is_event {
                self.gap_ends();
            }
            for ready in ready.drain(..) {
                self.on_ready(ready);
            }
            self.run_due();
            if is_event {
                self.idle_since = self.began.elapsed();
            }
        }
    }

    /// Polling learns from how long there was nothing to do.
    fn gap_ends(&mut self) {
        let gap = self.began.elapsed().saturating_sub(self.idle_since);
        if let WaitMode::Learnt(limit) = &mut self.wait_mode {
            limit.observe(gap);
        }
    }

    fn until(&self, now: Duration) -> Until {
        let due = self.due.peek().map(|Reverse((due, ..))| *due);
        match (&self.wait_mode, due) {
            (WaitMode::Poll, _) => Until::Now,
            (WaitMode::Learnt(limit), None)
                if now.saturating_sub(self.idle_since) < limit.limit() =>
            {
                Until::Now
            }
            (_, None) => Until::At(u64::MAX),
            (WaitMode::Sleep | WaitMode::Learnt(_), Some(due)) => Until::At(ns(due)),
            (WaitMode::SleepThenPoll, Some(due)) => Until::At(ns(due.saturating_sub(POLL_BEFORE))),
        }
    }

    fn on_ready(&mut self, ready: Ready) {
        if ready.token == LISTENER {
            self.accept();
            return;
        }
        let id = ready.socket();
        let Some(conn) = conn(&mut self.slots, id) else {
            return;
        };
        if ready.hang_up {
            // A client that has closed its side waits for no answer.
            self.close(id);
            return;
        }
        if conn.is_answering() {
            // The socket may be writable now. A step is not run before it is
            // due.
            self.due.push(Reverse((conn.due, conn.order, id)));
            return;
        }
        match conn.read_request(&mut self.buf) {
            ReadEvent::Incomplete => {}
            ReadEvent::Gone => self.close(id),
            ReadEvent::Request => {
                let now = self.began.elapsed();
                let begins = match &mut self.queue {
                    Some(queue) => queue.answers_at(now),
                    // From the request's arrival, not from when this thread gets to it.
                    None => Some(now.saturating_sub(conn.age())),
                };
                conn.refused = begins.is_none();
                let script = [&self.script, &self.refusal][usize::from(conn.refused)];
                self.requests += 1;
                conn.begin(script, begins.unwrap_or(now), self.requests);
                self.due.push(Reverse((conn.due, conn.order, id)));
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            // Dropping the stream closes it.
            if self.script.refuses || stream.set_nonblocking(true).is_err() {
                continue;
            }
            // Without it, answers in pieces are delayed but correct.
            let _ = stream.set_nodelay(true);
            let index = self.vacant.pop().unwrap_or_else(|| {
                self.slots.push(Slot::default());
                self.slots.len() - 1
            });
            let slot = &mut self.slots[index];
            slot.generation = slot.generation.wrapping_add(1);
            let token = token(index, slot.generation);
            match self.poller.add(&stream, token) {
                Ok(()) => slot.conn = Some(Conn::new(stream)),
                Err(_) => self.vacant.push(index),
            }
        }
    }

    /// Runs the steps that are due now; later ones wait until the sockets were
    /// polled.
    fn run_due(&mut self) {
        let now = self.began.elapsed();
        while let Some(Reverse((due, order, id))) = self.due.peek().copied()
            && due <= now
        {
            self.due.pop();
            let Some(conn) = conn(&mut self.slots, id) else {
                continue;
            };
            // The same step may have been queued twice.
            if conn.due > now || !conn.is_answering() {
                continue;
            }
            let script = [&self.script, &self.refusal][usize::from(conn.refused)];
            match conn.run_step(script, &self.filling) {
                StepResult::Done | StepResult::Blocked => {}
                StepResult::Close => self.close(id),
                // Later than now, so that a step of many pieces does not delay
                // others.
                StepResult::Next => {
                    let later = now + Duration::from_nanos(1);
                    self.due.push(Reverse((conn.due.max(later), order, id)));
                }
            }
        }
    }

    fn close(&mut self, (index, _): Id) {
        self.slots[index].conn = None;
        self.vacant.push(index);
    }
}

/// The connection, if it is still open.
fn conn(slots: &mut [Slot], (index, generation): Id) -> Option<&mut Conn> {
    let slot = slots.get_mut(index)?;
    slot.conn.as_mut().filter(|_| slot.generation == generation)
}
