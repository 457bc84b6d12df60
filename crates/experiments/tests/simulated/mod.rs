//! Runs on virtual time: plans from flags, as the commands make them, and the loop
//! that carries them out. For tests and for the example `search_methods`.

#![allow(dead_code, reason = "each of its users needs a part")]

use clap::{Arg, Args, Command};
use plimsoll_engine::{Observer, Outcome, Planner, Quiet, RunError, Runner, conduct};
use plimsoll_experiments::sweep::{self, SweepPlanner};
use plimsoll_model::{
    Bytes, CpuPlan, CpuSet, CpuTime, CpusOf, HashService, InterruptTime, Invalid, Plan, Share,
    Trial, TrialSpec, Verdict, Workload,
};
use plimsoll_simulate::Machine;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The flags of an experiment, as they are typed; they must be right.
pub(crate) fn flags<A: Args>(line: &str) -> A {
    let command = Command::new("plimsoll").no_binary_name(true);
    let command = A::augment_args(command).arg(Arg::new("resume").long("resume"));
    let matches = command.try_get_matches_from(line.split_whitespace());
    let args = matches.and_then(|matches| A::from_arg_matches(&matches));
    args.unwrap_or_else(|error| error.exit())
}

/// A hash service whose requests cost 1 ms of CPU time.
pub(crate) fn hash() -> Workload {
    Workload::Hash(HashService {
        mean_block: Bytes(1 << 20),
        deviation_share: 0.25,
        request_cpu: CpuTime(Duration::from_millis(1)),
        waiting: None,
        memory: None,
        files: None,
    })
}

/// The plan of a sweep with these flags, of the hash service on CPU 0.
pub(crate) fn plan(line: &str) -> Plan {
    plan_on(line, std::iter::once(0).collect(), Vec::new())
}

/// The same on these CPUs and cores.
pub(crate) fn plan_on(line: &str, service: CpuSet, cores: Vec<CpuSet>) -> Plan {
    let cpus = CpuPlan {
        service,
        cores,
        ..CpuPlan::default()
    };
    sweep::plan(&flags(line), hash(), cpus, InterruptTime::Unknown)
}

/// The verdict of a disturbed trial.
pub(crate) fn disturbed() -> Verdict {
    let (stolen, bound) = (Share::ONE, Share::ZERO);
    Verdict::Invalid(vec![Invalid::Steal {
        stolen,
        bound,
        on: CpusOf::Machine,
    }])
}

/// Runs trials by a function.
pub(crate) struct By<F>(pub(crate) F);

impl<S, O, F: FnMut(&TrialSpec<S>) -> Trial<S, O>> Runner<S, O> for By<F> {
    fn run(
        &mut self,
        spec: &TrialSpec<S>,
        _: &mut dyn Observer,
        _: &AtomicBool,
    ) -> Result<Option<Trial<S, O>>, RunError> {
        Ok(Some((self.0)(spec)))
    }
}

/// Continues from `trials` to the end of the plan, with trials by `run`.
///
/// # Errors
/// The planner cannot continue.
pub(crate) fn conducted<P: Planner>(
    planner: &P,
    trials: &mut Vec<Trial<P::Setting, P::Outcome>>,
    run: impl FnMut(&TrialSpec<P::Setting>) -> Trial<P::Setting, P::Outcome>,
) -> Result<Outcome, RunError> {
    let (mut runner, stop) = (By(run), AtomicBool::new(false));
    let record = |_: &_| Ok(());
    conduct(planner, trials, &mut runner, record, &mut Quiet, &stop)
}

/// All trials of a sweep of this machine, of which it has made `trials`.
///
/// # Errors
/// The planner cannot continue.
pub(crate) fn sweep(
    machine: &Machine,
    plan: &Plan,
    mut trials: Vec<Trial>,
) -> Result<Vec<Trial>, RunError> {
    conducted(&SweepPlanner(plan), &mut trials, |spec| {
        machine.run(spec, plan)
    })?;
    Ok(trials)
}
