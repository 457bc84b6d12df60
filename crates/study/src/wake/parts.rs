//! Wake-ups in parts: leaving the idle state, activation, run queue.
//!
//! Each part ends with an event: the CPU has left its idle state, the task is in the run queue, the
//! task runs. A part runs from the event before it, in whichever order they came: a CPU that sleeps
//! wakes first and then activates the task itself; one that polls is handed an active task. So the
//! parts add up to the time from the waking until the task runs.

use plimsoll_model::{CpuEvent, CpuEventKind, CpuId, WakeParts};
use std::time::Duration;

/// A wake-up that is under way.
#[derive(Debug, Clone, Copy)]
struct Begun {
    /// The event before.
    last_ns: u64,
    was_asleep: bool,
    idle_exit: Option<Duration>,
    activation: Option<Duration>,
}

impl Begun {
    /// The time since the event before.
    fn until(&mut self, at_ns: u64) -> Duration {
        let part = Duration::from_nanos(at_ns.saturating_sub(self.last_ns));
        self.last_ns = at_ns;
        part
    }
}

/// All wake-ups of a task that runs on `cpu`, of events in the order of time. One whose events are
/// not all there, because the recording began or ended in it, is left out.
pub fn parts(events: &[CpuEvent], tid: u32, cpu: CpuId) -> Vec<WakeParts> {
    let mut done = Vec::new();
    let mut asleep = None;
    let mut begun: Option<Begun> = None;
    for event in events {
        let at = event.at_ns;
        match event.kind {
            CpuEventKind::Waking { tid: woken } if woken == tid => {
                // Before the first of its events the state of the CPU is unknown.
                begun = asleep.map(|was_asleep| Begun {
                    last_ns: at,
                    was_asleep,
                    idle_exit: None,
                    activation: None,
                });
            }
            CpuEventKind::Runnable { tid: woken } if woken == tid => {
                if let Some(begun) = &mut begun {
                    begun.activation = Some(begun.until(at));
                }
            }
            CpuEventKind::Runs { tid: running } if event.cpu == cpu => {
                asleep.get_or_insert(false);
                if running == tid {
                    done.extend(begun.take().and_then(|begun| ended(begun, at)));
                }
            }
            CpuEventKind::IdleEntered if event.cpu == cpu => asleep = Some(true),
            CpuEventKind::IdleLeft if event.cpu == cpu => {
                asleep = Some(false);
                begun = begun.take().filter(|b| b.was_asleep);
                if let Some(begun) = &mut begun {
                    begun.idle_exit = Some(begun.until(at));
                }
            }
            _ => {}
        }
    }
    done
}

fn ended(mut begun: Begun, at_ns: u64) -> Option<WakeParts> {
    let run_queue = begun.until(at_ns);
    // It slept, and nothing says when it left its idle state.
    let unknown = begun.was_asleep && begun.idle_exit.is_none();
    Some(WakeParts {
        idle_exit: begun.idle_exit,
        activation: begun.activation.filter(|_| !unknown)?,
        run_queue,
    })
}

