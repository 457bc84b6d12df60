//! What keeps CPUs awake here, and who else decides it.

use plimsoll_control::idle::{IdleMeans, MeansHere, choose_means};
use plimsoll_host::idle::{ResumeLatency, idle_requirements};
use plimsoll_host::{Root, own_allowed_cpus};
use plimsoll_model::{Outcome, Requirement};

/// Idle states, what limits them already, and the means of `plimsoll gate` and `wake`.
pub(super) fn idle(root: &Root) -> Vec<Requirement> {
    let mut all = idle_requirements(root)
        .unwrap_or_else(|error| vec![missed("idle states".to_owned(), error.to_string(), MOUNT)]);
    let found = own_allowed_cpus(root)
        .map_err(Into::into)
        .and_then(|cpus| choose_means(root, &cpus, ResumeLatency::PollOnly));
    match found {
        Ok(here) => all.extend(means(&here)),
        Err(error) => all.push(missed(AWAKE.to_owned(), error.to_string(), MOUNT)),
    }
    all
}

const AWAKE: &str = "CPUs kept awake";
const MOUNT: &str = "make sure that /proc and /sys are mounted";

/// What works in one line, then each means that does not.
fn means(here: &[MeansHere]) -> Vec<Requirement> {
    let working = here.iter().filter(|one| one.works());
    let working: Vec<String> = working
        .map(|one| match one.means.is_global() {
            true => format!("{} (affects all CPUs)", one.means),
            false => one.means.to_string(),
        })
        .collect();
    let works = (!working.is_empty()).then(|| Requirement {
        name: AWAKE.to_owned(),
        outcome: Outcome::Met {
            found: working.join(", "),
        },
    });
    let others = here.iter().filter_map(|one| {
        let why = one.why_not.as_deref()?;
        let name = format!("{} to keep CPUs awake", one.means);
        Some(missed(
            name,
            format!("no effect, because {why}"),
            remedy(one.means),
        ))
    });
    works.into_iter().chain(others).collect()
}

fn remedy(means: IdleMeans) -> &'static str {
    match means {
        IdleMeans::Spinner => "run it on CPUs of its own, where SCHED_IDLE is permitted",
        IdleMeans::HaltPoll => "in a guest of KVM, boot with cpuidle_haltpoll; others need none",
        IdleMeans::ResumeLatency | IdleMeans::DisableStates | IdleMeans::DmaLatency => {
            "use one of the means that work; as root, with an idle driver, all of these do"
        }
    }
}

fn missed(name: String, lost: String, remedy: &str) -> Requirement {
    Requirement {
        name,
        outcome: Outcome::Missed {
            lost,
            remedy: remedy.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_that_work_share_a_line_and_others_have_a_reason_each() {
        let here = |means, why_not: Option<&str>| MeansHere {
            means,
            why_not: why_not.map(str::to_owned),
        };
        let all = means(&[
            here(IdleMeans::ResumeLatency, None),
            here(IdleMeans::DisableStates, Some("it is not heeded")),
            here(IdleMeans::DmaLatency, None),
        ]);
        let texts: Vec<&str> = all
            .iter()
            .map(|one| match &one.outcome {
                Outcome::Met { found } => found.as_str(),
                Outcome::Missed { lost, .. } | Outcome::Failed { why: lost, .. } => lost.as_str(),
            })
            .collect();
        assert_eq!(
            texts,
            [
                "a latency limit per CPU, a latency limit on all CPUs (affects all CPUs)",
                "no effect, because it is not heeded",
            ]
        );
        assert_eq!(means(&[]), []);
    }
}
