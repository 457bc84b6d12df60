//! What a measurement says about how to hold a sideload, and what becomes of it
//! on this machine. Decisions alone: what was measured is passed in, and nothing
//! is read here.

use crate::hold::Hold;
use plimsoll_control::{Capabilities, Mechanism};
use plimsoll_law::Headroom;

/// What a measurement says, for a sideload of which nobody says by what it is to
/// be held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Advice {
    /// There is none.
    #[default]
    Unknown,
    /// To hold it so.
    Take {
        /// By what.
        hold: Hold,
        /// Whether it was measured in a cgroup and says nothing without one.
        in_group: bool,
        /// Who says so: a clause after the mechanism, such as "which `plimsoll
        /// yield` found best here".
        because: String,
    },
    /// What was measured does not hold here: a clause that says why.
    Leave {
        /// Why.
        why: String,
    },
}

/// By what to hold a sideload, and how to say so. `can` tells what can be done
/// here with one mechanism.
pub(crate) fn choose(
    advice: &Advice,
    headroom: Headroom,
    can: impl Fn(Mechanism) -> Capabilities,
) -> (Hold, String) {
    let left = match advice {
        Advice::Unknown => None,
        Advice::Leave { why } => Some(why.clone()),
        Advice::Take {
            hold,
            in_group,
            because,
        } => match missing(*hold, *in_group, &can(hold.mechanism())) {
            None => {
                let how = format!("as a sideload by {hold}, {because}, headroom {headroom}");
                return (*hold, how);
            }
            Some(reason) => Some(format!("{hold}, {because}, cannot be had now ({reason})")),
        },
    };
    let (hold, why) = Hold::best_guess(&can(Mechanism::Weight));
    let left = left.map_or_else(String::new, |left| format!("; {left}"));
    let how = format!("as a sideload by {hold}, headroom {headroom}: {why}{left}");
    (hold, how)
}

fn missing(hold: Hold, in_group: bool, here: &Capabilities) -> Option<String> {
    let mechanism = hold.mechanism();
    let is_missing = match in_group {
        true => !here.by_group(mechanism),
        false => !here.can(mechanism),
    };
    let reason = || here.reason(mechanism).unwrap_or("nobody knows why");
    is_missing.then(|| reason().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_control::{Means, Rung};
    use std::collections::BTreeMap;

    fn here(mechanism: Mechanism, means: Means) -> Capabilities {
        Capabilities {
            rung: Rung::IdleTree,
            means: BTreeMap::from([(mechanism, means)]),
            notes: Vec::new(),
            keeps_orphans: false,
        }
    }

    fn by_group(mechanism: Mechanism) -> Capabilities {
        here(mechanism, Means::Group)
    }

    fn without(mechanism: Mechanism) -> Capabilities {
        here(
            mechanism,
            Means::Missing {
                because: "there is no cgroup".to_owned(),
            },
        )
    }

    fn take(hold: Hold, in_group: bool) -> Advice {
        Advice::Take {
            hold,
            in_group,
            because: "which somebody found best here".to_owned(),
        }
    }

    #[test]
    fn what_was_found_best_is_taken_where_it_can_be_had() {
        for hold in Hold::ALL {
            let (chosen, how) = choose(&take(hold, true), Headroom::default(), by_group);
            assert_eq!(chosen, hold);
            let begin =
                format!("as a sideload by {hold}, which somebody found best here, headroom");
            assert!(how.starts_with(&begin), "{how}");
        }
    }

    #[test]
    fn what_cannot_be_had_now_is_a_guess_that_says_so() {
        let (chosen, how) = choose(&take(Hold::Quota, true), Headroom::default(), without);
        assert_eq!(chosen, Hold::Idle);
        assert!(
            how.ends_with(
                "; quota, which somebody found best here, cannot be had now (there is no cgroup)"
            ),
            "{how}"
        );
    }

    #[test]
    fn what_was_measured_in_a_cgroup_says_nothing_of_its_stand_in() {
        let instead = |mechanism| {
            here(
                mechanism,
                Means::Instead {
                    by: "the scheduling class",
                    because: "there is no cgroup".to_owned(),
                    lost: "some",
                },
            )
        };
        let how = |in_group| choose(&take(Hold::Idle, in_group), Headroom::default(), instead).1;
        assert!(how(true).contains("cannot be had now"), "{}", how(true));
        assert!(how(false).contains("found best here, headroom"));
    }

    #[test]
    fn without_advice_it_is_the_best_guess_and_why() {
        let of = |advice| choose(&advice, Headroom::default(), by_group);
        let (hold, guess) = of(Advice::Unknown);
        assert_eq!(hold, Hold::Weight);
        assert!(guess.contains("lets go at once"), "{guess}");
        let (hold, how) = of(Advice::Leave {
            why: "it was another kernel".to_owned(),
        });
        assert_eq!(hold, Hold::Weight);
        assert_eq!(how, format!("{guess}; it was another kernel"));
    }
}
