//! Whether there are enough requests to show that a goal is kept.
//!
//! That none of a few requests exceeds a limit says little about a small share of
//! all requests: at least [`needed`] of them must be seen (299 for p99). More load
//! makes no request faster, so the share at a load is at most that at a higher
//! load, and requests at all loads from the one in question up to the boundary are
//! pooled. Few requests can still show that a goal is broken.

use crate::boundary::{AROUND, Boundary};
use crate::decide::{Decision, decide, needed};
use crate::evidence::{Evidence, Seen};
use plimsoll_model::CapacityNote;

/// What the requests show of a boundary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shown {
    Whole,
    /// The goal is kept up to this rate. Why no further.
    UpTo(f64, CapacityNote),
    /// Neither that the goal is kept anywhere nor that it is broken. Why.
    Nothing(CapacityNote),
}

/// What counted requests show of `boundary`, where at most `share` of them may
/// exceed the limit. A measured quantity, such as CPU use, is no sample.
pub(crate) fn shown(evidence: &[Evidence], share: f64, boundary: Boundary) -> Shown {
    if evidence.iter().any(|e| matches!(e.seen, Seen::Measured(_))) {
        return Shown::Whole;
    }
    let needed = needed(share);
    let loads = Requests::by_load(evidence);
    let edge = match boundary {
        Boundary::Below(_) => return shown_broken(&loads, share, needed),
        Boundary::Above(rate) => rate,
        Boundary::Gap { low, .. } => low.rate,
        Boundary::Line { rate, .. } => rate.value,
    };
    let independent: f64 = loads.iter().map(|load| load.independent).sum();
    if independent < needed {
        return Shown::Nothing(CapacityNote::TooFewRequests {
            needed,
            seen: independent,
        });
    }
    let below = || loads.iter().rev().filter(|load| load.rate <= edge);
    let highest = below().next().map_or(edge, |load| load.rate);
    let nearest = match boundary {
        // The widest distance at which a line is trusted.
        Boundary::Line { rate, .. } => highest.min(rate.value * (-AROUND).exp()),
        _ => highest,
    };
    let mut pooled = 0.0;
    let enough = below().find(|load| {
        pooled += load.of;
        pooled >= needed
    });
    let most_above = |rate: f64| {
        let loads = below().filter(|load| load.rate > rate);
        loads.map(|load| load.of).fold(0.0, f64::max)
    };
    match enough.map(|load| load.rate) {
        Some(rate) if rate >= nearest => Shown::Whole,
        Some(rate) => {
            let most = most_above(rate);
            Shown::UpTo(rate, CapacityNote::TooFewRequestsAbove { needed, most })
        }
        None => {
            let most = most_above(0.0);
            Shown::Nothing(CapacityNote::TooFewRequestsAtLoad { needed, most })
        }
    }
}

/// Whether the goal is broken at any load: at one that the service did not carry,
/// or where so many requests exceed the limit that it is no chance.
fn shown_broken(loads: &[Requests], share: f64, needed: f64) -> Shown {
    let independent: f64 = loads.iter().map(|load| load.independent).sum();
    let is_broken = |load: &Requests| load.not_carried || load.decision(share) == Decision::Fails;
    match independent >= needed || loads.iter().any(is_broken) {
        true => Shown::Whole,
        false => Shown::Nothing(CapacityNote::TooFewRequests {
            needed,
            seen: independent,
        }),
    }
}

/// The requests of all trials at one load.
struct Requests {
    rate: f64,
    over: f64,
    of: f64,
    /// How many of them are independent.
    independent: f64,
    /// Whether no trial there was carried.
    not_carried: bool,
}

impl Requests {
    /// Ascending.
    fn by_load(evidence: &[Evidence]) -> Vec<Requests> {
        let groups = Evidence::by_load(evidence);
        groups.iter().map(|group| Requests::of(group)).collect()
    }

    fn of(group: &[&Evidence]) -> Requests {
        let mut sum = Requests {
            rate: group.first().map_or(0.0, |e| e.rate),
            over: 0.0,
            of: 0.0,
            independent: 0.0,
            not_carried: group.iter().all(|e| !e.carried),
        };
        for one in group.iter().filter(|e| e.carried) {
            if let Seen::Counted {
                over,
                of,
                independent,
                ..
            } = one.seen
            {
                sum.over += over;
                sum.of += of;
                sum.independent += independent;
            }
        }
        sum
    }

