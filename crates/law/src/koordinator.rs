//! Koordinator's CPU suppression of best-effort pods, as a law.
//!
//! Source: `pkg/koordlet/qosmanager/plugins/cpusuppress/cpu_suppress.go` of
//! koordinator-sh/koordinator, policy `cfsQuota`; it decides once a second.
//!
//! ```text
//! suppress = capacity * threshold - max(used by all but the sideload, reserved)
//! quota    = max(suppress, 2 ms per 100 ms)
//! |quota - last| < 1 % of capacity, and quota > minimum  -> last
//! quota - last > 10 % of capacity                        -> last + 10 %
//! ```
//!
//! The original sums pods, host applications and the rest of the system, and
//! applies `reserved` to the rest only; here they are one sum, which is
//! equivalent while nothing is reserved (the default). "Used" is user, system
//! and interrupt time, as its collector counts; steal is not included. There is
//! no quota until the first decision, which is applied at once. The law has no
//! freeze and no guards.
//!
//! Missing input: the original logs it and returns, so the last quota stays.

use crate::law::Decided;
use crate::view::share;
use crate::{Action, Headroom, Missing, Reason, Sample};
use plimsoll_model::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The minimum quota, in CPUs: 2,000 us per 100 ms.
const MIN_QUOTA_CPUS: f64 = 0.02;

/// Koordinator's suppression with its parameters; the defaults are
/// Koordinator's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Koordinator {
    /// Share that stays free: 100 % minus its threshold. Default 35 %.
    #[serde(rename = "headroom_share")]
    pub headroom: Headroom,
    /// Minimum use attributed to the system. Default 0.
    #[serde(rename = "reserved_share")]
    pub reserved: Share,
    /// Smaller changes are not applied. Default 1 %.
    #[serde(rename = "least_change_share")]
    pub least_change: Share,
    /// Maximum increase per decision. Default 10 %.
    #[serde(rename = "most_growth_share")]
    pub most_growth: Share,
}

impl Koordinator {
    /// The default parameters with another headroom.
    pub fn new(headroom: Headroom) -> Koordinator {
        Koordinator {
            headroom,
            reserved: Share::ZERO,
            least_change: share(0.01),
            most_growth: share(0.1),
        }
    }

    /// Decides by the formula in the module documentation.
    pub fn decide(&self, state: &KoordinatorState, sample: &Sample) -> Decided<KoordinatorState> {
        let (quota, least) = match self.quota(sample) {
            Ok(quota) => quota,
            Err(missing) => {
                let share = state.quota.unwrap_or(Share::ONE);
                return (*state, Action::Run { share }, Reason::ignored(missing));
            }
        };
        let set = |new: Share, reason| {
            let state = KoordinatorState { quota: Some(new) };
            (state, Action::Run { share: new }, reason)
        };
        let follows = Reason::Follows { share: quota };
        let Some(last) = state.quota else {
            return set(quota, follows);
        };
        let change = quota.get() - last.get();
        if change.abs() < self.least_change.get() && quota > least {
            let (change, least) = (share(change.abs()), self.least_change);
            return set(last, Reason::Unchanged { change, least });
        }
        if change > self.most_growth.get() {
            let (room, share) = (quota, share(last.get() + self.most_growth.get()));
            return set(share, Reason::Grows { room, share });
        }
        set(quota, follows)
    }

    /// The quota by the formula, and the minimum quota.
    fn quota(&self, sample: &Sample) -> Result<(Share, Share), Missing> {
        let machine = sample.machine.ok_or(Missing::Machine)?;
        let sideload = sample.sideload.ok_or(Missing::Sideload)?;
        let capacity = sample.period.as_secs_f64() * f64::from(sample.cpus);
        if capacity <= 0.0 {
            return Err(Missing::Period);
        }
        let others = machine.busy().since(sideload).0.as_secs_f64() / capacity;
        let threshold = 1.0 - self.headroom.share().get();
        let suppress = threshold - others.max(self.reserved.get());
        let least = share(MIN_QUOTA_CPUS / f64::from(sample.cpus));
        Ok((share(suppress.max(least.get())), least))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct KoordinatorState {
    /// The quota in force; `None` before the first decision.
    #[serde(rename = "quota_share")]
    pub quota: Option<Share>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample;

    /// The decision with this quota in force, in percent.
    fn decide(quota_pct: Option<f64>, sample: &Sample) -> f64 {
        let law = Koordinator::new(Headroom::pct(35.0).unwrap());
        let state = KoordinatorState {
            quota: quota_pct.map(|pct| share(pct / 100.0)),
        };
        let (_, action, _) = law.decide(&state, sample);
        (action.share().pct() * 1e6).round() / 1e6
    }

    #[test]
    fn quota_is_threshold_minus_use_of_others() {
        assert_eq!(decide(None, &sample(20, 10)), 45.0);
        assert_eq!(decide(Some(60.0), &sample(20, 60)), 45.0);
        // 0.02 of a hundred CPUs.
        assert_eq!(decide(Some(60.0), &sample(80, 10)), 0.02);
    }

    #[test]
    fn small_changes_are_skipped_and_growth_is_limited() {
        assert_eq!(decide(Some(45.5), &sample(20, 10)), 45.5);
        assert_eq!(decide(Some(44.0), &sample(20, 10)), 45.0);
        assert_eq!(decide(Some(10.0), &sample(20, 10)), 20.0);
        // The minimum quota is always applied.
        assert_eq!(decide(Some(0.5), &sample(80, 0)), 0.02);
    }

    #[test]
    fn missing_input_keeps_the_last_quota_or_no_limit() {
        let mut blind = sample(80, 0);
        blind.machine = None;
        assert_eq!(decide(Some(30.0), &blind), 30.0);
        assert_eq!(decide(None, &blind), 100.0);
    }
}
