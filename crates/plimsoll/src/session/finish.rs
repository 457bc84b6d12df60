//! The end of a run: marks the record, shows the findings, and says how to
//! resume.

use super::args::FrameArgs;
use super::begin::Begun;
use super::conclusion::{Conclusion, recorded};
use super::require;
use crate::failure::Failure;
use crate::format::Format;
use crate::note::note;
use crate::output::Output;
use crate::page_file;
use crate::tally::tally;
use plimsoll_engine::Outcome;
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::{Phase, RunEnd, Trial, TrialSetting, counted, shell_word};
use plimsoll_record::Record;
use plimsoll_report::verdicts::Verdicts;
use plimsoll_report::{reason, retry_when};
use std::io::IsTerminal;

pub(super) fn finish<E: Experiment>(
    begun: &mut Begun<E>,
    trials: &[TrialOf<E>],
    ended: Result<Outcome, Failure>,
    frame: &FrameArgs,
    output: &Output,
) -> Result<(), Failure> {
    let (end, failure) = match ended {
        Ok(Outcome::Complete) => (RunEnd::Complete, None),
        Ok(Outcome::Interrupted) => (
            RunEnd::Interrupted,
            Some(Failure::Interrupted("the run was stopped".to_owned())),
        ),
        Err(failure) => {
            let sentence = failure.sentence().unwrap_or_default().to_owned();
            (RunEnd::Failed(sentence), Some(failure))
        }
    };
    let record = &mut begun.record;
    // On a full disk this fails for the reason that the run failed.
    let marked = record.mark_finished(&end);
    let path = record.path().display().to_string();
    let Some(failure) = failure else {
        marked?;
        let verdicts = require::of_record::<E>(record, &[], &frame.require);
        let none = Verdicts::default();
        let known = verdicts.as_ref().unwrap_or(&none);
        let conclusion = show::<E>(record, known, frame.format, !frame.no_html, output)?;
        conclusion.conclude().iter().for_each(|text| note(text));
        let invalid = no_valid_trial(trials, &path);
        if !frame.require.is_empty() {
            // What fails is among what is judged.
            invalid
                .iter()
                .for_each(|why| note(&format!("plimsoll: {why}")));
            return require::conclude(&verdicts?);
        }
        let why = invalid.or_else(|| conclusion.unanswered());
        return why.map_or(Ok(()), |why| Err(Failure::Run(why)));
    };
    let was_stopped = matches!(failure, Failure::Interrupted(_));
    let flags = E::flags_to_resume(&recorded::<E>(record)?);
    let mut command = Some(format!(
        "plimsoll {} --resume {}{flags}",
        E::NAME,
        shell_word(&path)
    ));
    if was_stopped && !trials.is_empty() {
        let format = frame.format;
        show::<E>(record, &Verdicts::default(), format, !frame.no_html, output)?;
        // On a terminal the text above has this command, except for the flags.
        let is_read = format == Format::Text && std::io::stdout().is_terminal();
        command = command.filter(|_| !is_read || !flags.is_empty());
    }
    let next = next_step(trials, was_stopped, &path, command.as_deref());
    Err(failure.with(next))
}

/// Prints the findings of a record, or the verdicts on them, and writes the page with charts next to it:
/// first, so that closing the output does not lose it.
pub(crate) fn show<'a, E: Experiment>(
    record: &'a Record,
    verdicts: &Verdicts,
    format: Format,
    with_page: bool,
    output: &Output,
) -> Result<Conclusion<'a, E>, Failure> {
    let conclusion = Conclusion::<E>::of(record, &[], output)?;
    let look = output.look(None);
    let html = || conclusion.written(plimsoll_report::Format::Html, look);
    let page = with_page.then(|| page_file::beside(record.path(), html));
    let mut text = require::written(format, verdicts);
    if let Some(format) = format.of_findings() {
        text += &conclusion.written(format, look)?;
    }
    output.print(&text)?;
    if format != Format::Text {
        note(&format!("Record: {}", record.path().display()));
    }
    page.iter().for_each(|sentence| note(sentence));
    Ok(conclusion)
}

