//! Selects the next request with two cursors on one schedule.
//!
//! The cursor `due` passes an intended start when the generator notices it; the
//! cursor `unsent` passes it when the request is sent. The starts between them
//! wait for a connection. They need no memory, because the second cursor
//! generates the same starts again.

use crate::arrivals::Schedule;
use crate::tally::Tally;

/// The two cursors and the starts between them.
#[derive(Debug)]
pub(super) struct Pacer {
    due: Schedule,
    unsent: Schedule,
    waiting: u64,
    /// Starts of the window that came while all connections were in use.
    waited: u64,
    /// The last start that came, or waited, while all connections were in use.
    all_in_use: Option<u64>,
}

impl Pacer {
    pub(super) fn new(schedule: Schedule) -> Pacer {
        Pacer {
            unsent: schedule.clone(),
            due: schedule,
            waiting: 0,
            waited: 0,
            all_in_use: None,
        }
    }

    /// The intended starts that have not been noticed.
    pub(super) fn upcoming(&self) -> Schedule {
        self.due.clone()
    }

    /// Whether a request could be sent at `now` on an idle connection.
    pub(super) fn has_due(&self, now: u64) -> bool {
        self.waiting > 0 || self.due.peek() <= now
    }

    /// How many noticed requests wait for a connection.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// The next intended start that has not been noticed.
    pub(super) fn next_due(&self) -> u64 {
        self.due.peek()
    }

    /// The oldest intended start that has not been sent.
    pub(super) fn next_unsent(&self) -> u64 {
        self.unsent.peek()
    }

    /// How many requests of the window were due while all connections were in
    /// use.
    pub(super) fn waited(&self) -> u64 {
        self.waited
    }

    /// To be called if no connection is idle: requests due at `now` start to
    /// wait. Their slip ends here, because the wait is not the generator's.
    /// `all_in_use` says that none could be opened either.
    pub(super) fn notice(&mut self, now: u64, all_in_use: bool, tally: &Tally) {
        while self.due.peek() <= now {
            if all_in_use {
                self.waited += u64::from(tally.session().counts(self.due.peek()));
                self.all_in_use = Some(self.due.peek());
            }
            self.pass_due(now, tally);
            self.waiting += 1;
        }
    }

    /// To be called if a connection is idle: the request to send at `now`, if
    /// one is due, and how long it has waited for one of the connections, all of which were in use; the
    /// longest waiting first. Requests that become due while
    /// others wait are not noticed, so their slip grows: the generator is late
    /// with an idle connection.
    pub(super) fn take(&mut self, now: u64, tally: &Tally) -> Option<(u64, u64)> {
        if self.waiting > 0 {
            self.waiting -= 1;
        } else if self.due.peek() <= now {
            self.pass_due(now, tally);
        } else {
            return None;
        }
        let intended = self.unsent.next()?;
        Some((intended, self.has_waited_ns(intended, now)))
    }

    fn has_waited_ns(&self, intended: u64, now: u64) -> u64 {
        match self.all_in_use.is_some_and(|last| intended <= last) {
            true => now.saturating_sub(intended),
            false => 0,
        }
    }

    /// Ends the trial at `now` and counts the requests of the window that were
    /// not sent. On a connection of its own each would have been open for `open_ns` at least, as those that
    /// were sent are, as far as is known.
    pub(super) fn close(mut self, now: u64, open_ns: u64, tally: &Tally) {
        let until = tally.session().closes_ns().min(now.saturating_add(1));
        while self.due.peek() < until {
            self.pass_due(now, tally);
        }
        let unsent = self.unsent.clone();
        for intended in unsent.take_while(|start| *start < until) {
            tally.unsent(intended, now);
            match self.has_waited_ns(intended, now) {
                0 => {}
                waited => tally.waited(intended, waited.saturating_sub(open_ns), now),
            }
        }
    }

