//! A command that runs as a sideload: started, held by the loop, ended.

use crate::control::{Control, used};
use crate::error::SideError;
use crate::guard;
use crate::limit::Limit;
use crate::log::Log;
use crate::memory::MemoryHeld;
use crate::prepare::{self, Tell, limit_for_good, limits_memory, repair, usable_cpus};
use crate::request::{Care, Request, Told};
use crate::rule::Rule;
use crate::signal::{Signal, SignalSource};
use crate::tally::Summary;
use plimsoll_control::{Group, Journals, MemoryLimits, Signal as UnixSignal, wait_counting};
use plimsoll_host::Root;
use plimsoll_model::{CpuSet, CpuTime};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
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
    /// `None` where nothing limits its memory.
    memory: Option<MemoryLimits>,
    child: Child,
    started: Instant,
    cpus: CpuSet,
    control: Option<Control>,
    ending: Option<Instant>,
    others_told: bool,
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
        let cpus = usable_cpus(root)?;
        if let Care::Sideload(held) = &request.care {
            guard::check(root, &held.guards, &cpus)?;
        }
        let log = request.log.map(Log::open).transpose()?;
        let ready = prepare::make(root, journals, request, tell)?;
        let mut group = ready.group;
        limit_for_good(&mut group, ready.hold, request, tell)?;
        let mut control = match (ready.hold, &request.care) {
            (Some(hold), Care::Sideload(held)) => {
                let rule = Rule::plimsoll(hold, held, cpus.len() as u32)?;
                Some(Control::new(rule, root, &cpus, &mut group)?)
            }
            _ => None,
        };
        let child = start(&mut group, request)?;
        let started = Instant::now();
        if let Some(control) = &mut control {
            control.begin(&mut group, log, tell);
        }
        Ok(Sideload {
            root: root.clone(),
            journals: journals.clone(),
            group,
            memory: limits_memory(request).then_some(request.memory),
            child,
            started,
            cpus,
            control,
            ending: None,
            others_told: false,
        })
    }

    /// Holds the command until it ends, ends what is left of it, and gives
    /// everything back.
    ///
    /// # Errors
    /// When the group is gone, so that nothing holds the command: it is ended. And
    /// when something could not be given back.
    pub fn run(
        mut self,
        signals: &mut dyn SignalSource,
        tell: Tell<'_>,
    ) -> Result<Outcome, SideError> {
        if self.control.is_some() {
            self.look_around(tell);
        }
        let held = self.hold(signals, tell);
        if held.is_err() {
            // Whatever went wrong, it is not to run beside the service unheld.
            let _ = self.group.signal(UnixSignal::KILL);
        }
        let done = self.finish(tell);
        held.and(done)
    }

    fn hold(&mut self, signals: &mut dyn SignalSource, tell: Tell<'_>) -> Result<(), SideError> {
        while !has_ended(&self.child)? {
            let now = Instant::now();
            let due = self.control.as_ref().map_or(now + IDLE_LOOK, Control::due);
            let end = self.ending.map(|since| since + GRACE);
            let until = end.map_or(due, |end| end.min(due));
            for heard in signals.wait(until.saturating_duration_since(now)) {
                self.hear(heard, signals, tell)?;
            }
            self.group.reap()?;
            if end.is_some_and(|end| Instant::now() >= end) {
                tell(Told::Warning(format!(
                    "the command did not end within {} s, so it is killed",
                    GRACE.as_secs()
                )));
                self.group.kill()?;
                self.ending = None;
            }
            if let Some(control) = &mut self.control {
                control.round(&mut self.group, self.ending.is_some(), tell)?;
                self.look_around(tell);
            }
        }
        Ok(())
    }

    /// Tells once that the machine has another run beside this one.
    fn look_around(&mut self, tell: Tell<'_>) {
        if self.others_told {
            return;
        }
        // Who cannot be told of is nothing to end the command for.
        let others = self.journals.others(&self.root).unwrap_or_default();
        if let Some(line) = beside(&others) {
            tell(Told::Note(line));
            self.others_told = true;
        }
    }

    /// Passes a signal on. What stands still could not act upon it, so it goes
    /// on, and is not frozen again before it has ended.
    fn hear(
        &mut self,
        heard: Signal,
        signals: &mut dyn SignalSource,
        tell: Tell<'_>,
    ) -> Result<(), SideError> {
        let signal = match heard {
            Signal::Pause => {
                self.group.freeze()?;
                signals.pause();
                return self.go_on();
            }
            Signal::HangUp => UnixSignal::HUP,
            _ if self.ending.is_some() => {
                tell(Told::Warning(
                    "told twice to end it, so it is killed".into(),
                ));
                return Ok(self.group.kill()?);
            }
            Signal::Interrupt => UnixSignal::INT,
            Signal::Quit => UnixSignal::QUIT,
            Signal::Terminate => UnixSignal::TERM,
        };
        self.group.signal(signal)?;
        if heard != Signal::HangUp {
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
        control.renew(&self.group);
        Ok(())
    }

    fn finish(mut self, tell: Tell<'_>) -> Result<Outcome, SideError> {
        // What is left of it, so that all of its time is counted and nothing stays.
        let killed = self.group.kill();
        let usage = used(&self.group);
        let memory = self
            .memory
            .and_then(|limits| MemoryHeld::of(limits, &self.group));
        // Without a group, what has ended is counted where it is waited for.
        let elapsed = self.started.elapsed();
        let ended = wait_counting(&self.root, &mut self.child);
        let (status, ended) = ended.map_err(SideError::Wait)?;
        let cpu = [usage.and_then(|u| u.cpu), ended];
        let cpu: Option<CpuTime> = cpu.into_iter().flatten().max();
        let given_back = self.group.give_back();
        // What had to wait for others may be free by now.
        let repaired = repair(&self.root, &self.journals, tell);
        killed?;
        given_back?;
        repaired?;
        let tally = self.control.map(|mut control| {
            control.tally.rest(elapsed, &control.limit);
            control.tally
        });
        let tally = tally.unwrap_or_default();
        let summary = Summary {
            memory,
            ..tally.summary(elapsed, self.cpus.len(), cpu, usage)
        };
        Ok(Outcome { status, summary })
    }
}

fn start(group: &mut Group, request: &Request<'_>) -> Result<Child, SideError> {
    let (program, args) = request.command.split_first().ok_or(SideError::NotHere {
        what: "a run".to_owned(),
        reason: "no command was given".to_owned(),
        way_out: "name one after --",
    })?;
    let child = group.start(request.gate, program, args, |command| {
        if request.no_input {
            command.stdin(Stdio::null());
        }
    })?;
    Ok(child)
}

/// What to tell of other processes of Plimsoll's that hold something here.
fn beside(others: &[u32]) -> Option<String> {
    let (first, rest) = others.split_first()?;
    let more = match rest.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Some(format!(
        "another run of Plimsoll is here (process {first}{more}); each counts what the other's \
         command uses as the service's"
    ))
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
