//! Whether conditions of a run hold.

mod one_trial;

use crate::capacity::{Asked, evidence};
use crate::evidence::Evidence;
use plimsoll_model::{
    CapacityFinding, CapacityNote, Carried, Difference, Doubt, Estimate, FigureLimit, Findings,
    Goal, Holds, Judgement, LimitSide, Measure, NamedFigure, Plan, Rate, Share, Trial,
};

pub use one_trial::{
    Missed, mean_below, part_that_misses, steady_trial, trial, unless_by_waiting,
    unless_latency_falls,
};
pub(crate) use one_trial::{decided, share};

/// Whether all goals of a plan are kept beyond a rate.
pub fn capacity(plan: &Plan, trials: &[Trial], above: Rate) -> Judgement {
    let findings = crate::findings(plan, trials);
    let each = findings.capacity.iter().map(|found| {
        let missed = missed_up_to(found, plan, trials, above);
        let judged = missed.unwrap_or_else(|| carried(Carried::from(found), above));
        about(
            found.goal,
            unless_paused(judged, found.goal, above, &findings.doubts),
        )
    });
    unless_doubted(worst(each), &findings.doubts)
}

/// A trial that keeps a goal misses it by chance at most so often: 1 - 1/e of those with nearly as many
/// requests as allow one miss, where the goal is just kept.
const MISSED_BY_CHANCE: f64 = 0.632;

/// Of a goal that was missed from the lowest load on: if it were kept at this rate, the trials up to
/// there would miss it by chance alone. Those at higher loads show nothing about it.
fn missed_up_to(
    found: &CapacityFinding,
    plan: &Plan,
    trials: &[Trial],
    rate: Rate,
) -> Option<Judgement> {
    let Some(CapacityNote::MissedAtLowest { lowest_rps }) = found.note else {
        return None;
    };
    let asked = Asked::of(plan, trials);
    let mut bounds = plan.goals.iter().zip(asked.bounds());
    let bound = bounds.find_map(|(goal, bound)| bound.filter(|_| *goal == found.goal))?;
    let tried = evidence(&bound, plan, trials).into_iter();
    let tried: Vec<Evidence> = tried.filter(|e| e.rate <= rate.get()).collect();
    let missed = tried.iter().filter(|e| e.share() > bound.share()).count() as u64;
    let of = tried.len() as u64;
    let lowest = Rate::per_second(lowest_rps).unwrap_or(Rate::ZERO);
    Some(Judgement {
        holds: match share(missed, of, MISSED_BY_CHANCE) {
            Holds::No => Holds::No,
            _ => Holds::Undecided,
        },
        why: match of {
            0 => format!("missed already at {lowest}, and less was not tried"),
            _ => format!("missed in {missed} of {of} trials up to {rate}, already at {lowest}"),
        },
    })
}

fn about(goal: Goal, judged: Judgement) -> Judgement {
    Judgement {
        why: format!("{goal}: {}", judged.why),
        ..judged
    }
}

/// Of those that are equally far from holding, the first.
fn worst(each: impl DoubleEndedIterator<Item = Judgement>) -> Judgement {
    let worst = each.rev().max_by_key(|judged| judged.holds);
    worst.unwrap_or_else(|| Judgement {
        holds: Holds::Undecided,
        why: "there is no goal".to_owned(),
    })
}

/// What figures in doubt show is undecided.
fn unless_doubted(judged: Judgement, doubts: &[Doubt]) -> Judgement {
    match doubts.iter().any(Doubt::unsettles) {
        false => judged,
        true => doubted(judged, "the figures are in doubt: see the report"),
    }
}

/// What misses a rate that pauses of the generator alone may have made it miss is undecided.
fn unless_paused(judged: Judgement, goal: Goal, above: Rate, doubts: &[Doubt]) -> Judgement {
    let may_carry = |doubt: &Doubt| match *doubt {
        Doubt::GeneratorPauses {
            goal: of,
            without_rps,
            ..
        } => of == goal && without_rps > above.get(),
        _ => false,
    };
    match judged.holds == Holds::No && doubts.iter().any(may_carry) {
        true => doubted(judged, "pauses of the generator may be why: see the report"),
        false => judged,
    }
}

