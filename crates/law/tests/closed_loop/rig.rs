//! A law and a simulated machine in a loop, with virtual time.

use plimsoll_law::{Action, Entry, Law, Reason, Sample, State};
use plimsoll_simulate::{SharedMachine, SharedPeriod, SharedSpec};
use std::time::Duration;

pub(crate) struct Rig {
    pub(crate) law: Law,
    pub(crate) state: State,
    pub(crate) action: Action,
    pub(crate) machine: SharedMachine,
    pub(crate) at: Duration,
    /// The log as it would be written.
    pub(crate) lines: Vec<String>,
    period: Duration,
    /// The CPUs at the start; the service's load is a share of them.
    built_with: f64,
}

/// One period: the action in force, the measurement and the decision.
#[derive(Debug, Clone)]
#[allow(
    dead_code,
    reason = "the example that shares this file prints a part of it"
)]
pub(crate) struct Step {
    /// The end of the period, in seconds.
    pub(crate) at: f64,
    /// The action in force during the period.
    pub(crate) in_force: Action,
    pub(crate) seen: SharedPeriod,
    /// The share of the machine that was idle.
    pub(crate) free: f64,
    pub(crate) action: Action,
    pub(crate) reason: Reason,
}

impl Rig {
    pub(crate) fn new(law: Law, spec: SharedSpec, period: Duration) -> Rig {
        let state = law.start();
        let begin = Entry::Begin {
            law: law.clone(),
            state: state.clone(),
        };
        Rig {
            state,
            law,
            action: Action::Frozen,
            built_with: f64::from(spec.cpus),
            machine: SharedMachine::new(spec),
            at: Duration::ZERO,
            lines: begin.to_line().into_iter().collect(),
            period,
        }
    }

    /// The sideload's share since the last decision.
    pub(crate) fn share(&self) -> f64 {
        self.action.share().get()
    }

    /// Runs for some seconds. `load` is the service's demand at a time; `tamper`
    /// modifies the sample that the law receives.
    pub(crate) fn run(
        &mut self,
        seconds: f64,
        load: impl Fn(f64) -> f64,
        tamper: impl Fn(&mut Sample),
    ) -> Vec<Step> {
        let periods = (seconds / self.period.as_secs_f64()).round() as usize;
        (0..periods).map(|_| self.one(&load, &tamper)).collect()
    }

    fn one(&mut self, load: impl Fn(f64) -> f64, tamper: impl Fn(&mut Sample)) -> Step {
        let (start, in_force) = (self.at, self.action);
        let cpus_wanted = |t: Duration| load((start + t).as_secs_f64()) * self.built_with;
        let quota = in_force.share().get();
        let seen = self.machine.run(self.period, cpus_wanted, 1.0, quota);
        self.at += self.period;
        let mut sample = Sample {
            at: self.at,
            period: self.period,
            cpus: self.machine.cpus(),
            machine: Some(seen.machine),
            sideload: Some(seen.sideload),
            ..Sample::default()
        };
        tamper(&mut sample);
        let decision = self.law.decide(&self.state, &sample);
        self.lines.extend(Entry::of(&sample, &decision).to_line());
        self.state = decision.state;
        self.action = decision.action;
        let whole = self.period.as_secs_f64() * f64::from(self.machine.cpus());
        Step {
            at: self.at.as_secs_f64(),
            in_force,
            seen,
            free: seen.machine.idle.0.as_secs_f64() / whole,
            action: decision.action,
            reason: decision.reason,
        }
    }
}
