//! Translates the law's decision into settings of the machine, and detects a limit
//! that has no effect. Pure.

use crate::cpu_mechanism::CpuMechanism;
use plimsoll_control::Quota;
use plimsoll_law::Action;
use plimsoll_model::{CpuSet, Share};
use std::time::Duration;

/// The quota period of a sideload. With all CPUs taken at once, it delays the
/// service for at most this long.
pub(crate) const QUOTA_PERIOD: Duration = Duration::from_millis(10);
/// The kernel's minimum.
const LEAST_QUOTA: Duration = Duration::from_millis(1);

/// The setting until the next decision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Limit {
    /// Runs; the kernel restricts it by weight or class.
    Runs,
    /// Runs within a quota, a share of the machine.
    Quota(Quota, Share),
    Cpus(CpuSet, Share),
    Frozen,
}

impl Limit {
    /// The limit for an action on these CPUs, with quota periods of `period`.
    pub(crate) fn of(
        action: Action,
        mechanism: CpuMechanism,
        period: Duration,
        cpus: &CpuSet,
    ) -> Limit {
        let Action::Run { share } = action else {
            return Limit::Frozen;
        };
        match mechanism {
            CpuMechanism::Weight | CpuMechanism::Idle => Limit::Runs,
            CpuMechanism::Quota => {
                quota(share, period, cpus.len()).map_or(Limit::Frozen, |q| Limit::Quota(q, share))
            }
            CpuMechanism::CpuSet => some_cpus(share, cpus),
        }
    }

