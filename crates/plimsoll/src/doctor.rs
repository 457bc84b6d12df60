//! `plimsoll doctor`: what can be measured on this machine, what can be held beside a
//! service, and what keeps CPUs awake.

mod idle;

use crate::disturbed::named;
use crate::failure::Failure;
use crate::leftovers;
use crate::output::Output;
use crate::session::rendered;
use plimsoll_control::{Capabilities, CgroupLayout, Journals, Means, Mechanism};
use plimsoll_host::{BusyProcess, BusyWatch, CpuTimes, Root};
use plimsoll_model::{Bounds, CpuUse, InterruptTime, Outcome, Requirement, Share};
use std::thread::sleep;
use std::time::Duration;

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
    requirements.extend(idle::idle(&root));
    requirements.extend(leftovers::found(&Journals::all_usual(), &root));
    let busy = cpu_use(&root);
    requirements.extend(busy.map(|(now, busiest)| other_load(&now, &busiest)));
    let document = plimsoll_report::doctor::document(&provenance, &requirements);
    let text = plimsoll_report::Format::Text;
    output.print(&rendered(&document, text, output.look(None))?)
}

/// How long to watch what others use: a hundred clock ticks of each CPU.
const WATCHED: Duration = Duration::from_secs(1);

/// The machine's CPU time while this process sleeps, and what used most of it; `None` if it cannot be
/// read.
fn cpu_use(root: &Root) -> Option<(CpuUse, Vec<BusyProcess>)> {
    let before = CpuTimes::read(root).ok()??;
    let watch = BusyWatch::begin(root).ok();
    sleep(WATCHED);
    let used = CpuTimes::read(root).ok()??.since(&before).all;
    let busiest = watch.and_then(|watch| watch.end(root).ok());
    Some((used, busiest.unwrap_or_default()))
}

/// Whether others leave the machine to a trial, by the bounds of trials.
///
/// Time of tasks may be sampled, and too low; that of processes is measured.
fn other_load(now: &CpuUse, busiest: &[BusyProcess]) -> Requirement {
    let bounds = Bounds::usual(InterruptTime::Unknown);
    let by_busiest = WATCHED.mul_f64(busiest.iter().map(|one| one.cpus).sum());
    let by_tasks = now.by_tasks(bounds.interrupts).0;
    let used = Share::of(by_tasks.max(by_busiest), now.total().0);
    let used = used.unwrap_or(Share::ZERO);
    let shown = format!(
        "{used} of the CPU time used by others in {} s",
        WATCHED.as_secs()
    );
    Requirement {
        name: "a machine without other load".to_owned(),
        outcome: match used > bounds.other_share {
            false => Outcome::Met { found: shown },
            true => Outcome::Missed {
                lost: format!(
                    "{shown}; a trial with more than {} is invalid",
                    bounds.other_share
                ),
                remedy: format!(
                    "end it ({}) or wait; if it is the service to be measured, it is no other \
                     load; --max-other allows more",
                    named(busiest).unwrap_or_else(|| "top shows what it is".to_owned())
                ),
            },
        },
    }
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
    use plimsoll_model::CpuTime;

    #[test]
    fn a_machine_that_others_use_is_not_ready() {
        let cpu = |ms| CpuTime(Duration::from_millis(ms));
        let of = |busy, idle, by_make| {
            let (user, idle) = (cpu(busy), cpu(idle));
            let now = CpuUse {
                user,
                idle,
                ..CpuUse::default()
            };
            let make = BusyProcess {
                pid: 7,
                name: "make".to_owned(),
                cpus: by_make,
            };
            other_load(&now, &[make])
        };
        let Outcome::Missed { lost, remedy } = of(990, 10, 0.98).outcome else {
            panic!("a busy machine is ready");
        };
        assert!(lost.contains("99.0 %") && lost.contains("5.0 %"), "{lost}");
        assert!(remedy.contains("--max-other"), "{remedy}");
        assert!(remedy.contains("make (pid 7) 98 %"), "{remedy}");
        assert!(matches!(of(40, 960, 0.04).outcome, Outcome::Met { .. }));
        assert!(
            matches!(of(5, 995, 0.3).outcome, Outcome::Missed { .. }),
            "seen at no tick"
        );
    }

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
