//! `plimsoll selftest`: the measurement error of Plimsoll on this machine.
//!
//! Runs the generator, planner, search and study of a sweep against servers on the
//! loopback whose answers are due on virtual time ([`plimsoll_load::known`]). Their
//! capacity is known by construction and independent of the CPU, as long as answers
//! are late by less than a tenth of the limit. One service is calibrated; the
//! searches get their saturation rate, so that they spend their time on the search.
//! CPU use is not tested, because its true value is unknown.
//!
//! [`Selftest::run`] measures one service; [`truth`] gives the expected result, and
//! `verdict` compares the two. The last service is the first again: `repeat` has
//! `compare` judge the pair, which should be inconclusive.

mod load;
mod plan;
mod repeat;
mod services;
pub mod truth;
mod verdict;

#[cfg(test)]
mod tests;

pub use repeat::{Measured, repeat};
pub use services::KnownService;

use crate::sweep::{self, Effort, SweepPlanner};
use load::KnownLoad;
use plimsoll_engine::order::derive;
use plimsoll_engine::{
    Next, Observer, Outcome, Planner, Progress, RunError, conduct, in_this_process,
};
use plimsoll_host::{Root, own_allowed_cpus};
use plimsoll_load::LoadError;
use plimsoll_model::{CpuId, CpuPlan, Plan, Setting, Trial, TrialSpec};
use plimsoll_study::compare::Run;
use plimsoll_study::findings;
use services::SERVICES;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use truth::Truth;
use verdict::judge;

/// A self-test on this machine.
#[derive(Debug)]
pub struct Selftest {
    effort: Effort,
    seed: u64,
    root: Root,
    serves_on: CpuId,
    cpus: CpuPlan,
}

impl Selftest {
    /// Looks where the services and the generator can run: on two CPUs of
    /// those that this process may use, or on the only one.
    ///
    /// # Errors
    /// The machine cannot be read.
    pub fn new(effort: Effort, seed: u64, root: Root) -> Result<Selftest, RunError> {
        let allowed = own_allowed_cpus(&root)?;
        let mut cpus = allowed.iter();
        let first = cpus.next().ok_or_else(|| {
            let why =
                "no CPU is left for the self-test; see the CPUs of this process with taskset -p $$";
            RunError::Load(LoadError::Mistake(why.to_owned()))
        })?;
        let second = cpus.next().unwrap_or(first);
        Ok(Selftest {
            effort,
            seed,
            root,
            serves_on: first,
            cpus: CpuPlan {
                service: [first].into_iter().collect(),
                generator: [second].into_iter().collect(),
                ..CpuPlan::default()
            },
        })
    }

    /// The services, in the order in which they are to be measured.
    pub fn services(&self) -> &'static [KnownService] {
        &SERVICES
    }

    /// Measures one of them; `None` when `stop` was raised.
    ///
    /// # Errors
    /// The service could not be started or asked, or the machine not be read.
    pub fn run(
        &self,
        service: &'static KnownService,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<Measured>, RunError> {
        let plan = self.plan(service)?;
        let truth = truth::of(service, &plan, self.effort)?;
        let load = KnownLoad {
            service,
            serves_on: self.serves_on,
            generator: self.cpus.generator.clone(),
        };
        let mut runner = in_this_process(&plan, &self.root, Box::new(load));
        let mut trials = Vec::new();
        let planner = SelftestPlanner {
            service,
            plan: &plan,
            effort: self.effort,
        };
        let ended = conduct(
            &planner,
            &mut trials,
            &mut runner,
            |_| Ok::<(), RunError>(()),
            observer,
            stop,
        )?;
        Ok((ended == Outcome::Complete).then(|| planner.measured(truth, &trials)))
    }

    fn plan(&self, service: &KnownService) -> Result<Plan, RunError> {
        let seed = derive(self.seed, place(service) as u64);
        plan::plan(service, self.effort, &self.cpus, seed)
    }
}

/// Plans the trials of one service: those of a sweep whose budget grows with
/// the time of invalid trials.
struct SelftestPlanner<'p> {
    service: &'p KnownService,
    plan: &'p Plan,
    effort: Effort,
}

impl SelftestPlanner<'_> {
    fn plan(&self, trials: &[Trial]) -> Plan {
        plan::extended(self.plan, trials, self.effort)
    }

    /// What was measured, against the truth.
    fn measured(&self, truth: Truth, trials: &[Trial]) -> Measured {
        let findings = findings(self.plan, trials);
        Measured {
            answer: judge(self, truth, trials),
            run: Run::of(self.service.name, self.plan, trials, &findings),
        }
    }
}

impl Planner for SelftestPlanner<'_> {
    type Setting = Setting;
    type Outcome = ();

    fn next(&self, trials: &[Trial]) -> Next<Setting> {
        SweepPlanner(&self.plan(trials)).next(trials)
    }

    /// Of the whole self-test.
    fn progress(&self, trials: &[Trial]) -> Progress {
        let done = place(self.service);
        let later = SERVICES[done + 1..].iter();
        let later: Duration = later.map(|s| plan::takes(s, self.effort)).sum();
        Progress {
            done,
            visits: SERVICES.len(),
            left: SweepPlanner(&self.plan(trials)).progress(trials).left + later,
        }
    }

    fn describe(&self, spec: &TrialSpec) -> String {
        sweep::describe(spec)
    }
}

/// Which one it is.
fn place(service: &KnownService) -> usize {
    let same = |other: &KnownService| other.name == service.name;
    SERVICES.iter().position(same).unwrap_or(0)
}
