//! Why no plan can be made from a record, with the way out.

use crate::failure::Failure;
use crate::load_record::LoadRecord;
use crate::tally::tally;
use plimsoll_model::{CapacityFinding, CapacityNote, Doubt, Trial, counted};
use plimsoll_report::sizing::PlanReport;
use plimsoll_report::{reason, retry_when};

/// Refuses a record without a valid trial at a rate: no other goal would help.
pub(super) fn without_rates(loaded: &LoadRecord) -> Result<(), Failure> {
    let file = loaded.file.display();
    let at_load = loaded.trials.iter().filter(|t| t.spec.phase.shows_load());
    match no_valid_trial(at_load) {
        Some(why) => Err(Failure::Mistake(format!(
            "what an instance carries is not known from {file}: {why}"
        ))),
        None => Ok(()),
    }
}

/// Why nothing follows from trials of which none is valid, and the way out.
fn no_valid_trial<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<String> {
    let tally = tally(trials);
    if tally.invalid < tally.all {
        return None;
    }
    let reason = tally.commonest.map(reason);
    let reason = reason.map_or_else(String::new, |why| format!(", most often because {why}"));
    Some(match tally.all {
        0 => "its run ended before the first trial at a load; resume it (plimsoll sweep --resume), or sweep again".to_owned(),
        n => format!(
            "none of its {} at a level or of the search is valid{reason}; sweep again {}",
            counted(n, "trial", "trials"),
            retry_when(tally.commonest)
        ),
    })
}

/// The trials are valid, but do not decide this goal.
pub(super) fn unknown_capacity(loaded: &LoadRecord, unknown: &CapacityFinding) -> Failure {
    let why = unknown.note.as_ref();
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    Failure::Mistake(format!(
        "the capacity of an instance within {} is inconclusive in {}{why}{}",
        unknown.goal,
        loaded.file.display(),
        way_out(unknown.note)
    ))
}

fn way_out(note: Option<CapacityNote>) -> String {
    if let Some(way) = note.and_then(plimsoll_report::sweep::way_out) {
        return format!("; {way}");
    }
    match note {
        Some(CapacityNote::MissedAtLowest { .. }) => {
            "; sweep again with lower levels (--levels), or plan for a goal that allows more with --goal"
        }
        Some(CapacityNote::NoAnswerAtLightLoad) => {
            "; give a limit in time, such as --goal 'p99<10ms', or sweep again with lower levels (--levels)"
        }
        Some(CapacityNote::CpuUnknown | CapacityNote::ErrorsUnknown) => "; give another goal, such as --goal 'p99<10ms'",
        _ => {
            "; choose another goal with --goal, or sweep again with other load levels (--levels) or longer trials (--duration)"
        }
    }
    .to_owned()
}

/// A limit that was not found is planned with on request only.
pub(super) fn lower_bound(loaded: &LoadRecord, open: &CapacityFinding, rate: f64) -> Failure {
    Failure::Mistake(format!(
        "the capacity of an instance within {} was not found in {}, it is at least {rate:.1} requests per second; sweep to higher rates, choose a stricter goal with --goal, or plan with this lower bound (--lower-bound), which may take more instances than are needed",
        open.goal,
        loaded.file.display()
    ))
}

pub(super) fn no_goal(loaded: &LoadRecord) -> Failure {
    Failure::Mistake(format!(
        "{} was made without a goal, so it has no capacity; give one with --goal, such as --goal 'p99<10ms'",
        loaded.file.display()
    ))
}

pub(super) fn no_threshold(loaded: &LoadRecord, doubt: &Doubt) -> Failure {
    Failure::Mistake(format!(
        "{} in {}, so there is no CPU target to give Kubernetes; scale on requests per second instead, by the plan as text",
        plimsoll_report::sizing::no_threshold(doubt),
        loaded.file.display()
    ))
}

pub(super) fn no_target(report: &PlanReport<'_>) -> Failure {
    let auto = &report.sizing.autoscaler;
    let file = report.source.file.display();
    let rate = auto.rate_rps;
    if plimsoll_report::sizing::is_fixed(report.sizing) {
        return Failure::Mistake(format!(
            "an autoscaler has nothing to do: the CPU target is right for {} instances and more, and the peak takes no more; set replicas: {} in the Deployment",
            auto.floor_instances, auto.ceiling_instances
        ));
    }
    Failure::Mistake(match (auto.target_cpu_pct, report.cpu_known_to) {
        (Some(pct), _) => format!(
            "CPU use at {rate:.1} requests per second is {pct:.2} %, too little for a target in whole percent; allow for fewer failures or less growth"
        ),
        (None, Some(most)) => format!(
            "{file} has CPU use up to {most} only, and the target is for {rate:.1} requests per second, so there is no CPU target to give Kubernetes; take a record of a sweep with higher levels (--levels)"
        ),
        (None, None) => format!(
            "{file} has no valid trial in which the service's CPU use could be read, so there is no CPU target to give Kubernetes; see with plimsoll doctor what is missing where it was swept, and sweep again"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::{steal, trial};
    use plimsoll_model::Phase;

    #[test]
    fn a_record_without_a_valid_trial_says_so() {
        let stolen = || trial(Phase::Search, vec![steal()]);
        let why = no_valid_trial([stolen(), stolen()].iter()).unwrap();
        assert!(why.contains("none of its 2 trials"), "{why}");
        assert!(why.contains("the hypervisor took CPU time"), "{why}");
        assert!(why.contains("--max-steal"), "{why}");
        assert!(no_valid_trial([].iter()).unwrap().contains("--resume"));
        let one = [stolen(), trial(Phase::Search, vec![])];
        assert_eq!(no_valid_trial(one.iter()), None);
    }
}
