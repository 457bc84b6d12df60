//! Records wake-ups in their parts, apart from those that are timed.

use super::outcome::Recorded;
use plimsoll_host::{Root, Tracepoints};
use plimsoll_load::wakeups::{Pair, PairSpec};
use plimsoll_model::CpuSet;
use plimsoll_study::wake::parts;
use std::error::Error;
use std::sync::atomic::AtomicBool;

/// So many wake-ups of a trial are recorded: their middle half has a mean.
const RECORDED: u32 = 64;

/// Wakes a thread as `spec` says while the kernel's events are recorded.
pub(super) fn record(spec: &PairSpec, root: &Root, stop: &AtomicBool) -> Recorded {
    match try_record(spec, root, stop) {
        Ok(recorded) => recorded,
        Err(why) => Recorded {
            absent: Some(why.to_string()),
            ..Recorded::default()
        },
    }
}

fn try_record(spec: &PairSpec, root: &Root, stop: &AtomicBool) -> Result<Recorded, Box<dyn Error>> {
    let cpus: CpuSet = spec.waker.into_iter().chain([spec.wakee]).collect();
    let pair = Pair::start(spec)?;
    let tid = pair.thread_ids().first().copied().unwrap_or_default();
    let tracepoints = Tracepoints::open(root, &cpus)?;
    let Some(woken) = pair.run(spec.gap * RECORDED, stop)? else {
        return Err("it was stopped".into());
    };
    let wakeups = parts(&tracepoints.finish()?, tid, spec.wakee);
    are_most(wakeups.len(), woken.slept)?;
    Ok(Recorded {
        wakeups,
        absent: None,
    })
}

/// A minority is no sample: where events of an idle CPU are missing, what is left are the
/// wake-ups that found it busy.
fn are_most(recorded: usize, slept: u64) -> Result<(), String> {
    match recorded as u64 * 2 > slept {
        true => Ok(()),
        false => Err(format!(
            "the kernel recorded all of sched_waking, cpu_idle, sched_wakeup and sched_switch for {recorded} of {slept} wake-ups only"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minority_is_no_sample() {
        assert_eq!(are_most(33, 64), Ok(()));
        let refused = are_most(32, 64).unwrap_err();
        assert!(refused.ends_with("for 32 of 64 wake-ups only"), "{refused}");
        assert!(are_most(0, 0).is_err());
    }
}
