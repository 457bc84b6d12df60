//! Carries out a trial on its target.

use super::outcome::{BurstOutcome, BurstSetting, BurstTrial, Target};
use super::plan::BurstPlan;
use super::prepare::BurstSite;
use super::sampler::{KeptMeters, Tasks, TimeLines};
use super::server::written;
use crate::experiment::Machine;
use plimsoll_engine::{Observer, OfferedLoad, RunError, Runner, ServiceMeter, probe};
use plimsoll_host::{Pid, ProcessStat, Root};
use plimsoll_load::http::HttpLoad;
use plimsoll_model::{TrialSpec, Workload};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(super) struct BurstRunner<'a> {
    plan: &'a BurstPlan,
    root: Root,
    /// The process of the command that this run has started.
    command: Option<Pid>,
    loads: Vec<OfferedLoad<'a, BurstSetting, BurstOutcome>>,
}

impl<'a> BurstRunner<'a> {
    pub(super) fn new(
        plan: &'a BurstPlan,
        site: &BurstSite,
        machine: &Machine,
    ) -> Result<BurstRunner<'a>, RunError> {
        let root = &machine.root;
        let meters: Vec<ServiceMeter> = site.sites.iter().map(|site| site.meter(root)).collect();
        let phases = Arc::new(plan.phases());
        let kept = KeptMeters::default();
        let mut loads = Vec::new();
        for ((_, load), site) in plan.loads().zip(&site.sites) {
            let lines = TimeLines {
                meters: meters.clone(),
                step: plan.step,
                tasks: Tasks {
                    root: root.clone(),
                    bounds: load.run.bounds,
                },
                serves_here: matches!(load.workload, Workload::Hash(_)),
                kept: Arc::clone(&kept),
                sampling: None,
            };
            let offered = site.runner(load, root)?;
            let offered = offered.with_phases(Arc::clone(&phases));
            loads.push(offered.with_job(Box::new(lines), None));
        }
        Ok(BurstRunner {
            plan,
            root: root.clone(),
            command: site.command(),
            loads,
        })
    }

    /// A service that has ended in a break answers nothing after it.
    fn check_alive(&self, target: usize, trial: &BurstTrial) -> Result<(), RunError> {
        let last = trial
            .outcome
            .phases
            .iter()
            .rev()
            .find(|phase| phase.answers.requests() > 0);
        let is_gone = last.is_some_and(|last| last.last_answer.is_none());
        let Some((_, load)) = self.plan.loads().nth(target).filter(|_| is_gone) else {
            return Ok(());
        };
        if let Some(pid) = self.command.filter(|_| target == Target::First.index())
            && ProcessStat::read(&self.root, pid)?.is_none_or(|process| process.has_ended())
        {
            return Err(RunError::Stuck(format!(
                "the command {} ended during the run; run it by hand under load to see what it \
                 says; the trials before are kept",
                written(&self.plan.command)
            )));
        }
        let why = match &load.workload {
            Workload::Http(http) => HttpLoad::new(http, load.run.cpus.generator.clone())
                .map_err(RunError::from)
                .and_then(|load| probe(&self.root, &load, &http.service))
                .err()
                .map(|error| format!(": {error}")),
            Workload::Hash(_) | Workload::Command(_) | Workload::Imported(_) => None,
        };
        Err(RunError::Stuck(format!(
            "the service answered no request after the break{}; the trials before are kept{}",
            why.as_deref().unwrap_or_default(),
            if why.is_none() { OVERLOADED } else { "" }
        )))
    }
}

/// It answers now, so it may not be gone.
const OVERLOADED: &str = ". It answers now: it may have been overloaded, and still have worked on the \
                          burst; lower the rate, or lengthen the break";

impl Runner<BurstSetting, BurstOutcome> for BurstRunner<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec<BurstSetting>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<BurstTrial>, RunError> {
        let target = match spec.setting {
            BurstSetting::Idle => 0,
            BurstSetting::Cycle { target, .. } => target.index(),
        };
        let load = self.loads.get_mut(target).ok_or_else(|| {
            RunError::Stuck("the plan has no such target; this is a defect of Plimsoll".to_owned())
        })?;
        let Some(mut trial) = load.run(spec, observer, stop)? else {
            return Ok(None);
        };
        trial.outcome.phases = std::mem::take(&mut trial.work.phases);
        self.check_alive(target, &trial)?;
        Ok(Some(trial))
    }
}
