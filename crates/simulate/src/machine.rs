//! A simulated machine that runs trials.

use crate::cpu::account;
use crate::curve::Curve;
use crate::queue::QueueState;
use crate::random::{SeededRng, Starts};
use crate::service::Service;
use crate::tally::{Tally, Timeline};
use plimsoll_model::{
    Arrivals, CpuTime, CpuUse, Invalid, MachineUse, Phase, Plan, Rate, ServiceUse, Setting, Share,
    Trial, TrialSpec, Verdict,
};
use std::time::Duration;

/// An undetected disturbance of some trials: their verdict stays valid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disturbance {
    /// The fraction of disturbed trials, drawn at random for each.
    pub share: Share,
    pub effect: Effect,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// Multiplies all service times and their CPU time.
    Slower {
        /// Above 1 for slower.
        factor: f64,
    },
    /// Delays every answer, like a slow network.
    Later { by: Duration },
}

/// Cores of two hardware threads. The service's parameters apply with all
/// threads busy; a trial on one thread per core has less capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoThreads {
    /// Throughput of a core with two busy threads over that with one, at equal
    /// clock.
    pub speedup: f64,
    /// Clock with one busy thread per core, relative to the nominal clock.
    pub one_thread_clock: f64,
    /// Clock with two busy threads per core.
    pub two_threads_clock: f64,
}

impl TwoThreads {
    /// Throughput of a core with two busy threads over that with one, clocks
    /// included.
    pub fn ratio(&self) -> f64 {
        self.speedup * self.two_threads_clock / self.one_thread_clock
    }

    fn clock(&self, phase: Phase) -> f64 {
        match phase {
            Phase::OneThreadPerCore => self.one_thread_clock,
            _ => self.two_threads_clock,
        }
    }
}

/// A machine with a service and a load generator on virtual time.
///
/// The outcome of a trial depends only on the machine and the trial's spec:
/// arrivals on the spec's seed, all other random numbers on both. Specs that
/// differ in seed, pass, attempt, rate or window get different random numbers.
///
/// ```
/// use plimsoll_model::Share;
/// use plimsoll_simulate::{Curve, Machine, Service};
/// use std::time::Duration;
///
/// let service = Service::Exponential { mean: Duration::from_millis(4), servers: 4 };
/// let machine = Machine {
///     cpus: 4,
///     curve: Curve::smt(1.27).ok_or("no curve")?,
///     ..Machine::new(service, 7)
/// };
/// let half = Share::new(0.5).ok_or("no share")?;
/// let rate = machine.truth_cpu(half).ok_or("never half busy")?;
/// assert!((rate.get() - 1000.0 / 1.27).abs() < 1e-6);
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    pub service: Service,
    pub cpus: u32,
    /// CPU use as a function of load.
    pub curve: Curve,
    pub disturbance: Option<Disturbance>,
    /// `None` for cores with one hardware thread.
    pub threads: Option<TwoThreads>,
    /// Excess requests above this rate are refused at once, selected at random.
    pub refuses_above: Option<Rate>,
    /// Maximum send rate of the generator. Above it requests are sent late, and
    /// the trial is invalid because of its slip.
    pub generator_limit: Option<Rate>,
    /// Seeds all random numbers except those of the arrivals.
    pub seed: u64,
}

impl Machine {
    /// A machine with one CPU, CPU use proportional to load, no disturbance, no
    /// refusals, and an unlimited generator.
    pub fn new(service: Service, seed: u64) -> Machine {
        Machine {
            service,
            cpus: 1,
            curve: Curve::linear(),
            disturbance: None,
            threads: None,
            refuses_above: None,
            generator_limit: None,
            seed,
        }
    }

    /// The rate at which CPU use reaches `limit`; `None` if it never does.
    pub fn truth_cpu(&self, limit: Share) -> Option<Rate> {
        let load = self.curve.load(limit)?;
        Some(self.service.saturation().times(load))
    }

    /// The outcome of a trial, as a runner would return it.
    ///
    /// The warm-up has its minimum length and starts with an empty queue. The
    /// generator has no CPU time; while it keeps up, its slip of a few
    /// microseconds is recorded but not added to latencies, so that these are
    /// exactly the service's. A spec without a rate gives an idle machine;
    /// copies and best-effort jobs are not simulated.
    pub fn run(&self, spec: &TrialSpec, plan: &Plan) -> Trial {
        match spec.setting {
            Setting::Offer { rate, .. } => self.at_rate(spec, plan, rate),
            Setting::Idle => self.idle(spec, plan),
        }
    }

    fn idle(&self, spec: &TrialSpec, plan: &Plan) -> Trial {
        let mut trial = Trial::begun(spec.clone(), 0);
        let cpu = CpuUse {
            idle: CpuTime(spec.window * self.cpus),
            ..CpuUse::default()
        };
        trial.machine = machine_use(plan, spec.window, cpu);
        trial.steady = true;
        trial.took = spec.window;
        trial
    }

