//! A command that runs as a sideload: started, held by the loop, ended.

use crate::ears::{Ears, Heard};
use crate::error::SideError;
use crate::hold::Hold;
use crate::limit::{Limit, Respect};
use crate::log::Log;
use crate::prepare::{self, Tell, apply, limit_for_good, repair};
use crate::request::{Care, Request, Told};
use crate::sample::Sampler;
use crate::tally::{Summary, Tally};
use plimsoll_control::{ControlError, Group, Journals, Signal, Usage};
use plimsoll_host::{Root, life, own_allowed_cpus};
use plimsoll_law::{Action, Entry, Law, Reason, State};
use plimsoll_model::{CpuSet, CpuTime, Share};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::collections::BTreeSet;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a command that was told to end may take for it.
const GRACE: Duration = Duration::from_secs(10);
/// How often to look when there is nothing to decide.
const IDLE_LOOK: Duration = Duration::from_secs(60);

/// A command that runs in a group of its own. Dropping it ends all of it.
#[derive(Debug)]
pub struct Sideload {
    root: Root,
    journals: Journals,
    group: Group,
    child: Child,
    started: Instant,
    cpus: CpuSet,
    control: Option<Control>,
    ending: Option<Instant>,
}

/// What decides, and what it decided last.
#[derive(Debug)]
struct Control {
    hold: Hold,
    law: Law,
    state: State,
    period: Duration,
    due: Instant,
    limit: Limit,
    reason: Option<Reason>,
    sampler: Sampler,
    log: Option<Log>,
    tally: Tally,
    respect: Respect,
    warned: BTreeSet<String>,
}

/// How it went.
#[derive(Debug)]
pub struct Outcome {
    /// How the command ended.
    pub status: ExitStatus,
    /// What it got.
    pub summary: Summary,
}

impl Sideload {
    /// Repairs what earlier runs left, makes a group, and starts the command in
    /// it with the least that the law may give.
    ///
    /// # Errors
    /// [`SideError`]; the command does not run then.
    pub fn start(
        root: &Root,
        journals: &Journals,
        request: &Request<'_>,
        tell: Tell<'_>,
    ) -> Result<Sideload, SideError> {
        repair(root, journals, tell)?;
        let cpus = own_allowed_cpus(root)?;
        let log = request.log.map(Log::open).transpose()?;
        let ready = prepare::make(root, journals, request, tell)?;
        let mut group = ready.group;
        limit_for_good(&mut group, ready.hold, request, tell)?;
        let mut control = match (ready.hold, &request.care) {
            (Some(hold), Care::Sideload(held)) => {
                let law = hold.law(held.headroom, cpus.len() as u32)?;
                let floor = law.parameters().floor;
                let state = Hold::start(&law);
                let limit = Limit::of(Action::Run { share: floor }, hold, &cpus);
                apply(&mut group, &limit, &Limit::Runs, &cpus)?;
                Some((hold, Law::Plimsoll(law), state, limit, held.period))
            }
            _ => None,
        };
        let child = start(&mut group, request)?;
        let started = Instant::now();
        let control = control.take().map(|(hold, law, state, limit, period)| {
            let period = period.unwrap_or(hold.period());
            Control {
                sampler: Sampler::new(root, cpus.clone(), used(&group).and_then(|u| u.cpu)),
                hold,
                law,
                state,
                period,
                due: started + period,
                limit,
                reason: None,
                log,
                tally: Tally::default(),
                respect: Respect::default(),
                warned: BTreeSet::new(),
            }
        });
        Ok(Sideload {
            root: root.clone(),
            journals: journals.clone(),
            group,
            child,
            started,
            cpus,
            control,
            ending: None,
        })
    }

    /// Holds the command until it ends, ends what is left of it, and gives
    /// everything back.
    ///
    /// # Errors
    /// When the group is gone, so that nothing holds the command: it is ended. And
    /// when something could not be given back.
    pub fn run(mut self, ears: &mut dyn Ears, tell: Tell<'_>) -> Result<Outcome, SideError> {
        if let Some(control) = &mut self.control {
            control.begin(tell);
        }
        let held = self.hold(ears, tell);
        if held.is_err() {
            // Whatever went wrong, it is not to run beside the service unheld.
            let _ = self.group.signal(Signal::KILL);
        }
        let done = self.finish(tell);
        held.and(done)
    }

