//! CPU time by mode and by CPU, from /proc/stat.

use crate::both;
use crate::busy::{ReadTimes, from_idle};
use crate::error::{HostError, Malformed, number};
use crate::root::{Root, Tick};
use plimsoll_model::{CpuId, CpuSet, CpuTime, CpuUse};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// CPU time since boot, or between two readings.
///
/// From /proc/stat (proc(5), fs/proc/stat.c) or from node_exporter (see
/// [`NodeMetrics`](crate::NodeMetrics)). Idle time and iowait can decrease
/// slightly, as proc(5) documents. The CPU time of all tasks is from the root of
/// the cpuacct controller (kernel/sched/cpuacct.c), which cgroup v2 lacks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CpuTimes {
    /// Sum over all CPUs, including those now offline.
    pub all: CpuUse,
    /// Each online CPU.
    pub each: BTreeMap<CpuId, CpuUse>,
    /// Of the whole machine.
    pub context_switches: Option<u64>,
    /// When they were read; `None` for a difference of two readings.
    pub at: Option<ReadTimes>,
}

impl CpuTimes {
    /// Reads /proc/stat; `None` if it does not exist.
    pub fn read(root: &Root) -> Result<Option<CpuTimes>, HostError> {
        let asked = Instant::now();
        let read = root.parse_optional("/proc/stat", |text| parse(text, root.tick()))?;
        let Some(mut times) = read else {
            return Ok(None);
        };
        if let Some(tasks) = task_times(root) {
            for (cpu, used) in &mut times.each {
                used.tasks = tasks.get(*cpu as usize).copied();
            }
            times.all.tasks = tasks.into_iter().reduce(|a, b| a + b);
        }
        times.at = Some(ReadTimes {
            asked,
            answered: Instant::now(),
        });
        Ok(Some(times))
    }

    /// What was done since `earlier`, by the CPUs that both readings have: a CPU
    /// that went online or offline in between has no complete window.
    pub fn since(&self, earlier: &CpuTimes) -> CpuTimes {
        let passed = self.at.zip(earlier.at).map(|(now, then)| then.until(now));
        let increment = |now: &CpuUse, then: &CpuUse| {
            let counted = since(now, then);
            passed.map_or(counted, |passed| from_idle(counted, passed))
        };
        let each: BTreeMap<CpuId, CpuUse> = self
            .each
            .iter()
            .filter_map(|(cpu, now)| Some((*cpu, increment(now, earlier.each.get(cpu)?))))
            .collect();
        let all = sum(&each).unwrap_or_else(|| since(&self.all, &earlier.all));
        CpuTimes {
            all,
            each,
            context_switches: both(
                self.context_switches,
                earlier.context_switches,
                u64::saturating_sub,
            ),
            at: None,
        }
    }

    /// Sum over a set of CPUs; `None` if the set is empty or a CPU is missing.
    pub fn of(&self, cpus: &CpuSet) -> Option<CpuUse> {
        let each: Option<BTreeMap<CpuId, CpuUse>> = cpus
            .iter()
            .map(|cpu| Some((cpu, *self.each.get(&cpu)?)))
            .collect();
        sum(&each?)
    }
}

/// `None` if there are none.
pub(crate) fn sum(each: &BTreeMap<CpuId, CpuUse>) -> Option<CpuUse> {
    each.values().copied().reduce(|a, b| a + b)
}

/// CPU time of all tasks by CPU since boot; `None` where the kernel has no cpuacct
/// controller, or shows a container's group in place of the root.
fn task_times(root: &Root) -> Option<Vec<CpuTime>> {
    const GROUP: &str = "/sys/fs/cgroup/cpuacct";
    // A file of the root alone.
    if !root.has(format!("{GROUP}/release_agent")) {
        return None;
    }
    let text = root.line(format!("{GROUP}/cpuacct.usage_percpu"))?;
    let ns = text.split_ascii_whitespace().map(str::parse);
    let times = ns.map(|ns| Some(CpuTime(Duration::from_nanos(ns.ok()?))));
    times.collect()
}

/// Increment per mode; zero where a counter decreased.
fn since(now: &CpuUse, then: &CpuUse) -> CpuUse {
    CpuUse {
        user: now.user.since(then.user),
        system: now.system.since(then.system),
        irq: now.irq.since(then.irq),
        softirq: now.softirq.since(then.softirq),
        iowait: now.iowait.since(then.iowait),
        idle: now.idle.since(then.idle),
        steal: now.steal.since(then.steal),
        guest: now.guest.since(then.guest),
        unsampled: now.unsampled.since(then.unsampled),
        tasks: both(now.tasks, then.tasks, CpuTime::since),
    }
}

fn parse(text: &str, tick: Tick) -> Result<CpuTimes, Malformed> {
    let mut times = CpuTimes::default();
    let mut found = false;
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(' ') else {
            continue;
        };
        if name == "cpu" {
            times.all = cpu_line(rest, tick)?;
            found = true;
        } else if let Some(cpu) = name.strip_prefix("cpu") {
            let cpu = cpu
                .parse()
                .map_err(|_| Malformed::new("a CPU's line", line))?;
            times.each.insert(cpu, cpu_line(rest, tick)?);
        } else if name == "ctxt" {
            times.context_switches = Some(number(rest, "a number of context switches")?);
        }
    }
    if found {
        Ok(times)
    } else {
        Err(Malformed::new("the line of all CPUs", text))
    }
}

