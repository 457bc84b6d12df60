//! Placed threads and what they start, on this machine.
//!
//! As root each test has a user of its own, so that it reaches nothing else of the machine.

use super::*;
use crate::journal::{Journals, Running};
use plimsoll_host::{ProcessStat, Root};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A user of nothing else; `None` without the right to be one.
fn user() -> Option<u32> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    let is_root = rustix::process::geteuid().is_root();
    is_root.then(|| 60_000 + (std::process::id() * 16 + nth) % 5_000)
}

fn command(program: &str, user: Option<u32>) -> Command {
    let mut command = Command::new(program);
    if let Some(user) = user {
        command.uid(user).current_dir("/");
    }
    command
}

fn cpus_of(pid: Pid) -> CpuSet {
    allowed_cpus(&Root::machine(), pid).unwrap()
}

/// A process with one thread.
struct Sleeper(Child);

impl Sleeper {
    fn start(user: Option<u32>) -> Sleeper {
        Sleeper(command("sleep", user).arg("600").spawn().unwrap())
    }

    fn thread(&self) -> (Pid, Tid) {
        (self.0.id(), self.0.id())
    }

    fn cpus(&self) -> CpuSet {
        cpus_of(self.0.id())
    }

    fn put_on(&self, cpus: &CpuSet) {
        crate::schedule::set_affinity(self.0.id(), cpus).unwrap();
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A shell that does a line each time it is told, and what it has started.
struct Shell {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    started: Vec<Pid>,
}

impl Shell {
    fn start(user: Option<u32>) -> Shell {
        let mut child = command("sh", user)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Shell {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            started: Vec::new(),
        }
    }

    fn thread(&self) -> (Pid, Tid) {
        (self.child.id(), self.child.id())
    }

    fn told(&mut self, line: &str) -> Pid {
        writeln!(self.stdin, "{line}").unwrap();
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).unwrap();
        answer.trim().parse().unwrap()
    }

    /// Starts a process that leaves its parent, session and process group.
    fn detached(&mut self) -> Pid {
        let pid = self.told("(setsid sleep 600 >/dev/null & echo $!)");
        self.started.push(pid);
        let own = self.child.id();
        until(|| {
            let root = Root::machine();
            let stat = ProcessStat::read(&root, pid).unwrap().unwrap();
            let name = plimsoll_host::process_name(&root, pid);
            stat.parent != own && stat.session == pid && name.as_deref() == Some("sleep")
        });
        pid
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in &self.started {
            let _ = rustix::process::kill_process(
                crate::tasks::raw(*pid).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
    }
}

fn until(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !done() {
        assert!(Instant::now() < end, "it does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn journals() -> (tempfile::TempDir, Journals) {
    let dir = tempfile::tempdir().unwrap();
    let journals = Journals::at(dir.path().join("journals"));
    (dir, journals)
}

/// All CPUs here, and one of them; `None` if there is only one.
fn pool() -> Option<(CpuSet, CpuSet)> {
    let all = plimsoll_host::own_allowed_cpus(&Root::machine()).unwrap();
    let first = all.iter().take(1).collect();
    (all.len() > 1).then_some((all, first))
}

/// As if the process of this journal had been killed.
fn killed(placed: PlacedTasks, journals: &Journals) {
    std::mem::forget(placed);
    let files = fs::read_dir(journals.dir()).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let path = files
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .last()
        .unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let own = format!("\"pid\":{},\"started\"", std::process::id());
    let dead = text.replacen(&own, "\"pid\":77,\"started\"", 1);
    assert_ne!(text, dead);
    fs::remove_file(path).unwrap();
    fs::write(journals.dir().join("77-5-abc.jsonl"), dead).unwrap();
}

/// A shell that is placed.
struct FollowedShell {
    all: CpuSet,
    pool: CpuSet,
    shell: Shell,
    placed: PlacedTasks,
    _dir: tempfile::TempDir,
}

impl FollowedShell {
    /// `None` where there is no pool that is a part of the machine.
    fn start() -> Option<FollowedShell> {
        let (all, pool) = pool()?;
        let (dir, journals) = journals();
        let journal = journals.open(&Root::machine()).unwrap();
        let shell = Shell::start(user());
        let mut placed = PlacedTasks::on(&pool, &journal).unwrap();
        placed.follow(&[shell.thread()]).unwrap();
        Some(FollowedShell {
            all,
            pool,
            shell,
            placed,
            _dir: dir,
        })
    }
}

#[test]
fn threads_get_back_what_they_had_and_heirs_what_their_origin_had() {
    let Some((all, pool)) = pool() else { return };
    let (_dir, journals) = journals();
    let journal = journals.open(&Root::machine()).unwrap();
    let user = user();
    let start = || Sleeper::start(user);
    let (one, heir, moved_on, left) = (start(), start(), start(), start());
    let mut placed = PlacedTasks::on(&pool, &journal).unwrap();
    let threads = [one.thread(), moved_on.thread(), left.thread()];
    placed.follow(&threads).unwrap();
    assert_eq!((one.cpus(), moved_on.cpus()), (pool.clone(), pool.clone()));
    // As if `one` had started it.
    heir.put_on(&pool);
    moved_on.put_on(&all);
    let ended = Pid::MAX / 2;
    let threads = [
        one.thread(),
        heir.thread(),
        moved_on.thread(),
        (ended, ended),
    ];
    placed.follow(&threads).unwrap();
    assert_eq!(left.cpus(), all, "it is not followed any more");
    assert_eq!(placed.give_back().unwrap(), None);
    assert_eq!(
        (one.cpus(), heir.cpus(), moved_on.cpus()),
        (all.clone(), all.clone(), all)
    );
}

#[test]
fn children_that_leave_their_parent_and_session_get_theirs_back() {
    let Some(FollowedShell {
        all,
        pool,
        mut shell,
        placed,
        _dir,
    }) = FollowedShell::start()
    else {
        return;
    };
    let orphans: Vec<Pid> = (0..3).map(|_| shell.detached()).collect();
    assert!(orphans.iter().all(|pid| cpus_of(*pid) == pool));
    drop(placed);
    assert!(orphans.iter().all(|pid| cpus_of(*pid) == all));
    assert_eq!(cpus_of(shell.child.id()), all);
}

#[test]
fn children_of_a_task_that_is_not_followed_any_more_get_theirs_back() {
    let Some(FollowedShell {
        all,
        pool,
        mut shell,
        mut placed,
        _dir,
    }) = FollowedShell::start()
    else {
        return;
    };
    placed.follow(&[]).unwrap();
    assert_eq!(cpus_of(shell.child.id()), all);
    let child = shell.told("sleep 600 >/dev/null & echo $!");
    shell.started.push(child);
    // Its owner may pin it from now on.
    crate::schedule::set_affinity(shell.child.id(), &pool).unwrap();
    placed.follow(&[]).unwrap();
    assert_eq!(cpus_of(shell.child.id()), pool);
    // As if it had been started just before, and had changed its user.
    crate::schedule::set_affinity(child, &pool).unwrap();
    placed.placement.kin.clear();
    drop(placed);
    assert_eq!(cpus_of(child), all);
}

#[test]
fn what_is_born_between_a_kill_and_the_repair_is_listed_and_given_back() {
    let Some((all, pool)) = pool() else { return };
    let (_dir, journals) = journals();
    let root = Root::machine();
    let journal = journals.open(&root).unwrap();
    let mut shell = Shell::start(user());
    let mut placed = PlacedTasks::on(&pool, &journal).unwrap();
    placed.follow(&[shell.thread()]).unwrap();
    killed(placed, &journals);
    let orphan = shell.detached();
    assert_eq!(cpus_of(orphan), pool);
    let listed = journals.leftovers(&root).unwrap();
    let sentence = &listed[0].left[0];
    let named = format!("process {orphan} (sleep)");
    assert!(sentence.starts_with("2 threads run on CPU"), "{sentence}");
    assert!(sentence.contains(&named), "{sentence}");
    let repaired = journals.repair(&root, Running::Leave).unwrap();
    assert!(repaired[0].is_whole(), "{repaired:?}");
    assert!(repaired[0].done[0].contains(&named), "{repaired:?}");
    assert_eq!(
        (cpus_of(orphan), cpus_of(shell.child.id())),
        (all.clone(), all)
    );
    assert_eq!(journals.repair(&root, Running::Leave).unwrap(), []);
}

#[test]
fn a_task_that_goes_on_starting_others_leaves_none_on_the_pool() {
    let (Some((all, pool)), Some(user)) = (pool(), user()) else {
        return;
    };
    let (_dir, journals) = journals();
    let journal = journals.open(&Root::machine()).unwrap();
    let mut placed = PlacedTasks::on(&pool, &journal).unwrap();
    let forker = command("sh", Some(user))
        .args(["-c", "while :; do (setsid sleep 0.3 &); done"])
        .spawn();
    let forker = Sleeper(forker.unwrap());
    placed.follow(&[forker.thread()]).unwrap();
    let of_user = || {
        let all = ProcessStat::all(&Root::machine()).unwrap();
        let all = all.into_iter().filter_map(|stat| {
            let status = TaskStatus::read(&Root::machine(), stat.pid, stat.pid);
            let status = status.ok().flatten()?;
            (status.uid == user && status.has_memory).then_some((stat, status.cpus))
        });
        all.collect::<Vec<_>>()
    };
    let is_orphan = |stat: &ProcessStat| stat.session == stat.pid;
    until(|| {
        of_user()
            .iter()
            .any(|(stat, cpus)| is_orphan(stat) && *cpus == pool)
    });
    assert_eq!(placed.give_back().unwrap(), None);
    let found = of_user();
    assert!(found.iter().all(|(_, cpus)| *cpus == all), "{found:?}");
    drop(forker);
    // They end by themselves.
    until(|| of_user().is_empty());
}

#[test]
fn tasks_of_others_on_the_same_cpus_are_left_alone() {
    let (Some((all, pool)), Some(one), Some(two)) = (pool(), user(), user()) else {
        return;
    };
    let (_dir, journals) = journals();
    let journal = journals.open(&Root::machine()).unwrap();
    let (ours, other) = (Sleeper::start(Some(one)), Sleeper::start(Some(two)));
    let was_there = Sleeper::start(Some(one));
    other.put_on(&pool);
    was_there.put_on(&pool);
    let mut placed = PlacedTasks::on(&pool, &journal).unwrap();
    // As if they had been started before.
    placed.placement.since = u64::MAX;
    placed.follow(&[ours.thread(), was_there.thread()]).unwrap();
    drop(placed);
    assert_eq!(
        (ours.cpus(), was_there.cpus(), other.cpus()),
        (all, pool.clone(), pool.clone())
    );
    let mut placed = PlacedTasks::on(&pool, &journal).unwrap();
    placed.follow(&[ours.thread()]).unwrap();
    drop(placed);
    assert_eq!(other.cpus(), pool, "of another user");
}

/// Refuses some threads, and remembers what it was told.
#[derive(Debug, Default)]
struct Fussy {
    invalid: Option<Tid>,
    partial: Option<Tid>,
    told: Mutex<Vec<(Tid, CpuSet)>>,
}

impl Hands for Fussy {
    fn write(&self, _: &std::path::Path, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn place(&self, tid: Tid, cpus: &CpuSet) -> Result<(), ControlError> {
        self.told.lock().unwrap().push((tid, cpus.clone()));
        if self.invalid == Some(tid) {
            let source = rustix::io::Errno::INVAL.into();
            return Err(ControlError::file("/proc".as_ref(), "placed", source));
        }
        match self.partial == Some(tid) {
            true => Ok(()),
            false => crate::schedule::set_affinity(tid, cpus),
        }
    }

    fn kick(&self, _: plimsoll_model::CpuId) {}
}

#[test]
fn single_threads_that_cannot_be_placed_are_named_and_the_others_are_placed() {
    let Some((all, pool)) = pool() else { return };
    let (_dir, journals) = journals();
    let journal = journals.open(&Root::machine()).unwrap();
    let user = user();
    let start = || Sleeper::start(user);
    let (one, elsewhere, partly) = (start(), start(), start());
    let hands = Arc::new(Fussy {
        invalid: Some(elsewhere.0.id()),
        partial: Some(partly.0.id()),
        ..Fussy::default()
    });
    let mut placed = PlacedTasks::by(&pool, &journal, hands.clone()).unwrap();
    let threads = [elsewhere.thread(), one.thread(), partly.thread()];
    let done = placed.follow(&threads).unwrap();
    assert_eq!((done.placed, done.refused.len()), (1, 2), "{done:?}");
    let named = |pid: Pid, why: &str| {
        let pid = format!("process {pid} ");
        done.refused
            .iter()
            .any(|one| one.contains(&pid) && one.contains(why))
    };
    assert!(named(elsewhere.0.id(), "its cpuset has none"), "{done:?}");
    assert!(named(partly.0.id(), "its cpuset has of these CPUs only"));
    assert_eq!(one.cpus(), pool);
    assert!(
        placed.follow(&threads).unwrap().refused.is_empty(),
        "said once"
    );
    let pid = one.0.id();
    assert_eq!(placed.former(pid, &placed.online), record::all_cpus());
    assert_eq!(placed.former(pid, &pool), pool);
    let former = placed.former(pid, &all);
    drop(placed);
    assert_eq!(one.cpus(), all);
    // A list would not follow a cpuset that is widened later.
    let told = hands.told.lock().unwrap();
    assert_eq!(*told.last().unwrap(), (pid, former));
}

#[test]
fn the_journal_has_one_line_however_many_threads_are_placed() {
    let Some((all, pool)) = pool() else { return };
    let (dir, journals) = journals();
    let journal = journals.open(&Root::machine()).unwrap();
    let user = user();
    let many: Vec<Sleeper> = (0..20).map(|_| Sleeper::start(user)).collect();
    let own = &many[3];
    own.put_on(&all.iter().skip(1).take(1).collect());
    let own_cpus = own.cpus();
    let mut placed = PlacedTasks::on(&pool, &journal).unwrap();
    let threads: Vec<(Pid, Tid)> = many.iter().map(Sleeper::thread).collect();
    assert_eq!(placed.follow(&threads).unwrap().placed, 20);
    let files = fs::read_dir(dir.path().join("journals")).unwrap();
    let text = files
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect::<String>();
    // The header is the first.
    assert_eq!(text.lines().count(), 2, "{text}");
    drop(placed);
    let others = many.iter().filter(|one| one.0.id() != own.0.id());
    assert!(others.into_iter().all(|one| one.cpus() == all));
    assert_eq!(own.cpus(), own_cpus, "it had CPUs of its own");
}

#[test]
fn many_new_threads_are_placed_in_several_rounds() {
    let Some((_, pool)) = pool() else { return };
    let (_dir, journals) = journals();
    let journal = journals.open(&Root::machine()).unwrap();
    let mut placed = PlacedTasks::on(&pool, &journal).unwrap();
    // None of them is there: numbers end below 2^22.
    let many = (0..AT_ONCE as u32 + 1).map(|n| (1 << 23, (1 << 23) + n));
    let many: Vec<(Pid, Tid)> = many.collect();
    assert!(placed.follow(&many).unwrap().more);
    assert!(!placed.follow(&many).unwrap().more);
}

/// A task of a tree of /proc, whose number another one gets while it is placed.
#[derive(Debug)]
struct Reuses {
    dir: tempfile::TempDir,
    told: Mutex<Vec<(Tid, CpuSet)>>,
}

const SHORT_LIVED: Pid = 900;

impl Reuses {
    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn task(&self, started: u64, cpus: &str) {
        let zeros = "0 ".repeat(15);
        let stat =
            format!("900 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 {started} {zeros}0 0 0 0\n");
        let status = format!("Uid:\t5\t5\t5\t5\nVmSize:\t1 kB\nCpus_allowed_list:\t{cpus}\n");
        for folder in ["proc/900", "proc/900/task/900"] {
            self.write(&format!("{folder}/stat"), &stat);
            self.write(&format!("{folder}/status"), &status);
        }
        self.write("proc/900/cgroup", "0::/\n");
    }
}

impl Hands for Reuses {
    fn write(&self, _: &std::path::Path, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn place(&self, tid: Tid, cpus: &CpuSet) -> Result<(), ControlError> {
        self.told.lock().unwrap().push((tid, cpus.clone()));
        self.task(77, "1");
        Ok(())
    }

    fn kick(&self, _: plimsoll_model::CpuId) {}
}

#[test]
fn a_task_that_got_the_number_of_an_ended_one_is_not_left_on_the_pool() {
    let hands = Arc::new(Reuses {
        dir: tempfile::tempdir().unwrap(),
        told: Mutex::default(),
    });
    let root = Root::at(hands.dir.path());
    crate::tasks::show_own(&root);
    hands.write("sys/devices/system/cpu/online", "0-1\n");
    hands.task(66, "0-1");
    let (_dir, journals) = journals();
    let journal = journals.open(&root).unwrap();
    let pool: CpuSet = "1".parse().unwrap();
    let mut placed = PlacedTasks::by(&pool, &journal, hands.clone()).unwrap();
    let done = placed.follow(&[(SHORT_LIVED, SHORT_LIVED)]).unwrap();
    assert!(done.refused.is_empty(), "{done:?}");
    let told = hands.told.lock().unwrap().clone();
    let all = record::all_cpus();
    assert_eq!(told, [(SHORT_LIVED, pool), (SHORT_LIVED, all)]);
    // The one that was placed has ended, and this one was not.
    placed.give_back().unwrap();
    assert_eq!(hands.told.lock().unwrap().len(), 2);
}

#[test]
fn users_and_cgroups_are_remembered_up_to_a_limit() {
    let Some((_, pool)) = pool() else { return };
    let (_dir, journals) = journals();
    let journal = journals.open(&Root::machine()).unwrap();
    let (one, two) = (Sleeper::start(user()), Sleeper::start(user()));
    let mut placed = PlacedTasks::on(&pool, &journal).unwrap();
    for uid in 0..MOST_KIN as u32 {
        let cgroups = format!("0::/of/{uid}\n");
        placed.placement.kin.insert(Kin { uid, cgroups });
    }
    let done = placed.follow(&[one.thread()]).unwrap();
    assert_eq!(done.placed, 1);
    assert!(done.refused[0].contains("more than 256 pairs"), "{done:?}");
    let done = placed.follow(&[one.thread(), two.thread()]).unwrap();
    assert_eq!((done.placed, done.refused.len()), (1, 0), "reported once");
    assert_eq!(placed.placement.kin.len(), MOST_KIN);
}

#[test]
fn a_command_and_what_it_starts_are_in_the_journal() {
    let (Some((all, pool)), false) = (pool(), rustix::process::geteuid().is_root()) else {
        // As root see plimsoll/tests/gate.rs: here it would reach all that root has pinned.
        return;
    };
    let (_dir, journals) = journals();
    let root = Root::machine();
    let journal = journals.open(&root).unwrap();
    let mut placed = PlacedTasks::for_command(&pool, &journal).unwrap();
    let mut shell = Shell::start(None);
    crate::schedule::set_affinity(shell.child.id(), &pool).unwrap();
    placed.started(shell.child.id()).unwrap();
    let orphan = shell.detached();
    killed(placed, &journals);
    journals.repair(&root, Running::Leave).unwrap();
    assert_eq!(
        (cpus_of(orphan), cpus_of(shell.child.id())),
        (all.clone(), all)
    );
}

#[test]
fn threads_of_the_kernel_stay_where_they_are() {
    let root = Root::machine();
    let all = ProcessStat::all(&root).unwrap();
    let is_kernels = |pid| {
        let status = TaskStatus::read(&root, pid, pid).unwrap();
        status.is_some_and(|status| !status.has_memory)
    };
    // A container shows none.
    let Some(one) = all
        .iter()
        .find(|one| one.parent == 2 && is_kernels(one.pid))
    else {
        return;
    };
    let before = cpus_of(one.pid);
    let dir = tempfile::tempdir().unwrap();
    let journal = Journals::at(dir.path().join("journals"))
        .open(&root)
        .unwrap();
    let pool: CpuSet = online_cpus(&root).unwrap().iter().take(1).collect();
    let mut placed = PlacedTasks::on(&pool, &journal).unwrap();
    let done = placed.follow(&[(one.pid, one.pid)]).unwrap();
    assert_eq!(done.placed, 0);
    assert!(done.refused[0].contains("of the kernel"), "{done:?}");
    assert_eq!(cpus_of(one.pid), before);
}
