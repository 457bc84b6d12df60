//! Guards from kernel counters: run delay and PSI.

use super::{Value, Whose};
use plimsoll_host::{
    Cgroups, DelayScope, HostError, Pid, ProcessStat, Root, RunDelays, Waited, pressure,
};
use std::time::{Duration, Instant};

const FIRST: &str = "it has been read only once";
const NO_DELAYS: &str = "this kernel does not count it (CONFIG_SCHED_INFO)";
const NO_PRESSURE: &str = "this kernel does not count it (psi=1, and cgroup v2 for groups)";

/// Whether the value is missing only because a difference needs two readings.
pub(super) fn is_first(why: &str) -> bool {
    why == FIRST
}

pub(super) struct Delay {
    /// `None` if the kernel does not count it.
    delays: Option<RunDelays>,
    last: Instant,
}

impl Delay {
    /// Fails if the process or cgroup does not exist.
    pub(super) fn open(root: &Root, whose: &Whose) -> Result<Delay, HostError> {
        let waiters = match whose {
            Whose::Others => DelayScope::Others,
            Whose::Cgroup(name) => {
                Cgroups::find(root)?.processes(root, name)?;
                DelayScope::Cgroup(name.clone())
            }
            Whose::Process(pid) => {
                let there = ProcessStat::read(root, *pid)?.filter(|stat| !stat.has_ended());
                DelayScope::Tree(there.ok_or(HostError::NoProcess { pid: *pid })?)
            }
        };
        Ok(Delay {
            delays: RunDelays::new(root, waiters),
            last: Instant::now(),
        })
    }

    /// Whether this kernel counts run delay, or why not.
    pub(super) fn counts(&self) -> Result<(), &'static str> {
        self.delays.as_ref().map(|_| ()).ok_or(NO_DELAYS)
    }

    pub(super) fn value(&mut self, cpus: usize, except: &[Pid]) -> Value {
        let delays = self.delays.as_mut().ok_or(NO_DELAYS)?;
        let now = Instant::now();
        let period = now.duration_since(self.last);
        self.last = now;
        let waited = delays.read(except).map_err(|e| e.to_string())?;
        delay_pct(waited.ok_or(FIRST)?, period, cpus)
    }
}

/// Run delay in percent of the time that tasks wanted a CPU. That time counts as at
/// least 1 % of the machine's, because a few wake-ups on an idle machine are noise.
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

/// Share of the time in which some task waited for a CPU.
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
        let total = total.ok_or(NO_PRESSURE)?;
        let now = Instant::now();
        self.last = Some((now, total));
        let (at, before) = last.ok_or(FIRST)?;
        let period = now.duration_since(at).as_secs_f64();
        let waited = total.saturating_sub(before).as_secs_f64();
        // The kernel updates the total every two seconds or when read, so a period may
        // include a little of the previous one.
        Ok((100.0 * waited / period).min(100.0))
    }

    /// Whether this kernel counts pressure, or why not. Fails if the cgroup does not
    /// exist.
    pub(super) fn counts(&self) -> Result<Result<(), &'static str>, HostError> {
        Ok(self.total()?.map(|_| ()).ok_or(NO_PRESSURE))
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
    fn run_delay_is_a_share_of_wanted_cpu_time() {
        assert_eq!(pct(300, 100), 25.0);
        assert_eq!(pct(0, 500), 100.0);
        // A hundredth of two CPUs is 20 ms: 1 of 2 ms counts as 1 of 20.
        assert_eq!(pct(1, 1), 5.0);
        assert_eq!(pct(0, 0), 0.0);
    }

    #[test]
    fn no_threads_and_too_many_are_unknown() {
        let period = Duration::from_secs(1);
        assert!(delay_pct(waited(0, 0, 0), period, 2).is_err());
        assert!(delay_pct(waited(0, 0, 5001), period, 2).is_err());
    }

    #[test]
    fn missing_targets_are_errors() {
        let root = Root::machine();
        let nobody = Delay::open(&root, &Whose::Process(u32::MAX - 1)).err();
        assert!(matches!(nobody, Some(HostError::NoProcess { .. })));
        let no_group = || "plimsoll-no-such-group".to_owned();
        let nowhere = Delay::open(&root, &Whose::Cgroup(no_group())).err();
        assert!(matches!(nowhere, Some(HostError::NoCgroup { .. })));
        let mut psi = Psi::open(&root, Some(no_group()));
        assert!(psi.counts().is_err());
        assert!(psi.value().unwrap_err().contains("no cgroup"));
    }

    #[test]
    fn a_second_reading_gives_a_delay() {
        let root = Root::machine();
        let mut delay = Delay::open(&root, &Whose::Process(std::process::id())).unwrap();
        let first = delay.value(1, &[]).unwrap_err();
        // Some kernels do not count run delay.
        if is_first(&first) {
            assert!(delay.value(1, &[]).is_ok());
        } else {
            eprintln!("skipped: {first}");
        }
    }
}