/// `user nice system idle [iowait irq softirq [steal [guest [guest_nice]]]]`.
///
/// Older kernels have fewer columns and include the missing modes in others.
/// User and nice include guest time (account_guest_time in
/// kernel/sched/cputime.c), so it is subtracted.
fn cpu_line(columns: &str, tick: Tick) -> Result<CpuUse, Malformed> {
    const EXPECTED: &str = "at least four numbers of clock ticks";
    let mut ticks = [0u64; 10];
    let mut count = 0;
    for (slot, column) in ticks.iter_mut().zip(columns.split_ascii_whitespace()) {
        *slot = number(column, EXPECTED)?;
        count += 1;
    }
    if count < 4 {
        return Err(Malformed::new(EXPECTED, columns));
    }
    let [
        user,
        nice,
        system,
        idle,
        iowait,
        irq,
        softirq,
        steal,
        guest,
        guest_nice,
    ] = ticks;
    let time = |n: u64| CpuTime(tick.times(n));
    Ok(CpuUse {
        // The kernel updates the two without a lock: guest can be ahead.
        user: time(user.saturating_sub(guest)) + time(nice.saturating_sub(guest_nice)),
        system: time(system),
        irq: time(irq),
        softirq: time(softirq),
        iowait: time(iowait),
        idle: time(idle),
        steal: time(steal),
        guest: time(guest) + time(guest_nice),
        ..CpuUse::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::{FakeTree, ms};
    use proptest::prelude::*;

    fn ticks(n: u64) -> CpuTime {
        ms(10 * n)
    }

    fn times(text: &str) -> CpuTimes {
        parse(text, Tick::hundredth()).unwrap()
    }

    #[test]
    fn guest_time_is_counted_once() {
        let t = times("cpu  100 50 10 1000 5 1 2 7 40 30\n");
        assert_eq!(t.all.user, ticks(80));
        assert_eq!(t.all.guest, ticks(70));
        assert_eq!(t.all.busy(), ticks(100 + 50 + 10 + 1 + 2));
        assert_eq!(t.all.total(), ticks(100 + 50 + 10 + 1000 + 5 + 1 + 2 + 7));
    }

    #[test]
    fn kernels_have_four_columns_seven_or_more() {
        for (text, (user, idle, iowait, steal)) in [
            ("cpu  1 2 3 4\n", (3, 4, 0, 0)),
            ("cpu  1 2 3 4 5 6 7\n", (3, 4, 5, 0)),
            ("cpu  1 2 3 4 5 6 7 8 0 0 99 zz\n", (3, 4, 5, 8)),
        ] {
            let all = times(text).all;
            let found = (all.user, all.idle, all.iowait, all.steal);
            let expected = (ticks(user), ticks(idle), ticks(iowait), ticks(steal));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn offline_cpu_is_excluded_from_window_and_set() {
        let then = times("cpu  9 0 0 9\ncpu0 3 0 0 3\ncpu1 3 0 0 3\ncpu2 3 0 0 3\nctxt 10\n");
        let now = times("cpu  99 0 0 9\ncpu0 5 0 0 4\ncpu2 4 0 0 3\ncpu3 50 0 0 5\nctxt 25\n");
        let window = now.since(&then);
        assert_eq!(window.all.user, ticks(2 + 1));
        assert_eq!(window.context_switches, Some(15));
        assert!(window.of(&"0,2".parse().unwrap()).is_some());
        assert_eq!(window.of(&"0-2".parse().unwrap()), None);
        assert_eq!(window.of(&CpuSet::default()), None);
    }

    #[test]
    fn tasks_are_summed_by_the_root_of_cpuacct() {
        let tree = FakeTree::new();
        tree.write("proc/stat", "cpu  9 0 0 9\ncpu0 3 0 0 3\ncpu2 3 0 0 3\n");
        let group = "sys/fs/cgroup/cpuacct";
        tree.write(
            &format!("{group}/cpuacct.usage_percpu"),
            "7000000 1000000 2000000 \n",
        );
        let read = || CpuTimes::read(tree.root()).unwrap().unwrap();
        assert_eq!(read().all.tasks, None, "of a container");
        tree.write(&format!("{group}/release_agent"), "\n");
        let times = read();
        assert_eq!(
            (times.all.tasks, times.each[&2].tasks),
            (Some(ms(10)), Some(ms(2)))
        );
        let both = times.of(&"0,2".parse().unwrap()).unwrap();
        assert_eq!(both.tasks, Some(ms(9)));
        tree.write(&format!("{group}/cpuacct.usage_percpu"), "7000000 -1\n");
        assert_eq!(read().all.tasks, None, "malformed");
    }

    #[test]
    fn decreasing_counter_adds_nothing() {
        let then = times("cpu  10 0 0 100 50\ncpu0 10 0 0 100 50\n");
        let now = times("cpu  20 0 0 100 49\ncpu0 20 0 0 100 49\n");
        let window = now.since(&then).all;
        assert_eq!((window.user, window.iowait), (ticks(10), ticks(0)));
    }

    #[test]
    fn missing_file_is_none() {
        assert_eq!(CpuTimes::read(FakeTree::new().root()).unwrap(), None);
    }

    #[test]
    fn this_machine_has_proc_stat() {
        let t = CpuTimes::read(&Root::machine()).unwrap().unwrap();
        assert!(t.all.total() > CpuTime::ZERO);
        assert!(!t.each.is_empty());
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "(cpu[0-9]? [0-9 ]{0,40}\n){0,3}.*") {
            let _ = parse(&text, Tick::hundredth());
        }
    }
}
