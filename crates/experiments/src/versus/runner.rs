//! Carries out the trials: a load for each of the two services.

use super::experiment::VersusTrial;
use super::plan::{Side, VersusOutcome, VersusPlan, VersusSetting};
use plimsoll_engine::{Observer, OfferedLoad, RunError, Runner, ServiceMeter, Site};
use plimsoll_host::{CpuMeter, Root};
use plimsoll_model::{TrialSpec, Workload};
use std::sync::atomic::AtomicBool;

/// Where the two services run.
#[derive(Debug)]
pub struct Sites {
    base: Site,
    new: Site,
}

impl Sites {
    pub(super) fn of(base: &Workload, new: &Workload, root: &Root) -> Result<Sites, RunError> {
        Ok(Sites {
            base: Site::of(base, root)?,
            new: Site::of(new, root)?,
        })
    }

    pub(super) fn of_side(&self, side: Side) -> &Site {
        match side {
            Side::Base => &self.base,
            Side::New => &self.new,
        }
    }
}

struct OneService<'a> {
    load: OfferedLoad<'a, VersusSetting, VersusOutcome>,
    /// `None` where the two are one process, or it is not seen.
    meter: Option<ServiceMeter>,
}

pub(super) struct VersusRunner<'a> {
    base: OneService<'a>,
    new: OneService<'a>,
}

impl VersusRunner<'_> {
    pub(super) fn new(plan: &VersusPlan, sites: &Sites, root: &Root) -> Result<Self, RunError> {
        let are_apart = !sites.base.shares_processes(&sites.new);
        let one = |side| -> Result<OneService<'_>, RunError> {
            let site = sites.of_side(side);
            let is_seen = |meter: &ServiceMeter| are_apart && meter.hidden().is_none();
            Ok(OneService {
                load: site.runner(plan.load_of(side), root)?,
                meter: Some(site.meter(root)).filter(is_seen),
            })
        };
        Ok(VersusRunner {
            base: one(Side::Base)?,
            new: one(Side::New)?,
        })
    }
}

impl Runner<VersusSetting, VersusOutcome> for VersusRunner<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec<VersusSetting>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<VersusTrial>, RunError> {
        let (loaded, other) = match spec.setting.side {
            Side::Base => (&mut self.base, &self.new),
            Side::New => (&mut self.new, &self.base),
        };
        let opened = other.meter.as_ref().map(|meter| meter.open(&[]));
        let mut meter = opened.transpose()?.flatten();
        let before = read(&mut meter)?;
        let Some(mut trial) = loaded.load.run(spec, observer, stop)? else {
            return Ok(None);
        };
        let after = read(&mut meter)?;
        trial.outcome.other_cpu = before.zip(after).map(|(before, after)| after.since(before));
        Ok(Some(trial))
    }
}

fn read(meter: &mut Option<CpuMeter>) -> Result<Option<plimsoll_model::CpuTime>, RunError> {
    Ok(meter.as_mut().map(CpuMeter::read).transpose()?)
}
