//! Which failures were reported, so that each is reported once until it is over. Pure.

use plimsoll_law::{Guard, Missing, Reading, Reason};
use std::collections::BTreeSet;

/// What fails, without the text that says why, which may differ each time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Failure {
    /// The limit could not be set.
    Limit,
    /// A missing input of the law that is no guard.
    Input(&'static str),
    /// A guard, by its name.
    Guard(String),
}

#[derive(Debug, Default)]
pub(crate) struct Warned {
    reported: BTreeSet<Failure>,
}

impl Warned {
    /// Whether the missing input that froze the command is to be reported. Called once
    /// per decision, with the reading of each guard.
    pub(crate) fn of_input(&mut self, frozen: bool, reason: &Reason, guards: &[Guard]) -> bool {
        let failure = match reason {
            Reason::Blind { missing, .. } => Some(Failure::of(missing)),
            _ => None,
        };
        let still_fails = |reported: &Failure| match reported {
            Failure::Limit => true,
            Failure::Input(_) => Some(reported) == failure.as_ref(),
            Failure::Guard(name) => guards.iter().any(|guard| {
                guard.name == *name && matches!(guard.reading, Reading::Unknown { .. })
            }),
        };
        self.reported.retain(still_fails);
        let failure = failure.filter(|_| frozen);
        failure.is_some_and(|failure| self.reported.insert(failure))
    }

    /// Whether it is to be reported that the limit could not be set. Called once per
    /// decision that is applied.
    pub(crate) fn of_limit(&mut self, is_set: bool) -> bool {
        if is_set {
            self.reported.remove(&Failure::Limit);
            return false;
        }
        self.reported.insert(Failure::Limit)
    }
}

impl Failure {
    fn of(missing: &Missing) -> Failure {
        match missing {
            Missing::Guard { name, .. } => Failure::Guard(name.clone()),
            Missing::Period => Failure::Input("period"),
            Missing::Machine => Failure::Input("machine"),
            Missing::Stuck => Failure::Input("stuck"),
            Missing::Sideload => Failure::Input("sideload"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blind(missing: Missing) -> Reason {
        Reason::Blind {
            missing,
            periods: 5,
            freezes_after: Some(5),
        }
    }

    fn guard(nth: u32, reading: Reading) -> Guard {
        let name = format!("guard {nth}");
        Guard { name, reading }
    }

    fn dead(nth: u32, why: &str) -> (Reason, Guard) {
        let dead = guard(nth, Reading::Unknown { why: why.into() });
        let (name, why) = (dead.name.clone(), why.to_owned());
        (blind(Missing::Guard { name, why }), dead)
    }

    #[test]
    fn a_dead_guard_is_reported_once_until_it_fails_anew() {
        let mut warned = Warned::default();
        let mut reports = 0;
        for period in 0..1000 {
            let (reason, one) = dead(1, &format!("{period} of 1000 requests failed"));
            let two = guard(2, Reading::of(0.0, 1.0));
            reports += u32::from(warned.of_input(true, &reason, &[one, two]));
        }
        assert_eq!((reports, warned.reported.len()), (1, 1));
        // Another one, while the first is dead.
        let (_, one) = dead(1, "");
        let (reason, two) = dead(2, "");
        assert!(warned.of_input(true, &reason, &[one, two]));
        // The first recovers, and the command is held for a while; then it fails anew.
        let held = Reason::Held {
            remaining: std::time::Duration::ZERO,
        };
        assert!(!warned.of_input(true, &held, &[guard(1, Reading::of(0.0, 1.0))]));
        let (reason, one) = dead(1, "again");
        let guards = [one];
        assert!(!warned.of_input(false, &reason, &guards), "not yet");
        assert!(warned.of_input(true, &reason, &guards));
    }

    #[test]
    fn other_inputs_are_reported_once_until_they_fail_anew() {
        let mut warned = Warned::default();
        let stuck = blind(Missing::Stuck);
        assert!(warned.of_input(true, &stuck, &[]));
        assert!(!warned.of_input(true, &stuck, &[]));
        assert!(warned.of_input(true, &blind(Missing::Machine), &[]));
        assert!(warned.of_input(true, &stuck, &[]));
    }

    #[test]
    fn a_limit_that_cannot_be_set_is_reported_once_until_it_is_set() {
        let mut warned = Warned::default();
        let reported = [false, false, true, true, false].map(|set| warned.of_limit(set));
        assert_eq!(reported, [true, false, false, false, true]);
    }
}