/// Why a complete run has failed: none of its trials under load is valid, and a
/// caller that only looks at the exit status must not take it for an answer. The
/// calibration is one only for a run that asked for nothing else.
fn no_valid_trial<S: TrialSetting, O>(trials: &[Trial<S, O>], path: &str) -> Option<String> {
    let has_levels = trials.iter().any(|t| t.spec.phase.shows_load());
    let answers = |phase: Phase| phase.shows_load() || !has_levels && phase != Phase::Idle;
    let tally = tally(trials.iter().filter(|t| answers(t.spec.phase)));
    if tally.invalid < tally.all || tally.all == 0 {
        return None;
    }
    let (none, often, are) = match tally.all {
        1 => (
            "the only trial under load is invalid".to_owned(),
            "",
            "it is",
        ),
        n => (
            format!("none of the {n} trials under load is valid"),
            "most often ",
            "all are",
        ),
    };
    let why = tally.commonest.map(reason);
    let why = why.map_or_else(String::new, |why| format!(", {often}because {why}"));
    Some(format!(
        "{none}{why}; {are} kept in {path}; run it again {}",
        retry_when(tally.commonest)
    ))
}

/// What to do after a run that failed or was stopped. `command` resumes it;
/// `None` if the findings on the terminal have it.
fn next_step<S, O>(
    trials: &[Trial<S, O>],
    was_stopped: bool,
    path: &str,
    command: Option<&str>,
) -> String {
    if trials.is_empty() && !was_stopped {
        return format!("nothing was measured yet; nothing is lost if {path} is deleted");
    }
    let kept = |one, many| counted(trials.len(), one, many);
    if !was_stopped && trials.iter().all(|t| t.spec.phase == Phase::Idle) {
        let trials = kept("idle trial", "idle trials");
        return format!("{path} has only {trials}; mend the cause and start a new run");
    }
    let kept = kept("trial is", "trials are");
    match command {
        Some(command) => format!("{kept} kept; resume with: {command}"),
        None => format!("{kept} kept"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::{steal, trial};
    use plimsoll_model::Setting;

    #[test]
    fn a_run_without_a_valid_trial_has_failed() {
        let level = Phase::Level { level: None };
        let idle = trial(Phase::Idle, vec![]);
        let calibration = trial(Phase::Calibration, vec![]);
        let disturbed = trial(level, vec![steal()]);
        let alone = std::slice::from_ref(&calibration);
        assert_eq!(no_valid_trial(alone, "x"), None);
        let none = [idle.clone(), calibration, disturbed.clone()];
        let why = no_valid_trial(&none, "x").unwrap();
        assert!(
            why.contains("only trial") && why.contains("hypervisor"),
            "{why}"
        );
        let one = [idle, disturbed, trial(level, vec![])];
        assert_eq!(no_valid_trial(&one, "x"), None);
        assert_eq!(no_valid_trial::<Setting, ()>(&[], "x"), None);
    }

    #[test]
    fn the_next_step_depends_on_what_is_recorded() {
        let idle = trial(Phase::Idle, vec![]);
        let loaded = trial(Phase::Calibration, vec![]);
        let two_idle = [idle.clone(), idle];
        let resume = Some("plimsoll sweep --resume x");
        for (trials, was_stopped, command, expected) in [
            (
                &[][..],
                false,
                resume,
                "nothing was measured yet; nothing is lost if x is deleted",
            ),
            (
                &two_idle,
                false,
                resume,
                "x has only 2 idle trials; mend the cause and start a new run",
            ),
            (
                &two_idle,
                true,
                resume,
                "2 trials are kept; resume with: plimsoll sweep --resume x",
            ),
            (
                &[loaded],
                false,
                resume,
                "1 trial is kept; resume with: plimsoll sweep --resume x",
            ),
            (&two_idle, true, None, "2 trials are kept"),
        ] {
            assert_eq!(next_step(trials, was_stopped, "x", command), expected);
        }
    }
}
