//! Deadlines of connections: time-outs of requests and ends of back-offs. One
//! deadline per connection, in nanoseconds.

/// Minimum distance of scans, so that a thousand consecutive deadlines do not
/// cause a thousand scans. A deadline expires late by at most this, never
/// early.
const SCAN_GAP_NS: u64 = 1_000_000;

/// Setting and clearing is a store, because each request does both; finding
/// expired deadlines is a scan. All requests have the same time-out, so about
/// one scan per time-out is needed.
#[derive(Debug)]
pub(super) struct Deadlines {
    at: Vec<u64>,
    next_scan: u64,
}

impl Deadlines {
    pub(super) fn new(n: usize) -> Deadlines {
        Deadlines {
            at: vec![u64::MAX; n],
            next_scan: u64::MAX,
        }
    }

    pub(super) fn set(&mut self, index: usize, at_ns: u64) {
        self.at[index] = at_ns;
        self.next_scan = self.next_scan.min(at_ns);
    }

    pub(super) fn clear(&mut self, index: usize) {
        self.at[index] = u64::MAX;
    }

    /// When the next scan is needed; `u64::MAX` if nothing is set.
    pub(super) fn next_scan(&self) -> u64 {
        self.next_scan
    }

    /// The connections that expired by `now`, which are cleared.
    pub(super) fn expire(&mut self, now: u64) -> Vec<usize> {
        let mut expired = Vec::new();
        if now < self.next_scan {
            return expired;
        }
        let mut earliest = u64::MAX;
        for (index, at) in self.at.iter_mut().enumerate() {
            if *at <= now {
                *at = u64::MAX;
                expired.push(index);
            }
            earliest = earliest.min(*at);
        }
        self.next_scan = match earliest {
            u64::MAX => u64::MAX,
            earliest => earliest.max(now + SCAN_GAP_NS),
        };
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_expires_once_and_not_early() {
        let mut deadlines = Deadlines::new(3);
        deadlines.set(0, 100);
        deadlines.set(2, 50);
        assert_eq!(deadlines.next_scan(), 50);
        assert!(deadlines.expire(49).is_empty());
        assert_eq!(deadlines.expire(50), [2]);
        let next = deadlines.next_scan();
        assert_eq!(deadlines.expire(next), [0]);
        assert_eq!(deadlines.next_scan(), u64::MAX);
    }

    #[test]
    fn cleared_deadline_does_not_expire() {
        let mut deadlines = Deadlines::new(2);
        deadlines.set(0, 10);
        deadlines.set(1, 10_000_000);
        deadlines.clear(0);
        assert!(deadlines.expire(10).is_empty());
        assert_eq!(deadlines.next_scan(), 10_000_000);
    }

    #[test]
    fn close_deadlines_share_a_scan() {
        let mut deadlines = Deadlines::new(3);
        for index in 0..3 {
            deadlines.set(index, 1000 + index as u64);
        }
        assert_eq!(deadlines.expire(1000), [0]);
        let next = deadlines.next_scan();
        assert_eq!(next, 1000 + SCAN_GAP_NS);
        assert_eq!(deadlines.expire(next), [1, 2]);
    }

    #[test]
    fn a_deadline_set_after_a_scan_is_not_missed() {
        let mut deadlines = Deadlines::new(2);
        deadlines.set(0, u64::MAX - 1);
        assert!(deadlines.expire(5).is_empty());
        deadlines.set(1, 7);
        assert_eq!(deadlines.expire(7), [1]);
    }
}
