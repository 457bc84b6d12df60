//! Scheduling class, nice and affinity: the fallbacks without cgroups.
//!
//! Without `unsafe` code a thread can set only its own class, so a command is
//! started from a thread that has the class, and inherits it (sched(7)). Nice and
//! affinity can be set on any thread of this user.

use crate::error::ControlError;
use crate::settings::Weight;
use crate::tasks;
use plimsoll_host::Pid;
use plimsoll_model::CpuSet;
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet as Mask, sched_setaffinity};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id, thread_schedule_policy,
};

/// Scheduling classes of ordinary threads, lowest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Class {
    #[default]
    Other,
    Batch,
    Idle,
}

/// The lowest class that this system permits, tried on a new thread.
pub(crate) fn lowest_class() -> Class {
    let lowest = || {
        [Class::Idle, Class::Batch]
            .into_iter()
            .find(|class| take_class(*class))
    };
    let tried = std::thread::Builder::new().spawn(lowest);
    // Without a thread no command is started either.
    let lowest = tried.ok().and_then(|thread| thread.join().ok().flatten());
    lowest.unwrap_or_default()
}

/// Sets the class of the calling thread; returns whether it has the class now.
pub(crate) fn take_class(class: Class) -> bool {
    let normal = match class {
        Class::Other => return true,
        Class::Batch => NormalThreadSchedulePolicy::Batch,
        Class::Idle => NormalThreadSchedulePolicy::Idle,
    };
    let policy = ThreadSchedulePolicy::Normal(normal);
    // This also sets nice to 0, which a user with a higher nice value may not do. Only
    // the resulting class counts.
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
    thread_schedule_policy().is_ok_and(|now| now == policy)
}

/// The nice value nearest to a weight: one step is a factor of about 1.25
/// (`sched_prio_to_weight` in kernel/sched/core.c). Only 0 to 19, because negative
/// values need root.
pub(crate) fn nice_for(weight: Weight) -> i32 {
    let steps = (f64::from(weight.get()) / f64::from(Weight::NORMAL.get())).ln() / 1.25_f64.ln();
    // At most 21 steps in either direction.
    (-steps).round().clamp(0.0, 19.0) as i32
}

const SET: &str = "given its priority or its CPUs";

/// Sets nice for a thread; 0 is the calling thread. Ignores a thread that has
/// ended.
pub(crate) fn set_nice(tid: Pid, nice: i32) -> Result<(), ControlError> {
    let set = setpriority_process(tasks::raw(tid), nice);
    tasks::outcome(set, tid, SET)
}

/// Sets the CPUs of a thread; 0 is the calling thread. Ignores a thread that has
/// ended.
pub(crate) fn set_affinity(tid: Pid, cpus: &CpuSet) -> Result<(), ControlError> {
    let mut mask = Mask::new();
    for cpu in cpus.iter().filter(|cpu| (*cpu as usize) < Mask::MAX_CPU) {
        mask.set(cpu as usize);
    }
    let set = sched_setaffinity(tasks::raw(tid), &mask);
    tasks::outcome(set, tid, SET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nice_follows_the_weight_and_is_never_negative() {
        let nice = |weight| nice_for(Weight::new(weight).unwrap());
        assert_eq!(nice(100), 0);
        assert_eq!(nice(80), 1);
        // The kernel's own table has 15 for nice 19, where 0 has 1024.
        assert_eq!(nice(1), 19);
        assert_eq!(nice(10_000), 0);
    }

    #[test]
    fn a_thread_can_take_the_lowest_class() {
        let class = lowest_class();
        let taken = std::thread::spawn(move || take_class(class)).join();
        assert!(taken.unwrap());
    }
}
