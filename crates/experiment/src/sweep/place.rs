//! Where a workload runs: looked up once, before the plan is made.

use super::copies::CopiesRunner;
use super::eyes::{Eyes, Sight};
use super::offered::OfferedLoad;
use super::service::{self, FoundService};
use crate::beside::Beside;
use crate::conduct::{RunError, Runner};
use plimsoll_control::{ControlError, Journal};
use plimsoll_host::{Root, cores_of, interrupt_time, own_allowed_cpus};
use plimsoll_load::hash::HashLoad;
use plimsoll_load::http::HttpLoad;
use plimsoll_load::{Load, LoadError, copies};
use plimsoll_model::{CpuPlan, CpuSet, InterruptTime, Plan, Requirement, Workload};

/// Where a workload runs, and who serves it.
#[derive(Debug)]
pub enum Place {
    /// In this process, or as its children, on these CPUs.
    Here(CpuSet),
    /// A server that has answered.
    Server(Box<FoundService>),
}

impl Place {
    /// Looks where `workload` runs; asks a server once.
    ///
    /// # Errors
    /// The server does not answer as a server does, the command is no program,
    /// or an imported table is to be run.
    pub fn of(workload: &Workload, root: &Root) -> Result<Place, RunError> {
        Ok(match workload {
            Workload::Hash(_) => Place::Here(own_allowed_cpus(root)?),
            Workload::Copies(copies) => {
                copies::check(copies)?;
                Place::Here(own_allowed_cpus(root)?)
            }
            Workload::Http(http) => Place::Server(Box::new(service::find(root, http)?)),
            Workload::Imported(_) => return Err(nothing_to_run()),
        })
    }

    /// The CPUs of the service and of the generator: `asked` are the CPUs of
    /// what Plimsoll starts, `service` those of a server.
    pub fn cpus(&self, root: &Root, asked: Option<&CpuSet>, service: Option<&CpuSet>) -> CpuPlan {
        match self {
            Place::Here(allowed) => {
                let service = asked.unwrap_or(allowed).clone();
                CpuPlan {
                    generator: CpuSet::default(),
                    cores: cores_of(root, &service),
                    service,
                }
            }
            Place::Server(found) => found.cpus(root, service, asked),
        }
    }

    /// What was found of the workload, and what is missed.
    pub fn requirements(&self, root: &Root, cpus: &CpuPlan) -> Vec<Requirement> {
        match self {
            Place::Here(_) => Vec::new(),
            Place::Server(found) => found.requirements(root, cpus),
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
            Place::Here(_) => true,
            Place::Server(found) => found.is_here(),
        }
    }

    /// What offers the requests of `plan` here with something beside them.
    ///
    /// # Errors
    /// The load cannot be offered, or is none.
    pub(crate) fn runner_beside<'a>(
        &self,
        plan: &'a Plan,
        root: &Root,
        beside: Box<dyn Beside + 'a>,
    ) -> Result<Box<dyn Runner + 'a>, RunError> {
        let service = plan.cpus.service.clone();
        let offered = match (&plan.workload, self) {
            (Workload::Http(http), Place::Server(found)) => {
                let load = HttpLoad::new(http, plan.cpus.generator.clone())?;
                OfferedLoad::new(plan, Box::new(load), found.eyes(root, &plan.cpus))
            }
            (Workload::Hash(hash), _) => {
                let load = HashLoad::new(hash, &service)?;
                let eyes = Eyes::new(root.clone(), service, Sight::OwnThreads);
                OfferedLoad::new(plan, Box::new(load), eyes)
            }
            _ => return Err(nothing_to_run()),
        };
        Ok(Box::new(offered.beside(beside)))
    }

    /// What carries out the trials of `plan` here. What it changes stands in the
    /// journal that `journal` opens, if it changes anything.
    ///
    /// # Errors
    /// The load cannot be offered.
    pub fn runner<'a>(
        &self,
        plan: &'a Plan,
        root: &Root,
        journal: &dyn Fn() -> Result<Journal, ControlError>,
    ) -> Result<Box<dyn Runner + 'a>, RunError> {
        let service = plan.cpus.service.clone();
        Ok(match (&plan.workload, self) {
            (Workload::Http(http), Place::Server(found)) => {
                let load = HttpLoad::new(http, plan.cpus.generator.clone())?;
                let eyes = found.eyes(root, &plan.cpus);
                Box::new(OfferedLoad::new(plan, Box::new(load), eyes))
            }
            (Workload::Hash(hash), _) => {
                let load = HashLoad::new(hash, &service)?;
                let one_thread = plan
                    .cpus
                    .one_thread_of_each_core()
                    .map(|cpus| load.on(cpus));
                let eyes = Eyes::new(root.clone(), service, Sight::OwnThreads);
                let runner = OfferedLoad::new(plan, Box::new(load), eyes);
                Box::new(runner.with_one_thread(one_thread))
            }
            (Workload::Copies(command), _) => {
                let eyes = Eyes::new(root.clone(), service, Sight::Children);
                Box::new(CopiesRunner::new(plan, command, eyes, &journal()?)?)
            }
            (Workload::Imported(_), _) => return Err(nothing_to_run()),
            (Workload::Http(_), Place::Here(_)) => {
                return Err(RunError::Stuck(
                    "the server was not looked for; this is a defect of Plimsoll".to_owned(),
                ));
            }
        })
    }
}

/// What carries out the trials of `plan` on a load that names threads of this
/// process as its service's.
pub(crate) fn in_this_process<'a>(
    plan: &'a Plan,
    root: &Root,
    load: Box<dyn Load>,
) -> impl Runner + use<'a> {
    let service = plan.cpus.service.clone();
    let eyes = Eyes::new(root.clone(), service, Sight::OwnThreads);
    OfferedLoad::new(plan, load, eyes)
}

fn nothing_to_run() -> RunError {
    let why =
        "an imported table cannot be gone on with, for nothing was run; start a sweep of its own";
    RunError::Load(LoadError::Mistake(why.to_owned()))
}
