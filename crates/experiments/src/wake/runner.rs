//! The runner: a trial wakes a thread under one policy.

use super::outcome::{StateUse, WakeLoad, WakeOutcome, WakeSetting, WakeTrial, Wakes};
use super::plan::WakePlan;
use super::policy::{Policy, WakeSite};
use super::program::{Ready, prepare};
use super::record::record;
use crate::experiment::Machine;
use plimsoll_engine::{Observer, RunError, Runner, ServiceTarget, TrialSensors, measure};
use plimsoll_host::Root;
use plimsoll_host::idle::{IdleState, idle_states};
use plimsoll_load::wakeups::{Pair, PairSpec};
use plimsoll_model::{Bounds, CpuId, CpuSet, IdlePolicy, Share, TrialSpec};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long a policy holds before it is measured.
const SETTLING: Duration = Duration::from_millis(20);

pub(super) struct WakeRunner<'a> {
    plan: &'a WakePlan,
    site: WakeSite,
    machine: &'a Machine,
    sensors: TrialSensors,
    /// Started at the first trial that needs it.
    program: Option<Ready>,
}

impl<'a> WakeRunner<'a> {
    pub(super) fn new(plan: &'a WakePlan, site: WakeSite, machine: &'a Machine) -> Self {
        let cpus = plan.run.cpus.service.clone();
        let root = machine.root.clone();
        WakeRunner {
            plan,
            site,
            machine,
            sensors: TrialSensors::new(root, cpus, ServiceTarget::OwnThreads),
            program: None,
        }
    }
}

impl Runner<WakeSetting, WakeOutcome> for WakeRunner<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec<WakeSetting>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<WakeTrial>, RunError> {
        match &spec.setting.load {
            WakeLoad::Wakes(wakes) => self.wake(spec, wakes, observer, stop),
            WakeLoad::Program(_) => self.run_program(spec, observer, stop),
        }
    }
}

impl WakeRunner<'_> {
    fn wake(
        &mut self,
        spec: &TrialSpec<WakeSetting>,
        wakes: &Wakes,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<WakeTrial>, RunError> {
        let no_cpus = || RunError::Stuck("the plan has no CPUs for a trial".to_owned());
        let placed = self.plan.placed(wakes.placement).ok_or_else(no_cpus)?;
        let wakee = placed.wakee_cpu;
        let mut held = self.hold(spec.setting.policy, wakee)?;
        let woken = PairSpec {
            wait: wakes.wait,
            waker: placed.waker_cpu,
            wakee,
            gap: wakes.gap,
            arrivals: wakes.arrivals(),
            seed: spec.seed,
        };
        let pair = Pair::start(&woken)?;
        std::thread::sleep(SETTLING);
        let threads = pair.thread_ids();
        let (root, cpus) = (&self.machine.root, &self.plan.run.cpus.service);
        // The slip is no part of the latency, but decides how long the woken CPU sleeps.
        let mut bounds = self.plan.run.bounds;
        bounds.slip = bounds.slip.max(wakes.gap / 2);
        let sensors = (&self.sensors, threads.as_slice());
        let trial = measure(&bounds, sensors, spec, observer, |trial: &mut WakeTrial| {
            let before = Counters::read(root, cpus)?;
            let Some(timed) = pair.run(spec.window, stop)? else {
                return Ok(false);
            };
            let used = Counters::read(root, cpus)?.since(&before, wakee);
            let count = timed.latency.count();
            (trial.work.intended, trial.work.sent, trial.work.completed) = (count, count, count);
            trial.work.latency = timed.latency;
            trial.work.slip = timed.slip;
            trial.outcome = WakeOutcome {
                waker_cpu: placed.waker_cpu,
                slept: timed.slept,
                means: held.means(),
                not_kept: held.lost()?,
                ..used
            };
            Ok(true)
        })?;
        Ok(trial.map(|mut trial| {
            trial.outcome.recorded = record(&woken, root, stop);
            trial
        }))
    }

    fn run_program(
        &mut self,
        spec: &TrialSpec<WakeSetting>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<WakeTrial>, RunError> {
        let plan = self.plan.program.as_ref();
        let plan = plan.ok_or_else(|| RunError::Stuck("the plan has no program".to_owned()))?;
        let program = match self.program.take() {
            Some(ready) => ready,
            None => prepare(plan, &self.plan.run.cpus.service, self.machine.journal()?)?,
        };
        let wakee = plan.cpus.iter().last().unwrap_or_default();
        let mut held = self.hold(spec.setting.policy, wakee)?;
        std::thread::sleep(SETTLING);
        let (root, cpus) = (&self.machine.root, &self.plan.run.cpus.service);
        // Program and server are all that runs, so other load cannot be distinguished from them.
        let bounds = Bounds {
            other_share: Share::ONE,
            ..self.plan.run.bounds
        };
        let sensors = (&self.sensors, &[][..]);
        let trial = measure(&bounds, sensors, spec, observer, |trial: &mut WakeTrial| {
            let before = Counters::read(root, cpus)?;
            let Some(figures) = program.run(spec.window, stop)? else {
                return Ok(false);
            };
            trial.outcome = WakeOutcome {
                program: figures,
                means: held.means(),
                not_kept: held.lost()?,
                ..Counters::read(root, cpus)?.since(&before, wakee)
            };
            Ok(true)
        });
        self.program = Some(program);
        trial
    }

    fn hold(&self, policy: IdlePolicy, wakee: CpuId) -> Result<Policy, RunError> {
        Policy::apply(policy, (self.plan, &self.site), self.machine, wakee)
    }
}

/// CPU time of this process, and the idle states of all CPUs.
struct Counters {
    own_cpu: Duration,
    states: BTreeMap<CpuId, Vec<IdleState>>,
}

impl Counters {
    fn read(root: &Root, cpus: &CpuSet) -> Result<Counters, RunError> {
        let states = cpus.iter().map(|cpu| Ok((cpu, idle_states(root, cpu)?)));
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Ok(Counters {
            states: states.collect::<Result<_, RunError>>()?,
            own_cpu: Duration::new(
                time.tv_sec.unsigned_abs(),
                u32::try_from(time.tv_nsec).unwrap_or(0),
            ),
        })
    }

    /// What was used since then; the states are those of the woken thread's CPU.
    fn since(&self, before: &Counters, wakee: CpuId) -> WakeOutcome {
        WakeOutcome {
            wakee_cpu: wakee,
            own_cpu: self.own_cpu.saturating_sub(before.own_cpu),
            polled: self.polled_since(before),
            states: self.states_since(before, wakee),
            ..WakeOutcome::default()
        }
    }

    fn states_since(&self, before: &Counters, cpu: CpuId) -> Vec<StateUse> {
        let states = self.states.get(&cpu).into_iter().flatten();
        let of = |state: &IdleState| {
            let then = before.states.get(&cpu)?;
            let then = then.iter().find(|then| then.index == state.index)?;
            Some(StateUse {
                name: state.name.clone(),
                advertised_exit: state.latency,
                entered: state.usage.saturating_sub(then.usage),
                time: state.time.saturating_sub(then.time),
            })
        };
        states.filter_map(of).collect()
    }

    /// Time in states that take no time to leave, over all CPUs; `None` without any state.
    fn polled_since(&self, before: &Counters) -> Option<Duration> {
        let cpus = self.states.keys();
        let all = cpus.flat_map(|cpu| self.states_since(before, *cpu));
        let all: Vec<StateUse> = all.collect();
        let polls = all.iter().filter(|state| state.advertised_exit.is_zero());
        (!all.is_empty()).then(|| polls.map(|state| state.time).sum())
    }
}
