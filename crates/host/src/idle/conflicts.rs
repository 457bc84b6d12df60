//! Who else decides how deeply CPUs sleep, for `plimsoll doctor`.

use super::dma_latency::{DMA_LATENCY, DmaLatency, DmaLatencyHolders, dma_latency};
use super::limit::{ResumeLatency, resume_latency};
use super::states::{IdleState, idle_setup, idle_states};
use super::tuned::active_profile;
use crate::error::HostError;
use crate::process::online_cpus;
use crate::root::Root;
use plimsoll_model::{CpuSet, Outcome, Requirement, counted, for_count, human_duration};
use std::collections::BTreeMap;

/// The idle states of this machine, and what limits them already.
///
/// # Errors
/// If /sys or /proc cannot be read. What this user may not see is said in the text.
pub fn idle_requirements(root: &Root) -> Result<Vec<Requirement>, HostError> {
    let cpus = online_cpus(root)?;
    let mut of_cpus = Vec::new();
    for cpu in cpus.iter() {
        of_cpus.push((cpu, idle_states(root, cpu)?));
    }
    let first = of_cpus.first().map_or(&[][..], |(_, states)| states);
    let limits = limits(root, &cpus)?;
    let found = [
        ("idle states", states(root, first)?),
        (
            "idle states that nothing limits",
            unlimited(root, &of_cpus, limits)?,
        ),
    ];
    let found = found.map(|(name, outcome)| Requirement {
        name: name.to_owned(),
        outcome,
    });
    Ok(found.into())
}

fn states(root: &Root, states: &[IdleState]) -> Result<Outcome, HostError> {
    let setup = idle_setup(root)?;
    let Some(driver) = setup.driver.filter(|_| !states.is_empty()) else {
        return Ok(Outcome::Missed {
            lost:
                "no idle driver: what a sleeping CPU takes to wake up is the hypervisor's or the \
                   firmware's choice, and no limit changes it"
                    .to_owned(),
            remedy: "none in many virtual machines, where only a spinner keeps a CPU awake; on \
                     metal, boot without cpuidle.off"
                .to_owned(),
        });
    };
    let each: Vec<String> = states
        .iter()
        .map(|state| format!("{} ({})", state.name, human_duration(state.latency)))
        .collect();
    let governor = setup.governor.as_deref().unwrap_or("none");
    Ok(Outcome::Met {
        found: format!("{}; driver {driver}, governor {governor}", each.join(", ")),
    })
}

/// CPUs by the limit that they have.
type Limits = BTreeMap<String, CpuSet>;

fn limits(root: &Root, cpus: &CpuSet) -> Result<Limits, HostError> {
    let mut limits = BTreeMap::new();
    for cpu in cpus.iter() {
        match resume_latency(root, cpu)? {
            None | Some(ResumeLatency::NoLimit) => {}
            Some(limit) => add(&mut limits, limit.to_string(), cpu),
        }
    }
    Ok(limits)
}

fn add(sets: &mut Limits, key: String, cpu: u32) {
    let set = sets.entry(key).or_default();
    *set = set.iter().chain([cpu]).collect();
}

fn unlimited(
    root: &Root,
    of_cpus: &[(u32, Vec<IdleState>)],
    limits: Limits,
) -> Result<Outcome, HostError> {
    let mut found: Vec<String> = all_cpus(root)?.into_iter().collect();
    found.extend(limits.into_iter().map(|(limit, cpus)| {
        let unit = if limit == "n/a" { "polling only" } else { "us" };
        let set = for_count(cpus.len(), "CPU", "CPUs");
        format!("pm_qos_resume_latency_us of {set} {cpus} is {limit} ({unit})")
    }));
    let mut disabled = Limits::new();
    for (cpu, states) in of_cpus {
        for state in states.iter().filter(|state| state.disabled) {
            add(&mut disabled, state.name.clone(), *cpu);
        }
    }
    found.extend(disabled.into_iter().map(|(state, cpus)| {
        let set = for_count(cpus.len(), "CPU", "CPUs");
        format!("{state} is switched off on {set} {cpus}")
    }));
    found.extend(command_line(root));
    found.extend(active_profile(root).and_then(|profile| profile.concern()));
    if found.is_empty() {
        return Ok(Outcome::Met {
            found: "no limit on a CPU or on all, no state switched off".to_owned(),
        });
    }
    Ok(Outcome::Missed {
        lost: found.join("; "),
        remedy: "find its owner: a limit outlives its writer, and the stricter one counts. \
                 `plimsoll repair` undoes what killed runs left; otherwise write 0 to \
                 pm_qos_resume_latency_us or disable, or end the holder"
            .to_owned(),
    })
}

