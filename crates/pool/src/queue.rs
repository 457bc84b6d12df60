//! Claims of start times. The caller provides locking and the clock.

use crate::starts::Starts;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim<P> {
    /// Position in the source, from 0.
    pub(crate) index: u64,
    pub(crate) start: P,
}

/// The source, and each worker's unfinished claim.
#[derive(Debug)]
pub(crate) struct Queue<S: Starts> {
    /// `None` once the rest has been taken.
    source: Option<S>,
    /// What the source gives next; `None` once it has ended.
    next: Option<S::Start>,
    next_index: u64,
    open: Vec<Option<Claim<S::Start>>>,
}

impl<S: Starts> Queue<S> {
    pub(crate) fn new(mut source: S, workers: usize) -> Queue<S> {
        Queue {
            next: source.following(),
            source: Some(source),
            next_index: 0,
            open: vec![None; workers],
        }
    }

    /// When a claimed start is intended, in nanoseconds since the epoch.
    pub(crate) fn at_ns(&self, claim: &Claim<S::Start>) -> u64 {
        self.time_of(claim.start)
    }

    fn time_of(&self, start: S::Start) -> u64 {
        let source = self.source.as_ref();
        source.map_or(u64::MAX, |source| source.at_ns(start))
    }

    fn advance(&mut self) -> Option<S::Start> {
        let following = self.source.as_mut().and_then(S::following);
        std::mem::replace(&mut self.next, following)
    }

    /// `worker` has finished its claim, if any.
    pub(crate) fn finish(&mut self, worker: usize) {
        self.open[worker] = None;
    }

    /// `worker`, which has no open claim, claims the oldest remaining start.
    pub(crate) fn claim(&mut self, worker: usize) -> Option<Claim<S::Start>> {
        let start = self.advance()?;
        let claim = Claim {
            index: self.next_index,
            start,
        };
        self.next_index += 1;
        self.open[worker] = Some(claim);
        Some(claim)
    }

    pub(crate) fn oldest_open_ns(&self) -> Option<u64> {
        let claimed = self.open.iter().flatten().map(|claim| self.at_ns(claim));
        claimed
            .min()
            .or_else(|| self.next.map(|start| self.time_of(start)))
    }

    /// Takes the starts that were never run, ascending: those that workers were
    /// waiting for, then the rest of the source. The queue is empty afterwards.
    pub(crate) fn take_unstarted(&mut self) -> impl Iterator<Item = u64> + use<S> {
        let claims = self.open.iter().flatten().map(|claim| self.at_ns(claim));
        let mut open: Vec<u64> = claims.collect();
        open.sort_unstable();
        self.open.fill(None);
        let (mut next, mut source) = (self.next.take(), self.source.take());
        let rest = std::iter::from_fn(move || {
            let source = source.as_mut()?;
            let start = std::mem::replace(&mut next, source.following())?;
            Some(source.at_ns(start))
        });
        open.into_iter().chain(rest)
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
                (claim.index, claim.start)
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
