//! Keeps only those CPUs awake that latency-sensitive tasks run on, by the loop of this
//! crate:
//!
//! ```text
//! where the tasks ran -> decide (law) -> hold and release CPUs (control) -> log
//! ```
//!
//! [`Gating::start`] becomes the one gate of this user; [`Gating::round`]
//! runs one period when it is [due](Gating::due); [`Gating::finish`] gives everything
//! back, as dropping it does. [`Probe`] measures wake-ups beside it.

mod follow;
mod probe;
mod tally;
#[cfg(test)]
mod tests;
mod watch;

pub use follow::Follow;
pub use probe::{Probe, ProbePlan};
pub use tally::GateSummary;

use crate::error::SideError;
use crate::log::Log;
use crate::request::{Notice, Notify};
use follow::Follower;
use plimsoll_control::idle::{IdleControl, IdleMeans, KeptAwake, Standing};
use plimsoll_control::{Asked, ControlError, Journals, OnlyOne, Placed, PlacedTasks};
use plimsoll_host::idle::ResumeLatency;
use plimsoll_host::{HostError, Root, TaskCpuReader, online_cpus};
use plimsoll_law::{AwakeEntry, AwakeSample, AwakeState, KeepAwake, TaskCpus};
use plimsoll_model::{CpuId, CpuSet, CpuTime};
use rustix::fd::BorrowedFd;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};
use tally::GateTally;
use watch::{Noticed, Watch};

/// How often it is looked whether held CPUs are still held, and after which time a CPU
/// that could not be held is tried again.
const CHECK: Duration = Duration::from_secs(1);

/// What is done to which tasks.
#[derive(Debug)]
pub struct GateRequest<'a> {
    pub follow: Follow,
    pub law: KeepAwake,
    /// The sampling period.
    pub period: Duration,
    /// The limit on held CPUs.
    pub limit: ResumeLatency,
    /// What restricts the tasks to chosen CPUs; `None` leaves them where they run.
    pub placed: Option<PlacedTasks>,
    pub log: Option<&'a Path>,
    /// That no other gate runs.
    pub only: OnlyOne,
}

/// Becomes the one gate of this user, for [`GateRequest::only`].
///
/// # Errors
/// [`SideError::OtherGate`] if one runs already; the journals' folder cannot be used.
pub fn only_gate(journals: &Journals) -> Result<OnlyOne, SideError> {
    match journals.only_one("gate")? {
        Asked::Granted(only) => Ok(only),
        Asked::TakenBy(owner) => Err(SideError::OtherGate { owner }),
    }
}

/// A running gate. Dropping it gives everything back.
#[derive(Debug)]
pub struct Gating {
    root: Root,
    law: KeepAwake,
    state: AwakeState,
    period: Duration,
    limit: ResumeLatency,
    control: IdleControl,
    kept: BTreeMap<CpuId, KeptAwake>,
    /// CPUs that could not be held, until when they are left alone.
    refused: BTreeMap<CpuId, Instant>,
    follower: Follower,
    reader: TaskCpuReader,
    watch: Watch,
    placed: Option<PlacedTasks>,
    online: CpuSet,
    /// What the last decision holds, also while suspended.
    hold: CpuSet,
    suspended: bool,
    log: Option<Log>,
    tally: GateTally,
    said: BTreeSet<String>,
    began: Instant,
    last: Instant,
    due: Instant,
    check_due: Instant,
    _only: OnlyOne,
}

/// Whether there are tasks left to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    Some,
    /// All are gone: a clause that says which.
    Gone(String),
}

impl Gating {
    /// # Errors
    /// [`SideError::Follow`] or [`SideError::NotHere`] if there are no such tasks, or none can
    /// be placed; those of the log.
    pub fn start(
        root: &Root,
        journals: &Journals,
        request: GateRequest<'_>,
        means: IdleMeans,
        notify: Notify<'_>,
    ) -> Result<Gating, SideError> {
        let mut follower = Follower::new(request.follow, root).map_err(SideError::Follow)?;
        let mut reader = TaskCpuReader::new(root);
        let pids = follower.pids(root).map_err(SideError::Follow)?;
        reader.follow(&pids).map_err(SideError::Follow)?;
        if reader.is_empty() {
            return Err(follower.nobody());
        }
        let log = request.log.map(Log::open).transpose()?;
        let journal = journals.open(root)?;
        let now = Instant::now();
        let mut gating = Gating {
            state: request.law.start(),
            law: request.law,
            period: request.period,
            limit: request.limit,
            control: IdleControl::new(root, &journal, means),
            kept: BTreeMap::new(),
            refused: BTreeMap::new(),
            follower,
            watch: Watch::start(root, now, request.period),
            placed: request.placed,
            reader,
            online: online_cpus(root)?,
            hold: CpuSet::default(),
            suspended: false,
            log,
            tally: GateTally::start(),
            said: BTreeSet::new(),
            began: now,
            last: now,
            due: now,
            check_due: now + CHECK,
            root: root.clone(),
            _only: request.only,
        };
        let entry = AwakeEntry::AwakeBegin {
            law: gating.law.clone(),
            state: gating.state.clone(),
        };
        gating.write(&entry, notify);
        gating.begin_to_follow(notify)?;
        Ok(gating)
    }

