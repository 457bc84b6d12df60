//! How a run ends, whatever it was about: its record is marked, its findings
//! are shown as far as there are any, and who must go on is told how.

use crate::failure::Failure;
use crate::{headers, remark};
use plimsoll_experiment::Ended;
use plimsoll_model::{RunEnd, Trial};
use plimsoll_record::Record;

/// Ends the run of a command (`sweep`) whose trials have `ended` so.
pub(crate) fn finish(
    command: &str,
    record: &mut Record,
    trials: &[Trial],
    ended: Result<Ended, Failure>,
    show: impl Fn(&Record) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (end, failure) = match ended {
        Ok(Ended::Complete) => (RunEnd::Complete, None),
        Ok(Ended::Interrupted) => (
            RunEnd::Interrupted,
            Some(Failure::Interrupted("the run was stopped".to_owned())),
        ),
        Err(failure) => {
            let sentence = failure.sentence().unwrap_or_default().to_owned();
            (RunEnd::Failed(sentence), Some(failure))
        }
    };
    // On a full disk this fails for the reason that the run failed.
    let marked = record.mark_finished(&end);
    let path = record.path().display().to_string();
    let Some(failure) = failure else {
        marked?;
        show(record)?;
        return remark::none_counts(trials, &path).map_or(Ok(()), |why| Err(Failure::Run(why)));
    };
    let was_stopped = matches!(failure, Failure::Interrupted(_));
    if was_stopped && !trials.is_empty() {
        show(record)?;
    }
    let flags = headers::flags_to_resume(record.plan());
    let how = remark::how_to_go_on(command, trials, was_stopped, &path, &flags);
    Err(failure.with(&how))
}
