//! How many CPUs a service can use at once, and what the least of its limits is.

use crate::{CpuPlan, CpuSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Thousandths of a CPU, the unit in which Kubernetes states requests and limits.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Millicores(pub u32);

impl Millicores {
    pub fn of_cpus(cpus: u32) -> Millicores {
        Millicores(cpus.saturating_mul(1000))
    }

    /// The nearest; `None` for what is below one or beyond all machines.
    pub fn nearest(cpus: f64) -> Option<Millicores> {
        let thousandths = (1000.0 * cpus).round();
        let is_some = (1.0..=f64::from(u32::MAX)).contains(&thousandths);
        is_some.then_some(Millicores(thousandths as u32))
    }

    pub fn cpus(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// The whole millicores within this percentage; `None` for less than one.
    pub fn part(self, pct: f64) -> Option<Millicores> {
        // Binary fractions may fall just short of a whole one.
        let within = (f64::from(self.0) * pct / 100.0 + 1e-9).floor();
        (within >= 1.0).then_some(Millicores(within as u32))
    }

    /// What a part is of this, in percent.
    pub fn pct_of(self, part: Millicores) -> f64 {
        100.0 * f64::from(part.0) / f64::from(self.0.max(1))
    }
}

impl fmt::Display for Millicores {
    /// As Kubernetes writes it: `1500m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}m", self.0)
    }
}

/// Which of a service's limits on CPUs is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuLimit {
    /// The quota of its cgroup or of one above.
    Quota,
    /// The CPUs that its threads may run on, or those that were asked for.
    Affinity,
    /// The CPUs of the machine that are on.
    Online,
}

/// How many CPUs a service can use at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuCapacity {
    /// In thousandths of a CPU.
    pub millicores: Millicores,
    /// Why it is not more.
    pub limited_by: CpuLimit,
}

impl CpuCapacity {
    /// The least of a quota, the CPUs that a service may run on, and those that
    /// are on; `None` where it may run on none.
    pub fn least(
        quota: Option<Millicores>,
        may_run_on: &CpuSet,
        online: &CpuSet,
    ) -> Option<CpuCapacity> {
        let usable = u32::try_from(may_run_on.and(online).len()).ok()?;
        let cpus = Millicores::of_cpus(usable);
        // Without its own limit, the machine is the limit.
        let limited_by = match online.without(may_run_on).is_empty() {
            true => CpuLimit::Online,
            false => CpuLimit::Affinity,
        };
        match quota.filter(|quota| *quota < cpus) {
            _ if usable == 0 => None,
            Some(millicores) => Some(CpuCapacity {
                millicores,
                limited_by: CpuLimit::Quota,
            }),
            None => Some(CpuCapacity {
                millicores: cpus,
                limited_by,
            }),
        }
    }
}

impl CpuPlan {
    /// What the service can use at once: as recorded, else all of its CPUs.
    /// `None` where these are not known.
    pub fn usable(&self) -> Option<Millicores> {
        let all = u32::try_from(self.service.len()).ok().filter(|n| *n > 0);
        let recorded = self.capacity.map(|capacity| capacity.millicores);
        recorded.or(all.map(Millicores::of_cpus))
    }

    /// The quota of the service, where that is the least of its limits: then its
    /// CPUs are never all its own, and their use says nothing about it.
    pub fn quota(&self) -> Option<Millicores> {
        let is_quota = |capacity: &CpuCapacity| capacity.limited_by == CpuLimit::Quota;
        self.capacity.filter(is_quota).map(|c| c.millicores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least(quota: Option<f64>, may_run_on: &str, online: &str) -> Option<(u32, CpuLimit)> {
        let (may_run_on, online) = (may_run_on.parse().unwrap(), online.parse().unwrap());
        let quota = quota.and_then(Millicores::nearest);
        let least = CpuCapacity::least(quota, &may_run_on, &online)?;
        Some((least.millicores.0, least.limited_by))
    }

    #[test]
    fn the_least_of_quota_affinity_and_online_counts() {
        assert_eq!(
            least(Some(2.0), "0-15", "0-15"),
            Some((2000, CpuLimit::Quota))
        );
        assert_eq!(least(Some(0.5), "0", "0-15"), Some((500, CpuLimit::Quota)));
        assert_eq!(
            least(Some(2.0), "3", "0-15"),
            Some((1000, CpuLimit::Affinity))
        );
        assert_eq!(least(None, "0-3", "0-15"), Some((4000, CpuLimit::Affinity)));
        assert_eq!(
            least(Some(64.0), "0-15", "0-3"),
            Some((4000, CpuLimit::Online))
        );
        assert_eq!(least(Some(1.0), "5", "0-3"), None);
    }

    #[test]
    fn a_part_is_rounded_down_and_is_never_nothing() {
        let half = Millicores(500);
        assert_eq!(half.part(40.0), Some(Millicores(200)));
        assert_eq!(half.part(40.39), Some(Millicores(201)));
        assert_eq!(half.part(0.1), None);
        assert_eq!(Millicores::nearest(1.0 / 3.0), Some(Millicores(333)));
        assert_eq!(Millicores::nearest(0.0), None);
        assert_eq!(half.to_string(), "500m");
    }

    #[test]
    fn an_old_plan_has_as_many_cpus_as_its_service_may_run_on() {
        let mut plan = CpuPlan::default();
        assert_eq!(plan.usable(), None);
        plan.service = "0-1".parse().unwrap();
        assert_eq!(
            (plan.usable(), plan.quota()),
            (Some(Millicores(2000)), None)
        );
        plan.capacity = CpuCapacity::least(Some(Millicores(500)), &plan.service, &plan.service);
        assert_eq!(plan.usable(), Some(Millicores(500)));
        assert_eq!(plan.quota(), plan.usable());
    }
}
