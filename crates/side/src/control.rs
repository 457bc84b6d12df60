//! One round of the loop: sample, decide, apply, log. What decides is the law;
//! what an action comes to is [`Limit`].

use crate::error::SideError;
use crate::guard::{GuardSpec, Guards};
use crate::hold::Hold;
use crate::limit::{Limit, Respect};
use crate::log::Log;
use crate::prepare::{Tell, apply};
use crate::request::Told;
use crate::sample::Sampler;
use crate::tally::Tally;
use plimsoll_control::{ControlError, Group, Usage};
use plimsoll_law::{Action, Entry, Law, Reason, State};
use plimsoll_model::{CpuSet, Share};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What decides, and what it decided last.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) hold: Hold,
    pub(crate) law: Law,
    pub(crate) state: State,
    pub(crate) period: Duration,
    pub(crate) due: Instant,
    pub(crate) limit: Limit,
    pub(crate) reason: Option<Reason>,
    pub(crate) sampler: Sampler,
    pub(crate) guards: Vec<GuardSpec>,
    pub(crate) log: Option<Log>,
    pub(crate) tally: Tally,
    pub(crate) respect: Respect,
    pub(crate) warned: BTreeSet<String>,
}

impl Control {
    /// The first line of the log.
    pub(crate) fn begin(&mut self, tell: Tell<'_>) {
        let entry = Entry::Begin {
            law: self.law.clone(),
            state: self.state.clone(),
        };
        self.write(&entry, tell);
    }

    /// Once round: sample, decide, apply, log.
    pub(crate) fn step(
        &mut self,
        guards: &mut Guards,
        group: &mut Group,
        cpus: &CpuSet,
        ending: bool,
        tell: Tell<'_>,
    ) -> Result<(), SideError> {
        // Late by more than a period is a machine that slept or was stopped.
        self.due = (self.due + self.period).max(Instant::now());
        let usage = match group.usage() {
            Err(gone @ ControlError::Gone { .. }) => return Err(gone.into()),
            other => other.ok(),
        };
        let except = match guards.needs_processes() {
            true => except(group),
            false => Vec::new(),
        };
        let readings = guards.read(cpus, &except);
        let raw = self.sampler.sample(usage.and_then(|u| u.cpu), readings);
        self.tally
            .add(&raw, &self.limit, self.reason.as_ref(), usage);
        if let Some(used) = raw.sideload
            && let Some(used) = Share::of(used.0, raw.period * raw.cpus)
            && let Some(warning) = self.respect.check(&self.limit, used)
        {
            tell(Told::Warning(warning));
        }
        let sample = self.hold.seen(raw);
        let decision = self.law.decide(&self.state, &sample);
        if !ending {
            let limit = Limit::of(decision.action, self.hold, cpus);
            match apply(group, &limit, &self.limit, cpus) {
                Ok(()) => self.limit = limit,
                Err(gone @ ControlError::Gone { .. }) => return Err(gone.into()),
                Err(error) => self.warn_once(error.to_string(), tell),
            }
        }
        if let (Action::Frozen, Reason::Blind { missing, .. }) = (decision.action, &decision.reason)
        {
            let warning = format!("{missing}, so the command stands still until it can be");
            self.warn_once(warning, tell);
        }
        self.write(&Entry::of(&sample, &decision), tell);
        self.state = decision.state;
        self.reason = Some(decision.reason);
        Ok(())
    }

    fn write(&mut self, entry: &Entry, tell: Tell<'_>) {
        if let Some(warning) = self.log.as_mut().and_then(|log| log.write(entry)) {
            tell(Told::Warning(warning));
        }
    }

    fn warn_once(&mut self, warning: String, tell: Tell<'_>) {
        if self.warned.insert(warning.clone()) {
            tell(Told::Warning(warning));
        }
    }
}

/// The sideload's processes, and our own, which are not the service.
pub(crate) fn except(group: &Group) -> Vec<u32> {
    let mut pids = group.processes().unwrap_or_default();
    pids.push(std::process::id());
    pids
}

pub(crate) fn used(group: &Group) -> Option<Usage> {
    group.usage().ok()
}
