//! The control loop: sample, decide, apply, log. The law decides; [`Limit`]
//! translates the decision. The owner of a group calls the loop: a sideload between
//! signals, an experiment in a thread.

use crate::error::SideError;
use crate::freeze_reports::{FreezeReport, FreezeReports};
use crate::guard::{GuardSpec, Guards};
use crate::limit::{Limit, LimitCheck};
use crate::log::Log;
use crate::prepare::apply;
use crate::request::{Notice, Notify};
use crate::rule::Rule;
use crate::sample::Sampler;
use crate::tally::Tally;
use crate::warned::Warned;
use plimsoll_control::{ControlError, Group, Usage};
use plimsoll_host::Root;
use plimsoll_law::{Action, Entry, Reason};
use plimsoll_model::{CpuSet, Share};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Guards are opened after this time: opening them takes longer than a short
/// command runs.
const UNWATCHED: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Control {
    /// With the state of the law so far.
    rule: Rule,
    due: Instant,
    pub(crate) limit: Limit,
    /// Whether `limit` is set on the group; `false` after a failed change.
    is_set: bool,
    reason: Option<Reason>,
    sampler: Sampler,
    watching: Watching,
    log: Option<Log>,
    pub(crate) tally: Tally,
    limit_check: LimitCheck,
    freeze_reports: FreezeReports,
    warned: Warned,
}

/// Access to a group, which may be shared. The loop uses it briefly and not while
/// it reads the machine, so that other users of the group do not wait.
pub trait GroupAccess {
    fn with<T>(&mut self, act: impl FnOnce(&mut Group) -> T) -> T;
}

impl GroupAccess for Group {
    fn with<T>(&mut self, act: impl FnOnce(&mut Group) -> T) -> T {
        act(self)
    }
}

