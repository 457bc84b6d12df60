//! What can be measured on a host: for `plimsoll doctor`.

use crate::document::{Document, Fact, Facts};
use crate::number::{counted, for_count};
use crate::sentence::Sentence;
use crate::table::{Cell, Ink};
use plimsoll_model::{Outcome, Provenance, Requirement};

/// The host in two lines, then each requirement: what was found, or what is
/// lost without it and what can be done.
pub fn document<'a>(provenance: &Provenance, requirements: &[Requirement]) -> Document<'a> {
    let subject = machine(provenance).to_vec();
    let mut out = Document::new("doctor".to_owned(), subject);
    let missing = requirements
        .iter()
        .filter(|r| !matches!(r.outcome, Outcome::Met { .. }));
    out.headline = match missing.count() {
        0 => "All requirements are met".to_owned(),
        n => format!(
            "{} missing",
            counted(n, "requirement is", "requirements are")
        ),
    };
    out.facts(Facts {
        id: "requirements",
        title: String::new(),
        facts: requirements.iter().map(fact).collect(),
    });
    out
}

fn fact(requirement: &Requirement) -> Fact {
    let (ink, mark, value, detail) = match &requirement.outcome {
        Outcome::Met { found } => (Ink::Green, "ok", found, None),
        Outcome::Missed { lost, remedy } => (Ink::Yellow, "missing", lost, Some(remedy)),
        Outcome::Failed { why, remedy } => (Ink::Red, "FAILED", why, Some(remedy)),
    };
    Fact {
        mark: Some(Cell::new(ink, mark)),
        detail: detail.cloned().unwrap_or_default(),
        ..Fact::new(requirement.name.clone(), value.clone())
    }
}

fn machine(p: &Provenance) -> [Sentence; 2] {
    let known = |x: &Option<String>| x.as_deref().unwrap_or("unknown").to_owned();
    let count = |n: Option<u32>, one, many| match n {
        Some(n) => counted(n, one, many),
        None => format!("? {many}"),
    };
    let under = p.virtualisation.as_deref();
    [
        format!(
            "{}, {}, kernel {}{}",
            known(&p.hostname),
            known(&p.cpu_model),
            known(&p.kernel),
            under.map_or(String::new(), |v| format!(", under {v}")),
        ),
        format!(
            "{} {} on {} in {}, {} for Plimsoll",
            for_count(p.topology.online.len(), "CPU", "CPUs"),
            p.topology.online,
            count(p.topology.cores, "core", "cores"),
            count(p.topology.sockets, "socket", "sockets"),
            p.topology.allowed,
        ),
    ]
    .map(|line| Ink::Plain.says(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::shown::{as_text, has};

    fn text(provenance: &Provenance, requirements: &[Requirement], width: usize) -> String {
        as_text(&document(provenance, requirements), width)
    }

    /// The text of a requirement that is not met.
    fn missed(name: &str, lost: &str, remedy: &str, width: usize) -> String {
        let requirement = Requirement {
            name: name.to_owned(),
            outcome: Outcome::Missed {
                lost: lost.to_owned(),
                remedy: remedy.to_owned(),
            },
        };
        text(&Provenance::default(), &[requirement], width)
    }

    #[test]
    fn each_requirement_says_what_is_lost_and_what_to_do() {
        let text = missed("energy counter", "no work per joule", "run as root", 80);
        has(
            &text,
            &["missing energy counter: no work per joule\n", "run as root"],
        );
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn long_lines_are_broken_below_their_beginning() {
        let lost = "a clock that changes with the load looks like a change in the work";
        let remedy = "none in most virtual machines; on metal, load a cpufreq driver for the CPU";
        for (width, lines) in [(80, 4), (200, 2), (40, 6)] {
            let text = missed("clock frequency", lost, remedy, width);
            let (_, text) = text.split_once("\n\n").unwrap();
            assert_eq!(text.lines().count(), lines, "{text}");
            for line in text.lines().skip(1) {
                assert!(line.starts_with("        "), "{line}");
                assert!(line.chars().count() <= width, "{line}");
            }
        }
    }

    #[test]
    fn counts_of_the_machine_are_in_the_singular_or_the_plural() {
        for (cpus, sockets, cores, counts) in [
            ("0", Some(1), Some(1), "CPU 0 on 1 core in 1 socket"),
            ("0-7", Some(2), Some(4), "CPUs 0-7 on 4 cores in 2 sockets"),
            ("0-1", None, None, "CPUs 0-1 on ? cores in ? sockets"),
        ] {
            let mut machine = Provenance::default();
            machine.topology.online = cpus.parse().unwrap();
            machine.topology.allowed = cpus.parse().unwrap();
            machine.topology.sockets = sockets;
            machine.topology.cores = cores;
            let text = text(&machine, &[], 80);
            has(&text, &[&format!("{counts}, {cpus} for")]);
        }
    }
}
