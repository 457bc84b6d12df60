//! The machine, and how it was measured.

use super::markup::{El, Html, beginning, el};
use super::page::section;
use super::{headline, or_unknown, outside};
use crate::sentences::notes;
use crate::{Report, number, secrets};
use plimsoll_model::{Arrivals, CpuPlan, Plan, Provenance, Requirement, Workload, human_duration};

/// A list of what is known.
pub(super) fn list(rows: Vec<(&'static str, Html)>) -> El {
    let row = |(name, value): (&'static str, Html)| {
        el("div")
            .with(el("dt").with(name))
            .with(el("dd").with(value))
    };
    el("dl").with_all(rows.into_iter().map(row))
}

pub(super) fn machine(provenance: &Provenance) -> El {
    let facts = machine_facts(provenance);
    let known = facts
        .into_iter()
        .filter_map(|(name, fact)| Some((name, outside(&fact?))));
    let weaknesses = mitigations(provenance).map(|list| ("CPU mitigations", list));
    let rows: Vec<(&'static str, Html)> = known.chain(weaknesses).collect();
    let part = section("machine").with(el("h2").with("The machine"));
    match rows.is_empty() {
        true => part.with(el("p").with("Nothing is known of the machine.")),
        false => part.with(list(rows)),
    }
}

fn machine_facts(provenance: &Provenance) -> Vec<(&'static str, Option<String>)> {
    let topology = &provenance.topology;
    let count = |n: Option<u32>| n.map(|n| n.to_string());
    let cpus = (!topology.online.is_empty()).then(|| {
        let (online, allowed) = (topology.online.len(), topology.allowed.len());
        match online == allowed || allowed == 0 {
            true => online.to_string(),
            false => format!("{online}, of which Plimsoll may use {allowed}"),
        }
    });
    let caches: Vec<String> = topology
        .caches
        .iter()
        .map(|cache| format!("{} {}", cache.name, cache.size))
        .collect();
    vec![
        ("Name", provenance.hostname.clone()),
        ("CPU", provenance.cpu_model.clone()),
        ("Architecture", provenance.architecture.clone()),
        ("CPUs", cpus),
        ("Cores", count(topology.cores)),
        ("Threads per core", count(topology.threads_per_core)),
        ("Sockets", count(topology.sockets)),
        ("NUMA nodes", count(topology.numa_nodes)),
        ("Caches", (!caches.is_empty()).then(|| caches.join(", "))),
        ("Memory", provenance.memory.map(|m| m.to_string())),
        (
            "CPU limit",
            provenance
                .cgroup_cpu_limit
                .map(|c| format!("{c} CPUs (cgroup)")),
        ),
        ("Virtualisation", provenance.virtualisation.clone()),
        ("Kernel", provenance.kernel.clone()),
        ("Clock source", provenance.clock_source.clone()),
        ("Frequency governor", provenance.governor.clone()),
        (
            "Boost",
            provenance
                .boost
                .map(|on| if on { "on" } else { "off" }.to_owned()),
        ),
        (
            "CPU time taken by the hypervisor since boot",
            provenance
                .steal_since_boot_share
                .map(|s| format!("{:.2} %", 100.0 * s)),
        ),
    ]
}

/// What the kernel does about weaknesses of this CPU, and which it leaves open:
/// both change how fast it is. Those that it has not are nothing to read.
fn mitigations(provenance: &Provenance) -> Option<Html> {
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

pub(super) fn method(report: &Report<'_>, command_line: &[String]) -> El {
    let plan = secrets::hide(report.plan);
    let mut rows = match report.is_imported() {
        true => Vec::new(),
        false => plan_facts(&plan),
    };
    rows.push(("Record", outside(&report.record.file.to_string_lossy())));
    rows.push(("Plimsoll", outside(&report.provenance.plimsoll_version)));
    let found = report
        .requirements
        .iter()
        .filter(|r| r.name == Requirement::SERVICE);
    for requirement in found {
        if let plimsoll_model::Outcome::Met { found } = &requirement.outcome {
            rows.push(("Service", outside(found)));
        }
    }
    let seed = (!report.is_imported()).then_some(("levels", plan.seed));
    section("method")
        .with(el("h2").with("How it was measured"))
        .with(
            el("div")
                .class("sentences")
                .with_all(notes(report).iter().map(headline::paragraph)),
        )
        .with(list(rows))
        .with(again(command_line, seed))
}

/// The command to run it again. The seed puts what was visited into the same
/// order, and is named where the command has none.
pub(super) fn again(command_line: &[String], seed: Option<(&str, u64)>) -> Option<El> {
    let command = without_output(&secrets::hide_in_command(command_line));
    let seeded = command.iter().any(|word| word.starts_with("--seed"));
    let seed = seed.filter(|_| !seeded).map(|(what, seed)| {
        let words = format!("With --seed {seed} the {what} come in the same order again.");
        el("p").class("hint").with(words)
    });
    (!command.is_empty()).then(|| {
        let command =
            el("pre").with(el("code").with(super::markup::shortened(&shell(&command), 600)));
        el("div")
            .with(el("h3").with("To run it again"))
            .with(command)
            .with(seed)
    })
}

fn plan_facts(plan: &Plan) -> Vec<(&'static str, Html)> {
    let joined = |texts: Vec<String>| texts.join(", ");
    let goals = plan.goals.iter().map(ToString::to_string).collect();
    let copies = plan.copies.iter().map(ToString::to_string).collect();
    let levels = plan
        .levels
        .iter()
        .map(|l| number::trimmed_pct(l.pct()))
        .collect();
    let arrivals = match plan.arrivals {
        Arrivals::Poisson => "open loop, independent users (Poisson)",
        Arrivals::Constant => "open loop, equal gaps",
    };
    let search = plan.search.as_ref().map(|search| {
        let precision = format!("to ±{} %", number::trimmed(search.precision.pct()));
        format!("{precision}, trials of {}", human_duration(search.window))
    });
    let warm_up = plan.warm_up;
    let is_copies = !plan.copies.is_empty();
    let request = match &plan.workload {
        Workload::Http(http) => Some(format!(
            "{} connections, time-out {}",
            http.connections,
            human_duration(http.timeout)
        )),
        _ => None,
    };
    let facts = [
        ("Goals", Some(joined(goals)).filter(|g| !g.is_empty())),
        ("Load", (!is_copies).then(|| arrivals.to_owned())),
        ("Requests", request),
        (
            "Levels, % of the rated rate",
            (!is_copies).then(|| joined(levels)),
        ),
        ("Copies at once", is_copies.then(|| joined(copies))),
        (
            "Visits of each",
            Some(format!("{}, in shuffled order and mirrored", plan.passes)),
        ),
        (
            "A trial measures",
            (!is_copies).then(|| human_duration(plan.window)),
        ),
        (
            "Warm-up",
            (!is_copies).then(|| {
                let (min, max) = (human_duration(warm_up.min), human_duration(warm_up.max));
                format!("until steady, {min} to {max}")
            }),
        ),
        ("Search", search),
        ("CPUs", cpus(&plan.cpus)),
        ("Seed", Some(plan.seed.to_string())),
    ];
    let known = facts
        .into_iter()
        .filter_map(|(name, fact)| Some((name, outside(&fact?))));
    known.collect()
}

fn cpus(cpus: &CpuPlan) -> Option<String> {
    let of = |what: &str, set: &plimsoll_model::CpuSet| {
        (!set.is_empty()).then(|| format!("{what} {set}"))
    };
    let parts = [
        of("service", &cpus.service),
        of("generator", &cpus.generator),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| or_unknown(Some(parts.join(", "))))
}

/// A command without the file that it wrote: no file is written over, so beside
/// its record the same words would only be refused. An import has to name one,
/// so it names another. What comes after `--` is another's command.
fn without_output(command: &[String]) -> Vec<String> {
    let own = command.iter().position(|word| word == "--");
    let (own, others) = command.split_at(own.unwrap_or(command.len()));
    let mut kept = Vec::with_capacity(command.len());
    let mut words = own.iter();
    while let Some(word) = words.next() {
        if word == "-o" || word == "--output" {
            words.next();
        } else if !word.starts_with("--output=") && !word.starts_with("-o") {
            kept.push(word.clone());
        }
    }
    if kept.get(1).is_some_and(|word| word == "import") {
        kept.extend(["-o", "again.plimsoll"].map(str::to_owned));
    }
    kept.extend_from_slice(others);
    kept
}

/// A command as a shell reads it.
fn shell(command: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
