//! Worker threads, one pinned to a CPU each.

use crate::PoolError;
use crate::cpu::pin_this_thread;
use crate::wait::set_min_timer_slack;
use plimsoll_model::CpuId;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// Starts a thread for each of `bodies`, pinned to its CPU and with the least timer slack, and adds
/// them to `threads`. Returns the kernel's thread IDs, in the order of `bodies`. A body runs after its
/// thread was pinned, perhaps before others were, and also if that failed.
///
/// # Errors
/// If a thread cannot be started or pinned. Those that were started are in `threads`.
pub(crate) fn start_pinned<B>(
    threads: &mut Vec<JoinHandle<()>>,
    bodies: impl Iterator<Item = (CpuId, B)>,
) -> Result<Vec<u32>, PoolError>
where
    B: FnOnce() + Send + 'static,
{
    let (ready, reports) = channel();
    for (index, (cpu, body)) in bodies.enumerate() {
        let ready = ready.clone();
        let thread = std::thread::Builder::new()
            .name(format!("worker-{cpu}"))
            .spawn(move || {
                let settled = pin_this_thread(cpu).map(|()| settle());
                // The receiver is gone if another thread failed.
                let _ = ready.send((index, settled));
                drop(ready);
                body();
            })
            .map_err(|source| PoolError::Spawn { cpu, source })?;
        threads.push(thread);
    }
    drop(ready);
    let mut settled: Vec<(usize, u32)> = reports
        .iter()
        .map(|(index, id)| Ok((index, id?)))
        .collect::<Result<_, PoolError>>()?;
    settled.sort_unstable();
    Ok(settled.into_iter().map(|(_, id)| id).collect())
}

/// Sets up the calling thread, and returns its ID.
fn settle() -> u32 {
    set_min_timer_slack();
    let id = rustix::thread::gettid().as_raw_nonzero();
    id.get().unsigned_abs()
}
