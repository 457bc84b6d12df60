//! When to report that the command is frozen and that it continues. Pure.

use plimsoll_law::Reason;
use std::time::{Duration, Instant};

/// Shorter pauses are not reported.
const LONG: Duration = Duration::from_secs(10);

/// Whether the command is frozen, since when and why.
#[derive(Debug, Default)]
pub(crate) struct Still {
    since: Option<Instant>,
    /// The cause of the freeze. Hysteresis only prolongs it and is no cause.
    cause: String,
    told: bool,
    /// A cause that was reported in another way.
    known: bool,
}

impl Still {
    /// It was already reported that the command must not run without readings.
    pub(crate) fn known(&mut self) {
        self.known = true;
    }

    /// Called once per decision: whether it is now frozen, and the reason.
    pub(crate) fn decided(
        &mut self,
        now: Instant,
        frozen: bool,
        reason: &Reason,
    ) -> Option<String> {
        if !frozen {
            let before = std::mem::take(self);
            let since = before.since.filter(|_| before.told || before.known)?;
            let stood = now.saturating_duration_since(since).as_secs();
            return Some(format!(
                "the command goes on after standing still for {stood} s"
            ));
        }
        if !matches!(reason, Reason::Held { .. }) {
            self.cause = reason.to_string();
            self.known &= matches!(reason, Reason::Blind { .. });
        }
        let since = *self.since.get_or_insert(now);
        let stood = now.saturating_duration_since(since);
        if self.told || self.known || stood < LONG {
            return None;
        }
        self.told = true;
        Some(format!(
            "the command has stood still for {} s: {}",
            stood.as_secs(),
            self.cause
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Share;

    fn needs() -> Reason {
        Reason::ServiceNeedsCpu {
            left: Share::ZERO,
            headroom: Share::ONE,
        }
    }

    fn held() -> Reason {
        let remaining = Duration::from_secs(1);
        Reason::Held { remaining }
    }

    #[test]
    fn a_long_pause_is_told_once_with_its_cause_and_so_is_its_end() {
        let (start, mut still) = (Instant::now(), Still::default());
        let mut at = |s, frozen, reason: &Reason| {
            still.decided(start + Duration::from_secs(s), frozen, reason)
        };
        assert_eq!(at(0, true, &needs()), None);
        assert_eq!(at(9, true, &held()), None);
        assert_eq!(
            at(10, true, &held()).unwrap(),
            "the command has stood still for 10 s: others need the CPU: 0 % left of \
             100 % headroom"
        );
        assert_eq!(at(11, true, &needs()), None);
        assert_eq!(
            at(31, false, &held()).unwrap(),
            "the command goes on after standing still for 31 s"
        );
        assert_eq!(at(32, false, &held()), None);
        assert_eq!(at(33, true, &needs()), None);
        assert!(at(43, true, &needs()).is_some(), "another pause");
    }

    #[test]
    fn a_short_pause_is_not_told_nor_is_what_is_known() {
        let blind = Reason::Blind {
            missing: plimsoll_law::Missing::Machine,
            periods: 5,
            freezes_after: Some(5),
        };
        let (start, mut still) = (Instant::now(), Still::default());
        let later = |s| start + Duration::from_secs(s);
        assert_eq!(still.decided(start, true, &needs()), None);
        assert_eq!(still.decided(later(5), false, &needs()), None);
        still.known();
        assert_eq!(still.decided(later(6), true, &blind), None);
        assert_eq!(still.decided(later(60), true, &held()), None);
        assert!(still.decided(later(61), false, &needs()).is_some());
        still.known();
        assert_eq!(still.decided(later(70), true, &blind), None);
        // Another cause has come, which nobody knows of.
        assert!(still.decided(later(80), true, &needs()).is_some());
    }
}
