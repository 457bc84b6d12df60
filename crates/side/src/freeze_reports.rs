//! When to report that the command is frozen, and that it continues. Pure.

use plimsoll_law::Reason;
use std::time::{Duration, Instant};

/// Shorter pauses are not reported.
const LONG: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct FreezeReports {
    since: Option<Instant>,
    /// The cause of the freeze. Hysteresis only prolongs it and is no cause.
    cause: String,
    reported: bool,
    reported_elsewhere: bool,
}

impl FreezeReports {
    /// The missing input that froze the command was reported elsewhere.
    pub(crate) fn mark_reported(&mut self) {
        self.reported_elsewhere = true;
    }

    /// Called once per decision: whether it is now frozen, and the reason. Returns a
    /// sentence to report.
    pub(crate) fn update(&mut self, now: Instant, frozen: bool, reason: &Reason) -> Option<String> {
        if !frozen {
            let before = std::mem::take(self);
            let was_reported = before.reported || before.reported_elsewhere;
            let since = before.since.filter(|_| was_reported)?;
            let seconds = now.saturating_duration_since(since).as_secs();
            return Some(format!(
                "the command goes on after standing still for {seconds} s"
            ));
        }
        if !matches!(reason, Reason::Held { .. }) {
            self.cause = reason.to_string();
            self.reported_elsewhere &= matches!(reason, Reason::Blind { .. });
        }
        let since = *self.since.get_or_insert(now);
        let frozen_for = now.saturating_duration_since(since);
        if self.reported || self.reported_elsewhere || frozen_for < LONG {
            return None;
        }
        self.reported = true;
        let (seconds, cause) = (frozen_for.as_secs(), &self.cause);
        Some(format!(
            "the command has stood still for {seconds} s: {cause}"
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
    fn a_long_freeze_and_its_end_are_reported_once() {
        let (start, mut reports) = (Instant::now(), FreezeReports::default());
        let mut at = |s, frozen, reason: &Reason| {
            reports.update(start + Duration::from_secs(s), frozen, reason)
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
    fn short_freezes_and_reported_causes_are_not_reported() {
        let blind = Reason::Blind {
            missing: plimsoll_law::Missing::Machine,
            periods: 5,
            freezes_after: Some(5),
        };
        let (start, mut reports) = (Instant::now(), FreezeReports::default());
        let later = |s| start + Duration::from_secs(s);
        assert_eq!(reports.update(start, true, &needs()), None);
        assert_eq!(reports.update(later(5), false, &needs()), None);
        reports.mark_reported();
        assert_eq!(reports.update(later(6), true, &blind), None);
        assert_eq!(reports.update(later(60), true, &held()), None);
        assert!(reports.update(later(61), false, &needs()).is_some());
        reports.mark_reported();
        assert_eq!(reports.update(later(70), true, &blind), None);
        // Another cause, which was not reported.
        assert!(reports.update(later(80), true, &needs()).is_some());
    }
}
