//! The host on the page: what it is.

use super::Fact;
use crate::markup::{Html, beginning, el};
use plimsoll_model::Provenance;

pub(super) fn facts(p: &Provenance) -> Vec<Fact> {
    let topology = &p.topology;
    let count = |n: Option<u32>| n.map(|n| n.to_string());
    let cpus = match (topology.online.len(), topology.allowed.len()) {
        (0, _) => None,
        (online, 0) => Some(online.to_string()),
        (online, allowed) if online == allowed => Some(online.to_string()),
        (online, allowed) => Some(format!("{online}, of which Plimsoll may use {allowed}")),
    };
    let caches = topology.caches.iter();
    let caches: Vec<String> = caches.map(|c| format!("{} {}", c.name, c.size)).collect();
    let limit = p.cgroup_cpu_limit.map(|c| format!("{c} CPUs (cgroup)"));
    let boost = p.boost.map(|on| if on { "on" } else { "off" }.to_owned());
    let steal = p.steal_since_boot_share;
    let steal = steal.map(|s| format!("{:.2} %", 100.0 * s));
    Fact::known([
        ("Name", p.hostname.clone()),
        ("CPU", p.cpu_model.clone()),
        ("Architecture", p.architecture.clone()),
        ("CPUs", cpus),
        ("Cores", count(topology.cores)),
        ("Threads per core", count(topology.threads_per_core)),
        ("Sockets", count(topology.sockets)),
        ("NUMA nodes", count(topology.numa_nodes)),
        ("Caches", Some(caches.join(", ")).filter(|c| !c.is_empty())),
        ("Memory", p.memory.map(|m| m.to_string())),
        ("CPU limit", limit),
        ("Virtualisation", p.virtualisation.clone()),
        ("Kernel", p.kernel.clone()),
        ("Clock source", p.clock_source.clone()),
        ("Frequency governor", p.governor.clone()),
        ("Boost", boost),
        ("Steal since boot", steal),
    ])
}

/// What the kernel does about weaknesses of this CPU, and which it leaves open:
/// both change how fast it is. Those that it has not are nothing to read.
pub(super) fn mitigations(provenance: &Provenance) -> Option<Html> {
    let known = &provenance.mitigations;
    let affected: Vec<(&String, &String)> = known
        .iter()
        .filter(|(_, state)| !state.starts_with("Not affected"))
        .collect();
    if known.is_empty() {
        return None;
    }
    if affected.is_empty() {
        return Some("none needed".into());
    }
    let open = |state: &str| state.starts_with("Vulnerable") || state.starts_with("Unknown");
    let left_open = affected.iter().filter(|(_, state)| open(state)).count();
    let summary = match (affected.len() - left_open, left_open) {
        (0, left) => format!("{left} needed, none in effect"),
        (on, 0) => format!("{on} in effect"),
        (on, left) => format!("{on} in effect, {left} left open"),
    };
    let item = |(name, state): &(&String, &String)| {
        let state = state.strip_prefix("Mitigation: ").unwrap_or(state);
        el("li").with(beginning(&format!("{name}: {state}"), 160))
    };
    let list = el("ul").with_all(affected.iter().map(item));
    let folded = el("details")
        .class("long")
        .with(el("summary").with(summary))
        .with(list);
    Some(folded.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mitigations_that_this_cpu_needs_are_listed() {
        let mut provenance = Provenance::default();
        let shown = |p: &Provenance| mitigations(p).map(Html::into_string);
        assert_eq!(shown(&provenance), None);
        let mut add = |name: &str, state: &str| {
            let known = &mut provenance.mitigations;
            known.insert(name.to_owned(), state.to_owned());
            shown(&provenance).unwrap()
        };
        assert_eq!(add("mds", "Not affected"), "none needed");
        let one = add("spectre_v2", "Mitigation: Retpolines");
        assert!(one.contains("<summary>1 in effect</summary>"), "{one}");
        assert!(one.contains("<li>spectre_v2: Retpolines</li>"), "{one}");
        assert!(!one.contains("mds"), "{one}");
        let two = add("retbleed", "Vulnerable");
        assert!(two.contains(">1 in effect, 1 left open<"), "{two}");
        assert!(two.contains("retbleed: Vulnerable"), "{two}");
    }
}
