//! Carries out the trials: a load for each of the two services.

use super::experiment::VersusTrial;
use super::plan::{Side, VersusOutcome, VersusPlan, VersusSetting};
use plimsoll_engine::{Observer, OfferedLoad, RunError, Runner, ServiceMeter, Site};
use plimsoll_host::{CpuMeter, Root};
use plimsoll_model::{CpuTime, TrialSpec, Workload};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

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

    /// What the slower one took for its first request.
    pub(super) fn first_answer(&self) -> Duration {
        let each = [&self.base, &self.new].map(Site::first_answer);
        each.into_iter().flatten().max().unwrap_or_default()
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
        let started = loaded.meter.as_ref().map(ServiceMeter::started);
        let mut own_cpu = CpuSince::now(loaded.meter.as_ref())?;
        let mut other_cpu = CpuSince::now(other.meter.as_ref())?;
        let made = loaded.load.run(spec, observer, stop);
        let Some(mut trial) = made.map_err(|error| about(spec.setting.side, error))? else {
            return Ok(None);
        };
        trial.outcome = VersusOutcome {
            own_cpu: own_cpu.read()?,
            other_cpu: other_cpu.read()?,
            started_ticks: started.transpose()?.flatten(),
        };
        Ok(Some(trial))
    }
}

/// Which service an error is about.
fn about(side: Side, error: RunError) -> RunError {
    match error {
        RunError::Usage(why) => RunError::Usage(format!("{side}: {why}")),
        other => RunError::Sensor(format!("{side}: {other}")),
    }
}

/// What a service has taken since then.
struct CpuSince(Option<(CpuMeter, CpuTime)>);

impl CpuSince {
    fn now(meter: Option<&ServiceMeter>) -> Result<CpuSince, RunError> {
        let opened = meter.map(|meter| meter.open(&[])).transpose()?.flatten();
        let begun = opened.map(|mut meter| meter.read().map(|cpu| (meter, cpu)));
        Ok(CpuSince(begun.transpose()?))
    }

    fn read(&mut self) -> Result<Option<CpuTime>, RunError> {
        let used = self.0.as_mut().map(|(meter, before)| {
            let now = meter.read()?;
            Ok(now.since(*before))
        });
        used.transpose()
    }
}
