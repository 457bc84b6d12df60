use super::*;
use plimsoll_model::{Rate, RatePhase};

/// A tally with an announced window, and the time at which it opens.
fn open() -> (Tally, u64) {
    let session = Arc::new(Session::new(Shape::Constant));
    let times = session.open_window(Duration::from_secs(1));
    let opens = ns(times.opens - session.began());
    (Tally::new(session), opens)
}

#[test]
fn request_belongs_by_intended_start_and_completes_by_arrival() {
    const SECOND: u64 = 1_000_000_000;
    for extended_s in [0, 2] {
        let (tally, opens) = open();
        let session = tally.session();
        session.extend_window(Duration::from_secs(extended_s));
        let closes = opens + (1 + extended_s) * SECOND;
        for (intended, ended) in [
            (opens - 1, opens + 5),
            (opens, opens + 5),
            (closes - 1, closes + 5),
            (closes, closes + 5),
        ] {
            tally.due(intended, 0);
            tally.sent(intended);
            tally.done(intended, ended, None);
        }
        let work = total(&[tally]);
        assert_eq!((work.intended, work.sent, work.completed), (2, 2, 2));
        assert_eq!(work.latency.count(), 2, "extended by {extended_s} s");
    }
}

#[test]
fn unanswered_requests_count_their_wait() {
    let (tally, opens) = open();
    let late = opens + 2_000_000_000;
    for _ in 0..4 {
        tally.due(opens, 0);
    }
    tally.unsent(opens, late);
    for _ in 0..3 {
        tally.sent(opens);
    }
    assert_eq!(tally.open_in_window(), 3);
    tally.failed(opens, Failure::Timeout, late);
    tally.unfinished(opens, late);
    tally.failed(opens, Failure::Reset, late);
    let work = total(std::slice::from_ref(&tally));
    assert_eq!((work.unfinished, work.errors.total()), (2, 2));
    assert_eq!(work.latency.count(), 3, "a reset at once has no latency");
    assert!(work.latency.quantile(0.01) >= Some(Duration::from_secs(1)));
    assert_eq!(tally.open_in_window(), 0);
}

#[test]
fn a_late_generator_is_late_in_the_phases_in_which_requests_were_due() {
    let phase = |ms| RatePhase {
        length: Duration::from_millis(ms),
        rate: Rate::per_second(10.0).unwrap(),
    };
    let phases = PhasedRate(vec![phase(100), phase(100)]);
    let tally = Tally::new(Arc::new(Session::new(Shape::Phases(Arc::new(phases)))));
    tally.due(99_000_000, 5_000);
    tally.due(100_000_000, 70_000_000);
    tally.due(250_000_000, 9_000_000);
    let work = total(&[tally]);
    let slips = work.phases.iter().map(|phase| &phase.answers.slip);
    let slips: Vec<_> = slips.map(|slip| (slip.requests(), slip.mean())).collect();
    let us = |us| Some(Duration::from_micros(us));
    assert_eq!(slips, [(1, us(5)), (1, us(70_000))]);
}

#[test]
fn latencies_after_a_step_are_split_into_slots() {
    let ms = Duration::from_millis;
    let session = Arc::new(Session::new(Shape::Steps(SteppedRate {
        low: plimsoll_model::Rate::ZERO,
        first: ms(100),
        after: ms(100),
        before: ms(50),
        steps: 2,
        slot: ms(50),
    })));
    let tallies: Vec<Tally> = (0..3).map(|_| Tally::new(Arc::clone(&session))).collect();
    let at = |ms: u64| ms * 1_000_000;
    tallies[0].done(at(99), at(100), None);
    tallies[0].done(at(149), at(150), None);
    tallies[2].unfinished(at(150), at(160));
    tallies[2].failed(at(150), Failure::Timeout, at(170));
    tallies[0].failed(at(150), Failure::Reset, at(151));
    tallies[2].unsent(at(250), at(300));
    let counts: Vec<Vec<(u64, u64)>> = total(&tallies)
        .steps
        .iter()
        .map(|slots| slots.iter().map(|s| (s.requests(), s.sum_ns())).collect())
        .collect();
    let wanted = [[(1, at(1)), (2, at(30))], [(1, at(50)), (0, 0)]];
    assert_eq!(counts, wanted.map(Vec::from));
}

#[test]
fn without_a_window_only_ticks_count() {
    let tally = Tally::new(Arc::new(Session::new(Shape::Constant)));
    tally.due(1, 0);
    tally.sent(1);
    assert_eq!(tick(std::slice::from_ref(&tally)).in_flight, 1);
    tally.done(1, 2, None);
    let now = tick(std::slice::from_ref(&tally));
    assert_eq!((now.completed, now.in_flight), (1, 0));
    assert_eq!(tick(std::slice::from_ref(&tally)).completed, 0);
    assert_eq!(total(&[tally]), Work::default());
}