    /// When to call [`Gating::round`] at the latest, and what becomes readable when to call it
    /// before, where the kernel reports tasks that move.
    pub fn due(&self) -> (Instant, Option<BorrowedFd<'_>>) {
        let (looks, ready) = self.watch.ready(Instant::now());
        (looks.map_or(self.due, |at| at.min(self.due)), ready)
    }

    /// The CPUs that the law holds, also while suspended.
    pub fn held(&self) -> &CpuSet {
        &self.hold
    }

    /// Releases everything and goes on deciding, or holds again what the law holds.
    ///
    /// # Errors
    /// Those of holding a CPU.
    pub fn suspend(&mut self, suspended: bool, notify: Notify<'_>) -> Result<(), SideError> {
        self.suspended = suspended;
        self.apply(notify)
    }

    /// One period, if it is due or a task has moved to a CPU that is not held: sample, decide,
    /// hold and release, log.
    ///
    /// # Errors
    /// If this user may not hold CPUs, or what was changed cannot be given back.
    pub fn round(&mut self, notify: Notify<'_>) -> Result<Followed, SideError> {
        let now = Instant::now();
        let noticed = self.watch.look(&self.hold, now);
        if noticed.new_threads {
            self.follower.hurry(now, self.period);
        }
        if now < self.due && noticed.moved.is_none() {
            return Ok(Followed::Some);
        }
        self.due = match now < self.due {
            true => now + self.period,
            // Late by more than a period: the machine slept or this process was stopped.
            false => (self.due + self.period).max(now),
        };
        let elapsed = now.duration_since(self.last);
        self.last = now;
        let tasks = self.read(now, notify);
        if let Some((tasks, _)) = &tasks
            && tasks.last.is_empty()
            && self.follower.ends_without_tasks()
        {
            return Ok(Followed::Gone(self.follower.gone()));
        }
        let used = tasks.as_ref().map_or(CpuTime::ZERO, |(_, used)| *used);
        let kept = self.kept.len() as u32;
        let burn = (elapsed * kept).saturating_sub(used.0);
        self.tally.add(elapsed, kept, CpuTime(burn));
        let sample = AwakeSample {
            at: now.duration_since(self.began),
            online: self.online.clone(),
            tasks: tasks.map(|(tasks, _)| tasks),
            burn: CpuTime(burn),
        };
        let decision = self.law.decide(&self.state, &sample);
        self.state = decision.state;
        self.hold = decision.hold.clone();
        let entry = AwakeEntry::AwakeDecision {
            sample,
            hold: decision.hold,
            changes: decision.changes,
            deferred: decision.deferred,
        };
        self.write(&entry, notify);
        self.apply(notify)?;
        if let Noticed {
            moved: Some(ago), ..
        } = noticed
        {
            self.tally.answered(ago + now.elapsed());
        }
        if now >= self.check_due {
            self.check_due = now + CHECK;
            self.check(notify)?;
        }
        Ok(Followed::Some)
    }

    /// Where the tasks ran since the last reading, and their CPU time since; `None` if they
    /// cannot be read.
    fn read(&mut self, now: Instant, notify: Notify<'_>) -> Option<(TaskCpus, CpuTime)> {
        let mut listed = Ok(());
        if self.follower.is_due(now) {
            listed = self.relist();
            match self.follow_threads() {
                Ok(placed) => self.say_refused(&placed, now, notify),
                Err(error) => {
                    let warning = || format!("new tasks are not restricted to the pool: {error}");
                    self.say_once("pool", warning, notify);
                }
            }
        }
        let all = match listed.and_then(|()| self.reader.read()) {
            Ok(all) => all,
            Err(error) => {
                self.say_once(
                    "read",
                    || format!("the followed tasks cannot be read: {error}"),
                    notify,
                );
                return None;
            }
        };
        let ran = all.iter().filter(|task| task.ran).map(|task| task.cpu);
        let tasks = TaskCpus {
            ran: ran.collect(),
            last: all.iter().map(|task| task.cpu).collect(),
        };
        Some((tasks, all.iter().map(|task| task.used).sum()))
    }

    /// Looks for new and ended tasks, and for CPUs that came or went.
    fn relist(&mut self) -> Result<(), HostError> {
        self.online = online_cpus(&self.root)?;
        let pids = self.follower.pids(&self.root)?;
        self.reader.follow(&pids)
    }

    /// Watches the threads that the reader follows, and places them in the pool.
    fn follow_threads(&mut self) -> Result<Placed, ControlError> {
        self.watch.follow(self.reader.threads().map(|(_, tid)| tid));
        match &mut self.placed {
            Some(placed) => placed.follow(&self.reader.threads().collect::<Vec<_>>()),
            None => Ok(Placed::default()),
        }
    }

