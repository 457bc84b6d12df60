//! Scenes: bursts, migrating tasks, many clients, lost sensors, hotplug, a budget.

use crate::arrivals::{PERIOD, law};
use crate::rig::{Counted, Rig, Task};
use plimsoll_law::{Difference, HoldRule, KeepAwake, Why, replay_awake};
use plimsoll_model::{CpuId, CpuSet, Share};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn rent() -> KeepAwake {
    law(HoldRule::Rent, PERIOD)
}

fn task(cpu: CpuId, gap: Duration) -> Task {
    Task { cpu, gap }
}

fn stays(_: usize, task: &Task, _: f64) -> CpuId {
    task.cpu
}

fn cpus(list: &str) -> CpuSet {
    list.parse().unwrap()
}

#[test]
fn busy_task_keeps_its_cpu_and_no_other() {
    for gap in [MS, 5 * MS] {
        let mut rig = Rig::new(rent(), "0-3", vec![task(2, gap)]);
        rig.run(PERIOD, stays);
        let counted = rig.run(20 * SECOND, stays);
        assert_eq!((counted.cold, rig.hold.to_string()), (0, "2".into()));
        assert_eq!(counted.writes, 0);
        rig.replay();
    }
}

#[test]
fn burst_is_cold_for_one_period_and_held_shortly_after_it() {
    let mut rig = Rig::new(rent(), "0-1", vec![task(1, MS)]);
    let mut held_after = Duration::ZERO;
    for burst in 0..40 {
        rig.tasks[0].gap = MS;
        let in_burst = rig.run(200 * MS, stays);
        // The period in which it begins, and steps up to the first wake-up in it.
        let first = in_burst.changes.iter().find(|(_, change)| change.held);
        assert!(first.is_some_and(|(at, _)| *at <= rig.at - 200 * MS + 2 * PERIOD));
        rig.tasks[0].gap = 100 * SECOND;
        let pause = rig.run(3 * SECOND, stays);
        // The first pauses teach; afterwards the hold is short.
        if burst >= 10 {
            held_after += pause.held;
        }
        rig.wake_all();
    }
    let share = held_after.as_secs_f64() / (30.0 * 3.0);
    assert!(share < 0.03, "held for {share} of the pauses");
    rig.replay();
}

#[test]
fn migration_is_followed_within_one_period() {
    let mut rig = Rig::new(rent(), "0-7", vec![task(0, MS)]);
    for cpu in [1, 5, 2, 7] {
        let moved_at = rig.at;
        let counted = rig.run(500 * MS, |_, _, _| cpu);
        let held = counted.changes.iter();
        let mut held = held.filter(|(_, change)| change.held && change.cpus.contains(cpu));
        let (at, _) = held.next().expect("the new CPU is held");
        // The wake-up after the move may take some milliseconds to come.
        assert!(*at <= moved_at + 2 * PERIOD, "{at:?} {moved_at:?}");
        assert_eq!(rig.hold.to_string(), cpu.to_string());
    }
    // Hopping at each wake-up: the CPUs are held together, writes are bounded.
    let counted = rig.run(20 * SECOND, |_, _, x| (x * 8.0) as CpuId);
    assert!(counted.writes <= 8 + 20 * 20, "{}", counted.writes);
    assert!(counted.cold * 10 < counted.wakeups, "{counted:?}");
    rig.replay();
}

/// `pgbench -R 10 -c 44`: ten transactions a second in all. Spread over 8 CPUs each
/// wakes about once a second; placed on one, its CPU wakes every 100 ms.
#[test]
fn clients_on_few_cpus_are_cheaper_and_warmer_than_spread_ones() {
    let clients = |rule| {
        let tasks = (0..44).map(|i| task(i % 8, 4400 * MS)).collect();
        Rig::new(law(rule, PERIOD), "0-7", tasks)
    };
    let minute = 60 * SECOND;
    let spread = |_: usize, _: &Task, x: f64| (x * 8.0) as CpuId;
    let placed = |_: usize, _: &Task, _: f64| 0;
    let run = |rule, is_spread| {
        let mut rig = clients(rule);
        let mut run = |time| match is_spread {
            true => rig.run(time, spread),
            false => rig.run(time, placed),
        };
        run(10 * SECOND);
        run(minute)
    };
    let wakeup = law(HoldRule::Rent, PERIOD).price.wakeup.0;
    let cost = |counted: &Counted| counted.held + wakeup * counted.cold;
    let [ibm, ours] = [HoldRule::LastRan, HoldRule::Rent].map(|rule| run(rule, true));
    assert!(
        ibm.held > minute * 7,
        "it holds nearly all CPUs: {:?}",
        ibm.held
    );
    assert!(
        cost(&ours) < cost(&ibm) / 4,
        "{:?} {:?}",
        cost(&ours),
        cost(&ibm)
    );
    let [ibm_pool, ours_pool] = [HoldRule::LastRan, HoldRule::Rent].map(|rule| run(rule, false));
    assert_eq!((ibm_pool.cold, ibm_pool.held), (0, minute));
    assert!(ours_pool.cold < ours.cold && ours_pool.held < minute);
}

