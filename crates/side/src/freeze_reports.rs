//! When to report that the command is frozen, and that it continues. Pure.
//!
//! The first long pause is reported, and its end. Later ones are in the log and in the
//! tally at the end: on a machine that is often saturated they would be a loop of messages.

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
    /// The first long pause has ended.
    was_told: bool,
}

/// What to tell the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FreezeReport {
    /// It has stood still for long, why, and how to end it.
    Stands(String),
    Continues(String),
}

impl FreezeReports {
    /// The missing input that froze the command was reported elsewhere.
    pub(crate) fn mark_reported(&mut self) {
        self.reported_elsewhere = true;
    }

    /// Called once per decision: whether it is now frozen, and the reason. Returns what
    /// to report.
    pub(crate) fn update(
        &mut self,
        now: Instant,
        frozen: bool,
        reason: &Reason,
    ) -> Option<FreezeReport> {
        if !frozen {
            let before = std::mem::take(self);
            self.was_told = before.was_told || before.reported;
            let was_reported = before.reported || before.reported_elsewhere;
            let since = before.since.filter(|_| was_reported)?;
            let seconds = now.saturating_duration_since(since).as_secs();
            return Some(FreezeReport::Continues(format!(
                "the command goes on after standing still for {seconds} s"
            )));
        }
        if !matches!(reason, Reason::Held { .. }) {
            self.cause = reason.to_string();
            self.reported_elsewhere &= matches!(reason, Reason::Blind { .. });
        }
        let since = *self.since.get_or_insert(now);
        let frozen_for = now.saturating_duration_since(since);
        let is_told = self.was_told || self.reported || self.reported_elsewhere;
        if is_told || frozen_for < LONG {
            return None;
        }
        self.reported = true;
        let (seconds, cause) = (frozen_for.as_secs(), &self.cause);
        Some(FreezeReport::Stands(format!(
            "the command has stood still for {seconds} s: {cause}; it goes on when that is over, \
             however long it takes; Ctrl-C or SIGTERM ends it, timeout(1) limits the wait"
        )))
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
    fn the_first_long_freeze_and_its_end_are_reported_once() {
        let (start, mut reports) = (Instant::now(), FreezeReports::default());
        let mut at = |s, frozen, reason: &Reason| {
            reports.update(start + Duration::from_secs(s), frozen, reason)
        };
        assert_eq!(at(0, true, &needs()), None);
        assert_eq!(at(9, true, &held()), None);
        let Some(FreezeReport::Stands(words)) = at(10, true, &held()) else {
            panic!("not reported");
        };
        assert!(
            words.starts_with(
                "the command has stood still for 10 s: others need the CPU: 0 % left of \
                 100 % headroom; "
            ) && words.contains("Ctrl-C"),
            "{words}"
        );
        for s in 11..5000 {
            assert_eq!(at(s, true, &needs()), None, "{s}");
        }
        let continues = "the command goes on after standing still for 5031 s";
        let continues = FreezeReport::Continues(continues.to_owned());
        assert_eq!(at(5031, false, &held()), Some(continues));
        assert_eq!(at(5032, false, &held()), None);
        for s in 5033..5060 {
            assert_eq!(at(s, true, &needs()), None, "another pause");
        }
        assert_eq!(at(5060, false, &held()), None);
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