fn all_cpus(root: &Root) -> Result<Option<String>, HostError> {
    let limit = match dma_latency(root) {
        Ok(Some(DmaLatency::AtMost(limit))) => limit,
        Ok(_) => return Ok(None),
        // Only root may read it. Its holders are root's, too.
        Err(HostError::Unreadable { .. }) => {
            return Ok(Some(format!("{DMA_LATENCY} is not this user's to read")));
        }
        Err(other) => return Err(other),
    };
    let holders = DmaLatencyHolders::find(root)?;
    let mut who: Vec<String> = holders
        .processes
        .iter()
        .map(|(pid, name)| format!("process {pid} ({name})"))
        .collect();
    if holders.unseen > 0 {
        let unseen = counted(holders.unseen, "process", "processes");
        who.push(format!("{unseen} not looked into"));
    }
    let limit = human_duration(limit);
    Ok(Some(match who.is_empty() {
        true => format!("{DMA_LATENCY} is {limit}, by a process that is not seen from here"),
        false => format!("{DMA_LATENCY} is {limit}, held open by {}", who.join(", ")),
    }))
}

/// What the kernel's command line says about idle states, for as long as it runs.
fn command_line(root: &Root) -> Option<String> {
    const OPTIONS: [&str; 6] = [
        "idle=",
        "cpuidle.off=",
        "cpuidle.governor=",
        "intel_idle.max_cstate=",
        "intel_idle.states_off=",
        "processor.max_cstate=",
    ];
    let line = root.line("/proc/cmdline")?;
    let options = line.split_ascii_whitespace();
    let ours = options.filter(|one| OPTIONS.iter().any(|option| one.starts_with(option)));
    let ours: Vec<&str> = ours.collect();
    (!ours.is_empty()).then(|| format!("the kernel was booted with {}", ours.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;
    use crate::idle::{disable_file, resume_latency_file};

    /// Two CPUs with POLL and C6.
    fn tree() -> FakeTree {
        let cpuidle = "sys/devices/system/cpu/cpuidle";
        let tree = FakeTree::new()
            .file("sys/devices/system/cpu/online", "0-1\n")
            .file(&format!("{cpuidle}/current_driver"), "intel_idle\n")
            .file(&format!("{cpuidle}/current_governor"), "menu\n")
            .file("proc/cmdline", "ro quiet\n");
        tree.write_bytes(DMA_LATENCY, &2_000_000_000i32.to_ne_bytes());
        for cpu in [0, 1] {
            tree.write(&resume_latency_file(cpu), "0\n");
            for (index, name, latency) in [(0, "POLL", "0"), (1, "C6", "170")] {
                let disable = disable_file(cpu, index);
                let file = |name: &str| disable.replace("disable", name);
                tree.write(&file("name"), name);
                tree.write(&file("latency"), latency);
                for zero in ["usage", "time", "disable"] {
                    tree.write(&file(zero), "0\n");
                }
            }
        }
        tree
    }

    fn outcomes(tree: &FakeTree) -> [Outcome; 2] {
        let all = idle_requirements(tree.root()).unwrap();
        let outcomes: Vec<Outcome> = all.into_iter().map(|one| one.outcome).collect();
        outcomes.try_into().unwrap()
    }

    fn lost(outcome: Outcome) -> String {
        match outcome {
            Outcome::Missed { lost, .. } => lost,
            met => panic!("{met:?}"),
        }
    }

    #[test]
    fn a_machine_as_it_booted_meets_both() {
        let [states, limits] = outcomes(&tree());
        let found = "POLL (0ns), C6 (170us); driver intel_idle, governor menu";
        assert_eq!(
            states,
            Outcome::Met {
                found: found.to_owned()
            }
        );
        assert!(matches!(limits, Outcome::Met { .. }), "{limits:?}");
    }

    #[test]
    fn each_owner_is_named() {
        let tree = tree()
            .file("proc/cmdline", "ro intel_idle.max_cstate=1 idle=nomwait\n")
            .file("proc/812/comm", "tuned\n")
            .link("proc/812/fd/9", DMA_LATENCY)
            .file(&resume_latency_file(1), "n/a\n")
            .file(&resume_latency_file(0), "20\n")
            .file(&disable_file(0, 1), "1\n")
            .file(&disable_file(1, 1), "1\n")
            .file("etc/tuned/active_profile", "mine\n")
            .file(
                "etc/tuned/mine/tuned.conf",
                "[cpu]\nforce_latency=cstate.id:3|70\n",
            );
        tree.write_bytes(DMA_LATENCY, &70i32.to_ne_bytes());
        let [_, limits] = outcomes(&tree);
        let lost = lost(limits);
        for expected in [
            "/dev/cpu_dma_latency is 70us, held open by process 812 (tuned)",
            "of CPU 0 is 20 (us)",
            "of CPU 1 is n/a (polling only)",
            "C6 is switched off on CPUs 0-1",
            "booted with intel_idle.max_cstate=1 idle=nomwait",
            "'mine'",
        ] {
            assert!(lost.contains(expected), "{expected}: {lost}");
        }
    }

    #[test]
    fn no_driver_is_missing() {
        let tree = tree().file("sys/devices/system/cpu/cpuidle/current_driver", "none\n");
        let [states, _] = outcomes(&tree);
        assert!(lost(states).contains("no idle driver"));
    }
}
