//! `plimsoll doctor`: what can be measured on this machine, and what can be
//! held beside a service.

use crate::failure::Failure;
use crate::leftovers;
use crate::output::Output;
use crate::session::rendered;
use plimsoll_control::{Capabilities, CgroupLayout, Journals, Means, Mechanism};
use plimsoll_host::Root;
use plimsoll_model::{Outcome, Requirement};

pub(crate) fn run(output: &Output) -> Result<(), Failure> {
    let root = Root::machine();
    let provenance = plimsoll_host::provenance(&root, env!("CARGO_PKG_VERSION"));
    let mut requirements = plimsoll_host::requirements(&root);
    let all = Mechanism::ALL.into();
    match CgroupLayout::find(&root) {
        Ok(layout) => requirements.extend(beside(&layout.capabilities(&all))),
        Err(error) => requirements.push(missed(
            "batch work beside a service".to_owned(),
            error.to_string(),
        )),
    }
    requirements.extend(leftovers::found(&Journals::usual(), &root));
    let document = plimsoll_report::doctor::document(&provenance, &requirements);
    let text = plimsoll_report::Format::Text;
    output.print(&rendered(&document, text, output.look(None))?)
}

/// How `plimsoll side` and `plimsoll yield` can hold a command here: what a cgroup
/// does in one line, then each thing that none does.
fn beside(capabilities: &Capabilities) -> Vec<Requirement> {
    let means = &capabilities.means;
    let by_group: Vec<String> = means
        .iter()
        .filter(|(_, means)| **means == Means::Group)
        .map(|(mechanism, _)| mechanism.to_string())
        .collect();
    let held = (!by_group.is_empty()).then(|| Requirement {
        name: "batch work held by a cgroup".to_owned(),
        outcome: Outcome::Met {
            found: by_group.join(", "),
        },
    });
    let others = means.iter().filter_map(|(mechanism, means)| {
        let lost = match means {
            Means::Group => return None,
            Means::Instead { by, because, lost } => {
                format!("done by {by}, because {because}: {lost}")
            }
            Means::Missing { because } => format!("unavailable, because {because}"),
        };
        Some(missed(format!("{mechanism} for batch work"), lost))
    });
    held.into_iter().chain(others).collect()
}

fn missed(name: String, lost: String) -> Requirement {
    let remedy = "use cgroup version 2 as root, or have systemd delegate its controllers \
                  (systemd-run --user --scope -p Delegate=yes)"
        .to_owned();
    Requirement {
        name,
        outcome: Outcome::Missed { lost, remedy },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_control::CgroupSupport;

    #[test]
    fn mechanisms_of_a_cgroup_share_a_line_and_others_have_their_own() {
        let means = [
            (Mechanism::Weight, Means::Group),
            (Mechanism::Quota, Means::Group),
            (
                Mechanism::Kill,
                Means::Instead {
                    by: "signals",
                    because: "it is version 1".into(),
                    lost: "it is not done at once",
                },
            ),
            (
                Mechanism::MemoryHigh,
                Means::Missing {
                    because: "version 1 has none".into(),
                },
            ),
        ];
        let capabilities = Capabilities {
            support: CgroupSupport::PartOfGroup,
            means: means.into(),
            keeps_orphans: false,
            notes: Vec::new(),
        };
        let all = beside(&capabilities);
        let texts: Vec<&str> = all
            .iter()
            .map(|one| match &one.outcome {
                Outcome::Met { found } => found.as_str(),
                Outcome::Missed { lost, .. } => lost.as_str(),
                Outcome::Failed { why, .. } => why.as_str(),
            })
            .collect();
        assert_eq!(
            texts,
            [
                "a CPU weight, a CPU quota",
                "done by signals, because it is version 1: it is not done at once",
                "unavailable, because version 1 has none",
            ]
        );
    }
}