    fn at_rate(&self, spec: &TrialSpec, plan: &Plan, rate: Rate) -> Trial {
        let mut rng = self.trial_rng(spec, rate);
        let mut conditions = self.conditions(&mut rng, rate);
        if let (Phase::OneThreadPerCore, Some(threads)) = (spec.phase, self.threads) {
            conditions.slower *= threads.ratio();
        }
        let timeline = Timeline::new(spec.warm_up.min, spec.window);
        let tally = self.serve(timeline, spec, plan.arrivals, &conditions, &mut rng);

        let mut trial = Trial::begun(spec.clone(), 0);
        trial.took = Duration::from_secs_f64(tally.ended());
        trial.warm_up = spec.warm_up.min;
        trial.steady = true;
        (trial.work, trial.seconds) = tally.finish();
        let cost = self.cost(&conditions);
        let used = account(&mut trial.seconds, cost, self.cpus, &mut rng);
        trial.machine = machine_use(plan, spec.window, used.machine);
        trial.machine.clock_ratio = self.threads.map(|threads| threads.clock(spec.phase));
        trial.service = Some(ServiceUse {
            cpu: used.service,
            run_delay: None,
            context_switches: None,
        });
        if conditions.lag > 0.0 {
            trial.verdict = slip_verdict(plan, &trial);
        }
        trial
    }

    fn trial_rng(&self, spec: &TrialSpec, rate: Rate) -> SeededRng {
        SeededRng::mixed(&[
            self.seed,
            spec.seed,
            u64::from(spec.pass),
            u64::from(spec.attempt),
            rate.get().to_bits(),
            spec.window.as_nanos() as u64,
        ])
    }

    fn conditions(&self, rng: &mut SeededRng, rate: Rate) -> Conditions {
        // Always drawn, so that the same trial on an undisturbed machine gets
        // the same random numbers.
        let draw = rng.unit();
        let hit = self.disturbance.filter(|d| draw < d.share.get());
        let (slower, later) = match hit.map(|d| d.effect) {
            Some(Effect::Slower { factor }) => (factor, 0.0),
            Some(Effect::Later { by }) => (1.0, by.as_secs_f64()),
            None => (1.0, 0.0),
        };
        let beyond = |limit: Option<Rate>, rate: f64| {
            limit.map_or(0.0, |limit| (rate / limit.get() - 1.0).max(0.0))
        };
        let lag = beyond(self.generator_limit, rate.get());
        let refused = beyond(self.refuses_above, rate.get() / (1.0 + lag));
        Conditions {
            rate: rate.get(),
            slower,
            later,
            lag,
            refused: refused / (1.0 + refused),
        }
    }

    fn serve(
        &self,
        timeline: Timeline,
        spec: &TrialSpec,
        arrivals: Arrivals,
        conditions: &Conditions,
        rng: &mut SeededRng,
    ) -> Tally {
        let mut tally = Tally::new(timeline);
        let rate = Rate::per_second(conditions.rate).unwrap_or(Rate::ZERO);
        let mut starts = Starts::new(arrivals, rate, spec.seed);
        let mut queue =
            QueueState::new(&self.service, conditions.slower, conditions.carried(), rng);
        loop {
            let intended = starts.next_start();
            if intended >= timeline.closes {
                return tally;
            }
            let sent = intended + intended * conditions.lag;
            if conditions.refused > 0.0 && rng.unit() < conditions.refused {
                tally.refused(intended, sent);
            } else {
                let answered = queue.departs(sent, rng) + conditions.later;
                tally.served(intended, sent, answered);
            }
        }
    }

    /// CPU seconds per answer: the curve's CPU use at this load, divided by the
    /// rate.
    fn cost(&self, conditions: &Conditions) -> f64 {
        let full = self.service.saturation().get() / conditions.slower;
        let carried = conditions.carried().min(full);
        if carried <= 0.0 {
            return 0.0;
        }
        self.curve.cpu(carried / full).get() * f64::from(self.cpus) / carried
    }
}

struct Conditions {
    /// Requests intended per second.
    rate: f64,
    /// Factor of all service times.
    slower: f64,
    /// Delay of answers, in seconds.
    later: f64,
    /// How much the generator falls behind, in seconds per second.
    lag: f64,
    /// The fraction of refused requests.
    refused: f64,
}

impl Conditions {
    /// Requests per second that reach the service.
    fn carried(&self) -> f64 {
        self.rate / (1.0 + self.lag) * (1.0 - self.refused)
    }
}

fn machine_use(plan: &Plan, window: Duration, cpu: CpuUse) -> MachineUse {
    MachineUse {
        cpu: Some(cpu),
        service_cpus: plan.run.cpus.service.clone(),
        service_cpu: Some(cpu),
        ..MachineUse::unknown(window)
    }
}

/// The verdict on a generator that falls behind, by the plan's bound.
fn slip_verdict(plan: &Plan, trial: &Trial) -> Verdict {
    let p99 = trial.work.slip.quantile(0.99).unwrap_or(Duration::ZERO);
    let latency = trial.work.latency.quantile(0.99).unwrap_or(Duration::ZERO);
    let part = latency.mul_f64(plan.run.bounds.slip_share.get());
    let bound = plan.run.bounds.slip.max(part);
    let is_late = (p99 > bound).then_some(Invalid::Slip { p99, bound });
    Verdict::from_reasons(is_late.into_iter().collect())
}
