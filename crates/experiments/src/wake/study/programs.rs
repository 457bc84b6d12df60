//! What a program measured under each policy. Pure.

use super::policies::power_w;
use crate::wake::findings::{ProgramFigureFinding, ProgramFinding};
use crate::wake::outcome::WakeTrial;
use crate::wake::plan::WakePlan;
use plimsoll_model::IdlePolicy;
use plimsoll_study::wake::{Draws, Figure};

pub(super) fn findings(
    plan: &WakePlan,
    trials: &[WakeTrial],
    draws: &Draws,
) -> Vec<ProgramFinding> {
    let Some(program) = &plan.program else {
        return Vec::new();
    };
    let of = |policy: &IdlePolicy| {
        let counts = |t: &&WakeTrial| {
            let shows = t.verdict.is_valid() && t.outcome.not_kept.is_none();
            shows && t.spec.setting.policy == *policy && !t.outcome.program.is_empty()
        };
        let valid: Vec<&WakeTrial> = trials.iter().filter(counts).collect();
        let mean = |of: &dyn Fn(&WakeTrial) -> Option<f64>| {
            let of_pass = |pass| of(valid.iter().find(|t| t.spec.pass == pass)?);
            let each: Vec<Option<f64>> = (0..plan.run.passes).map(of_pass).collect();
            Figure::mean(&each, draws).map(|figure| figure.positive_estimate())
        };
        let printed = valid.first().map_or(&[][..], |t| &t.outcome.program);
        let figures = printed.iter().map(|printed| ProgramFigureFinding {
            name: printed.name.clone(),
            unit: printed.unit.clone(),
            value: mean(&|trial| {
                let mut own = trial.outcome.program.iter();
                Some(own.find(|figure| figure.name == printed.name)?.value)
            }),
        });
        ProgramFinding {
            policy: *policy,
            program: program.program,
            cpus: program.cpus.clone(),
            figures: figures.collect(),
            // No more than all is burned.
            burn_pct: mean(&burn_pct).map(|burn| burn.map_rising(|pct| pct.min(100.0))),
            power_w: mean(&power_w),
            trials: valid.len(),
        }
    };
    plan.policies.iter().map(of).collect()
}

/// CPU time of all tasks, and idle time spent polling, in percent of the time of all CPUs. A server is
/// no child of the program, so that no less is known than what /proc/stat counts.
fn burn_pct(trial: &WakeTrial) -> Option<f64> {
    let cpu = trial.machine.cpu?;
    let burned = cpu.busy().0 + trial.outcome.polled.unwrap_or_default();
    let all = cpu.total().0.as_secs_f64();
    (all > 0.0).then(|| 100.0 * burned.as_secs_f64() / all)
}
