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

fn servers(each: u64, servers: u32) -> Discipline {
    let each = ms(each);
    Discipline::Servers { each, servers }
}

fn lock(serial: u64, parallel: u64, servers: u32) -> Discipline {
    Discipline::Lock {
        serial: ms(serial),
        parallel: ms(parallel),
        servers,
    }
}

/// `every` and `steps` count requests and pauses; `first` and `growth` are in
/// milliseconds.
fn saw_tooth(each: u64, every: u32, (first, growth): (u64, u64), steps: u32) -> Discipline {
    Discipline::SawTooth {
        each: ms(each),
        every,
        first: ms(first),
        growth: ms(growth),
        steps,
        into: 0,
    }
}

#[test]
fn requests_go_to_the_first_free_server() {
    let arrivals = [0, 1, 2, 100];
    assert_eq!(answers(servers(10, 1), &arrivals), all(&[10, 20, 30, 110]));
    let arrivals = [0, 1, 2, 3, 4, 30];
    let expected = all(&[10, 11, 12, 20, 21, 40]);
    assert_eq!(answers(servers(10, 3), &arrivals), expected);
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
fn bucket_starts_empty_refuses_when_empty_and_refills() {
    let answered = |burst, arrivals: &[u64]| -> Vec<u64> {
        let per_second = 100;
        let found = answers(Discipline::TokenBucket { per_second, burst }, arrivals);
        assert!(
            found
                .iter()
                .zip(arrivals)
                .all(|(f, at)| f.is_none_or(|f| f == *at))
        );
        let indices = (0..).zip(found).filter(|(_, found)| found.is_some());
        indices.map(|(index, _)| index).collect()
    };
    let arrivals = [100, 100, 100, 109, 110, 111, 200, 200, 200];
    assert_eq!(answered(2, &arrivals), [0, 1, 4, 6, 7]);
    assert_eq!(answered(3, &[0, 9, 10, 11, 20, 30]), [2, 4, 5]);
}

#[test]
fn cycle_offset_is_respected() {
    // 3: one more request until the second pause, the longer one. 7: the same a
    // whole cycle later.
    for offset in [3, 7] {
        let mut saw = saw_tooth(1, 2, (10, 5), 2);
        if let Discipline::SawTooth { into, .. } = &mut saw {
            *into = offset;
        }
        assert_eq!(answers(saw, &[0; 4]), all(&[1, 17, 18, 29]), "{offset}");
    }
}

#[test]
fn saturated_queues_answer_at_the_saturation_rate() {
    let exponential = Discipline::Exponential {
        mean: ms(3),
        servers: 2,
        seed: 1,
    };
    let requests = 40_000;
    for discipline in [
        servers(3, 4),
        exponential,
        saw_tooth(2, 7, (1, 2), 5),
        lock(2, 9, 4),
        lock(4, 1, 4),
    ] {
        let expected = discipline.saturation().unwrap().get();
        let mut queue = Queue::new(discipline.clone());
        let last = (0..requests).filter_map(|_| queue.answers_at(Duration::ZERO));
        let rate = f64::from(requests) / last.max().unwrap().as_secs_f64();
        let error = (rate / expected - 1.0).abs();
        assert!(error < 0.02, "{discipline:?}: {rate}");
    }
}