    fn decision(&self, share: f64) -> Decision {
        let weight = self.independent / self.of.max(1.0);
        decide(self.over * weight, self.independent, share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::Side;

    const P99: f64 = 0.01;

    fn counted(rate: f64, over: f64, of: f64) -> Evidence {
        Evidence {
            rate,
            seconds: 1.0,
            carried: true,
            seen: Seen::Counted {
                over,
                of,
                thinning: 1.0,
                independent: of,
            },
        }
    }

    fn not_carried() -> Evidence {
        Evidence {
            carried: false,
            ..counted(300.0, 0.0, 0.0)
        }
    }

    fn too_few(seen: f64) -> CapacityNote {
        let needed = 299.0;
        CapacityNote::TooFewRequests { needed, seen }
    }

    #[test]
    fn a_goal_is_kept_where_pooled_requests_show_it() {
        let above = |needed, most| CapacityNote::TooFewRequestsAbove { needed, most };
        let at_load = |needed, most| CapacityNote::TooFewRequestsAtLoad { needed, most };
        let gap = Boundary::Gap {
            low: Side {
                rate: 200.0,
                kept: 1,
                of: 1,
                seconds: 1000.0,
            },
            high: Side {
                rate: 300.0,
                kept: 0,
                of: 1,
                seconds: 1000.0,
            },
        };
        for (name, evidence, boundary, expected) in [
            (
                "one long trial",
                vec![counted(100.0, 0.0, 299.0)],
                Boundary::Above(100.0),
                Shown::Whole,
            ),
            (
                "two short trials at one load",
                vec![counted(100.0, 0.0, 150.0), counted(100.0, 0.0, 149.0)],
                Boundary::Above(100.0),
                Shown::Whole,
            ),
            (
                "too few at the higher load",
                vec![counted(100.0, 0.0, 200.0), counted(200.0, 0.0, 150.0)],
                Boundary::Above(200.0),
                Shown::UpTo(100.0, above(299.0, 150.0)),
            ),
            (
                "enough only where the goal is broken",
                vec![counted(200.0, 0.0, 298.0), counted(300.0, 200.0, 900.0)],
                gap,
                Shown::Nothing(at_load(299.0, 298.0)),
            ),
            (
                "too few, and none answered in time at the next load",
                vec![counted(200.0, 0.0, 298.0), not_carried()],
                gap,
                Shown::Nothing(too_few(298.0)),
            ),
        ] {
            assert_eq!(shown(&evidence, P99, boundary), expected, "{name}");
        }
    }

    #[test]
    fn few_requests_can_show_that_a_goal_is_broken() {
        for (name, evidence, expected) in [
            ("by many of few", counted(100.0, 10.0, 100.0), Shown::Whole),
            (
                "by so few that it may be chance",
                counted(100.0, 1.0, 50.0),
                Shown::Nothing(too_few(50.0)),
            ),
            ("not carried", not_carried(), Shown::Whole),
        ] {
            let below = Boundary::Below(evidence.rate);
            assert_eq!(shown(&[evidence], P99, below), expected, "{name}");
        }
    }

    #[test]
    fn a_line_takes_its_requests_near_its_root() {
        let line = Boundary::Line {
            rate: plimsoll_model::Estimate::alone(100.0),
            slope: 10.0,
        };
        let broken = counted(101.0, 9.0, 299.0);
        let enough = |rate| counted(rate, 0.0, 299.0);
        let few = |rate| counted(rate, 0.0, 10.0);
        let of = |below: &[Evidence]| shown(&[below, &[broken]].concat(), P99, line);
        assert_eq!(of(&[enough(90.0)]), Shown::Whole);
        assert_eq!(of(&[enough(80.0), few(90.0)]), Shown::Whole);
        assert_eq!(of(&[enough(65.0)]), Shown::Whole, "nothing between");
        let between = of(&[enough(50.0), few(70.0)]);
        assert!(matches!(between, Shown::UpTo(50.0, _)), "{between:?}");
    }
}
