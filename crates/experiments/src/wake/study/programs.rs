//! What a program measured under each policy. Pure.

use super::policies::{change, power_w};
use crate::wake::findings::{ProgramFigureFinding, ProgramFinding};
use crate::wake::outcome::WakeTrial;
use crate::wake::plan::WakePlan;
use crate::wake::program::ProgramFigure;
use plimsoll_model::{Estimate, IdlePolicy};
use plimsoll_study::wake::{Draws, Figure};

pub(super) fn findings(
    plan: &WakePlan,
    trials: &[WakeTrial],
    draws: &Draws,
) -> Vec<ProgramFinding> {
    let Some(program) = &plan.program else {
        return Vec::new();
    };
    let all: Vec<Policy<'_>> = plan
        .policies
        .iter()
        .map(|policy| Policy::of(*policy, plan, trials, draws))
        .collect();
    let of = |own: &Policy<'_>| ProgramFinding {
        policy: own.policy,
        program: program.program,
        cpus: program.cpus.clone(),
        figures: own.figures(&all),
        // No more than all is burned.
        burn_pct: own
            .mean(&burn_pct)
            .map(|burn| burn.map_rising(|pct| pct.min(100.0))),
        power_w: own.mean(&power_w),
        trials: own.valid.len(),
    };
    all.iter().map(of).collect()
}

/// The valid trials of a policy.
struct Policy<'a> {
    policy: IdlePolicy,
    valid: Vec<&'a WakeTrial>,
    passes: u32,
    draws: &'a Draws,
}

impl Policy<'_> {
    fn of<'a>(
        policy: IdlePolicy,
        plan: &WakePlan,
        trials: &'a [WakeTrial],
        draws: &'a Draws,
    ) -> Policy<'a> {
        let counts = |t: &&WakeTrial| {
            let shows = t.verdict.is_valid() && t.outcome.not_kept.is_none();
            shows && t.spec.setting.policy == policy && !t.outcome.program.is_empty()
        };
        Policy {
            policy,
            valid: trials.iter().filter(counts).collect(),
            passes: plan.run.passes,
            draws,
        }
    }

    fn figure(&self, of: &dyn Fn(&WakeTrial) -> Option<f64>) -> Option<Figure> {
        let of_pass = |pass| of(self.valid.iter().find(|t| t.spec.pass == pass)?);
        let each: Vec<Option<f64>> = (0..self.passes).map(of_pass).collect();
        Figure::mean(&each, self.draws)
    }

    fn mean(&self, of: &dyn Fn(&WakeTrial) -> Option<f64>) -> Option<Estimate> {
        Some(self.figure(of)?.positive_estimate())
    }

    /// The mean logarithm of a figure that the program printed.
    fn log(&self, name: &str) -> Option<Figure> {
        self.figure(&|trial| {
            printed(trial, name)
                .filter(|value| *value > 0.0)
                .map(f64::ln)
        })
    }

    fn figures(&self, all: &[Policy<'_>]) -> Vec<ProgramFigureFinding> {
        let first = self.valid.first().map_or(&[][..], |t| &t.outcome.program);
        let finding = |figure: &ProgramFigure| {
            let name = figure.name.as_str();
            let ratio_of = |policy| {
                let find = |wanted| all.iter().find(|own| own.policy == wanted)?.log(name);
                let (as_is, own) = (find(IdlePolicy::AsIs)?, find(policy)?);
                let ratio = Figure::from(&[&as_is, &own], |logs| (logs[1] - logs[0]).exp())?;
                Some(ratio.positive_estimate())
            };
            let ratio = (self.policy != IdlePolicy::AsIs)
                .then(|| ratio_of(self.policy))
                .flatten();
            let noise = ratio_of(IdlePolicy::AsIsAgain);
            ProgramFigureFinding {
                name: figure.name.clone(),
                unit: figure.unit.clone(),
                value: self.mean(&|trial| printed(trial, name)),
                ratio,
                change: ratio
                    .filter(|_| !self.policy.is_as_is())
                    .and_then(|ratio| change(ratio, noise)),
            }
        };
        first.iter().map(finding).collect()
    }
}

fn printed(trial: &WakeTrial, name: &str) -> Option<f64> {
    let mut figures = trial.outcome.program.iter();
    Some(figures.find(|figure| figure.name == name)?.value)
}

/// Busy time, and idle time spent polling, in percent of the time of all CPUs. A server is no child of
/// the program, so that no less is known than what all CPUs do.
fn burn_pct(trial: &WakeTrial) -> Option<f64> {
    let cpu = trial.machine.cpu?;
    let burned = cpu.busy().0 + trial.outcome.polled.unwrap_or_default();
    let all = cpu.total().0.as_secs_f64();
    (all > 0.0).then(|| 100.0 * burned.as_secs_f64() / all)
}
