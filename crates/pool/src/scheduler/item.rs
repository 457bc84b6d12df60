//! What queues hold.

/// A piece of a run: small and `Copy`, so that queues need no memory of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Item {
    /// The run's number.
    pub(crate) run: u32,
    pub(crate) task: Task,
}

/// What a worker does with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Looks for jobs without predecessors among these. Halves go back to the queue,
    /// where others steal them.
    Roots { first: u32, end: u32 },
    /// Runs a job whose predecessors have ended.
    Job(u32),
    /// Ends a job without running it, because a predecessor did not end well.
    Skip(u32),
}
