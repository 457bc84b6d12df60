//! Claims of start times. The caller provides locking and the clock.

use std::iter::Peekable;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Position in the source, from 0.
    pub(crate) index: u64,
    /// Nanoseconds since the epoch.
    pub(crate) intended_ns: u64,
}

/// The source, and each worker's unfinished claim.
#[derive(Debug)]
pub(crate) struct Queue<S: Iterator<Item = u64>> {
    /// `None` once the rest has been taken.
    source: Option<Peekable<S>>,
    next_index: u64,
    open: Vec<Option<Claim>>,
}

impl<S: Iterator<Item = u64>> Queue<S> {
    pub(crate) fn new(source: S, workers: usize) -> Queue<S> {
        Queue {
            source: Some(source.peekable()),
            next_index: 0,
            open: vec![None; workers],
        }
    }

    /// `worker` has finished its claim, if any.
    pub(crate) fn finish(&mut self, worker: usize) {
        self.open[worker] = None;
    }

    /// `worker`, which has no open claim, claims the oldest remaining start.
    pub(crate) fn claim(&mut self, worker: usize) -> Option<Claim> {
        let intended_ns = self.source.as_mut()?.next()?;
        let claim = Claim {
            index: self.next_index,
            intended_ns,
        };
        self.next_index += 1;
        self.open[worker] = Some(claim);
        Some(claim)
    }

    pub(crate) fn oldest_open_ns(&mut self) -> Option<u64> {
        let claimed = self.open.iter().flatten().map(|c| c.intended_ns).min();
        claimed.or_else(|| self.source.as_mut()?.peek().copied())
    }

    /// Takes the starts that were never run, ascending: those that workers were
    /// waiting for, then the rest of the source. The queue is empty afterwards.
    pub(crate) fn take_unstarted(&mut self) -> impl Iterator<Item = u64> + use<S> {
        let claims = self.open.iter_mut().filter_map(Option::take);
        let mut open: Vec<u64> = claims.map(|c| c.intended_ns).collect();
        open.sort_unstable();
        open.into_iter()
            .chain(self.source.take().into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_claimed_in_source_order_by_any_worker() {
        let mut queue = Queue::new([10, 20, 20, 30].into_iter(), 2);
        let claims: Vec<(u64, u64)> = [1, 0, 0, 1]
            .into_iter()
            .map(|worker| {
                queue.finish(worker);
                let claim = queue.claim(worker).unwrap();
                (claim.index, claim.intended_ns)
            })
            .collect();
        assert_eq!(claims, [(0, 10), (1, 20), (2, 20), (3, 30)]);
        assert_eq!(queue.claim(0), None);
    }

    #[test]
    fn the_oldest_open_start_is_a_claimed_one_until_all_are_finished() {
        let mut queue = Queue::new([10, 20, 30].into_iter(), 2);
        assert_eq!(queue.oldest_open_ns(), Some(10));
        queue.claim(0);
        queue.claim(1);
        queue.finish(1);
        assert_eq!(queue.oldest_open_ns(), Some(10));
        queue.finish(0);
        assert_eq!(queue.oldest_open_ns(), Some(30));
        queue.claim(0);
        queue.finish(0);
        assert_eq!(queue.oldest_open_ns(), None);
    }

    #[test]
    fn unstarted_jobs_are_returned_once_and_ascending() {
        let mut queue = Queue::new([10, 20, 30, 40].into_iter(), 3);
        for worker in [2, 0, 1] {
            queue.claim(worker);
        }
        queue.finish(0);
        assert_eq!(queue.take_unstarted().collect::<Vec<_>>(), [10, 30, 40]);
        assert_eq!(queue.claim(0), None, "nothing is handed out twice");
    }
}
