//! When something must happen to a connection: a request's time-out, the end
//! of a back-off. One moment per connection, in nanoseconds.

/// Scans are at least this far apart, so that a thousand deadlines in a row
/// do not mean a thousand scans in a row. Nothing is ever early; it is late by
/// this much at most.
const SCAN_GAP_NS: u64 = 1_000_000;

/// The moments of `n` connections.
///
/// Setting and clearing cost a store, because a request does both; finding
/// what is over is a scan. Requests share one time-out, so that a scan which
/// finds them answered is needed about once per time-out, not per request.
#[derive(Debug)]
pub(super) struct Deadlines {
    at: Vec<u64>,
    next_scan: u64,
}

impl Deadlines {
    /// None of `n` is set.
    pub(super) fn new(n: usize) -> Deadlines {
        Deadlines {
            at: vec![u64::MAX; n],
            next_scan: u64::MAX,
        }
    }

    /// `index` is over at `at_ns`.
    pub(super) fn set(&mut self, index: usize, at_ns: u64) {
        self.at[index] = at_ns;
        self.next_scan = self.next_scan.min(at_ns);
    }

    /// `index` is never over.
    pub(super) fn clear(&mut self, index: usize) {
        self.at[index] = u64::MAX;
    }

    /// When to look again: `u64::MAX` if nothing is set.
    pub(super) fn next_scan(&self) -> u64 {
        self.next_scan
    }

    /// Puts those that are over at `now` into `over`, and clears them.
    pub(super) fn take_over(&mut self, now: u64, over: &mut Vec<usize>) {
        if now < self.next_scan {
            return;
        }
        let mut earliest = u64::MAX;
        for (index, at) in self.at.iter_mut().enumerate() {
            if *at <= now {
                *at = u64::MAX;
                over.push(index);
            }
            earliest = earliest.min(*at);
        }
        self.next_scan = match earliest {
            u64::MAX => u64::MAX,
            earliest => earliest.max(now + SCAN_GAP_NS),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(deadlines: &mut Deadlines, now: u64) -> Vec<usize> {
        let mut found = Vec::new();
        deadlines.take_over(now, &mut found);
        found
    }

    #[test]
    fn what_is_over_is_found_once_and_never_early() {
        let mut deadlines = Deadlines::new(3);
        deadlines.set(0, 100);
        deadlines.set(2, 50);
        assert_eq!(deadlines.next_scan(), 50);
        assert_eq!(over(&mut deadlines, 49), [] as [usize; 0]);
        assert_eq!(over(&mut deadlines, 50), [2]);
        let next = deadlines.next_scan();
        assert_eq!(over(&mut deadlines, next), [0]);
        assert_eq!(deadlines.next_scan(), u64::MAX);
    }

    #[test]
    fn what_was_cleared_is_not_over() {
        let mut deadlines = Deadlines::new(2);
        deadlines.set(0, 10);
        deadlines.set(1, 10_000_000);
        deadlines.clear(0);
        assert_eq!(over(&mut deadlines, 10), [] as [usize; 0]);
        assert_eq!(deadlines.next_scan(), 10_000_000);
    }

    #[test]
    fn deadlines_close_together_share_a_scan() {
        let mut deadlines = Deadlines::new(3);
        for index in 0..3 {
            deadlines.set(index, 1000 + index as u64);
        }
        assert_eq!(over(&mut deadlines, 1000), [0]);
        let next = deadlines.next_scan();
        assert_eq!(next, 1000 + SCAN_GAP_NS);
        assert_eq!(over(&mut deadlines, next), [1, 2]);
    }

    #[test]
    fn a_deadline_set_after_a_scan_is_not_missed() {
        let mut deadlines = Deadlines::new(2);
        deadlines.set(0, u64::MAX - 1);
        assert_eq!(over(&mut deadlines, 5), [] as [usize; 0]);
        deadlines.set(1, 7);
        assert_eq!(over(&mut deadlines, 7), [1]);
    }
}
