//! How each arm restricts a job. A new arm is a new branch of [`hold`].

use super::FLOOR;
use super::laws::{self, Wish};
use plimsoll_control::{
    AtEnd, CgroupLayout, CgroupSupport, ControlError, Group, Journal, Mechanism, MemoryLimits,
    Quota, Weight,
};
use plimsoll_engine::room::memory_beside;
use plimsoll_host::{Root, disks_take_weights};
use plimsoll_model::{Arm, Bytes, CpuSet, Share};
use std::collections::BTreeSet;
use std::time::Duration;

/// What a job may use, if its arm has such a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Most {
    /// Of its CPUs.
    pub(super) cpu: Option<Share>,
    pub(super) memory: Bytes,
}

/// Makes a group for a job with the limits of `arm`, before anything runs in it.
/// A law adds its decisions later ([`laws::control`]).
pub(super) fn hold(
    arm: Arm,
    most: Most,
    cpus: &CpuSet,
    layout: &CgroupLayout,
    journal: &Journal,
) -> Result<Group, ControlError> {
    let allowed = most.cpu.map_or(1.0, Share::get);
    let by_tree = layout.clone().without_cgroups();
    let layout = match arm {
        Arm::Nice | Arm::SchedIdle => &by_tree,
        _ => layout,
    };
    let make = |layout: &CgroupLayout, mechanism: Mechanism| {
        let needs = BTreeSet::from([mechanism, Mechanism::CpuSet, Mechanism::Kill]);
        Group::make(layout, &needs, journal, AtEnd::Kill)
    };
    let mut placed = cpus.clone();
    let mut group = match arm {
        Arm::Weight | Arm::Nice => {
            let mut group = make(layout, Mechanism::Weight)?;
            group.set_weight(Weight::LEAST)?;
            group
        }
        Arm::CpuIdle | Arm::SchedIdle => {
            let mut group = make(layout, Mechanism::Idle)?;
            group.set_idle(true)?;
            group
        }
        Arm::Quota10ms | Arm::Quota100ms => {
            let period = Duration::from_millis(if arm == Arm::Quota10ms { 10 } else { 100 });
            let mut group = make(layout, Mechanism::Quota)?;
            group.set_quota(Some(quota(period, cpus, allowed)?))?;
            group
        }
        Arm::CpuSet => {
            placed = some_of(cpus, allowed);
            make(layout, Mechanism::CpuSet)?
        }
        Arm::MemoryHigh | Arm::MemoryMax => {
            let (mechanism, limits) = memory_limits(arm, most.memory);
            let mut group = with_least_weight(mechanism, layout, journal)?;
            group.set_memory(&limits)?;
            group
        }
        Arm::IoWeight => {
            let mut group = with_least_weight(Mechanism::Io, layout, journal)?;
            group.set_io_weight(Weight::LEAST)?;
            group
        }
        Arm::Resctl | Arm::Koordinator => laws::group(arm, layout, journal)?,
        Arm::Plimsoll => match laws::group(arm, layout, journal) {
            // As `plimsoll side` does if the kernel refuses.
            Err(_) => laws::group(arm, &by_tree, journal)?,
            Ok(group) => group,
        },
        Arm::ServiceAlone | Arm::ServiceAgain | Arm::JobAlone | Arm::None => {
            make(&by_tree, Mechanism::Kill)?
        }
    };
    group.set_cpus(&placed)?;
    Ok(group)
}

