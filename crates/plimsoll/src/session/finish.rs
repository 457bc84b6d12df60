//! The end of a run: its record is marked, its findings are shown as far as
//! there are any, and the user is told how to resume.

use super::begin::Begun;
use super::conclusion::Conclusion;
use crate::args::FrameArgs;
use crate::failure::Failure;
use crate::output::{Output, note};
use crate::{page_file, remark};
use plimsoll_engine::Outcome;
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::RunEnd;
use plimsoll_record::Record;
use plimsoll_report::Format;

/// Ends a run whose trials have `ended` so.
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
        let conclusion = show::<E>(record, frame.format.into(), !frame.no_html, output)?;
        conclusion.conclude().iter().for_each(|text| note(text));
        return remark::none_counts(trials, &path).map_or(Ok(()), |why| Err(Failure::Run(why)));
    };
    let was_stopped = matches!(failure, Failure::Interrupted(_));
    if was_stopped && !trials.is_empty() {
        show::<E>(record, frame.format.into(), !frame.no_html, output)?;
    }
    let recorded: E::Plan = record.plan()?;
    let flags = E::flags_to_resume(&recorded);
    let how = remark::how_to_resume(E::NAME, trials, was_stopped, &path, &flags);
    Err(failure.with(&how))
}

/// Prints the findings of a record, and writes the page with charts next to it:
/// first, so that closing the output does not lose it.
pub(crate) fn show<'a, E: Experiment>(
    record: &'a Record,
    format: Format,
    with_page: bool,
    output: &Output,
) -> Result<Conclusion<'a, E>, Failure> {
    let conclusion = Conclusion::<E>::of(record, &[])?;
    let html = || conclusion.written(Format::Html, output.look(None));
    let page = with_page.then(|| page_file::beside(record.path(), html));
    output.print(&conclusion.written(format, output.look(None))?)?;
    if format != Format::Text {
        note(&format!("Record: {}", record.path().display()));
    }
    page.iter().for_each(|sentence| note(sentence));
    Ok(conclusion)
}
