//! Sweeps of simulated machines: the plan that the command would make with one
//! goal, and the loop that it runs. For the tests of known answers, and for the
//! example that holds Plimsoll's search beside others.

use plimsoll_engine::{Observer, Quiet, RunError, Runner, conduct};
use plimsoll_experiments::sweep::{Effort, Request, SweepPlanner};
use plimsoll_model::{
    Bytes, CpuPlan, CpuSet, CpuTime, Goal, HashService, Plan, Setting, Share, Trial, TrialSpec,
    Workload,
};
use plimsoll_simulate::Machine;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A full sweep for `goal`, to a half width of `precision`, with nothing else but
/// defaults.
pub(crate) fn request(goal: Goal, precision: f64, seed: u64) -> Request {
    let workload = Workload::Hash(HashService {
        mean_block: Bytes(1 << 20),
        deviation_share: 0.25,
        request_cpu: CpuTime(Duration::from_millis(1)),
    });
    let cpus = CpuPlan {
        service: std::iter::once(0).collect(),
        generator: CpuSet::default(),
        cores: Vec::new(),
    };
    Request {
        goals: vec![goal],
        precision: Share::new(precision),
        ..Request::new(workload, Effort::Full, cpus, seed)
    }
}

struct Simulated<'a> {
    machine: &'a Machine,
    plan: &'a Plan,
}

impl Runner<Setting, ()> for Simulated<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec,
        _: &mut dyn Observer,
        _: &AtomicBool,
    ) -> Result<Option<Trial>, RunError> {
        Ok(Some(self.machine.run(spec, self.plan)))
    }
}

/// All trials of a sweep.
///
/// # Errors
/// The planner cannot go on.
pub(crate) fn trials(machine: &Machine, plan: &Plan) -> Result<Vec<Trial>, RunError> {
    let mut trials = Vec::new();
    conduct(
        &SweepPlanner(plan),
        &mut trials,
        &mut Simulated { machine, plan },
        |_| Ok::<(), RunError>(()),
        &mut Quiet,
        &AtomicBool::new(false),
    )?;
    Ok(trials)
}