    fn pass_due(&mut self, now: u64, tally: &Tally) {
        if let Some(intended) = self.due.next() {
            tally.due(intended, now.saturating_sub(intended));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use crate::tally::{self, Session};
    use plimsoll_model::{Arrivals, Rate};
    use std::sync::Arc;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// One request per millisecond, all of them in a window of `length`.
    fn pacer(length: Duration) -> (Pacer, Tally, u64) {
        let session = Arc::new(Session::new(Shape::Constant));
        session.open_window(length);
        let rate = Rate::per_second(1000.0).unwrap();
        let mut pacer = Pacer::new(Schedule::new(Arrivals::Constant, rate, 1));
        // Skips the starts before the window.
        let tally = Tally::new(session);
        while !tally.session().counts(pacer.next_due()) {
            let due = pacer.next_due();
            assert_eq!(pacer.take(due, &tally), Some((due, 0)));
        }
        let first = pacer.next_due();
        (pacer, tally, first)
    }

    #[test]
    fn nothing_is_sent_before_it_is_due() {
        let (mut pacer, tally, first) = pacer(Duration::from_secs(1));
        assert_eq!(pacer.take(first - 1, &tally), None);
        assert!(!pacer.has_due(first - 1));
        assert_eq!(pacer.take(first + 5, &tally), Some((first, 0)));
        assert!(tally::total(&[tally]).slip.max().unwrap() < Duration::from_micros(1));
    }

    #[test]
    fn waiting_for_a_connection_is_not_slip_and_is_fifo() {
        let (mut pacer, tally, first) = pacer(Duration::from_secs(1));
        pacer.notice(first, true, &tally);
        pacer.notice(first + MS, true, &tally);
        let late = first + 500 * MS;
        assert_eq!(pacer.take(late, &tally), Some((first, 500 * MS)));
        assert_eq!(pacer.take(late, &tally), Some((first + MS, 499 * MS)));
        assert_eq!(pacer.waited(), 2);
        let work = tally::total(&[tally]);
        assert_eq!(work.intended, 2);
        assert!(work.slip.max().unwrap() < Duration::from_micros(1));
    }

    #[test]
    fn those_that_never_got_a_connection_would_be_open_as_others_are() {
        let (mut pacer, tally, first) = pacer(Duration::from_millis(100));
        pacer.notice(first + 9 * MS, true, &tally);
        pacer.close(first + 500 * MS, 450 * MS, &tally);
        let waited = tally::total(&[tally]).waited;
        let ms = Duration::from_millis;
        assert_eq!(waited.latency.requests(), 10, "those that were noticed");
        assert_eq!(waited.latency.above(ms(480)), 10);
        assert_eq!(waited.in_connection.above(ms(430)), 10);
        assert_eq!(waited.misses_by_waiting(ms(470)), 10);
        assert_eq!(waited.misses_by_waiting(ms(430)), 0);
    }

    #[test]
    fn being_late_with_an_idle_connection_is_slip() {
        let (mut pacer, tally, first) = pacer(Duration::from_secs(1));
        pacer.notice(first, true, &tally);
        let late = first + 10 * MS;
        for _ in 0..3 {
            pacer.take(late, &tally);
        }
        let slip = tally::total(&[tally]).slip;
        assert_eq!(slip.above(Duration::from_millis(7)), 2);
    }

    #[test]
    fn every_start_of_the_window_is_counted_at_the_end() {
        let (mut pacer, tally, first) = pacer(Duration::from_millis(100));
        pacer.notice(first + 9 * MS, false, &tally);
        assert_eq!(pacer.take(first + 9 * MS, &tally), Some((first, 0)));
        assert_eq!(pacer.waited(), 0, "a connection could be opened");
        pacer.close(first + 500 * MS, 0, &tally);
        let work = tally::total(&[tally]);
        assert_eq!((work.intended, work.unfinished), (100, 99));
    }

    #[test]
    fn shortened_window_excludes_requests_not_yet_due() {
        let (pacer, tally, first) = pacer(Duration::from_millis(100));
        pacer.close(first + 9 * MS, 0, &tally);
        let work = tally::total(&[tally]);
        assert_eq!((work.intended, work.unfinished), (10, 10));
    }
}
