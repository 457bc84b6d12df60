//! Starts a command as a sideload, restricts it by the loop, ends it.

use crate::control::{Control, used};
use crate::error::SideError;
use crate::guard;
use crate::limit::Limit;
use crate::log::Log;
use crate::prepare::{self, limit_for_good, limits_memory, repair, report_running, usable_cpus};
use crate::request::{Notice, Notify, Request, Restriction};
use crate::rule::Rule;
use crate::signal::{Signal, SignalSource};
use crate::tally::{MemoryHeld, Summary};
use plimsoll_control::{Group, Journals, MemoryLimits, Signal as UnixSignal, wait_with_cpu_time};
use plimsoll_host::Root;
use plimsoll_model::CpuSet;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a command may take to end after a signal.
const GRACE: Duration = Duration::from_secs(10);
/// Signals within this time are one: timeout(1) sends its signal to the process and to
/// its group.
const ONE: Duration = Duration::from_millis(500);
/// Between two looks for processes that have left the cgroups, each through all of the machine.
const LOOK_OUTSIDE: Duration = Duration::from_secs(5);
/// Maximum wait when no decision is due.
const IDLE_LOOK: Duration = Duration::from_secs(60);

/// A command in a group of its own. Dropping it ends all its processes.
#[derive(Debug)]
pub struct Sideload {
    root: Root,
    journals: Journals,
    group: Group,
    /// `None` without memory limits.
    memory: Option<MemoryLimits>,
    child: Child,
    started: Instant,
    cpus: CpuSet,
    control: Option<Control>,
    ending: Option<Instant>,
    other_runs_reported: bool,
    terminal_reported: bool,
    /// When to look next for processes that have left the cgroups; `None` once some were reported.
    next_look_outside: Option<Instant>,
}

#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub summary: Summary,
}

