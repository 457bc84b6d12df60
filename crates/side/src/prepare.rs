//! Preparation before the command starts: repair, choose a mechanism, set limits.

use crate::advice;
use crate::cpu_mechanism::CpuMechanism;
use crate::error::SideError;
use crate::limit::{Limit, Step};
use crate::request::{Notice, Notify, Request, Restriction, SideloadOptions};
use plimsoll_control::{
    AtEnd, CgroupLayout, Group, Journals, Mechanism, MemoryLimits, Repaired, Running, Weight,
};
use plimsoll_host::{HostError, Root, online_cpus, own_allowed_cpus};
use plimsoll_model::CpuSet;
use std::collections::BTreeSet;

/// Undoes changes of killed runs and reports it. What they ran stays as it is: killing
/// it would lose somebody's work, and thawing it would let it run unrestricted beside
/// the service. Both are for a person to decide.
pub(crate) fn repair(
    root: &Root,
    journals: &Journals,
    notify: Notify<'_>,
) -> Result<Vec<Repaired>, SideError> {
    let all = journals.repair(root, Running::Leave)?;
    for repaired in &all {
        let done = repaired.done.join(" ");
        // Without any, the remaining changes wait for another run.
        if !done.is_empty() {
            notify(Notice::Warning(format!(
                "repaired what process {} left when it was killed: {}",
                repaired.owner,
                done.trim_end_matches('.')
            )));
        }
    }
    Ok(all)
}

/// Reports what killed runs have left running.
pub(crate) fn report_running(all: &[Repaired], notify: Notify<'_>) {
    for repaired in all.iter().filter(|one| !one.still_runs.is_empty()) {
        notify(Notice::Warning(format!(
            "process {} was killed, but what it ran is still there and counts as the service's. \
             {} Thaw or end it: plimsoll repair --thaw, plimsoll repair --kill",
            repaired.owner,
            repaired.still_runs.join(" ")
        )));
    }
}

/// The CPUs that this process may run on and that are online: some kernels allow
/// offline ones.
pub(crate) fn usable_cpus(root: &Root) -> Result<CpuSet, HostError> {
    let allowed = own_allowed_cpus(root)?;
    let on = online_cpus(root).map(|on| allowed.and(&on));
    Ok(on.ok().filter(|on| !on.is_empty()).unwrap_or(allowed))
}

/// Makes the group, and chooses the mechanism (`None` for a sysload). Falls back to
/// no cgroups if the kernel refuses.
pub(crate) fn make(
    root: &Root,
    journals: &Journals,
    request: &Request<'_>,
    notify: Notify<'_>,
) -> Result<(Group, Option<CpuMechanism>), SideError> {
    let layout = CgroupLayout::find(root)?;
    let layout = match request.alone {
        true => layout.keeping_orphans(),
        false => layout,
    };
    let journal = journals.open(root)?;
    let make = |layout: &CgroupLayout| {
        let chosen = choose(layout, request)?;
        let group = Group::make(layout, &chosen.needs, &journal, AtEnd::KillByRun)?;
        Ok::<_, SideError>((chosen, group))
    };
    let (chosen, group) = match make(&layout) {
        Err(SideError::Control(error)) => {
            let warning = format!("no cgroup can be used here: {error}");
            notify(Notice::Warning(warning));
            make(&layout.without_cgroups())?
        }
        other => other?,
    };
    notify(Notice::Note(chosen.how));
    let here = group.capabilities();
    // Any mechanism does for a sysload as long as it can end it.
    if !(here.support.has_group() && chosen.mechanism.is_none()) {
        let lost = here.losses().join(" ");
        if !lost.is_empty() {
            let lost = lost.trim_end_matches('.');
            notify(Notice::Warning(format!("what is lost here: {lost}")));
        }
    }
    Ok((group, chosen.mechanism))
}

struct Chosen {
    mechanism: Option<CpuMechanism>,
    needs: BTreeSet<Mechanism>,
    how: String,
}