#[test]
fn lost_sensors_release_after_a_bounded_time() {
    let mut rig = Rig::new(rent(), "0-3", vec![task(2, MS)]);
    rig.run(SECOND, stays);
    rig.readable = false;
    rig.run(rig.law.blind_after - 2 * PERIOD, stays);
    assert_eq!(rig.hold.to_string(), "2", "a short loss changes nothing");
    let counted = rig.run(2 * PERIOD, stays);
    assert!(rig.hold.is_empty());
    assert!(matches!(counted.changes[0].1.why, Why::Blind { .. }));
    rig.readable = true;
    rig.run(2 * PERIOD, stays);
    assert_eq!(rig.hold.to_string(), "2");
    rig.replay();
}

#[test]
fn tasks_that_are_gone_release_their_cpus() {
    for rule in [HoldRule::Rent, HoldRule::BreakEven, HoldRule::LastRan] {
        let mut rig = Rig::new(law(rule, PERIOD), "0-3", vec![task(1, MS), task(3, MS)]);
        rig.run(SECOND, stays);
        assert_eq!(rig.hold.to_string(), "1,3");
        rig.tasks.clear();
        rig.run(200 * MS, stays);
        assert!(rig.hold.is_empty(), "{rule:?}");
    }
}

#[test]
fn offline_cpu_is_dropped_and_held_again_when_it_is_back() {
    let mut rig = Rig::new(rent(), "0-3", vec![task(2, MS)]);
    rig.run(SECOND, stays);
    rig.online = cpus("0-1,3");
    let counted = rig.run(PERIOD, |_, _, _| 3);
    assert!(counted.changes.iter().any(|(_, c)| c.why == Why::Offline));
    rig.run(SECOND, |_, _, _| 3);
    assert_eq!(rig.hold.to_string(), "3");
    rig.online = cpus("0-3");
    rig.run(SECOND, |_, _, _| 2);
    assert_eq!(rig.hold.to_string(), "2");
    rig.replay();
}

#[test]
fn cores_are_held_as_a_whole_and_cost_as_much_as_their_threads() {
    let mut law = rent();
    law.cores = vec![cpus("0,4"), cpus("1,5"), cpus("2,6"), cpus("3,7")];
    assert_eq!(law.price.break_even(2) * 2, law.price.break_even(1));
    let mut rig = Rig::new(law, "0-7", vec![task(5, MS)]);
    rig.run(SECOND, stays);
    assert_eq!(rig.hold.to_string(), "1,5");
    // One thread goes offline, the other stays held; then it is back.
    rig.online = cpus("0,2-7");
    rig.run(PERIOD, stays);
    assert_eq!(rig.hold.to_string(), "5");
    rig.online = cpus("0-7");
    rig.run(PERIOD, stays);
    assert_eq!(rig.hold.to_string(), "1,5");
}

#[test]
fn burn_stays_within_the_budget() {
    for budget in [0.05, 0.2] {
        let mut law = rent();
        law.budget = Share::new(budget);
        let tasks = (0..4).map(|cpu| task(cpu, MS)).collect();
        let mut rig = Rig::new(law, "0-3", tasks);
        let counted = rig.run(100 * SECOND, stays);
        let share = counted.held.as_secs_f64() / 400.0;
        // Over the budget one of the four CPUs is released in each period.
        let late = (4 + 3 + 2 + 1) * PERIOD;
        assert!(share <= budget + late.as_secs_f64() / 400.0, "{share}");
        assert!(share >= budget * 0.8, "{share}");
        let over =
            |c: &&(Duration, plimsoll_law::Change)| matches!(c.1.why, Why::OverBudget { .. });
        assert!(counted.changes.iter().any(|c| over(&c)));
        rig.replay();
    }
}

#[test]
fn writes_are_bounded_and_only_blindness_ignores_the_bound() {
    let mut law = rent();
    law.writes_per_second = 2;
    // 64 tasks that hop over 64 CPUs, each seldom on one.
    let tasks = (0..64).map(|cpu| task(cpu, 50 * MS)).collect();
    let mut rig = Rig::new(law, "0-63", tasks);
    let counted = rig.run(30 * SECOND, |_, _, x| (x * 64.0) as CpuId);
    assert!(counted.writes <= 64 + 2 * 30, "{}", counted.writes);
    rig.readable = false;
    rig.run(2 * SECOND, stays);
    assert!(rig.hold.is_empty());
    rig.replay();
}

#[test]
fn changed_log_is_found() {
    let mut rig = Rig::new(rent(), "0-1", vec![task(1, MS)]);
    rig.run(SECOND, stays);
    let mut lines: Vec<String> = rig.lines().to_vec();
    lines[3] = lines[3].replace("\"hold\":\"1\"", "\"hold\":\"0\"");
    let found = replay_awake(lines.iter().map(String::as_str)).unwrap_err();
    assert!(
        matches!(found, Difference::Decides { line: 4, .. }),
        "{found}"
    );
    let found = replay_awake(lines[1..].iter().map(String::as_str));
    assert_eq!(found, Err(Difference::NoLaw { line: 1 }));
    let found = replay_awake(["{"]);
    assert!(matches!(found, Err(Difference::Unreadable { line: 1, .. })));
}
