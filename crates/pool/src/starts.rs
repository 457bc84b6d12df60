//! The source of a pool's starts.

use std::time::Duration;

/// Start times in order. Every iterator of ascending nanoseconds since the epoch is one; other
/// sources have starts whose times may change while workers wait for them.
pub trait Starts {
    /// A start, by whatever names its place in the order.
    type Start: Copy + std::fmt::Debug;

    /// The start after the one given last; `None` at the end.
    fn following(&mut self) -> Option<Self::Start>;

    /// When it is intended, in nanoseconds since the epoch. Ascends with the order. A time that has
    /// passed does not change.
    fn at_ns(&self, start: Self::Start) -> u64;

    /// How long before it takes effect a change of times is made, at least; `None` if they never
    /// change. Workers that wait look at the time again within half of it.
    fn notice(&self) -> Option<Duration> {
        None
    }
}

impl<I: Iterator<Item = u64>> Starts for I {
    type Start = u64;

    fn following(&mut self) -> Option<u64> {
        self.next()
    }

    fn at_ns(&self, start: u64) -> u64 {
        start
    }
}