/// The middle half of wake-ups by their total: one slow phase of the machine decides no mean of
/// them, and the means of the parts still add up to that of the totals.
pub fn typical(mut all: Vec<WakeParts>) -> Vec<WakeParts> {
    all.sort_by_key(WakeParts::total);
    let quarter = all.len() / 4;
    let end = all.len() - quarter;
    all.drain(quarter..end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use CpuEventKind::{IdleEntered, IdleLeft, Runnable, Runs, Waking};

    const TASK: u32 = 7;
    const IDLE: CpuEventKind = Runs { tid: 0 };
    const WAKING: CpuEventKind = Waking { tid: TASK };
    const RUNNABLE: CpuEventKind = Runnable { tid: TASK };
    const RUNS: CpuEventKind = Runs { tid: TASK };

    fn found(events: &[(u64, CpuId, CpuEventKind)]) -> Vec<WakeParts> {
        let event = |(at_ns, cpu, kind): &(u64, CpuId, CpuEventKind)| CpuEvent {
            at_ns: *at_ns,
            cpu: *cpu,
            kind: *kind,
        };
        parts(&events.iter().map(event).collect::<Vec<_>>(), TASK, 1)
    }

    fn of(idle_exit: Option<u64>, activation: u64, run_queue: u64) -> WakeParts {
        WakeParts {
            idle_exit: idle_exit.map(Duration::from_nanos),
            activation: Duration::from_nanos(activation),
            run_queue: Duration::from_nanos(run_queue),
        }
    }

    #[test]
    fn a_cpu_that_sleeps_wakes_activates_and_runs() {
        let events = [
            (100, 1, IdleEntered),
            (1000, 0, WAKING),
            (1030, 1, IdleLeft),
            (1034, 1, RUNNABLE),
            (1040, 1, RUNS),
        ];
        assert_eq!(found(&events), [of(Some(30), 4, 6)]);
    }

    #[test]
    fn a_cpu_that_polls_is_handed_an_active_task() {
        let events = [
            (100, 1, IdleEntered),
            (1000, 0, WAKING),
            (1002, 0, RUNNABLE),
            (1005, 1, IdleLeft),
            (1009, 1, RUNS),
        ];
        assert_eq!(found(&events), [of(Some(3), 2, 4)]);
    }

    #[test]
    fn a_busy_cpu_has_no_idle_state_to_leave() {
        let events = [
            (100, 1, Runs { tid: 9 }),
            (1000, 0, WAKING),
            (1003, 1, RUNNABLE),
            (1007, 1, RUNS),
            (1010, 1, IDLE),
        ];
        assert_eq!(found(&events), [of(None, 3, 4)]);
    }

    #[test]
    fn other_tasks_and_other_cpus_change_nothing() {
        let events = [
            (100, 1, IdleEntered),
            (1000, 0, WAKING),
            (1001, 0, IdleEntered),
            (1002, 0, Waking { tid: 8 }),
            (1003, 0, Runnable { tid: 8 }),
            (1004, 0, Runs { tid: 8 }),
            (1005, 0, IdleLeft),
            (1030, 1, IdleLeft),
            (1034, 1, RUNNABLE),
            (1036, 1, Runs { tid: 9 }),
            (1040, 1, RUNS),
        ];
        assert_eq!(found(&events), [of(Some(30), 4, 6)]);
    }

    #[test]
    fn a_wake_up_that_is_not_there_as_a_whole_is_left_out() {
        let unknown_state = [
            (1000, 0, WAKING),
            (1030, 1, IdleLeft),
            (1034, 1, RUNNABLE),
            (1040, 1, RUNS),
        ];
        assert_eq!(found(&unknown_state), []);
        let never_left = [
            (1, 1, IdleEntered),
            (1000, 0, WAKING),
            (1034, 1, RUNNABLE),
            (1040, 1, RUNS),
        ];
        assert_eq!(found(&never_left), []);
        let never_entered = [
            (1, 1, IDLE),
            (1000, 0, WAKING),
            (1030, 1, IdleLeft),
            (1034, 1, RUNNABLE),
            (1040, 1, RUNS),
        ];
        assert_eq!(found(&never_entered), []);
        let never_active = [(1, 1, IDLE), (1000, 0, WAKING), (1040, 1, RUNS)];
        assert_eq!(found(&never_active), []);
        let cut_off = [(1, 1, IDLE), (1000, 0, WAKING), (1034, 1, RUNNABLE)];
        assert_eq!(found(&cut_off), []);
    }

    #[test]
    fn the_middle_half_leaves_out_the_fastest_and_the_slowest() {
        let all: Vec<WakeParts> = [9, 1, 5, 1000, 4, 6, 2, 8].map(|ns| of(None, ns, 0)).into();
        let kept: Vec<u64> = typical(all)
            .iter()
            .map(|parts| parts.activation.as_nanos() as u64)
            .collect();
        assert_eq!(kept, [4, 5, 6, 8]);
        assert_eq!(typical(vec![of(None, 1, 2)]).len(), 1);
        assert!(typical(Vec::new()).is_empty());
    }
}
