//! Chooses the starts that get a timer before the thread waits for them.

use super::wakeup::{SleepEnds, WakeUp};
use crate::arrivals::Schedule;
use std::collections::VecDeque;

/// About what it takes to send a request and to read an answer. A start that comes sooner after the one before it than
/// this and a wake-up take is polled for, and a timer would only interrupt.
const BUSY_NS: u64 = 10_000;

/// How long after its time a request may be sent, so as to be sent by one wake-up with the next: that much less is polled
/// between them. 20 us save no more, and raise the slip p99 at 60,000/s from 28 to 47 us.
const MAX_TOGETHER_NS: u64 = 10_000;

/// Most starts that are sent by one wake-up with the first.
const MOST_TOGETHER: usize = 16;

/// Most starts that are passed in search of one. After a time without sleep the cursor catches up over several waits,
/// because a long search would delay a request.
const MOST_PASSED: usize = 64;

/// A third cursor on the schedule of a [`Pacer`](super::pacer::Pacer), ahead of the others.
#[derive(Debug)]
pub(super) struct Ahead {
    starts: Schedule,
    /// The start before the next of `starts`.
    before: u64,
    /// Starts and when to wake up for them, ascending.
    planned: VecDeque<(u64, u64)>,
}

impl Ahead {
    pub(super) fn new(starts: Schedule) -> Ahead {
        Ahead {
            starts,
            before: 0,
            planned: VecDeque::new(),
        }
    }

    /// When to wake up for the start at `due`, if it was chosen: the first time after `now`, else the last.
    pub(super) fn wake_up_for(&self, due: u64, now: u64) -> Option<u64> {
        let planned = self.planned.iter().filter(|(start, _)| *start == due);
        planned
            .map(|(_, at)| *at)
            .reduce(|first, second| if first > now { first } else { second })
    }

    /// When to wake up for further starts after `due`, the next one, so that there are `most` such times.
    pub(super) fn choose(
        &mut self,
        due: u64,
        most: usize,
        wake_up: &WakeUp,
    ) -> impl Iterator<Item = u64> {
        while self.planned.front().is_some_and(|(start, _)| *start < due) {
            self.planned.pop_front();
        }
        let known = self.planned.len();
        let mut passed = 0..MOST_PASSED;
        while self.planned.len() < most && passed.next().is_some() {
            self.pass(due, wake_up);
        }
        self.planned.iter().skip(known).map(|(_, at)| *at)
    }

    /// Passes one start, and plans when to wake up for it, if it needs a timer.
    fn pass(&mut self, due: u64, wake_up: &WakeUp) {
        let start = self.starts.peek();
        if start == u64::MAX {
            return;
        }
        self.starts.next();
        let before = std::mem::replace(&mut self.before, start);
        let free = before.saturating_add(BUSY_NS);
        let SleepEnds { first, last } = wake_up.ahead_of(free, start);
        if start > due && last > free {
            let last = last + self.may_wait_ns(start, wake_up);
            let ends = first.into_iter().chain([last]);
            self.planned.extend(ends.map(|at| (start, at)));
        }
    }

    /// How long the request of `start` may wait for those that follow it without a sleep: as long as would be polled
    /// between them, and as a wake-up is later than a request takes. Where wake-ups are 6 us late, that is not at all:
    /// it saves nothing there.
    fn may_wait_ns(&self, start: u64, wake_up: &WakeUp) -> u64 {
        let mut free = start.saturating_add(BUSY_NS);
        let most = wake_up.short_lateness_ns().saturating_sub(BUSY_NS);
        let most = most.min(MAX_TOGETHER_NS);
        let mut polled = 0;
        for next in self.starts.clone().take(MOST_TOGETHER) {
            if polled >= most || wake_up.ahead_of(free, next).last > free {
                break;
            }
            polled += next.saturating_sub(free);
            free = next.saturating_add(BUSY_NS);
        }
        polled.min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Arrivals, Rate};

    fn schedule(arrivals: Arrivals, rate: f64) -> Schedule {
        Schedule::new(arrivals, Rate::per_second(rate).unwrap(), 1)
    }

    /// That of a thread whose sleeps end late by `late` nanoseconds, or `late_if_long`.
    fn wake_up_of_two(late: u64, late_if_long: u64) -> WakeUp {
        let mut wake_up = WakeUp::default();
        for _ in 0..1_000 {
            wake_up.record(0, 1_000, 1_000 + late);
            wake_up.record(0, 1_000_000, 1_000_000 + late_if_long);
        }
        wake_up
    }

    fn wake_up(late: u64) -> WakeUp {
        wake_up_of_two(late, late)
    }

    /// The first 500 times to wake up for, of starts that each get one.
    fn first_500(ahead: &mut Ahead, wake_up: &WakeUp) -> Vec<u64> {
        let calls = 0..500;
        calls.for_each(|_| ahead.choose(0, 500, wake_up).for_each(drop));
        ahead.planned.iter().map(|(_, at)| *at).collect()
    }