    /// Without one that can be placed there is no pool; single ones that cannot are said.
    fn begin_to_follow(&mut self, notify: Notify<'_>) -> Result<(), SideError> {
        let placed = self.follow_threads()?;
        match placed.refused.first() {
            Some(why) if placed.placed == 0 && !placed.more => Err(SideError::NotHere {
                what: "a pool for these tasks".to_owned(),
                reason: why.clone(),
                way_out: "leave --pool out, or follow other tasks",
            }),
            _ => {
                self.say_refused(&placed, self.began, notify);
                Ok(())
            }
        }
    }

    /// Names the first of them; the summary has their number.
    fn say_refused(&mut self, placed: &Placed, now: Instant, notify: Notify<'_>) {
        if placed.more {
            self.follower.soon(now);
        }
        self.tally.not_placed(placed.refused.len());
        if let Some(why) = placed.refused.first() {
            self.say_once("refused", || why.clone(), notify);
        }
    }

    /// Holds and releases CPUs as the law said last.
    fn apply(&mut self, notify: Notify<'_>) -> Result<(), SideError> {
        let target = match self.suspended {
            true => CpuSet::default(),
            false => self.hold.clone(),
        };
        let extra = self.kept.keys().copied();
        let extra: Vec<CpuId> = extra.filter(|cpu| !target.contains(*cpu)).collect();
        for cpu in extra {
            self.release(cpu, notify)?;
        }
        let now = Instant::now();
        self.refused.retain(|_, until| *until > now);
        for cpu in target.iter() {
            if !self.kept.contains_key(&cpu) && !self.refused.contains_key(&cpu) {
                self.keep(cpu, notify)?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, cpu: CpuId, notify: Notify<'_>) -> Result<(), SideError> {
        match self.control.keep_awake(cpu, self.limit) {
            Ok(kept) => {
                self.tally.changed();
                self.kept.insert(cpu, kept);
            }
            Err(error @ ControlError::IdleDenied { .. }) => return Err(error.into()),
            Err(error) => {
                self.refused.insert(cpu, Instant::now() + CHECK);
                let offline = matches!(error, ControlError::NoIdleFile { .. });
                if !offline {
                    let warning = || format!("CPU {cpu} is not held: {error}");
                    self.say_once(&format!("keep {cpu}"), warning, notify);
                }
            }
        }
        Ok(())
    }

    fn release(&mut self, cpu: CpuId, notify: Notify<'_>) -> Result<(), SideError> {
        let Some(kept) = self.kept.remove(&cpu) else {
            return Ok(());
        };
        self.tally.changed();
        self.tally.spun(kept.spun());
        for sentence in kept.give_back()? {
            if sentence.contains("left alone") || sentence.contains("not given back") {
                let sentence = sentence.trim_end_matches('.').to_owned();
                self.say_once(&format!("back {cpu}"), || sentence, notify);
            }
        }
        Ok(())
    }

    /// Looks whether held CPUs are still held.
    fn check(&mut self, notify: Notify<'_>) -> Result<(), SideError> {
        let mut stopped = Vec::new();
        let mut news = Vec::new();
        for (cpu, kept) in &mut self.kept {
            match kept.check()? {
                Standing::Kept | Standing::Restored | Standing::Offline => {}
                Standing::ByOther(who) => news.push((*cpu, who)),
                Standing::Overruled(who) => {
                    news.push((
                        *cpu,
                        format!("{who}; it is left alone, and permits more than --latency"),
                    ));
                }
                Standing::Stopped(why) => {
                    stopped.push(*cpu);
                    news.push((*cpu, format!("the spinner on CPU {cpu} has stopped: {why}")));
                }
            }
        }
        for (cpu, sentence) in news {
            self.say_once(
                &format!("check {cpu} {sentence}"),
                || sentence.clone(),
                notify,
            );
        }
        for cpu in stopped {
            self.release(cpu, notify)?;
            self.refused.insert(cpu, Instant::now() + 10 * CHECK);
        }
        Ok(())
    }

    /// Gives everything back.
    ///
    /// # Errors
    /// If a change could not be undone. It stays in the journal.
    pub fn finish(mut self, notify: Notify<'_>) -> Result<GateSummary, SideError> {
        self.hold = CpuSet::default();
        self.apply(notify)?;
        if let Some(placed) = &mut self.placed
            && let Some(left) = placed.give_back()?
        {
            notify(Notice::Warning(format!("{left} Run: plimsoll repair")));
        }
        Ok(self.tally.summary(self.began.elapsed()))
    }

    fn write(&mut self, entry: &AwakeEntry, notify: Notify<'_>) {
        let ended = self
            .log
            .as_mut()
            .and_then(|log| log.write_line(entry.to_line()));
        if let Some(warning) = ended {
            notify(Notice::Warning(warning));
        }
    }

    fn say_once(&mut self, key: &str, sentence: impl FnOnce() -> String, notify: Notify<'_>) {
        if self.said.insert(key.to_owned()) {
            notify(Notice::Warning(sentence()));
        }
    }
}
