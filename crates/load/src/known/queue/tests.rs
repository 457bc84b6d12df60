//! Queues calculated by hand, and at saturation.

mod tick_simulation;

use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Answer times of requests that arrive at these milliseconds.
fn answers(discipline: Discipline, at: &[u64]) -> Vec<Option<u64>> {
    let mut queue = Queue::new(discipline);
    let answer = |at: &u64| Some(queue.answers_at(ms(*at))?.as_millis() as u64);
    at.iter().map(answer).collect()
}

fn all(times: &[u64]) -> Vec<Option<u64>> {
    times.iter().copied().map(Some).collect()
}

#[test]
fn requests_go_to_the_first_free_server() {
    let of = |servers| Discipline::Servers {
        each: ms(10),
        servers,
    };
    assert_eq!(answers(of(1), &[0, 1, 2, 100]), all(&[10, 20, 30, 110]));
    let arrivals = [0, 1, 2, 3, 4, 30];
    assert_eq!(answers(of(3), &arrivals), all(&[10, 11, 12, 20, 21, 40]));
}

#[test]
fn stall_delays_answers_until_its_end() {
    let stall = Discipline::Stall {
        every: ms(2000),
        lasting: ms(200),
    };
    let arrivals = [0, 150, 200, 1999, 2050];
    assert_eq!(answers(stall, &arrivals), all(&[200, 200, 200, 1999, 2200]));
}

#[test]
fn bucket_refuses_when_empty_and_refills() {
    let bucket = Discipline::TokenBucket {
        per_second: 100,
        burst: 2,
    };
    let arrivals = [100, 100, 100, 109, 110, 111, 200, 200, 200];
    let refused = [2, 3, 5, 8];
    let expected: Vec<Option<u64>> = arrivals
        .iter()
        .enumerate()
        .map(|(i, at)| (!refused.contains(&i)).then_some(*at))
        .collect();
    assert_eq!(answers(bucket, &arrivals), expected);
}

#[test]
fn bucket_starts_empty() {
    let bucket = Discipline::TokenBucket {
        per_second: 100,
        burst: 3,
    };
    let arrivals = [0, 9, 10, 11, 20, 30];
    let expected = [None, None, Some(10), None, Some(20), Some(30)];
    assert_eq!(answers(bucket, &arrivals), expected);
}

#[test]
fn pauses_grow_and_restart() {
    let saw = Discipline::SawTooth {
        each: ms(1),
        every: 2,
        first: ms(10),
        growth: ms(5),
        steps: 2,
        into: 0,
    };
    let all_at_once = [0; 8];
    let expected = [1, 2, 13, 14, 30, 31, 42, 43];
    assert_eq!(answers(saw, &all_at_once), all(&expected));
}

#[test]
fn cycle_offset_is_respected() {
    let saw = |into| Discipline::SawTooth {
        each: ms(1),
        every: 2,
        first: ms(10),
        growth: ms(5),
        steps: 2,
        into,
    };
    // One more request until the second pause, the longer one.
    assert_eq!(answers(saw(3), &[0; 4]), all(&[1, 17, 18, 29]));
    // The same a whole cycle later.
    assert_eq!(answers(saw(7), &[0; 4]), all(&[1, 17, 18, 29]));
}

#[test]
fn pause_runs_without_waiting_requests() {
    // The pause starts with the answer before it, whether a request waits or
    // not.
    let saw = Discipline::SawTooth {
        each: ms(1),
        every: 1,
        first: ms(10),
        growth: ms(0),
        steps: 1,
        into: 0,
    };
    assert_eq!(answers(saw, &[0, 50, 55]), all(&[1, 51, 62]));
}

#[test]
fn lock_serializes_only_the_locked_part() {
    let lock = |servers| Discipline::Lock {
        serial: ms(10),
        parallel: ms(30),
        servers,
    };
    assert_eq!(answers(lock(9), &[0, 0, 0, 0]), all(&[40, 50, 60, 70]));
    // With two servers the third request waits for the first to end.
    assert_eq!(answers(lock(2), &[0, 0, 0, 0]), all(&[40, 50, 80, 90]));
}

#[test]
fn saturated_queues_answer_at_the_saturation_rate() {
    let disciplines = [
        Discipline::Servers {
            each: ms(3),
            servers: 4,
        },
        Discipline::Exponential {
            mean: ms(3),
            servers: 2,
            seed: 1,
        },
        Discipline::SawTooth {
            each: ms(2),
            every: 7,
            first: ms(1),
            growth: ms(2),
            steps: 5,
            into: 0,
        },
        Discipline::Lock {
            serial: ms(2),
            parallel: ms(9),
            servers: 4,
        },
        Discipline::Lock {
            serial: ms(4),
            parallel: ms(1),
            servers: 4,
        },
    ];
    let requests = 40_000;
    for discipline in disciplines {
        let expected = discipline.saturation().unwrap().get();
        let mut queue = Queue::new(discipline.clone());
        let last = (0..requests).filter_map(|_| queue.answers_at(Duration::ZERO));
        let rate = f64::from(requests) / last.max().unwrap().as_secs_f64();
        assert!(
            (rate / expected - 1.0).abs() < 0.02,
            "{discipline:?}: {rate}"
        );
    }
}
