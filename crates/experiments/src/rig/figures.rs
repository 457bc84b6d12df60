//! The figures that conditions may be about.

use super::findings::{MetgStatus, RigFindings};
use plimsoll_model::{Estimate, FigureName, NamedFigure};

pub(super) const FIGURES: &[FigureName] = &[
    FigureName::Metg50,
    FigureName::Metg95,
    FigureName::Efficiency,
    FigureName::Concurrency,
    FigureName::Break,
    FigureName::Idle,
];

impl RigFindings {
    /// Those of a scheduler that broke its contract are unknown, whatever was measured before.
    pub(super) fn figures(&self) -> Vec<NamedFigure> {
        let pct = |ratio: Estimate| ratio.map_rising(|ratio| ratio * 100.0);
        let grain = self.grain.iter().flat_map(|found| {
            let of = &found.scheduler;
            [
                (
                    of,
                    FigureName::Metg50,
                    metg(found.metg50_us, found.metg50_status),
                ),
                (
                    of,
                    FigureName::Metg95,
                    metg(found.metg95_us, found.metg95_status),
                ),
            ]
        });
        let peak = self.peak.iter().flat_map(|found| {
            let of = &found.scheduler;
            [
                (of, FigureName::Efficiency, found.efficiency_ratio.map(pct)),
                (of, FigureName::Concurrency, found.average_concurrency),
            ]
        });
        let breaking = self.breaking.iter().map(|found| {
            let share = found.share_of_feasible_bound.map(pct);
            (&found.scheduler, FigureName::Break, share)
        });
        let idle = self.idle.iter();
        let idle = idle.map(|found| (&found.scheduler, FigureName::Idle, found.cpu_ratio.map(pct)));
        let each = grain.chain(peak).chain(breaking).chain(idle);
        let has_failed = |of: &str| self.failed.iter().any(|failed| failed.scheduler == of);
        let figure = |(of, name, value): (&String, FigureName, Option<Estimate>)| NamedFigure {
            name,
            of: of.clone(),
            value: value.filter(|_| !has_failed(of)),
        };
        each.map(figure).collect()
    }
}

/// One below the shortest jobs that were tried has these as its upper end alone.
fn metg(value: Option<Estimate>, status: MetgStatus) -> Option<Estimate> {
    match status {
        MetgStatus::Found => value,
        MetgStatus::BelowShortest => value.map(|shortest| Estimate {
            high: Some(shortest.value),
            ..Estimate::alone(shortest.value)
        }),
        MetgStatus::AboveLongest | MetgStatus::Disturbed | MetgStatus::Inconclusive => None,
    }
}