/// Whether `arm` works here; if not, why, as a sentence without its full stop.
pub(super) fn try_once(
    arm: Arm,
    headroom: Share,
    cpus: &CpuSet,
    layout: &CgroupLayout,
    journal: &Journal,
    root: &Root,
) -> Result<(), String> {
    if arm == Arm::CpuSet && cpus.len() < 2 {
        return Err(format!(
            "the job has CPU {cpus} alone, of which none can be left free"
        ));
    }
    if !arm.has_job() {
        return Ok(());
    }
    if arm == Arm::IoWeight && !disks_take_weights(root) {
        return Err(
            "no disk here shares its time by weight: that takes the scheduler bfq \
             (/sys/block/*/queue/scheduler) or io.cost.qos"
                .to_owned(),
        );
    }
    let most = Most {
        cpu: Share::new(FLOOR),
        memory: memory_beside(root, headroom),
    };
    let mut group = hold(arm, most, cpus, layout, journal).map_err(sentence)?;
    let capabilities = group.capabilities();
    let of_group = match arm {
        Arm::Weight => Some(Mechanism::Weight),
        Arm::CpuIdle => Some(Mechanism::Idle),
        Arm::Quota10ms | Arm::Quota100ms => Some(Mechanism::Quota),
        Arm::MemoryHigh => Some(Mechanism::MemoryHigh),
        Arm::MemoryMax => Some(Mechanism::MemoryMax),
        Arm::IoWeight => Some(Mechanism::Io),
        _ => None,
    };
    if let Some(because) = of_group.and_then(|m| capabilities.reason(m)) {
        return Err(because.to_owned());
    }
    if arm == Arm::SchedIdle && capabilities.support != CgroupSupport::IdleTree {
        return Err("this system does not allow the scheduling class SCHED_IDLE".to_owned());
    }
    if arm.is_law() {
        let wish = Wish {
            arm,
            headroom,
            allowed: most.cpu.unwrap_or(Share::ZERO),
            cpus,
            serves_here: false,
        };
        laws::control(&wish, root, &mut group)?;
    }
    group.give_back().map_err(sentence)
}

fn sentence(error: ControlError) -> String {
    error.to_string()
}

/// A group of the least CPU weight, too, where there are weights: without it, these arms would show
/// what the job's CPU time costs. Next to [`Arm::Weight`] they show what the other limit adds.
fn with_least_weight(
    mechanism: Mechanism,
    layout: &CgroupLayout,
    journal: &Journal,
) -> Result<Group, ControlError> {
    let needs = BTreeSet::from([
        mechanism,
        Mechanism::Weight,
        Mechanism::CpuSet,
        Mechanism::Kill,
    ]);
    let mut group = Group::make(layout, &needs, journal, AtEnd::Kill)?;
    if group.capabilities().can(Mechanism::Weight) {
        group.set_weight(Weight::LEAST)?;
    }
    Ok(group)
}

fn memory_limits(arm: Arm, most: Bytes) -> (Mechanism, MemoryLimits) {
    let is_high = arm == Arm::MemoryHigh;
    let limits = MemoryLimits {
        high: is_high.then_some(most),
        max: (!is_high).then_some(most),
        ..MemoryLimits::default()
    };
    match is_high {
        true => (Mechanism::MemoryHigh, limits),
        false => (Mechanism::MemoryMax, limits),
    }
}

/// A quota of this share of all `cpus`.
fn quota(period: Duration, cpus: &CpuSet, allowed: f64) -> Result<Quota, ControlError> {
    let time = period.mul_f64(cpus.len() as f64 * allowed);
    Quota::new(time.max(Duration::from_millis(1)), period)
}

/// The last CPUs, as many as allowed: at least one, at most all but one.
fn some_of(cpus: &CpuSet, allowed: f64) -> CpuSet {
    let most = cpus.len().saturating_sub(1).max(1);
    let n = ((cpus.len() as f64 * allowed).floor() as usize).clamp(1, most);
    cpus.iter().skip(cpus.len() - n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_the_last_cpus_and_leaves_one_at_least() {
        let cpus: CpuSet = "0-7".parse().unwrap();
        let of = |allowed| some_of(&cpus, allowed).to_string();
        assert_eq!(of(0.5), "4-7");
        assert_eq!(of(0.49), "5-7");
        assert_eq!(of(0.01), "7");
        assert_eq!(of(1.0), "1-7");
    }

    #[test]
    fn a_quota_is_a_part_of_all_cpus_and_never_less_than_the_kernel_takes() {
        let (two, ms) = ("0-1".parse().unwrap(), Duration::from_millis);
        let is = |period, allowed, time| {
            assert_eq!(
                quota(ms(period), &two, allowed).unwrap(),
                Quota::new(time, ms(period)).unwrap()
            );
        };
        is(10, 0.2, ms(4));
        is(100, 0.2, ms(40));
        is(10, 0.01, ms(1));
    }
}
