//! What can be measured on a machine: for `plimsoll doctor`.

use crate::escape::safe;
use crate::number::for_count;
use plimsoll_model::{Outcome, Provenance, Requirement};
use std::fmt::Write;

/// The machine in two lines, then each requirement: what was found, or what
/// is lost without it and what can be done.
pub fn doctor(provenance: &Provenance, requirements: &[Requirement], colour: bool) -> String {
    let paint = |code: &str, text: &str| {
        if colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    };
    let mut out = machine(provenance);
    out.push('\n');
    for requirement in requirements {
        let name = safe(&requirement.name);
        let lines = match &requirement.outcome {
            Outcome::Met { found } => vec![format!(
                "{} {name}: {}",
                paint("32", "ok     "),
                safe(found)
            )],
            Outcome::Missed { lost, remedy } => vec![
                format!("{} {name}: {}", paint("33", "missing"), safe(lost)),
                format!("          {}", safe(remedy)),
            ],
            Outcome::Failed { why, remedy } => vec![
                format!("{} {name}: {}", paint("31", "FAILED "), safe(why)),
                format!("          {}", safe(remedy)),
            ],
        };
        for line in lines {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

fn machine(p: &Provenance) -> String {
    let known = |x: &Option<String>| x.as_deref().map_or("unknown".to_owned(), safe);
    let count = |n: Option<u32>, one, many| match n {
        Some(n) => format!("{n} {}", for_count(n, one, many)),
        None => format!("? {many}"),
    };
    format!(
        "{}, {}, kernel {}{}\n{} {} on {} in {}, {} for Plimsoll\n",
        known(&p.hostname),
        known(&p.cpu_model),
        known(&p.kernel),
        p.virtualisation
            .as_deref()
            .map_or(String::new(), |v| format!(", under {}", safe(v))),
        for_count(p.topology.online.len(), "CPU", "CPUs"),
        p.topology.online,
        count(p.topology.cores, "core", "cores"),
        count(p.topology.sockets, "socket", "sockets"),
        p.topology.allowed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_requirement_says_what_is_lost_and_what_to_do() {
        let requirement = Requirement {
            name: "energy counter".to_owned(),
            outcome: Outcome::Missed {
                lost: "no work per joule".to_owned(),
                remedy: "run as root".to_owned(),
            },
        };
        let text = doctor(&Provenance::default(), &[requirement], false);
        assert!(
            text.contains("missing energy counter: no work per joule\n"),
            "{text}"
        );
        assert!(text.contains("run as root"), "{text}");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn the_machine_is_told_in_the_singular_and_the_plural() {
        for (cpus, sockets, cores, expected) in [
            ("0", Some(1), Some(1), "CPU 0 on 1 core in 1 socket, 0 for"),
            (
                "0-7",
                Some(2),
                Some(4),
                "CPUs 0-7 on 4 cores in 2 sockets, 0-7 for",
            ),
            (
                "0-1",
                None,
                None,
                "CPUs 0-1 on ? cores in ? sockets, 0-1 for",
            ),
        ] {
            let mut machine = Provenance::default();
            machine.topology.online = cpus.parse().unwrap();
            machine.topology.allowed = cpus.parse().unwrap();
            machine.topology.sockets = sockets;
            machine.topology.cores = cores;
            let text = doctor(&machine, &[], false);
            assert!(text.contains(expected), "{text}");
        }
    }
}
