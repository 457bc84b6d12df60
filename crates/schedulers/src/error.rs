//! Why a scheduler could not be started.

use plimsoll_plugin::LoadError;
use plimsoll_pool::PoolError;
use std::fmt::Display;

/// Why a scheduler could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SchedulerError {
    /// `known`: the names that there are, as a list in words.
    #[error(
        "no scheduler is called {name:?}; choose {known}, or the path of a library (with a `/`)"
    )]
    Unknown { name: String, known: String },
    #[error("no kernel is called {name:?}; choose {known}")]
    UnknownKernel { name: String, known: String },
    #[error("no CPU to run on; give at least one")]
    NoCpu,
    #[error(transparent)]
    Cpu(#[from] PoolError),
    #[error(transparent)]
    Library(#[from] LoadError),
    #[error("cannot start a worker: {0}; raise `ulimit -u` or pids.max")]
    Spawn(#[source] std::io::Error),
}

/// `a, b or c`.
pub(crate) fn alternatives<T: Display>(all: &[T]) -> String {
    let names: Vec<String> = all.iter().map(T::to_string).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        Some((only, _)) => only.clone(),
        None => String::new(),
    }
}
