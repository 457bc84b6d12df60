//! What can be measured on a machine: for `plimsoll doctor`.

use crate::escape::safe;
use crate::number::{counted, for_count};
use crate::table::{Cell, Ink, Paint, hang};
use plimsoll_model::{Outcome, Provenance, Requirement};

/// Where the text of a requirement begins, beside `missing`.
const INDENT: usize = 8;
/// Where the way out begins, a little further in.
const REMEDY_INDENT: usize = 10;

/// The machine in two lines, then each requirement: what was found, or what
/// is lost without it and what can be done. `width` is how many columns the
/// terminal has.
pub fn doctor(
    provenance: &Provenance,
    requirements: &[Requirement],
    width: usize,
    colour: bool,
) -> String {
    let paint = Paint(colour);
    let mut out: String = machine(provenance)
        .iter()
        .map(|fact| hang(&plain(String::new()), &plain(fact.clone()), 0, width, paint))
        .collect();
    out.push('\n');
    for requirement in requirements {
        let (ink, word, text, remedy) = match &requirement.outcome {
            Outcome::Met { found } => (Ink::Green, "ok", found, None),
            Outcome::Missed { lost, remedy } => (Ink::Yellow, "missing", lost, Some(remedy)),
            Outcome::Failed { why, remedy } => (Ink::Red, "FAILED", why, Some(remedy)),
        };
        let word = Cell {
            text: word.to_owned(),
            ink,
        };
        let text = format!("{}: {}", safe(&requirement.name), safe(text));
        out += &hang(&word, &plain(text), INDENT, width, paint);
        if let Some(remedy) = remedy {
            let none = plain(String::new());
            out += &hang(&none, &plain(safe(remedy)), REMEDY_INDENT, width, paint);
        }
    }
    out
}

fn plain(text: String) -> Cell {
    Cell::from(text)
}

/// What it is, and its CPUs.
fn machine(p: &Provenance) -> [String; 2] {
    let known = |x: &Option<String>| x.as_deref().map_or("unknown".to_owned(), safe);
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
            under.map_or(String::new(), |v| format!(", under {}", safe(v))),
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
        let text = doctor(&Provenance::default(), &[requirement], 80, false);
        assert!(
            text.contains("missing energy counter: no work per joule\n"),
            "{text}"
        );
        assert!(text.contains("run as root"), "{text}");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn long_lines_are_broken_below_their_beginning() {
        let requirement = Requirement {
            name: "clock frequency".to_owned(),
            outcome: Outcome::Missed {
                lost: "a clock that rises or falls with the load cannot be told from a change in the work".to_owned(),
                remedy: "none in most virtual machines; on metal, load a cpufreq driver for the CPU".to_owned(),
            },
        };
        for (width, lines) in [(80, 4), (200, 2), (40, 7)] {
            let text = doctor(
                &Provenance::default(),
                std::slice::from_ref(&requirement),
                width,
                false,
            );
            let (_, told) = text.split_once("\n\n").unwrap();
            assert_eq!(told.lines().count(), lines, "{told}");
            for line in told.lines().skip(1) {
                assert!(line.starts_with("        "), "{line}");
                assert!(line.chars().count() <= width, "{line}");
            }
        }
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
            let text = doctor(&machine, &[], 80, false);
            assert!(text.contains(expected), "{text}");
        }
    }
}