    /// The steps from `before` to this limit. `None` means unknown, because the last
    /// change failed: a group that was not frozen in time may freeze later.
    pub(crate) fn steps(&self, before: Option<&Limit>) -> Vec<Step<'_>> {
        if before == Some(self) {
            return Vec::new();
        }
        let set = match self {
            Limit::Frozen => return vec![Step::Freeze],
            Limit::Runs => None,
            Limit::Quota(quota, _) => Some(Step::Quota(*quota)),
            Limit::Cpus(cpus, _) => Some(Step::Cpus(cpus)),
        };
        let may_stand = before.is_none_or(|before| *before == Limit::Frozen);
        // Set the limit before thawing, so that it never runs with an older, larger
        // one.
        set.into_iter()
            .chain(may_stand.then_some(Step::Thaw))
            .collect()
    }

    /// The share of the machine that it is capped at; `None` if it is not capped.
    pub(crate) fn cap(&self) -> Option<Share> {
        match self {
            Limit::Runs => None,
            Limit::Quota(_, share) | Limit::Cpus(_, share) => Some(*share),
            Limit::Frozen => Some(Share::ZERO),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step<'a> {
    Freeze,
    Quota(Quota),
    Cpus(&'a CpuSet),
    Thaw,
}

/// The share as CPU time per period; the period is longer if the quota would be
/// below the kernel's minimum.
fn quota(share: Share, period: Duration, cpus: usize) -> Option<Quota> {
    let cpus_worth = share.get() * cpus as f64;
    let time = period.mul_f64(cpus_worth);
    if time >= LEAST_QUOTA {
        return Quota::new(time, period).ok();
    }
    let period = Duration::try_from_secs_f64(LEAST_QUOTA.as_secs_f64() / cpus_worth).ok()?;
    Quota::new(LEAST_QUOTA, period).ok()
}

/// As many whole CPUs as fit the share, from the end: the first CPU often handles
/// interrupts.
fn some_cpus(share: Share, cpus: &CpuSet) -> Limit {
    // Tolerance, because 1/3 * 3 may differ from 1.
    let count = (share.get() * cpus.len() as f64 + 1e-9).floor() as usize;
    if count == 0 {
        return Limit::Frozen;
    }
    let chosen: CpuSet = cpus.iter().skip(cpus.len().saturating_sub(count)).collect();
    let share = Share::new(chosen.len() as f64 / cpus.len() as f64).unwrap_or(Share::ONE);
    Limit::Cpus(chosen, share)
}

/// Detects a limit without effect: the kernel accepted but does not apply it, or
/// processes were moved elsewhere.
#[derive(Debug, Default)]
pub(crate) struct LimitCheck {
    periods: u32,
}

impl LimitCheck {
    /// The error of tick-based counters, as a share of the machine.
    const SLACK: f64 = 0.05;
    /// The first period may have started before the limit.
    const PERIODS: u32 = 3;

    /// Returns one warning when the sideload exceeds its limit for some periods in a
    /// row. `used` is its share of the machine in one period.
    pub(crate) fn check(&mut self, limit: &Limit, used: Share) -> Option<String> {
        let most = limit.cap().unwrap_or(Share::ONE);
        if used.get() <= most.get() * 1.25 + Self::SLACK {
            if self.periods < Self::PERIODS {
                self.periods = 0;
            }
            return None;
        }
        let reports = self.periods + 1 == Self::PERIODS;
        self.periods = (self.periods + 1).min(Self::PERIODS);
        reports.then(|| {
            format!(
                "the command uses {used} of the machine where it may use {most}: its limit does \
                 not hold; see whether something of it was moved to another cgroup, and try \
                 another --mechanism"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(x: f64) -> Share {
        Share::new(x).unwrap()
    }

    fn run(x: f64) -> Action {
        Action::Run { share: share(x) }
    }

    fn cpus(list: &str) -> CpuSet {
        list.parse().unwrap()
    }

    #[test]
    fn a_quota_is_a_share_of_all_cpus_in_ten_milliseconds() {
        let ms = Duration::from_millis;
        let limit =
            |x, list: &str| Limit::of(run(x), CpuMechanism::Quota, QUOTA_PERIOD, &cpus(list));
        let quota = |time, period| Quota::new(time, period).unwrap();
        assert_eq!(
            limit(0.5, "0-3"),
            Limit::Quota(quota(ms(20), ms(10)), share(0.5))
        );
        assert_eq!(
            limit(0.05, "0"),
            Limit::Quota(quota(ms(1), ms(20)), share(0.05))
        );
        assert_eq!(limit(0.0, "0"), Limit::Frozen);
        let slow = Limit::of(run(0.5), CpuMechanism::Quota, ms(100), &cpus("0-1"));
        assert_eq!(slow, Limit::Quota(quota(ms(100), ms(100)), share(0.5)));
    }

    #[test]
    fn cpus_are_whole_and_the_last_ones() {
        let limit =
            |x, list: &str| Limit::of(run(x), CpuMechanism::CpuSet, QUOTA_PERIOD, &cpus(list));
        assert_eq!(limit(0.5, "0-3"), Limit::Cpus(cpus("2-3"), share(0.5)));
        assert_eq!(
            limit(0.99, "0,2,4"),
            Limit::Cpus(cpus("2,4"), share(2.0 / 3.0))
        );
        assert_eq!(
            limit(1.0 / 3.0, "0-2"),
            Limit::Cpus(cpus("2"), share(1.0 / 3.0))
        );
        assert_eq!(limit(0.2, "0-3"), Limit::Frozen);
    }

    #[test]
    fn under_a_weight_a_share_sets_no_limit() {
        assert_eq!(
            Limit::of(run(0.05), CpuMechanism::Weight, QUOTA_PERIOD, &cpus("0-1")),
            Limit::Runs
        );
        let frozen = Limit::of(
            Action::Frozen,
            CpuMechanism::Weight,
            QUOTA_PERIOD,
            &cpus("0-1"),
        );
        assert_eq!(frozen, Limit::Frozen);
    }

    #[test]
    fn only_changes_are_applied_and_all_after_a_failure() {
        let second = cpus("1");
        let both = &Limit::Cpus(cpus("0-1"), Share::ONE);
        let one = &Limit::Cpus(second.clone(), share(0.5));
        let set = &Step::Cpus(&second);
        assert_eq!(both.steps(Some(both)), []);
        assert_eq!(one.steps(Some(both)), [*set]);
        assert_eq!(one.steps(Some(&Limit::Frozen)), [*set, Step::Thaw]);
        assert_eq!(Limit::Frozen.steps(Some(both)), [Step::Freeze]);
        assert_eq!(Limit::Runs.steps(Some(&Limit::Runs)), []);
        assert_eq!(Limit::Runs.steps(None), [Step::Thaw]);
        assert_eq!(one.steps(None), [*set, Step::Thaw]);
        assert_eq!(Limit::Frozen.steps(None), [Step::Freeze]);
    }

    #[test]
    fn a_limit_without_effect_is_reported_once_after_three_periods() {
        let mut limit_check = LimitCheck::default();
        let limit = Limit::of(run(0.1), CpuMechanism::Quota, QUOTA_PERIOD, &cpus("0-1"));
        let mut reported = |used| limit_check.check(&limit, share(used)).is_some();
        assert!(
            !reported(0.9) && !reported(0.9) && !reported(0.1) && !reported(0.9) && !reported(0.9)
        );
        assert!(reported(0.9));
        assert!(!reported(0.9) && !reported(0.1) && !reported(0.9));
    }
}
