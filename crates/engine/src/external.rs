//! Trials whose load an external generator offers.
//!
//! ```text
//! command starts | warm-up | window | command ends, its output is read
//!                          ^        ^
//!                          sensors are read at both edges
//! ```
//!
//! Rates and latencies are of the whole load, as the command states them; CPU use is of the window,
//! so that it has neither the start nor the end of the command. Where the command runs for longer than
//! it says that it sends, the window opens that much later, in a new start of the trial if need be.

use crate::conduct::{RunError, Runner};
use crate::observer::{Observer, ObserverCost};
use crate::sensors::TrialSensors;
use crate::window::{fill, idle_trial, unix_ms};
use plimsoll_control::{AdoptedOrphans, Scratch};
use plimsoll_host::{CpuMeter, Root, ServiceSource};
use plimsoll_load::external::{LoadParameters, Output, start};
use plimsoll_model::{
    Bounds, CpuSet, Goal, LoadCommand, Plan, Rate, Trial, TrialSetting, TrialSpec, human_duration,
};
use plimsoll_study::validity::{self, Allowance};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The quantiles that are shown of a trial.
const SHOWN: [f64; 3] = [0.5, 0.99, 0.999];

/// Runs idle trials, and trials at a rate that a command offers.
#[derive(Debug)]
pub struct ExternalLoad {
    load: LoadCommand,
    goals: Vec<Goal>,
    generator: CpuSet,
    bounds: Bounds,
    root: Root,
    sensors: TrialSensors,
    scratch: Scratch,
    /// How long the command runs before it sends, as far as is known.
    longest_startup: Duration,
    /// What the command detaches, if it comes to this process.
    orphans: Option<AdoptedOrphans>,
}

/// A trial whose window may have opened too early.
struct Attempt<S, O> {
    trial: Trial<S, O>,
    /// How long the command ran without sending.
    startup: Duration,
}

/// How often a trial is begun, each time with more room for the start of the command.
const MOST_STARTS: u32 = 3;

impl ExternalLoad {
    /// A runner of `plan`'s trials, whose load is `load`, with its files in `scratch`.
    pub fn new(
        plan: &Plan,
        load: &LoadCommand,
        root: &Root,
        sensors: TrialSensors,
        scratch: Scratch,
    ) -> ExternalLoad {
        ExternalLoad {
            load: load.clone(),
            goals: plan.goals.clone(),
            generator: plan.run.cpus.generator.clone(),
            bounds: plan.run.bounds,
            root: root.clone(),
            sensors,
            scratch,
            longest_startup: Duration::ZERO,
            orphans: AdoptedOrphans::adopt(root),
        }
    }

    fn at_rate<S: TrialSetting, O: Default>(
        &mut self,
        spec: &TrialSpec<S>,
        rate: Rate,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<Trial<S, O>>, RunError> {
        for _ in 0..MOST_STARTS {
            let lead = self.load.format.lead() + spec.warm_up.max + self.longest_startup;
            let asked = LoadParameters {
                rate,
                duration: whole_seconds(lead + spec.window),
                seed: spec.seed,
            };
            let Some(Attempt { trial, startup }) =
                self.once(spec, (asked, lead), observer, stop)?
            else {
                return Ok(None);
            };
            // It may have begun to send as late as that.
            if startup <= lead {
                return Ok(Some(trial));
            }
            self.longest_startup = startup;
        }
        Err(RunError::Stuck(format!(
            "the load command `{}` runs for {} longer than it says that it sends, each time more, so \
             there is no time of which it is known that it sent; have it start faster",
            self.load.command,
            human_duration(self.longest_startup)
        )))
    }

    /// A trial of which the first part, `lead`, is not measured.
    fn once<S: TrialSetting, O: Default>(
        &self,
        spec: &TrialSpec<S>,
        (asked, lead): (LoadParameters, Duration),
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<Attempt<S, O>>, RunError> {
        let mut trial = Trial::begun(spec.clone(), unix_ms());
        let mut sensors = self.sensors.open(&[], &[])?;
        let mut generator = CpuMeter::open(&self.root, &ServiceSource::Children)?;
        let mut generator_cpu = || generator.as_mut().map(CpuMeter::read).transpose();
        let began = Instant::now();
        let mut running = start(&self.load, asked, &self.generator, &self.scratch)?;
        let opens = began + lead;
        if !running.runs_until(opens, stop)? {
            return Ok(None);
        }
        trial.warm_up = lead;
        let (first, used_before) = (sensors.read_edge()?, generator_cpu()?);
        let cost = ObserverCost::start(observer);
        if !running.runs_until(opens + spec.window, stop)? {
            return Ok(None);
        }
        let (last, used) = (sensors.read_edge()?, generator_cpu()?);
        let cost = cost.end(observer);
        let Some((output, ran)) = running.wait(stop)? else {
            return Ok(None);
        };
        self.check(&output)?;
        trial.window = output.lasted;
        trial.work = output.work(asked, ran, self.load.format).map_err(|why| {
            RunError::Usage(format!("the load command `{}`: {why}", self.load.command))
        })?;
        fill(&mut trial, &mut sensors, (&first, &last), cost)?;
        trial.generator_cpu = used
            .zip(used_before)
            .map(|(used, before)| used.since(before));
        trial.steady = true;
        trial.took = began.elapsed();
        trial.verdict = validity::judge(&self.bounds, &trial, Allowance::default());
        let startup = ran.saturating_sub(trial.window);
        Ok(Some(Attempt { trial, startup }))
    }

    /// Whether the output states what the goals ask for and what is shown of every trial.
    fn check(&self, output: &Output) -> Result<(), RunError> {
        let of_goals = self.goals.iter().filter_map(|goal| match goal {
            Goal::Latency { quantile, .. } => Some(quantile.fraction()),
            Goal::Errors { .. } | Goal::Cpu { .. } => None,
        });
        let missing = of_goals
            .chain(SHOWN)
            .find(|quantile| output.completed > 0 && !output.quantiles.include(*quantile));
        missing.map_or(Ok(()), |quantile| {
            Err(RunError::Usage(format!(
                "the output of the load command does not have the p{} of the latency; have it print \
                 p50, p99, p99.9, the maximum and what the goals ask for (docs/load-commands.md)",
                100.0 * quantile
            )))
        })
    }
}

/// At least so long: generators take whole seconds.
fn whole_seconds(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs() + u64::from(time.subsec_nanos() > 0))
}

impl<S: TrialSetting, O: Default> Runner<S, O> for ExternalLoad {
    fn run(
        &mut self,
        spec: &TrialSpec<S>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<Trial<S, O>>, RunError> {
        match spec.setting.rate() {
            Some(rate) => {
                let trial = self.at_rate(spec, rate, observer, stop);
                if let Some(orphans) = &self.orphans {
                    orphans.end()?;
                }
                trial
            }
            None => idle_trial(&self.bounds, &self.sensors, spec, observer, stop),
        }
    }
}