impl GroupAccess for Arc<Mutex<Group>> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Group) -> T) -> T {
        // A thread that panicked with the lock leaves a valid group.
        act(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
enum Watching {
    Nothing,
    From(Instant, Vec<GuardSpec>),
    Guards(Guards),
}

impl Control {
    /// Restricts `group`, whose processes run on `cpus`, as `rule` says until the first
    /// decision.
    pub fn new(
        mut rule: Rule,
        root: &Root,
        cpus: &CpuSet,
        group: &mut Group,
    ) -> Result<Control, SideError> {
        let limit = Limit::of(rule.first, rule.mechanism, rule.quota_period, cpus);
        apply(group, &limit, Some(&Limit::Runs))?;
        let now = Instant::now();
        Ok(Control {
            sampler: Sampler::new(
                root,
                cpus.clone(),
                rule.mechanism.yields_by_itself(),
                used(group).and_then(|u| u.cpu),
            ),
            watching: match rule.guards.take() {
                None => Watching::Nothing,
                Some(specs) => Watching::From(now + UNWATCHED, specs),
            },
            due: now + rule.period,
            rule,
            limit,
            is_set: true,
            reason: None,
            log: None,
            tally: Tally::default(),
            limit_check: LimitCheck::default(),
            freeze_reports: FreezeReports::default(),
            warned: Warned::default(),
        })
    }

    pub(crate) fn begin(&mut self, group: &mut Group, log: Option<Log>, notify: Notify<'_>) {
        self.log = log;
        self.renew(group);
        if let Watching::From(at, _) = &mut self.watching {
            *at = Instant::now() + UNWATCHED;
        }
        let entry = Entry::Begin {
            law: self.rule.law.clone(),
            state: self.rule.state.clone(),
        };
        self.write(&entry, notify);
    }

    /// Restarts the period after an interruption.
    pub(crate) fn renew(&mut self, group: &Group) {
        self.sampler.renew(used(group).and_then(|u| u.cpu));
        self.due = Instant::now() + self.rule.period;
    }

    pub fn due(&self) -> Instant {
        match &self.watching {
            Watching::From(at, _) => self.due.min(*at),
            _ => self.due,
        }
    }

    /// The current limit: the share of its CPUs, if capped, and whether it is frozen.
    pub fn holds(&self) -> (Option<Share>, bool) {
        (self.limit.cap(), self.limit == Limit::Frozen)
    }

    /// Does what is due: opens the guards, or runs one round. While `ending` it sets
    /// nothing.
    ///
    /// # Errors
    /// If the group is gone, so that nothing restricts its former processes.
    pub fn round(
        &mut self,
        group: &mut impl GroupAccess,
        ending: bool,
        notify: Notify<'_>,
    ) -> Result<(), SideError> {
        let now = Instant::now();
        if let Watching::From(at, specs) = &self.watching
            && now >= *at
        {
            let except = self.except(group);
            let Sampler { root, allowed, .. } = &self.sampler;
            let (guards, left_out) = Guards::open(root, specs, allowed, &except);
            self.watching = Watching::Guards(guards);
            if let Some(why) = left_out {
                let warning =
                    format!("no guard watches how long everything else waits for a CPU: {why}");
                notify(Notice::Warning(warning));
            }
        }
        match now >= self.due {
            true => self.step(group, ending, notify),
            false => Ok(()),
        }
    }

    /// One round: sample, decide, apply, log.
    fn step(
        &mut self,
        group: &mut impl GroupAccess,
        ending: bool,
        notify: Notify<'_>,
    ) -> Result<(), SideError> {
        // Late by more than a period: the machine slept or this process was stopped.
        self.due = (self.due + self.rule.period).max(Instant::now());
        let usage = match group.with(|group| group.usage()) {
            Err(gone @ ControlError::Gone { .. }) => return Err(gone.into()),
            other => other.ok(),
        };
        let except = match &self.watching {
            Watching::Guards(guards) if guards.needs_processes() => self.except(group),
            _ => Vec::new(),
        };
        let readings = match &mut self.watching {
            Watching::Guards(guards) => guards.read(&self.sampler.allowed, &except),
            _ => Vec::new(),
        };
        let sample = self.sampler.sample(usage.and_then(|u| u.cpu), readings);
        self.tally
            .add(&sample, &self.limit, self.reason.as_ref(), usage);
        if let Some(used) = sample.sideload
            && let Some(used) = Share::of(used.0, sample.period * sample.cpus)
            && let Some(warning) = self.limit_check.check(&self.limit, used)
        {
            notify(Notice::NotHeld(warning));
        }
        // CPUs that went offline cannot be granted.
        let present = self.sampler.present();
        let rule = &self.rule;
        let decision = rule.law.decide(&rule.state, &sample);
        if !ending {
            let limit = Limit::of(decision.action, rule.mechanism, rule.quota_period, &present);
            let before = self.is_set.then_some(&self.limit);
            let applied = group.with(|group| apply(group, &limit, before));
            self.is_set = applied.is_ok();
            let report = self.warned.of_limit(self.is_set);
            match applied {
                Ok(()) => self.limit = limit,
                Err(gone @ ControlError::Gone { .. }) => return Err(gone.into()),
                Err(error) if report => notify(Notice::NotHeld(error.to_string())),
                Err(_) => {}
            }
        }
        let is_frozen = decision.action == Action::Frozen;
        let reason = &decision.reason;
        if self.warned.of_input(is_frozen, reason, &sample.guards)
            && let Reason::Blind { missing, .. } = reason
        {
            notify(Notice::Warning(format!(
                "{missing}, so the command stands still until it can be"
            )));
            self.freeze_reports.mark_reported();
        }
        let frozen = self.limit == Limit::Frozen;
        let reports = &mut self.freeze_reports;
        match reports.update(Instant::now(), frozen, &decision.reason) {
            Some(FreezeReport::Stands(line)) => notify(Notice::Warning(line)),
            Some(FreezeReport::Continues(line)) => notify(Notice::Note(line)),
            None => {}
        }
        self.write(&Entry::of(&sample, &decision), notify);
        self.rule.state = decision.state;
        self.reason = Some(decision.reason);
        Ok(())
    }

    fn write(&mut self, entry: &Entry, notify: Notify<'_>) {
        if let Some(warning) = self.log.as_mut().and_then(|log| log.write(entry)) {
            notify(Notice::Warning(warning));
        }
    }

    /// PIDs that are not the service: the sideload's processes, and our own unless the
    /// service runs in this process.
    fn except(&self, group: &mut impl GroupAccess) -> Vec<u32> {
        let mut pids = group.with(|group| group.processes().unwrap_or_default());
        if !self.rule.serves_here {
            pids.push(std::process::id());
        }
        pids
    }
}

pub(crate) fn used(group: &Group) -> Option<Usage> {
    group.usage().ok()
}
