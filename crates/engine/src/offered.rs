//! A trial under an offered load, from its start to its verdict.
//!
//! ```text
//! start | warm-up until steady | window | drain | end
//!                              ^        ^
//!                              sensors are read at both edges
//!                              and, but for the clock, once a second between
//! ```

use crate::background::{BackgroundJob, NoJob};
use crate::conduct::{RunError, Runner};
use crate::drain::Drain;
use crate::observer::{Observer, ObserverCost};
use crate::restart::Restart;
use crate::sensors::TrialSensors;
use crate::window::{by_seconds, fill, sleep_until, unix_ms, warm_up, without_load};
use plimsoll_load::hash::Footprint;
use plimsoll_load::{Load, Offer, Shape};
use plimsoll_model::{
    Arrivals, Bounds, Phase, PhasedRate, Plan, Rate, Second, StepPlan, Trial, TrialSetting,
    TrialSpec,
};
use plimsoll_study::carried::trial_is_carried;
use plimsoll_study::validity;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Runs idle trials and trials at a rate, with a job next to the service.
pub struct OfferedLoad<'a, S, O> {
    arrivals: Arrivals,
    bounds: Bounds,
    steps: Option<StepPlan>,
    phases: Option<Arc<PhasedRate>>,
    drain: Drain,
    load: Box<dyn Load>,
    /// The same service on one thread of each core.
    one_thread: Option<Box<dyn Load>>,
    /// Of the hash service, and its rated rate if it is known.
    footprint: Option<(Footprint, Option<Rate>)>,
    sensors: TrialSensors,
    restart: Option<Restart>,
    /// Whether the last trial ended with requests that wait.
    has_backlog: bool,
    job: Box<dyn BackgroundJob<S, O> + 'a>,
}

impl<'a, S: TrialSetting, O: Default> OfferedLoad<'a, S, O> {
    /// A runner of `plan`'s trials that offers to `load`.
    pub fn new(plan: &Plan, load: Box<dyn Load>, sensors: TrialSensors) -> Self {
        OfferedLoad {
            arrivals: plan.arrivals,
            bounds: plan.run.bounds,
            steps: None,
            phases: None,
            drain: Drain::of(plan),
            restart: plan.restart.as_deref().map(Restart::new),
            load,
            one_thread: None,
            footprint: None,
            sensors,
            has_backlog: false,
            job: Box::new(NoJob),
        }
    }

    /// The same with the service on one thread of each core, for the trials
    /// that ask for it.
    pub fn with_one_thread(mut self, load: Option<Box<dyn Load>>) -> Self {
        self.one_thread = load;
        self
    }

    /// The same with memory and files whose use follows the offered rate, up to `rated`; all of
    /// them are used where that is not known.
    #[must_use]
    pub fn with_footprint(mut self, footprint: Footprint, rated: Option<Rate>) -> Self {
        self.footprint = Some((footprint, rated));
        self
    }

    /// The same with a job next to the service, and a load that steps.
    pub fn with_job(
        mut self,
        job: Box<dyn BackgroundJob<S, O> + 'a>,
        steps: Option<StepPlan>,
    ) -> Self {
        (self.job, self.steps) = (job, steps);
        self
    }

    /// The same with a load in phases in trials of a level, which begin with the load and lie at
    /// fixed times of it.
    #[must_use]
    pub fn with_phases(mut self, phases: Arc<PhasedRate>) -> Self {
        self.phases = Some(phases);
        self
    }

    /// The service, on the CPUs that a trial of this phase needs.
    fn placed(&mut self, phase: Phase) -> Result<&mut dyn Load, RunError> {
        match (phase, &mut self.one_thread) {
            (Phase::OneThreadPerCore, Some(load)) => Ok(load.as_mut()),
            (Phase::OneThreadPerCore, None) => Err(RunError::Stuck(
                "this service cannot be placed on one thread of each core; this is a defect of \
                 Plimsoll"
                    .to_owned(),
            )),
            _ => Ok(self.load.as_mut()),
        }
    }