/// Undecided for a reason, whatever the figures show.
pub fn doubted(judged: Judgement, because: &str) -> Judgement {
    let because = within_a_sentence(because);
    match judged.holds {
        Holds::Undecided => judged,
        Holds::Yes | Holds::No => Judgement {
            holds: Holds::Undecided,
            why: format!("{}, but {because}", judged.why),
        },
    }
}

/// A sentence after another one: without its capital, unless that is of an abbreviation.
fn within_a_sentence(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// Whether all figures that a limit is about lie on its side.
pub fn figures(all: &[NamedFigure], limit: &FigureLimit) -> Judgement {
    let named = || all.iter().filter(|figure| figure.name == limit.name);
    let is_meant = |figure: &&NamedFigure| limit.of.as_ref().is_none_or(|of| *of == figure.of);
    let each = named().filter(is_meant).map(|figure| {
        let judged = figure_judged(figure, limit);
        Judgement {
            why: format!("{}: {}", figure.of, judged.why),
            ..judged
        }
    });
    let each: Vec<Judgement> = each.collect();
    if each.is_empty() {
        let mut known: Vec<&str> = named().map(|figure| figure.of.as_str()).collect();
        known.dedup();
        let why = match (&limit.of, known.is_empty()) {
            (Some(of), false) => format!("there is no '{of}' among {}", known.join(", ")),
            _ => format!("no trial shows {}", limit.name.name()),
        };
        return Judgement {
            holds: Holds::Undecided,
            why,
        };
    }
    worst(each.into_iter())
}

fn figure_judged(figure: &NamedFigure, limit: &FigureLimit) -> Judgement {
    let Some(Estimate { value, low, high }) = figure.value else {
        return Judgement {
            holds: Holds::Undecided,
            why: "it is unknown".to_owned(),
        };
    };
    let is_above = |end: Option<f64>| end.is_some_and(|end| end > limit.limit);
    let is_below = |end: Option<f64>| end.is_some_and(|end| end < limit.limit);
    let (yes, no) = match limit.side {
        LimitSide::Above => (is_above(low), is_below(high)),
        LimitSide::Below => (is_below(high), is_above(low)),
    };
    let written = |value: f64| {
        figure
            .name
            .unit()
            .written((value * 1000.0).round() / 1000.0)
    };
    let interval = match (low, high) {
        (Some(low), Some(high)) => format!("95 % interval {} to {}", written(low), written(high)),
        (Some(low), None) => format!("95 %: at least {}", written(low)),
        (None, Some(high)) => format!("95 %: at most {}", written(high)),
        (None, None) => "no interval".to_owned(),
    };
    Judgement {
        holds: match (yes, no) {
            (true, _) => Holds::Yes,
            (_, true) => Holds::No,
            _ => Holds::Undecided,
        },
        why: format!("{} ({interval})", written(value)),
    }
}

/// Whether the capacity of a machine under each goal is at least that of another, less a share.
pub fn no_worse(differences: &[Difference], loss: Share) -> Judgement {
    let capacities = differences
        .iter()
        .filter(|d| d.measure == Measure::Capacity);
    let each = capacities.map(|one| {
        let judged = ratio(one.ratio, 1.0 - loss.get());
        let why = format!("{} has {}, under {}", one.name, judged.why, one.goal);
        Judgement { why, ..judged }
    });
    worst(each)
}

/// A goal that a machine misses from the lowest load on, and that `first` keeps, less a share: there is no
/// ratio. `None` where no goal is shown to be so.
pub fn missed_where_kept(
    first: &Findings,
    plan: &Plan,
    trials: &[Trial],
    loss: Share,
) -> Option<Judgement> {
    let findings = crate::findings(plan, trials);
    let each = first.capacity.iter().zip(&findings.capacity);
    let mut judged = each.filter_map(|(one, other)| {
        let kept = match Carried::from(one) {
            Carried::Unknown => return None,
            Carried::AtLeast(least) => least,
            Carried::Found(estimate) => estimate.low?,
        };
        let least = Rate::per_second(kept * (1.0 - loss.get()))?;
        let missed = missed_up_to(other, plan, trials, least)?;
        (one.goal == other.goal).then(|| about(one.goal, missed))
    });
    judged.find(|judged| judged.holds == Holds::No)
}

fn ratio(ratio: Option<Estimate>, least: f64) -> Judgement {
    let Some(Estimate { value, low, high }) = ratio else {
        return Judgement {
            holds: Holds::Undecided,
            why: "an unknown part of the capacity".to_owned(),
        };
    };
    let interval = match (low, high) {
        (Some(low), Some(high)) => format!("95 % interval {low:.2} to {high:.2}"),
        _ => "no interval".to_owned(),
    };
    Judgement {
        holds: match (low, high) {
            (Some(low), _) if low >= least => Holds::Yes,
            (_, Some(high)) if high < least => Holds::No,
            _ => Holds::Undecided,
        },
        why: format!("{value:.2} times the capacity ({interval})"),
    }
}

fn carried(carried: Carried, above: Rate) -> Judgement {
    let rate = |rps: f64| Rate::per_second(rps).unwrap_or(Rate::ZERO).to_string();
    let (holds, why) = match carried {
        Carried::Unknown => (Holds::Undecided, "its capacity is unknown".to_owned()),
        Carried::AtLeast(least) if least > above.get() => {
            (Holds::Yes, format!("carries at least {}", rate(least)))
        }
        Carried::AtLeast(least) => {
            let why = format!("carries at least {}; more was not tried", rate(least));
            (Holds::Undecided, why)
        }
        Carried::Found(Estimate { value, low, high }) => {
            let holds = match (low, high) {
                (Some(low), _) if low > above.get() => Holds::Yes,
                (_, Some(high)) if high < above.get() => Holds::No,
                _ => Holds::Undecided,
            };
            let interval = match (low, high) {
                (Some(low), Some(high)) => format!("95 % interval {} to {}", rate(low), rate(high)),
                _ => "no interval".to_owned(),
            };
            (holds, format!("carries {} ({interval})", rate(value)))
        }
    };
    Judgement { holds, why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{plan, trial_at};
    use plimsoll_model::{Condition, FigureName};

    #[test]
    fn a_doubt_is_a_part_of_its_sentence() {
        let kept = Judgement {
            holds: Holds::Yes,
            why: "1 %".to_owned(),
        };
        let judged = doubted(kept, "The goal is relative");
        assert_eq!(judged.holds, Holds::Undecided);
        assert_eq!(judged.why, "1 %, but the goal is relative");
    }

    #[test]
    fn a_rate_is_decided_by_the_interval() {
        let above = Rate::per_second(1000.0).unwrap();
        let of = |value: Carried| carried(value, above).holds;
        assert_eq!(
            of(Carried::Found(Estimate::within(1200.0, 1001.0, 1400.0))),
            Holds::Yes
        );
        assert_eq!(
            of(Carried::Found(Estimate::within(1200.0, 999.0, 1400.0))),
            Holds::Undecided
        );
        assert_eq!(
            of(Carried::Found(Estimate::within(800.0, 700.0, 999.0))),
            Holds::No
        );
        let bare = Estimate {
            value: 5000.0,
            low: None,
            high: None,
        };
        assert_eq!(of(Carried::Found(bare)), Holds::Undecided);
        assert_eq!(of(Carried::AtLeast(1500.0)), Holds::Yes);
        assert_eq!(of(Carried::AtLeast(900.0)), Holds::Undecided);
        assert_eq!(of(Carried::Unknown), Holds::Undecided);
    }

    /// Nine trials at each of two loads, all of which miss p99<10ms.
    fn slow_service() -> (Plan, Vec<Trial>) {
        let mut plan = plan();
        plan.goals = vec!["p99<10ms".parse().unwrap()];
        let at = |load_pct, rps| (0..9).map(move |_| trial_at(load_pct, rps, 0.5, 50_000.0));
        (plan, at(10.0, 100).chain(at(80.0, 800)).collect())
    }

    #[test]
    fn a_goal_missed_from_the_lowest_load_on_is_broken_by_the_trials_up_to_the_rate() {
        let (plan, trials) = slow_service();
        let of = |trials: &[Trial], rps| capacity(&plan, trials, Rate::per_second(rps).unwrap());
        assert_eq!(
            of(&trials, 100.0).holds,
            Holds::No,
            "{:?}",
            of(&trials, 100.0)
        );
        assert_eq!(of(&trials, 500.0).holds, Holds::No);
        let below = of(&trials, 99.0);
        assert_eq!(below.holds, Holds::Undecided);
        assert!(below.why.contains("less was not tried"), "{below:?}");
        // Those at 800/s say nothing about 100/s.
        assert_eq!(of(&trials[8..], 100.0).holds, Holds::Undecided);
    }

    #[test]
    fn what_another_machine_keeps_and_this_one_misses_is_worse() {
        let (plan, trials) = slow_service();
        let fast = |load_pct, rps| (0..9).map(move |_| trial_at(load_pct, rps, 0.5, 1000.0));
        let fast: Vec<Trial> = fast(10.0, 100).chain(fast(80.0, 800)).collect();
        let kept = crate::findings(&plan, &fast);
        let judged = missed_where_kept(&kept, &plan, &trials, Share::ZERO);
        assert_eq!(judged.map(|judged| judged.holds), Some(Holds::No));
        assert_eq!(missed_where_kept(&kept, &plan, &fast, Share::ZERO), None);
    }

    #[test]
    fn all_figures_that_are_meant_decide() {
        let figure = |of: &str, low, high| NamedFigure {
            name: FigureName::Gain,
            of: of.to_owned(),
            value: Some(Estimate::within((low + high) / 2.0, low, high)),
        };
        let all = [
            figure("a", 31.0, 40.0),
            figure("b", 20.0, 29.0),
            figure("c", 25.0, 35.0),
            NamedFigure {
                value: None,
                ..figure("d", 0.0, 0.0)
            },
        ];
        let judged = |text: &str| match text.parse() {
            Ok(Condition::Figure(limit)) => figures(&all, &limit),
            other => panic!("{other:?}"),
        };
        assert_eq!(judged("gain of a>30%").holds, Holds::Yes);
        assert_eq!(judged("gain of a<30%").holds, Holds::No);
        assert_eq!(judged("gain of b>30%").holds, Holds::No);
        assert_eq!(judged("gain of c>30%").holds, Holds::Undecided);
        assert_eq!(judged("gain of d>30%").holds, Holds::Undecided);
        let worst = judged("gain>30%");
        assert_eq!(worst.holds, Holds::No);
        assert_eq!(worst.why, "b: 24.5% (95 % interval 20% to 29%)");
        let none = judged("gain of e>30%");
        assert_eq!(none.holds, Holds::Undecided);
        assert_eq!(none.why, "there is no 'e' among a, b, c, d");
        assert_eq!(judged("cost of a<3%").why, "no trial shows cost");
    }

    #[test]
    fn a_ratio_is_decided_by_its_interval_and_what_is_doubted_does_not_hold() {
        let of = |low, high| ratio(Some(Estimate::within((low + high) / 2.0, low, high)), 0.95);
        assert_eq!(of(0.96, 1.1).holds, Holds::Yes);
        assert_eq!(of(0.9, 1.1).holds, Holds::Undecided);
        assert_eq!(of(0.8, 0.94).holds, Holds::No);
        let doubt = Doubt::BodyLengths {
            rate_rps: 1.0,
            bytes: [1.0, 2.0],
        };
        let doubted = |judged| unless_doubted(judged, &[doubt]).holds;
        assert_eq!(doubted(of(0.96, 1.1)), Holds::Undecided);
        assert_eq!(doubted(of(0.8, 0.94)), Holds::Undecided);
        assert_eq!(unless_doubted(of(0.8, 0.94), &[]).holds, Holds::No);
    }

    #[test]
    fn a_rate_that_pauses_may_have_made_it_miss_is_undecided() {
        let goal: Goal = "p99<10ms".parse().unwrap();
        let doubt = Doubt::GeneratorPauses {
            goal,
            longest_us: 5e3,
            without_rps: 120.0,
        };
        let of = |holds, above: f64| {
            let judged = Judgement {
                holds,
                why: String::new(),
            };
            let above = Rate::per_second(above).unwrap();
            unless_paused(judged, goal, above, &[doubt]).holds
        };
        assert_eq!(of(Holds::No, 110.0), Holds::Undecided);
        assert_eq!(of(Holds::No, 130.0), Holds::No);
        assert_eq!(of(Holds::Yes, 80.0), Holds::Yes);
    }
}