impl Sideload {
    /// Undoes changes of earlier runs, makes a group, and starts the command in it with
    /// the law's minimum.
    ///
    /// # Errors
    /// [`SideError`]; the command does not run then.
    pub fn start(
        root: &Root,
        journals: &Journals,
        request: &Request<'_>,
        notify: Notify<'_>,
    ) -> Result<Sideload, SideError> {
        report_running(&repair(root, journals, notify)?, notify);
        let cpus = usable_cpus(root)?;
        if let Restriction::Sideload(options) = &request.restriction {
            guard::check(root, &options.guards, &cpus)?;
        }
        let log = request.log.map(Log::open).transpose()?;
        let (mut group, mechanism) = prepare::make(root, journals, request, notify)?;
        limit_for_good(&mut group, mechanism, request, notify)?;
        let mut control = match (mechanism, &request.restriction) {
            (Some(mechanism), Restriction::Sideload(options)) => {
                let rule = Rule::plimsoll(mechanism, options, cpus.len() as u32)?;
                Some(Control::new(rule, root, &cpus, &mut group)?)
            }
            _ => None,
        };
        let child = start(&mut group, request)?;
        let started = Instant::now();
        if let Some(control) = &mut control {
            control.begin(&mut group, log, notify);
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
            other_runs_reported: false,
            terminal_reported: false,
            next_look_outside: Some(started),
        })
    }

    /// Restricts the command until it ends, ends its remaining processes, and undoes
    /// all changes.
    ///
    /// # Errors
    /// If the group is gone, so that nothing restricts the command: it is ended. Also
    /// if a change could not be undone.
    pub fn run(
        mut self,
        signals: &mut dyn SignalSource,
        notify: Notify<'_>,
    ) -> Result<Outcome, SideError> {
        if self.control.is_some() {
            self.report_other_runs(notify);
        }
        let ended = self.supervise(signals, notify);
        if ended.is_err() {
            // After an error the command must not run unrestricted next to the service.
            let _ = self.group.signal(UnixSignal::KILL);
        }
        let done = self.finish(notify);
        ended.and(done)
    }

    fn supervise(
        &mut self,
        signals: &mut dyn SignalSource,
        notify: Notify<'_>,
    ) -> Result<(), SideError> {
        while !has_ended(&self.child)? {
            let now = Instant::now();
            let due = self.control.as_ref().map_or(now + IDLE_LOOK, Control::due);
            let end = self.ending.map(|since| since + GRACE);
            let until = end.map_or(due, |end| end.min(due));
            for signal in signals.wait(until.saturating_duration_since(now)) {
                self.forward(signal, signals, notify)?;
            }
            self.group.reap()?;
            self.report_terminal(notify);
            if self.next_look_outside.is_some_and(|next| now >= next) {
                self.report_outside(notify);
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                notify(Notice::Warning(format!(
                    "the command did not end within {} s, so it is killed",
                    GRACE.as_secs()
                )));
                self.group.kill()?;
                self.ending = None;
            }
            if let Some(control) = &mut self.control {
                control.round(&mut self.group, self.ending.is_some(), notify)?;
                self.report_other_runs(notify);
            }
        }
        Ok(())
    }

    /// Reports once that another run is active on this machine.
    fn report_other_runs(&mut self, notify: Notify<'_>) {
        if self.other_runs_reported {
            return;
        }
        // An unreadable list of runs is no reason to end the command.
        let others = self.journals.others(&self.root).unwrap_or_default();
        if let Some(line) = describe_others(&others) {
            notify(Notice::Note(line));
            self.other_runs_reported = true;
        }
    }

    /// Reports once that the command has stopped because of the terminal, which only the
    /// process group in the foreground may use.
    fn report_terminal(&mut self, notify: Notify<'_>) {
        if self.terminal_reported {
            return;
        }
        let does = match stopped_by(&self.child) {
            Some(UnixSignal::TTIN) => "reads from the terminal",
            Some(UnixSignal::TTOU) => "writes to the terminal or sets it",
            _ => return,
        };
        self.terminal_reported = true;
        notify(Notice::Warning(format!(
            "the command has stopped, because it {does} as only a command in the foreground may; \
             end it by Ctrl-C, and run it so that it does not ask (as with < FILE, or --batch)"
        )));
    }

    /// Reports once that a process of the command is where nothing restricts it.
    fn report_outside(&mut self, notify: Notify<'_>) {
        self.next_look_outside = Some(Instant::now() + LOOK_OUTSIDE);
        // One that cannot be looked for is no reason to end the command.
        let outside = self.group.escaped().unwrap_or_default();
        if let Some(pid) = outside.first() {
            self.next_look_outside = None;
            notify(Notice::Warning(format!(
                "the command has left its cgroup (process {pid}), where nothing restricts it; give \
                 one that stays there: not one that systemd-run or a container runtime moves"
            )));
        }
    }

    /// Forwards a signal. A frozen command could not handle it, so it is thawed and not
    /// frozen again before it has ended.
    fn forward(
        &mut self,
        received: Signal,
        signals: &mut dyn SignalSource,
        notify: Notify<'_>,
    ) -> Result<(), SideError> {
        let signal = match received {
            Signal::Pause => {
                self.group.freeze()?;
                signals.pause();
                return self.resume();
            }
            Signal::HangUp => UnixSignal::HUP,
            _ if self.ending.is_some_and(|since| since.elapsed() < ONE) => return Ok(()),
            _ if self.ending.is_some() => {
                let warning = "a second signal to end it, so it is killed".into();
                notify(Notice::Warning(warning));
                return Ok(self.group.kill()?);
            }
            Signal::Interrupt => UnixSignal::INT,
            Signal::Quit => UnixSignal::QUIT,
            Signal::Terminate => UnixSignal::TERM,
        };
        self.group.signal(signal)?;
        // It may have stopped by itself, as at the terminal, and could not handle it.
        self.group.signal(UnixSignal::CONT)?;
        if received != Signal::HangUp {
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

    /// Restores the state after a pause; the pause does not count.
    fn resume(&mut self) -> Result<(), SideError> {
        let Some(control) = &mut self.control else {
            return Ok(self.group.thaw()?);
        };
        if control.limit != Limit::Frozen {
            self.group.thaw()?;
        }
        control.renew(&self.group);
        Ok(())
    }

    fn finish(mut self, notify: Notify<'_>) -> Result<Outcome, SideError> {
        if self.next_look_outside.is_some() {
            self.report_outside(notify);
        }
        // End the remaining processes, so that their CPU time is counted and none
        // stays.
        let killed = self.group.kill();
        let usage = used(&self.group);
        let memory = self.memory;
        let memory = memory.and_then(|limits| MemoryHeld::of(limits, &self.group));
        // Without a group, processes are counted when they are reaped.
        let elapsed = self.started.elapsed();
        let ended = wait_with_cpu_time(&mut self.child);
        let (status, ended) = ended.map_err(SideError::Wait)?;
        let cpu = usage.and_then(|u| u.cpu).max(Some(ended));
        let given_back = self.group.give_back();
        // Changes that waited for other runs may be possible now.
        let repaired = repair(&self.root, &self.journals, notify);
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

/// Describes other Plimsoll processes that hold changes here.
fn describe_others(others: &[u32]) -> Option<String> {
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

/// The signal that has stopped the command, if it stands still and this is not known yet.
fn stopped_by(child: &Child) -> Option<UnixSignal> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    let status = waitid(WaitId::Pid(Pid::from_child(child)), options).ok()??;
    UnixSignal::from_named_raw(status.stopping_signal()?)
}

/// Whether the command has ended. Does not reap it, so that its PID stays reserved
/// while its remaining processes are ended.
fn has_ended(child: &Child) -> Result<bool, SideError> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(Pid::from_child(child)), options) {
        Ok(status) => Ok(status.is_some()),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(errno) => Err(SideError::Wait(errno.into())),
    }
}
