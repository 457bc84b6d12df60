//! M/G/k, first come, first served, on virtual time. The rate may change at any time, and
//! the machine may stall.

use crate::random::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Service times of mean 1 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    Exponential,
    Deterministic,
    /// Normal with a deviation of 0.25 ms, at least 0.01 ms.
    Normal,
}

pub(crate) const MEAN: f64 = 0.001;

impl Times {
    fn draw(self, random: &mut Random) -> f64 {
        MEAN * match self {
            Times::Exponential => random.exponential(),
            Times::Deterministic => 1.0,
            Times::Normal => (1.0 + 0.25 * random.normal()).max(0.01),
        }
    }
}

/// The machine as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) times: Times,
    pub(crate) workers: usize,
    /// Stalls of 20 to 50 ms, on average once in 10 s. No work is done meanwhile.
    pub(crate) stalls: bool,
}

impl Spec {
    pub(crate) fn saturation(&self) -> f64 {
        self.workers as f64 / MEAN
    }
}

/// What ended in a period, by its latency.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) ended: u64,
    pub(crate) over: u64,
    pub(crate) in_flight: u64,
}

pub(crate) struct Queue {
    spec: Spec,
    /// Service times are longer by this factor.
    pub(crate) slower: f64,
    arrivals: Random,
    services: Random,
    pauses: Random,
    /// Now, and the work that the next arrival is away, at rate 1.
    now: f64,
    gap: f64,
    /// When each worker is free, on a clock that stands during stalls.
    free: Vec<f64>,
    /// The next stall, and the length of all before it.
    stall: (f64, f64),
    stalled: f64,
    /// Stalls as (begin on the clock of work, length), for departures after them.
    ahead: Vec<(f64, f64)>,
    /// Departures with arrival, ascending; times in nanoseconds.
    in_system: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Queue {
    pub(crate) fn new(spec: Spec, seed: u64) -> Queue {
        let [arrivals, services, mut pauses] =
            [0, 1, 2].map(|part| Random::seeded(seed.wrapping_mul(3).wrapping_add(part)));
        let mut arrivals = arrivals;
        let stall = next_stall(0.0, spec.stalls, &mut pauses);
        Queue {
            spec,
            slower: 1.0,
            gap: arrivals.exponential(),
            arrivals,
            services,
            pauses,
            now: 0.0,
            free: vec![0.0; spec.workers],
            stall,
            stalled: 0.0,
            ahead: Vec::new(),
            in_system: BinaryHeap::new(),
        }
    }

    /// Offers `rate` for some seconds.
    pub(crate) fn run(&mut self, rate: f64, seconds: f64, limit: f64) -> Counts {
        let end = self.now + seconds;
        let mut counts = Counts::default();
        loop {
            let next = self.now + self.gap / rate;
            if next > end {
                self.gap -= (end - self.now) * rate;
                self.now = end;
                break;
            }
            self.now = next;
            self.gap = self.arrivals.exponential();
            let departs = self.departs(next);
            self.in_system.push(Reverse((ns(departs), ns(next))));
        }
        let (end, limit) = (ns(end), ns(limit));
        while let Some(Reverse((departs, arrived))) = self.in_system.peek().copied() {
            if departs > end {
                break;
            }
            self.in_system.pop();
            counts.ended += 1;
            counts.over += u64::from(departs - arrived > limit);
        }
        counts.in_flight = self.in_system.len() as u64;
        counts
    }

    /// The latency of one request that arrives after a gap at this rate.
    pub(crate) fn one(&mut self, rate: f64) -> f64 {
        self.now += self.gap / rate;
        self.gap = self.arrivals.exponential();
        self.departs(self.now) - self.now
    }

    fn departs(&mut self, at: f64) -> f64 {
        let arrives = self.work_clock(at);
        let mut first = 0;
        for (worker, free) in self.free.iter().enumerate() {
            if *free < self.free[first] {
                first = worker;
            }
        }
        let service = self.spec.times.draw(&mut self.services) * self.slower;
        let ends = self.free[first].max(arrives) + service;
        self.free[first] = ends;
        self.real_clock(ends)
    }

    /// The clock of work at a real time, not before the one asked for last.
    fn work_clock(&mut self, at: f64) -> f64 {
        while at >= self.stall.0 + self.stall.1 {
            self.stalled += self.stall.1;
            let after = self.stall.0 + self.stall.1;
            self.stall = match self.ahead.is_empty() {
                true => next_stall(after, self.spec.stalls, &mut self.pauses),
                false => self.ahead.remove(0),
            };
        }
        at.min(self.stall.0) - self.stalled
    }

    fn real_clock(&mut self, work: f64) -> f64 {
        let mut at = work + self.stalled;
        if at < self.stall.0 {
            return at;
        }
        at += self.stall.1;
        let mut n = 0;
        loop {
            if n == self.ahead.len() {
                let (begin, length) = *self.ahead.last().unwrap_or(&self.stall);
                let next = next_stall(begin + length, self.spec.stalls, &mut self.pauses);
                self.ahead.push(next);
            }
            if at < self.ahead[n].0 {
                return at;
            }
            at += self.ahead[n].1;
            n += 1;
        }
    }
}

/// The begin of the next stall and its length.
fn next_stall(after: f64, stalls: bool, pauses: &mut Random) -> (f64, f64) {
    match stalls {
        true => (
            after + 10.0 * pauses.exponential(),
            0.02 + 0.03 * pauses.unit(),
        ),
        false => (f64::INFINITY, 0.0),
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
