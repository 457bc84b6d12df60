//! Where a workload runs: looked up once, before the plan is made.

use crate::conduct::RunError;
use crate::offered::OfferedLoad;
use crate::room;
use crate::sensors::{ServiceMeter, ServiceTarget, TrialSensors};
use crate::service::capacity;
use crate::service::{self, FoundService};
use plimsoll_host::{Root, cores_of, interrupt_time, own_allowed_cpus, own_cpu_quota};
use plimsoll_load::hash::HashLoad;
use plimsoll_load::http::HttpLoad;
use plimsoll_load::{Load, LoadError};
use plimsoll_model::{CpuPlan, CpuSet, InterruptTime, Plan, Requirement, TrialSetting, Workload};
use std::time::Duration;

/// Where a workload runs, and who serves it.
#[derive(Debug)]
pub enum Site {
    /// In this process, or as its children, on these CPUs.
    Here(CpuSet),
    /// A server that has answered.
    Server(Box<FoundService>),
}

impl Site {
    /// Looks where `workload` runs; asks a server once.
    ///
    /// # Errors
    /// The server does not answer as a server does, there is no room for the memory or the files of
    /// the hash service, or an imported table is to be run.
    pub fn of(workload: &Workload, root: &Root) -> Result<Site, RunError> {
        Ok(match workload {
            Workload::Hash(hash) => {
                room::check(hash, root)?;
                Site::Here(own_allowed_cpus(root)?)
            }
            Workload::Http(http) => Site::Server(Box::new(service::find(root, http)?)),
            Workload::Command(load) => Site::Server(Box::new(service::find_for(root, load)?)),
            Workload::Imported(_) => return Err(nothing_to_run()),
        })
    }

    /// How long a server took for its first request.
    pub fn first_answer(&self) -> Option<Duration> {
        match self {
            Site::Here(_) => None,
            Site::Server(found) => found.first_answer(),
        }
    }

    /// The length of the body of a server's first answer.
    pub fn first_answer_bytes(&self) -> Option<u64> {
        match self {
            Site::Here(_) => None,
            Site::Server(found) => found.first_answer_bytes(),
        }
    }

    /// The CPUs of the service and of the generator: `asked` are the CPUs of
    /// what Plimsoll starts, `service` those of a server.
    pub fn cpus(&self, root: &Root, asked: Option<&CpuSet>, service: Option<&CpuSet>) -> CpuPlan {
        match self {
            Site::Here(allowed) => {
                let service = asked.unwrap_or(allowed).clone();
                CpuPlan {
                    cores: cores_of(root, &service),
                    capacity: capacity(root, own_cpu_quota(root), &service),
                    service,
                    ..CpuPlan::default()
                }
            }
            Site::Server(found) => found.cpus(root, service, asked),
        }
    }

    /// What was found of a service, and what is missed. `since`: how long ago the window of the
    /// trial that just ended began; zero without one.
    pub fn requirements(&self, root: &Root, cpus: &CpuPlan, since: Duration) -> Vec<Requirement> {
        match self {
            Site::Here(_) => Vec::new(),
            Site::Server(found) => found.requirements(root, cpus, since),
        }
    }

    /// Where the kernel below the service counts the time of interrupts.
    pub fn interrupts(&self, root: &Root) -> InterruptTime {
        match self.is_here() {
            true => interrupt_time(root),
            false => InterruptTime::Unknown,
        }
    }

    /// Whether it can be seen where the service runs, and it runs on this
    /// machine.
    pub fn is_here(&self) -> bool {
        match self {
            Site::Here(_) => true,
            Site::Server(found) => found.is_here(),
        }
    }

    /// Whether a process serves both: what each takes cannot be seen apart.
    pub fn shares_processes(&self, other: &Site) -> bool {
        match (self, other) {
            (Site::Server(found), Site::Server(other)) => found.shares_processes(other),
            (Site::Here(_), Site::Here(_)) => true,
            _ => false,
        }
    }

    /// A meter of the service's CPU time.
    pub fn meter(&self, root: &Root) -> ServiceMeter {
        match self {
            Site::Here(_) => ServiceMeter::new(root, &ServiceTarget::OwnThreads),
            Site::Server(found) => found.meter(root),
        }
    }

    /// The sensors of a server's trials; `None` for a service in this process.
    pub fn sensors(&self, root: &Root, cpus: &CpuPlan) -> Option<TrialSensors> {
        match self {
            Site::Here(_) => None,
            Site::Server(found) => Some(found.sensors(root, cpus)),
        }
    }

    /// The runner of `plan`'s trials here.
    ///
    /// # Errors
    /// The load cannot be offered.
    pub fn runner<'a, S: TrialSetting, O: Default>(
        &self,
        plan: &Plan,
        root: &Root,
    ) -> Result<OfferedLoad<'a, S, O>, RunError> {
        let cpus = &plan.run.cpus;
        Ok(match (&plan.workload, self) {
            (Workload::Http(http), Site::Server(found)) => {
                let load = HttpLoad::new(http, cpus.generator.clone())?;
                OfferedLoad::new(plan, Box::new(load), found.sensors(root, cpus))
            }
            (Workload::Hash(hash), _) => {
                let load = HashLoad::new(hash, &cpus.service)?;
                let footprint = load.footprint();
                let on = |cpus| -> Box<dyn Load> { Box::new(load.on(cpus)) };
                let one_thread = cpus.one_thread_of_each_core().map(on);
                in_this_process(plan, root, Box::new(load))
                    .with_one_thread(one_thread)
                    .with_footprint(footprint, plan.calibration.rated)
            }
            (Workload::Imported(_) | Workload::Command(_), _) => return Err(nothing_to_run()),
            (Workload::Http(_), Site::Here(_)) => {
                return Err(RunError::Stuck(
                    "the server was not located; this is a defect of Plimsoll".to_owned(),
                ));
            }
        })
    }
}

/// The runner of `plan`'s trials on a load that names threads of this process
/// as its service's.
pub fn in_this_process<'a, S: TrialSetting, O: Default>(
    plan: &Plan,
    root: &Root,
    load: Box<dyn Load>,
) -> OfferedLoad<'a, S, O> {
    let cpus = &plan.run.cpus;
    let sensors = TrialSensors::new(
        root.clone(),
        cpus.service.clone(),
        ServiceTarget::OwnThreads,
    )
    .with_plan(cpus);
    OfferedLoad::new(plan, load, sensors)
}

fn nothing_to_run() -> RunError {
    let why = "an imported table cannot be resumed: nothing was run; start a sweep";
    RunError::Load(LoadError::Mistake(why.to_owned()))
}
