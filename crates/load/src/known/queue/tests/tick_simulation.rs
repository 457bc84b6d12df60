//! The same services simulated tick by tick, as a real server works: requests
//! queue, servers take them, hold the lock, work and pause. Shares no code with
//! the queue.

use super::{all, answers, lock, saw_tooth, servers};
use crate::arrivals::uniform;
use crate::known::Discipline;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// A server's state, and until when.
#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Nothing,
    WaitingForLock(usize),
    Working(usize, u64),
    Pausing(u64),
}

/// Times in ticks: with and without the lock; requests between pauses, and the
/// lengths of the pauses.
struct Machine {
    servers: usize,
    locked: u64,
    alone: u64,
    every: usize,
    pauses: Vec<u64>,
}

fn run(machine: &Machine, arrivals: &[u64]) -> Vec<u64> {
    let mut line: VecDeque<usize> = VecDeque::new();
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let mut servers = vec![Doing::Nothing; machine.servers];
    let mut lock_free = 0;
    let mut answered = vec![0; arrivals.len()];
    let (mut next, mut done, mut now) = (0, 0, 0);
    while done < arrivals.len() {
        for server in &mut servers {
            match *server {
                Doing::Working(request, until) if until == now => {
                    answered[request] = now;
                    done += 1;
                    let pause = (done % machine.every == 0 && !machine.pauses.is_empty())
                        .then(|| machine.pauses[(done / machine.every - 1) % machine.pauses.len()]);
                    *server = pause.map_or(Doing::Nothing, |p| Doing::Pausing(now + p));
                }
                Doing::Pausing(until) if until == now => *server = Doing::Nothing,
                _ => {}
            }
        }
        while next < arrivals.len() && arrivals[next] == now {
            line.push_back(next);
            next += 1;
        }
        for (index, server) in servers.iter_mut().enumerate() {
            if *server == Doing::Nothing
                && let Some(request) = line.pop_front()
            {
                *server = Doing::WaitingForLock(request);
                waiting.push_back(index);
            }
        }
        while lock_free <= now
            && let Some(index) = waiting.pop_front()
        {
            let Doing::WaitingForLock(request) = servers[index] else {
                panic!()
            };
            servers[index] = Doing::Working(request, now + machine.locked + machine.alone);
            lock_free = now + machine.locked;
        }
        now += 1;
    }
    answered
}

/// Arrivals at full and at light load, in ticks.
fn arrivals(mean_gap: f64) -> Vec<u64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut at = 0.0;
    let next = |_| {
        at += -(1.0 - uniform(&mut rng)).ln() * mean_gap;
        at as u64
    };
    (0..3000).map(next).collect()
}

impl Machine {
    fn new(servers: usize, locked: u64, alone: u64) -> Machine {
        Machine {
            servers,
            locked,
            alone,
            every: 1,
            pauses: vec![],
        }
    }
}

/// Disciplines and their equivalents in ticks of a millisecond.
fn pairs() -> [(Discipline, Machine); 4] {
    let pausing = Machine {
        every: 14,
        pauses: vec![10, 20, 30, 40],
        ..Machine::new(1, 0, 6)
    };
    [
        (servers(16, 4), Machine::new(4, 0, 16)),
        (saw_tooth(6, 14, (10, 10), 4), pausing),
        (lock(4, 8, 4), Machine::new(4, 4, 8)),
        // Here the number of servers is the limit, not the lock.
        (lock(3, 20, 2), Machine::new(2, 3, 20)),
    ]
}

#[test]
fn recursion_matches_tick_simulation() {
    for (discipline, machine) in pairs() {
        let full = 1000.0 / discipline.saturation().unwrap().get();
        for load in [0.5, 0.9, 1.2] {
            let arrivals = arrivals(full / load);
            let expected = run(&machine, &arrivals);
            let found = answers(discipline.clone(), &arrivals);
            assert_eq!(found, all(&expected), "{discipline:?}");
        }
    }
}
