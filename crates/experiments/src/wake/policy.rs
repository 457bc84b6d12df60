//! Keeps CPUs awake for the length of a trial.

use super::plan::WakePlan;
use crate::experiment::Machine;
use plimsoll_control::idle::{IdleControl, IdleMeans, KeptAwake, Standing, choose_means};
use plimsoll_engine::RunError;
use plimsoll_host::idle::ResumeLatency;
use plimsoll_host::{Root, cores_of};
use plimsoll_model::{CpuId, CpuSet, IdlePolicy};
use std::time::Duration;

/// The means of this machine.
#[derive(Debug, Clone, Default)]
pub struct WakeSite {
    /// The best that keep the CPUs of the run awake; `None` where none works.
    pub(super) best: Option<IdleMeans>,
    /// Whether a spinner works.
    pub(super) spins: bool,
    /// Why not, a sentence for each means.
    pub(super) why_not: Vec<String>,
}

pub(super) fn limit(limit: Option<Duration>) -> ResumeLatency {
    limit.map_or(ResumeLatency::PollOnly, ResumeLatency::at_most)
}

impl WakeSite {
    pub(super) fn find(
        root: &Root,
        cpus: &CpuSet,
        most: Option<Duration>,
    ) -> Result<WakeSite, RunError> {
        let all = choose_means(root, cpus, limit(most))?;
        let why = |m: &plimsoll_control::idle::MeansHere| {
            Some(format!("{}: {}", m.means, m.why_not.as_ref()?))
        };
        let works = |means: IdleMeans| all.iter().any(|m| m.means == means && m.works());
        // A means that keeps all CPUs awake is no gate.
        let mut single = all.iter().filter(|m| m.works() && !m.means.is_global());
        Ok(WakeSite {
            best: single.next().map(|m| m.means),
            spins: works(IdleMeans::Spinner),
            why_not: all.iter().filter_map(why).collect(),
        })
    }
}

/// The CPUs of the woken threads: whole cores, because a core sleeps as its most awake thread does.
pub(super) fn gated(allowed: &CpuSet, root: &Root, wakee: CpuId) -> CpuSet {
    let own: CpuSet = [wakee].into_iter().collect();
    let cores = cores_of(root, &own);
    let all = cores.iter().flat_map(CpuSet::iter).chain([wakee]);
    all.collect::<CpuSet>().and(allowed)
}

/// CPUs that are kept awake until this is dropped.
#[derive(Debug, Default)]
pub(super) struct Policy {
    kept: Vec<KeptAwake>,
}

impl Policy {
    /// # Errors
    /// A CPU cannot be kept awake.
    pub(super) fn apply(
        policy: IdlePolicy,
        (plan, site): (&WakePlan, &WakeSite),
        machine: &Machine,
        wakee: CpuId,
    ) -> Result<Policy, RunError> {
        let cpus = match policy {
            IdlePolicy::AsIs | IdlePolicy::AsIsAgain => return Ok(Policy::default()),
            IdlePolicy::AllAwake => plan.run.cpus.service.clone(),
            IdlePolicy::Gate | IdlePolicy::Spinner => {
                gated(&plan.run.cpus.service, &machine.root, wakee)
            }
        };
        let means = match policy {
            IdlePolicy::Spinner => Some(IdleMeans::Spinner).filter(|_| site.spins),
            _ => site.best,
        };
        let means = means.ok_or_else(|| {
            let why = format!("no means keeps a CPU awake here, which {policy} needs");
            RunError::Stuck(why)
        })?;
        let control = IdleControl::new(&machine.root, machine.journal()?, means);
        let keep = |cpu| control.keep_awake(cpu, limit(plan.limit));
        let kept: Result<Vec<KeptAwake>, _> = cpus.iter().map(keep).collect();
        Ok(Policy { kept: kept? })
    }

    /// How CPUs are kept awake, in words; `None` if they are not.
    pub(super) fn means(&self) -> Option<String> {
        let means = self.kept.first()?.means();
        let cpus: CpuSet = self.kept.iter().map(KeptAwake::cpu).collect();
        Some(format!("{means}, on CPU {cpus}"))
    }

    /// Why a CPU was not kept awake until now; `None` if all were.
    pub(super) fn lost(&mut self) -> Result<Option<String>, RunError> {
        for kept in &mut self.kept {
            let cpu = kept.cpu();
            let lost = match kept.check()? {
                Standing::Kept | Standing::ByOther(_) => continue,
                Standing::Restored => format!("CPU {cpu} was not kept awake for some time"),
                Standing::Offline => format!("CPU {cpu} went offline"),
                Standing::Overruled(by_whom) => by_whom,
                Standing::Stopped(why) => format!("the spinner on CPU {cpu} stopped: {why}"),
            };
            return Ok(Some(lost));
        }
        Ok(None)
    }
}