    fn at_rate(
        &mut self,
        spec: &TrialSpec<S>,
        rate: Rate,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<Trial<S, O>>, RunError> {
        let mut trial = Trial::begun(spec.clone(), unix_ms());
        let offer = Offer {
            rate,
            arrivals: self.arrivals,
            seed: spec.seed,
            drain: self.drain.after(spec),
            shape: self.shape(spec, rate),
            connections: spec.setting.connections(),
        };
        if let Some((footprint, rated)) = &self.footprint {
            footprint.set(Footprint::at(rate, *rated));
        }
        let mut running = self.placed(spec.phase)?.start(&offer)?;
        let began = Instant::now();
        let threads = running.threads();
        self.job.load_began(running.session().began(), &threads)?;
        let mut sensors = self.sensors.open(&threads.generator, &threads.service)?;
        // Steps and phases lie at fixed times of the load.
        let may_open = matches!(offer.shape, Shape::Constant);
        let warming = (running.as_mut(), may_open);
        if !warm_up(warming, &mut trial, began, observer, stop) {
            return Ok(None);
        }
        let window = running.open_window(spec.window);
        if !sleep_until(window.opens, stop) {
            return Ok(None);
        }
        trial.warm_up = window.opens - began;
        self.job.window_opens()?;
        let cost = ObserverCost::start(observer);
        // Steps and phases lie at fixed times, which a window of another length would move.
        let is_fixed = self.steps.is_some() || self.phases.is_some();
        let lasts = || !is_fixed && self.job.is_unfinished();
        let read = (running.as_mut(), &mut sensors);
        let edges = by_seconds(read, window, &mut trial, observer, &lasts, stop)?;
        let Some((first, last)) = edges else {
            return Ok(None);
        };
        self.job.window_closes()?;
        let cost = cost.end(observer);
        // The load continues while the job's outcome is waited for.
        let Some(outcome) = self.job.outcome(stop)? else {
            return Ok(None);
        };
        trial.outcome = outcome;
        trial.work = running.finish()?;
        // Not before: finding the service's processes takes long, and requests
        // of the window may have been in flight.
        fill(&mut trial, &mut sensors, (&first, &last), cost)?;
        if trial.work.completed == 0 && trial.work.errors.total() > 0 {
            // Nothing but failures: if the service is gone, the trial says
            // nothing about the level.
            self.load.check()?;
        }
        trial.took = began.elapsed();
        self.has_backlog = leaves_backlog(&trial);
        let allowance = self.job.allowance(spec, &trial.outcome);
        trial.verdict = validity::judge(&self.bounds, &trial, allowance);
        Ok(Some(trial))
    }

    /// The phases or steps of a trial of a level, where the plan asks for some.
    /// They lie at fixed times of the load, and the window opens within the
    /// first low phase.
    fn shape(&self, spec: &TrialSpec<S>, rate: Rate) -> Shape {
        match (&self.phases, &self.steps) {
            _ if !spec.phase.is_level() => Shape::Constant,
            (Some(phases), _) => Shape::Phases(Arc::clone(phases)),
            (None, Some(step)) => Shape::Steps(step.offered(rate, spec.warm_up.max)),
            (None, None) => Shape::Constant,
        }
    }
}

/// Whether more requests were open at the end of a trial than at the beginning of its window, or some
/// were never answered: they are given up with their connections, and the server, which does not notice
/// that, would work on them in the next trial.
fn leaves_backlog<S: TrialSetting, O>(trial: &Trial<S, O>) -> bool {
    let open = |second: Option<&Second>| second.map_or(0, |second| second.in_flight);
    let first = open(trial.seconds.iter().find(|second| second.measured));
    let grows = open(trial.seconds.last()) > 2 * first + CHANCE;
    trial.work.unfinished > 0 || !trial_is_carried(trial) || grows
}

/// So many open requests more are no backlog.
const CHANCE: u64 = 2;

impl<S: TrialSetting, O: Default> Runner<S, O> for OfferedLoad<'_, S, O> {
    fn run(
        &mut self,
        spec: &TrialSpec<S>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<Trial<S, O>>, RunError> {
        if let Some(restart) = &mut self.restart
            && !restart.before(spec, self.load.as_mut(), &self.sensors, stop)?
        {
            return Ok(None);
        }
        if std::mem::take(&mut self.has_backlog) {
            self.load.wait_until_idle(stop);
        }
        if spec.setting.rate().is_some() {
            self.load.page_in();
        }
        self.job.starts(spec)?;
        let run = match spec.setting.rate() {
            Some(rate) => self.at_rate(spec, rate, observer, stop),
            None => {
                let (sensors, job) = (&self.sensors, self.job.as_mut());
                without_load(&self.bounds, sensors, spec, job, observer, stop)
            }
        };
        // In any case, and before anything is reported of the trial.
        let ended = self.job.ends();
        let run = run.or_else(|error| {
            // The error of the clients explains more if the service is gone.
            self.load.check()?;
            Err(error)
        })?;
        ended?;
        Ok(run)
    }
}