    #[test]
    fn each_start_is_chosen_once_and_keeps_its_time() {
        let mut ahead = Ahead::new(schedule(Arrivals::Constant, 1_000.0));
        let prompt = wake_up(0);
        let first: Vec<u64> = ahead.choose(1_000_000, 3, &prompt).collect();
        assert_eq!(first, [2_000_000, 3_000_000, 4_000_000]);
        assert_eq!(ahead.choose(2_000_000, 3, &prompt).count(), 0);
        let later: Vec<u64> = ahead.choose(3_000_000, 3, &wake_up(20_000)).collect();
        let [one] = later[..] else {
            panic!("{later:?}")
        };
        assert!(one.abs_diff(4_980_000) < 2_100, "{one}");
        assert_eq!(ahead.wake_up_for(3_000_000, 2_000_000), Some(3_000_000));
        assert_eq!(ahead.wake_up_for(5_000_000, 3_000_000), Some(one));
        assert_eq!(ahead.wake_up_for(2_000_000, 1_500_000), None, "it has been");
    }

    #[test]
    fn a_start_gets_two_timers_where_long_sleeps_end_late() {
        let mut ahead = Ahead::new(schedule(Arrivals::Constant, 1_000.0));
        let wake_up = wake_up_of_two(0, 40_000);
        let times: Vec<u64> = ahead.choose(1_000_000, 3, &wake_up).collect();
        let [first, last, ..] = times[..] else {
            panic!("{times:?}")
        };
        assert_eq!((times.len(), last), (4, 2_000_000));
        assert_eq!(ahead.wake_up_for(2_000_000, 1_100_000), Some(first));
        assert_eq!(ahead.wake_up_for(2_000_000, first), Some(last));
        let late = Some(last);
        assert_eq!(ahead.wake_up_for(2_000_000, last + 1), late, "no sleep");
    }

    #[test]
    fn starts_close_to_the_one_before_are_left_to_polling() {
        let starts = schedule(Arrivals::Poisson, 20_000.0);
        let wake_up = wake_up(20_000);
        let mut ahead = Ahead::new(starts.clone());
        let chosen = first_500(&mut ahead, &wake_up);
        let last = |start| wake_up.ahead_of(0, start).last;
        let of: Vec<u64> = starts.take_while(|s| last(*s) <= chosen[499]).collect();
        let far = of.windows(2).filter(|two| last(two[1]) > two[0] + BUSY_NS);
        // The first start has none before it in the list.
        assert!(far.count().abs_diff(500) <= 1);
        assert!(of.len() > 800, "{}", of.len());
    }

    #[test]
    fn a_request_waits_for_the_next_by_as_much_as_would_be_polled_between_them() {
        let starts = schedule(Arrivals::Poisson, 20_000.0);
        let wake_up = wake_up(25_000);
        let last = |start| wake_up.ahead_of(0, start).last;
        let mut ahead = Ahead::new(starts.clone());
        first_500(&mut ahead, &wake_up);
        let mut seen = [0; 3];
        for (start, at) in &ahead.planned {
            let next = starts.clone().find(|next| next > start).unwrap();
            let waits = at - last(*start);
            let polled = (next - start).saturating_sub(BUSY_NS);
            if last(next) > start + BUSY_NS {
                seen[0] += 1;
                assert_eq!(waits, 0, "the thread sleeps before the next, {polled}");
            } else if polled >= MAX_TOGETHER_NS {
                seen[1] += 1;
                assert_eq!(waits, MAX_TOGETHER_NS);
            } else {
                seen[2] += 1;
                assert!((polled..=MAX_TOGETHER_NS).contains(&waits), "{waits}");
            }
        }
        assert!(seen.iter().all(|seen| *seen > 10), "{seen:?}");
    }

    #[test]
    fn no_request_waits_for_the_next_where_wake_ups_are_prompt() {
        let starts = schedule(Arrivals::Poisson, 60_000.0);
        let wake_up = wake_up(6_000);
        let mut ahead = Ahead::new(starts);
        first_500(&mut ahead, &wake_up);
        let waits = |(start, at): &(u64, u64)| *at > wake_up.ahead_of(0, *start).last;
        assert!(!ahead.planned.iter().any(waits));
    }

    #[test]
    fn a_cursor_far_behind_catches_up_in_steps() {
        let mut ahead = Ahead::new(schedule(Arrivals::Constant, 1_000.0));
        let prompt = wake_up(0);
        let due = 1_000_000 * MOST_PASSED as u64 * 3;
        let counts: Vec<usize> = (0..4)
            .map(|_| ahead.choose(due, 2, &prompt).count())
            .collect();
        assert_eq!(counts, [0, 0, 0, 2]);
    }

    #[test]
    fn starts_that_have_been_are_left_out() {
        let mut ahead = Ahead::new(schedule(Arrivals::Constant, 1_000.0));
        let prompt = wake_up(0);
        assert_eq!(ahead.choose(1_000_000, 2, &prompt).count(), 2);
        let chosen: Vec<u64> = ahead.choose(9_000_000, 2, &prompt).collect();
        assert_eq!(chosen, [10_000_000, 11_000_000]);
    }
}
