//! The searches for breaking points: which stress is tried next. Pure.

use super::graphs::Planned;
use super::outcome::{Direction, Part, RigSetting, RigTrial, counts};
use super::plan::RigPlan;
use plimsoll_model::{Phase, TrialSpec};
use plimsoll_study::rig::breaking::{self, Breaking, Search, Trial};
use std::time::Duration;

/// How long a trial of a search measures: some runs of a usual graph, and enough that a
/// tick of steal does not make it invalid.
pub(super) const SEARCH_WINDOW: Duration = Duration::from_millis(250);

/// The lowest stress that is tried.
const LOWEST: f64 = 0.2;

/// The width of an interval that is enough, as a share of the breaking point.
pub(super) const WIDTH: f64 = 0.05;

/// One search: a scheduler from one side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Approach<'p> {
    pub(super) scheduler: &'p str,
    pub(super) direction: Direction,
    search: Search,
}

impl<'p> Approach<'p> {
    /// All of a plan, if its graph can be built.
    pub(super) fn all(plan: &'p RigPlan, planned: &Planned) -> Vec<Approach<'p>> {
        let of = |scheduler: &'p String| {
            Direction::BOTH.map(|direction| {
                let from = match direction {
                    Direction::Below => breaking::Direction::FromBelow,
                    Direction::Above => breaking::Direction::FromAbove,
                };
                Approach {
                    scheduler,
                    direction,
                    search: Search {
                        width: WIDTH,
                        ..Search::new(from, LOWEST, planned.highest_stress())
                    },
                }
            })
        };
        plan.schedulers.iter().flat_map(of).collect()
    }

    fn setting(&self, stress: f64) -> RigSetting {
        RigSetting::Break {
            scheduler: self.scheduler.to_owned(),
            direction: self.direction,
            // Rounded down: at the highest stress nothing above it is feasible.
            stress_ppm: (stress * 1e6).floor() as u32,
        }
    }

    fn own<'t>(&'t self, trials: &'t [RigTrial]) -> impl Iterator<Item = (f64, &'t RigTrial)> {
        trials.iter().filter_map(|trial| match &trial.spec.setting {
            RigSetting::Break {
                scheduler,
                direction,
                stress_ppm,
            } if scheduler == self.scheduler && *direction == self.direction => {
                Some((f64::from(*stress_ppm) / 1e6, trial))
            }
            _ => None,
        })
    }

    /// The valid trials as the statistics take them.
    pub(super) fn tried(&self, trials: &[RigTrial]) -> Vec<Trial> {
        let own = self.own(trials);
        let valid = own.filter(|(_, t)| counts(t));
        let counted = valid.map(|(stress, trial)| {
            let kept = trial.outcome.runs.iter().filter_map(|run| run.deadlines);
            let missed = kept.clone().filter(|d| d.missed > 0).count() as u32;
            Trial {
                stress,
                runs: kept.count() as u32,
                missed,
            }
        });
        counted.filter(|trial| trial.runs > 0).collect()
    }

    pub(super) fn found(&self, trials: &[RigTrial]) -> Breaking {
        self.search.estimate(&self.tried(trials))
    }

    /// How long its trials took so far, and how many they are.
    pub(super) fn spent(&self, trials: &[RigTrial]) -> (Duration, u32) {
        let own = self.own(trials);
        own.fold((Duration::ZERO, 0), |(took, n), (_, t)| {
            (took + t.took, n + 1)
        })
    }
}

/// All searches of a plan.
#[derive(Debug)]
pub(super) struct SearchPlanner<'p> {
    plan: &'p RigPlan,
    approaches: Vec<Approach<'p>>,
}

impl<'p> SearchPlanner<'p> {
    pub(super) fn new(plan: &'p RigPlan) -> SearchPlanner<'p> {
        let wanted = plan.has(Part::Break);
        // A plan whose graph cannot be built is refused before the run.
        let planned = wanted.then(|| Planned::of(&plan.graph, plan).ok());
        let approaches = planned
            .flatten()
            .map(|planned| Approach::all(plan, &planned));
        SearchPlanner {
            plan,
            approaches: approaches.unwrap_or_default(),
        }
    }

    /// The next trial of the search that has made the fewest, so that all make theirs
    /// under the same conditions; `None` when all are done.
    pub(super) fn next(
        &self,
        sound: &[&String],
        trials: &[RigTrial],
        seed: u64,
    ) -> Option<TrialSpec<RigSetting>> {
        let spent = |approach: &'_ Approach<'p>| (approach.spent(trials), *approach);
        let mut open: Vec<_> = self.approaches.iter().map(spent).collect();
        open.retain(|((took, _), approach)| {
            let is_sound = sound.iter().any(|name| *name == approach.scheduler);
            is_sound && *took < self.plan.search_budget
        });
        open.sort_by_key(|((_, made), _)| *made);
        let (made, setting) = open.into_iter().find_map(|((_, made), approach)| {
            let stress = approach.search.next_stress(&approach.tried(trials))?;
            Some((made, approach.setting(stress)))
        })?;
        let window = self.plan.run.window.min(SEARCH_WINDOW);
        Some(TrialSpec {
            pass: made,
            seed,
            ..TrialSpec::blank(Phase::Search, setting, window)
        })
    }

    /// What the searches may still take.
    pub(super) fn left(&self, trials: &[RigTrial]) -> Duration {
        let budget = self.plan.search_budget;
        let all = self.approaches.iter();
        all.map(|a| budget.saturating_sub(a.spent(trials).0)).sum()
    }
}
