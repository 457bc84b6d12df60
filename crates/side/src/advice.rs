//! Chooses the mechanism of a sideload from an earlier measurement and this
//! machine's capabilities. Pure: the measurement is passed in.

use crate::cpu_mechanism::CpuMechanism;
use plimsoll_control::{Capabilities, Mechanism};
use plimsoll_law::Headroom;

/// The mechanism that a measurement recommends, for a sideload without an explicit
/// choice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Advice {
    #[default]
    Unknown,
    Take {
        mechanism: CpuMechanism,
        /// Whether it was measured in a cgroup, so that the advice does not apply
        /// without one.
        in_group: bool,
        /// The source: a clause after the mechanism, such as "which `plimsoll yield`
        /// found best here".
        because: String,
    },
    /// The measurement does not apply here; the clause says why.
    Leave { why: String },
}

/// The mechanism for a sideload, and a clause that explains the choice. `can`
/// returns what is available here for one mechanism.
pub(crate) fn choose(
    advice: &Advice,
    headroom: Headroom,
    can: impl Fn(Mechanism) -> Capabilities,
) -> (CpuMechanism, String) {
    let left = match advice {
        Advice::Unknown => None,
        Advice::Leave { why } => Some(why.clone()),
        Advice::Take {
            mechanism,
            in_group,
            because,
        } => match missing(*mechanism, *in_group, &can(mechanism.required())) {
            None => {
                let how = format!("as a sideload by {mechanism}, {because}, headroom {headroom}");
                return (*mechanism, how);
            }
            Some(reason) => Some(format!(
                "{mechanism}, {because}, is unavailable now ({reason})"
            )),
        },
    };
    let (mechanism, why) = CpuMechanism::best_guess(&can(Mechanism::Weight));
    let left = left.map_or_else(String::new, |left| format!("; {left}"));
    let how = format!("as a sideload by {mechanism}, headroom {headroom}: {why}{left}");
    (mechanism, how)
}

fn missing(mechanism: CpuMechanism, in_group: bool, here: &Capabilities) -> Option<String> {
    let required = mechanism.required();
    let is_missing = match in_group {
        true => !here.by_group(required),
        false => !here.can(required),
    };
    let reason = || here.reason(required).unwrap_or("nobody knows why");
    is_missing.then(|| reason().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_control::{CgroupSupport, Means};
    use std::collections::BTreeMap;

    fn here(mechanism: Mechanism, means: Means) -> Capabilities {
        Capabilities {
            support: CgroupSupport::IdleTree,
            means: BTreeMap::from([(mechanism, means)]),
            notes: Vec::new(),
            keeps_orphans: false,
        }
    }

    fn by_group(mechanism: Mechanism) -> Capabilities {
        here(mechanism, Means::Group)
    }

    fn without(mechanism: Mechanism) -> Capabilities {
        let because = "there is no cgroup".to_owned();
        here(mechanism, Means::Missing { because })
    }

    fn take(mechanism: CpuMechanism, in_group: bool) -> Advice {
        Advice::Take {
            mechanism,
            in_group,
            because: "which somebody found best here".to_owned(),
        }
    }

    #[test]
    fn the_advised_mechanism_is_used_if_available() {
        for mechanism in CpuMechanism::ALL {
            let (chosen, how) = choose(&take(mechanism, true), Headroom::default(), by_group);
            assert_eq!(chosen, mechanism);
            let begin =
                format!("as a sideload by {mechanism}, which somebody found best here, headroom");
            assert!(how.starts_with(&begin), "{how}");
        }
    }

    #[test]
    fn an_unavailable_mechanism_is_replaced_and_named() {
        let (chosen, how) = choose(
            &take(CpuMechanism::Quota, true),
            Headroom::default(),
            without,
        );
        assert_eq!(chosen, CpuMechanism::Idle);
        let end =
            "; quota, which somebody found best here, is unavailable now (there is no cgroup)";
        assert!(how.ends_with(end), "{how}");
    }

    #[test]
    fn advice_from_a_cgroup_does_not_apply_to_the_fallback() {
        let fallback = Means::Instead {
            by: "the scheduling class",
            because: "there is no cgroup".to_owned(),
            lost: "some",
        };
        let instead = |mechanism| here(mechanism, fallback.clone());
        let how = |in_group| {
            choose(
                &take(CpuMechanism::Idle, in_group),
                Headroom::default(),
                instead,
            )
            .1
        };
        assert!(how(true).contains("is unavailable now"), "{}", how(true));
        assert!(how(false).contains("found best here, headroom"));
    }

    #[test]
    fn without_advice_the_default_is_used() {
        let of = |advice| choose(&advice, Headroom::default(), by_group);
        let (mechanism, guess) = of(Advice::Unknown);
        assert_eq!(mechanism, CpuMechanism::Weight);
        assert!(guess.contains("lets go at once"), "{guess}");
        let (mechanism, how) = of(Advice::Leave {
            why: "it was another kernel".to_owned(),
        });
        assert_eq!(mechanism, CpuMechanism::Weight);
        assert_eq!(how, format!("{guess}; it was another kernel"));
    }
}
