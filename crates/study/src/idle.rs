//! CPU use without load: before all loads, and after them.

use crate::{cpu_use, loaded_from};
use plimsoll_model::{CpuGauge, Doubt, Millicores, Phase, Plan, Share, Trial};

/// A service that works off what is left keeps at least one thread busy. Half of a CPU, or of
/// what it may use if that is less, is more than it takes to be idle.
const BUSY_CPUS: f64 = 0.5;

/// Before any load, in percent.
pub(crate) fn before_pct(plan: &Plan, trials: &[Trial], gauge: CpuGauge) -> Option<f64> {
    last_pct(plan, &trials[..loaded_from(trials)], gauge)
}

/// A service that is idle before the load, and busy after it.
pub(crate) fn works_on(plan: &Plan, trials: &[Trial]) -> Option<Doubt> {
    let after = &trials[loaded_from(trials)..];
    let pcts = |gauge| before_pct(plan, trials, gauge).zip(last_pct(plan, after, gauge));
    let (before_pct, after_pct) =
        pcts(CpuGauge::OwnTime).or_else(|| pcts(CpuGauge::ServiceCpus))?;
    let usable = plan.run.cpus.usable().map_or(1.0, Millicores::cpus);
    let least_pct = 100.0 * BUSY_CPUS * usable.min(1.0) / usable;
    (after_pct - before_pct >= least_pct).then_some(Doubt::WorksOn {
        cpu_pct: [before_pct, after_pct],
    })
}

fn last_pct(plan: &Plan, trials: &[Trial], gauge: CpuGauge) -> Option<f64> {
    let idles = trials.iter().filter(|t| t.spec.phase == Phase::Idle);
    let last = { idles }.rfind(|t| t.verdict.is_valid())?;
    cpu_use::share(plan, last, gauge).map(Share::pct)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, trial_at};
    use plimsoll_model::Setting;

    fn idle(cpu: f64) -> Trial {
        let mut trial = trial_at(50.0, 500, cpu, 1e3);
        trial.spec.phase = Phase::Idle;
        trial.spec.setting = Setting::Idle;
        trial
    }

    #[test]
    fn idleness_after_the_load_is_compared_with_that_before() {
        let load = || trial_at(50.0, 500, 0.4, 1e3);
        let doubt = |trials: &[Trial]| works_on(&plan(), trials);
        let busy = [idle(0.01), load(), idle(0.98)];
        let Some(Doubt::WorksOn { cpu_pct }) = doubt(&busy) else {
            panic!("no doubt");
        };
        assert!((cpu_pct[0] - 1.0).abs() < 0.1 && (cpu_pct[1] - 98.0).abs() < 0.1);
        assert_eq!(doubt(&[idle(0.01), load(), idle(0.02)]), None);
        assert_eq!(doubt(&[idle(0.97), load(), idle(0.98)]), None, "it polls");
        assert_eq!(doubt(&[idle(0.01), load()]), None, "it was stopped");
        assert_eq!(doubt(&[load(), idle(0.98)]), None);
        let pct = before_pct(&plan(), &busy, CpuGauge::ServiceCpus).unwrap();
        assert!((pct - 1.0).abs() < 0.1, "{pct}");
    }
}
