//! Guards that the kernel answers: waiting for a CPU, by task and by pressure.

use super::{Value, Whose};
use plimsoll_host::{Cgroups, HostError, Pid, Root, RunDelays, Waited, Waiters, life, pressure};
use std::time::{Duration, Instant};

const FIRST: &str = "it has been read only once";

/// Whether this is no more than the beginning.
pub(super) fn is_first(why: &str) -> bool {
    why == FIRST
}

/// How long tasks waited for a CPU.
pub(super) struct Delay {
    /// What was read, or why it cannot be.
    delays: Result<RunDelays, String>,
    last: Instant,
}

impl Delay {
    pub(super) fn open(root: &Root, whose: &Whose) -> Delay {
        let waiters = match whose {
            Whose::Others => Ok(Waiters::Others),
            Whose::Cgroup(name) => Ok(Waiters::Cgroup(name.clone())),
            Whose::Process(pid) => match life(root, *pid) {
                Ok(Some(life)) => Ok(Waiters::Tree(life)),
                Ok(None) => Err(HostError::NoProcess { pid: *pid }.to_string()),
                Err(error) => Err(error.to_string()),
            },
        };
        let delays = waiters.and_then(|waiters| {
            RunDelays::new(root, waiters)
                .ok_or_else(|| "this kernel does not count it (CONFIG_SCHED_INFO)".to_owned())
        });
        Delay {
            delays,
            last: Instant::now(),
        }
    }

    pub(super) fn value(&mut self, cpus: usize, except: &[Pid]) -> Value {
        let delays = self.delays.as_mut().map_err(|why| why.clone())?;
        let now = Instant::now();
        let period = now.duration_since(self.last);
        self.last = now;
        let waited = delays.read(except).map_err(|e| e.to_string())?;
        delay_pct(waited.ok_or(FIRST)?, period, cpus)
    }
}

/// Of the time that tasks wanted a CPU, the percentage in which they waited. A
/// handful of wake-ups on an idle machine tells little, so that time counts as no
/// less than a hundredth of the machine's.
fn delay_pct(waited: Waited, period: Duration, cpus: usize) -> Value {
    if waited.threads > RunDelays::MOST_THREADS {
        return Err(format!(
            "there are more than {} threads to read; name the service with pid or cgroup",
            RunDelays::MOST_THREADS
        ));
    }
    if waited.threads == 0 {
        return Err("no process of it is shown to this user".to_owned());
    }
    let wanted = (waited.ran.0 + waited.waited).as_secs_f64();
    let least = period.as_secs_f64() * cpus as f64 * 0.01;
    Ok(100.0 * waited.waited.as_secs_f64() / wanted.max(least))
}

/// In which share of the time some task waited for a CPU.
pub(super) struct Psi {
    root: Root,
    cgroup: Option<String>,
    last: Option<(Instant, Duration)>,
}

impl Psi {
    pub(super) fn open(root: &Root, cgroup: Option<String>) -> Psi {
        Psi {
            root: root.clone(),
            cgroup,
            last: None,
        }
    }

    pub(super) fn value(&mut self) -> Value {
        let last = self.last.take();
        let total = self.total().map_err(|e| e.to_string())?;
        let total =
            total.ok_or("this kernel does not count it (psi=1, and cgroup v2 for groups)")?;
        let now = Instant::now();
        self.last = Some((now, total));
        let (at, before) = last.ok_or(FIRST)?;
        let period = now.duration_since(at).as_secs_f64();
        let waited = total.saturating_sub(before).as_secs_f64();
        // The kernel adds up every two seconds or when it is asked; a period may
        // get a little of the one before.
        Ok((100.0 * waited / period).min(100.0))
    }

    fn total(&self) -> Result<Option<Duration>, HostError> {
        match &self.cgroup {
            None => Ok(pressure(&self.root)?.and_then(|p| p.cpu_some)),
            Some(name) => Cgroups::find(&self.root)?.cpu_pressure(&self.root, name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::CpuTime;

    fn waited(ran_ms: u64, waited_ms: u64, threads: usize) -> Waited {
        Waited {
            ran: CpuTime(Duration::from_millis(ran_ms)),
            waited: Duration::from_millis(waited_ms),
            threads,
        }
    }

    fn pct(ran_ms: u64, waited_ms: u64) -> f64 {
        delay_pct(waited(ran_ms, waited_ms, 3), Duration::from_secs(1), 2).unwrap()
    }

    #[test]
    fn waiting_is_told_as_a_part_of_what_was_wanted() {
        assert_eq!(pct(300, 100), 25.0);
        assert_eq!(pct(0, 500), 100.0);
        // A hundredth of two CPUs is 20 ms: 1 of 2 ms counts as 1 of 20.
        assert_eq!(pct(1, 1), 5.0);
        assert_eq!(pct(0, 0), 0.0);
    }

    #[test]
    fn nobody_and_far_too_many_are_unknown() {
        let period = Duration::from_secs(1);
        assert!(delay_pct(waited(0, 0, 0), period, 2).is_err());
        assert!(delay_pct(waited(0, 0, 5001), period, 2).is_err());
    }

    #[test]
    fn a_process_that_is_not_there_is_unknown_and_says_so() {
        let root = Root::machine();
        let mut delay = Delay::open(&root, &Whose::Process(u32::MAX - 1));
        assert!(delay.value(1, &[]).unwrap_err().contains("no process"));
        let mut psi = Psi::open(&root, Some("plimsoll-no-such-group".into()));
        assert!(psi.value().is_err());
    }

    #[test]
    fn this_process_has_a_delay_from_the_second_reading_on() {
        let root = Root::machine();
        let mut delay = Delay::open(&root, &Whose::Process(std::process::id()));
        let first = delay.value(1, &[]).unwrap_err();
        // Some kernels do not count; what they say is not the first reading's.
        if is_first(&first) {
            assert!(delay.value(1, &[]).is_ok());
        } else {
            eprintln!("skipped: {first}");
        }
    }
}