    fn hold(&mut self, ears: &mut dyn Ears, tell: Tell<'_>) -> Result<(), SideError> {
        while !has_ended(&self.child)? {
            let now = Instant::now();
            let due = self.control.as_ref().map_or(now + IDLE_LOOK, |c| c.due);
            let end = self.ending.map(|since| since + GRACE);
            let until = end.map_or(due, |end| end.min(due));
            for heard in ears.wait(until.saturating_duration_since(now)) {
                self.hear(heard, ears, tell)?;
            }
            let now = Instant::now();
            if end.is_some_and(|end| now >= end) {
                tell(Told::Warning(format!(
                    "the command did not end within {} s, so it is killed",
                    GRACE.as_secs()
                )));
                self.group.kill()?;
                self.ending = None;
            }
            if let Some(control) = self.control.as_mut().filter(|c| now >= c.due) {
                control.step(&mut self.group, &self.cpus, self.ending.is_some(), tell)?;
            }
        }
        Ok(())
    }

    /// Passes a signal on. What stands still could not act upon it, so it goes
    /// on, and is not frozen again before it has ended.
    fn hear(&mut self, heard: Heard, ears: &mut dyn Ears, tell: Tell<'_>) -> Result<(), SideError> {
        let signal = match heard {
            Heard::Pause => {
                self.group.freeze()?;
                ears.pause();
                return self.go_on();
            }
            Heard::HangUp => Signal::HUP,
            _ if self.ending.is_some() => {
                tell(Told::Warning(
                    "told twice to end it, so it is killed".into(),
                ));
                return Ok(self.group.kill()?);
            }
            Heard::Interrupt => Signal::INT,
            Heard::Terminate => Signal::TERM,
        };
        self.group.signal(signal)?;
        if heard != Heard::HangUp {
            self.ending = Some(Instant::now());
        }
        if let Some(control) = &mut self.control
            && control.limit == Limit::Frozen
        {
            self.group.thaw()?;
            control.limit = Limit::Runs;
        }
        Ok(())
    }

    /// After a pause: as it was before, and the pause counts for nothing.
    fn go_on(&mut self) -> Result<(), SideError> {
        let Some(control) = &mut self.control else {
            return Ok(self.group.thaw()?);
        };
        if control.limit != Limit::Frozen {
            self.group.thaw()?;
        }
        control.sampler.renew(used(&self.group).and_then(|u| u.cpu));
        control.due = Instant::now() + control.period;
        Ok(())
    }

    fn finish(mut self, tell: Tell<'_>) -> Result<Outcome, SideError> {
        // What is left of it, so that all of its time is counted and nothing stays.
        let killed = self.group.kill();
        let usage = used(&self.group);
        // Without a group, what has ended is counted where it is waited for.
        let ended = life(&self.root, self.child.id()).ok().flatten();
        let cpu = [usage.and_then(|u| u.cpu), ended.map(|life| life.cpu)];
        let cpu: Option<CpuTime> = cpu.into_iter().flatten().max();
        let elapsed = self.started.elapsed();
        let status = self.child.wait().map_err(SideError::Wait)?;
        let given_back = self.group.give_back();
        // What had to wait for others may be free by now.
        let repaired = repair(&self.root, &self.journals, tell);
        killed?;
        given_back?;
        repaired?;
        let tally = self.control.map(|c| c.tally).unwrap_or_default();
        let summary = tally.summary(elapsed, self.cpus.len(), cpu, usage);
        Ok(Outcome { status, summary })
    }
}

impl Control {
    /// The first line of the log.
    fn begin(&mut self, tell: Tell<'_>) {
        let entry = Entry::Begin {
            law: self.law.clone(),
            state: self.state.clone(),
        };
        self.write(&entry, tell);
    }

    /// Once round: sample, decide, apply, log.
    fn step(
        &mut self,
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
        let raw = self.sampler.sample(usage.and_then(|u| u.cpu), Vec::new());
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

fn start(group: &mut Group, request: &Request<'_>) -> Result<Child, SideError> {
    let (program, args) = request.command.split_first().ok_or(SideError::NotHere {
        what: "a run".to_owned(),
        reason: "no command was given".to_owned(),
        way_out: "name one after --",
    })?;
    let child = group.start(program, args, |command| {
        if request.no_input {
            command.stdin(Stdio::null());
        }
    })?;
    Ok(child)
}

fn used(group: &Group) -> Option<Usage> {
    group.usage().ok()
}

/// Whether the command has ended. It is not waited for yet, so that its number
/// stays its own while what it has left is ended.
fn has_ended(child: &Child) -> Result<bool, SideError> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(Pid::from_child(child)), options) {
        Ok(status) => Ok(status.is_some()),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(errno) => Err(SideError::Wait(errno.into())),
    }
}
