//! Plimsoll's sweep, with the plan that its command would make.

use crate::testbed::{Answer, Case};
use plimsoll_experiment::sweep::{self, Effort, Request, Tolerance};
use plimsoll_experiment::{Quiet, RunError, Runner, Watch, conduct};
use plimsoll_model::{
    Arrivals, Bytes, CpuPlan, CpuSet, CpuTime, HashService, LoadLevel, Phase, Plan, Share, Trial,
    TrialSpec, Workload,
};
use plimsoll_simulate::Machine;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How much of a sweep is made before the search.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope {
    /// All graduated levels twice: the curves are wanted too.
    Whole,
    /// 50, 75 and 100 % once: only the capacity is wanted.
    FewLevels,
}

/// The answer, with the time of all trials and with that of the search and
/// the confirmation alone.
pub(crate) struct Found {
    pub(crate) whole: Answer,
    pub(crate) search: Answer,
}

pub(crate) fn plan(case: &Case, scope: Scope, precision: f64, seed: u64) -> Plan {
    let levels = match scope {
        Scope::Whole => None,
        Scope::FewLevels => Some(
            [50.0, 75.0, 100.0]
                .into_iter()
                .filter_map(LoadLevel::percent)
                .collect(),
        ),
    };
    let service: CpuSet = std::iter::once(0).collect();
    let goal = format!("p99<{}us", case.limit.as_micros());
    Request {
        workload: Workload::Hash(HashService {
            mean_block: Bytes(1 << 20),
            deviation_share: 0.25,
            request_cpu: CpuTime(Duration::from_millis(1)),
        }),
        effort: Effort::Full,
        goals: goal.parse().into_iter().collect(),
        arrivals: Arrivals::Poisson,
        trials: levels.is_some().then_some(1),
        levels,
        copies: vec![],
        window: None,
        precision: Share::new(precision),
        rated: None,
        cpus: CpuPlan {
            service,
            generator: CpuSet::default(),
        },
        tolerance: Tolerance::default(),
        restart: None,
        seed,
    }
    .plan()
}

struct Simulated<'a> {
    machine: Machine,
    plan: &'a Plan,
}

impl Runner for Simulated<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec,
        _: &mut dyn Watch,
        _: &AtomicBool,
    ) -> Result<Option<Trial>, RunError> {
        Ok(Some(self.machine.run(spec, self.plan)))
    }
}

pub(crate) fn sweep(case: &Case, scope: Scope, precision: f64, seed: u64) -> Found {
    let plan = plan(case, scope, precision, seed);
    let mut runner = Simulated {
        machine: case.machine(seed),
        plan: &plan,
    };
    let mut trials = Vec::new();
    let ended = conduct(
        |trials| (sweep::next(&plan, trials), sweep::progress(&plan, trials)),
        &mut trials,
        &mut runner,
        |_| Ok::<(), RunError>(()),
        &mut Quiet,
        &AtomicBool::new(false),
    );
    let found = ended.ok().and_then(|_| {
        plimsoll_study::findings(&plan, &trials)
            .capacity
            .first()?
            .rate_rps
    });
    let is_search = |t: &&Trial| matches!(t.spec.phase, Phase::Search | Phase::Confirmation);
    let answer = |took| Answer {
        rate: found.map(|rate| rate.value),
        interval: found.and_then(|rate| rate.interval()),
        took,
    };
    Found {
        whole: answer(trials.iter().map(|t| t.took).sum()),
        search: answer(trials.iter().filter(is_search).map(|t| t.took).sum()),
    }
}