fn choose(layout: &CgroupLayout, request: &Request<'_>) -> Result<Chosen, SideError> {
    let mut needs = BTreeSet::from([Mechanism::Freeze, Mechanism::Kill]);
    needs.extend(request.memory.high.map(|_| Mechanism::MemoryHigh));
    needs.extend(request.memory.max.map(|_| Mechanism::MemoryMax));
    needs.extend(request.least_io.then_some(Mechanism::Io));
    let (mechanism, how) = match &request.restriction {
        Restriction::Sysload => (None, "as a sysload: nothing holds it".to_owned()),
        Restriction::Sideload(options) => {
            let (mechanism, how) = mechanism_for(layout, &needs, options);
            (Some(mechanism), how)
        }
    };
    needs.extend(mechanism.map(CpuMechanism::required));
    let here = layout.capabilities(&needs);
    let only_max = BTreeSet::from([Mechanism::MemoryMax]);
    let kills = layout.capabilities(&only_max).can(Mechanism::MemoryMax);
    let hard = [
        (
            mechanism
                .filter(|h| !h.yields_by_itself())
                .map(CpuMechanism::required),
            "leave the choice to --mechanism auto",
        ),
        (
            request.memory.high.map(|_| Mechanism::MemoryHigh),
            match kills {
                true => {
                    "ask with --memory-max that it be killed beyond SIZE, or leave --memory out"
                }
                false => "run as root or in a cgroup of your own, or leave --memory out",
            },
        ),
        (
            request.memory.max.map(|_| Mechanism::MemoryMax),
            "run as root or in a cgroup of your own, or leave --memory-max out",
        ),
    ];
    for (mechanism, way_out) in hard {
        if let Some(mechanism) = mechanism.filter(|m| !here.can(*m)) {
            return Err(SideError::NotHere {
                what: mechanism.to_string(),
                reason: here.reason(mechanism).unwrap_or_default().to_owned(),
                way_out,
            });
        }
    }
    Ok(Chosen {
        mechanism,
        needs,
        how,
    })
}

fn mechanism_for(
    layout: &CgroupLayout,
    needs: &BTreeSet<Mechanism>,
    options: &SideloadOptions,
) -> (CpuMechanism, String) {
    let headroom = options.headroom;
    if let Some(mechanism) = options.mechanism {
        let how = format!("as a sideload by {mechanism}, headroom {headroom}");
        return (mechanism, how);
    }
    let can = |mechanism| {
        let mut asked = needs.clone();
        asked.insert(mechanism);
        layout.capabilities(&asked)
    };
    advice::choose(&options.advice, headroom, can)
}

pub(crate) fn limits_memory(request: &Request<'_>) -> bool {
    request.memory != MemoryLimits::default()
}

/// Sets the limits of the whole run, before the command starts.
pub(crate) fn limit_for_good(
    group: &mut Group,
    mechanism: Option<CpuMechanism>,
    request: &Request<'_>,
    notify: Notify<'_>,
) -> Result<(), SideError> {
    if let Some(mechanism) = mechanism {
        mechanism.set(group)?;
    }
    if limits_memory(request) {
        group.set_memory(&request.memory)?;
    }
    if request.least_io
        && group.capabilities().can(Mechanism::Io)
        && let Err(error) = group.set_io_weight(Weight::LEAST)
    {
        // The I/O weight is optional.
        notify(Notice::Warning(format!("no weight at the disks: {error}")));
    }
    Ok(())
}

/// Sets the limits that change with each decision. `before` is the current limit,
/// if known.
pub(crate) fn apply(
    group: &mut Group,
    limit: &Limit,
    before: Option<&Limit>,
) -> Result<(), plimsoll_control::ControlError> {
    for step in limit.steps(before) {
        match step {
            Step::Freeze => group.freeze()?,
            Step::Quota(quota) => group.set_quota(Some(quota))?,
            Step::Cpus(cpus) => group.set_cpus(cpus)?,
            Step::Thaw => group.thaw()?,
        }
    }
    Ok(())
}
