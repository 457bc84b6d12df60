//! Whether a run passes: the conditions of `--require`.

use super::conclusion::{plan, trials};
use crate::compare;
use crate::failure::Failure;
use crate::load_record::LoadRecord;
use crate::note::note;
use crate::record_file;
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::{Condition, Holds, Judgement, Rate, Share};
use plimsoll_record::Record;
use plimsoll_study::judge;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Exit codes, apart from those of a failed run, so that a caller can choose what undecided means.
const BROKEN: u8 = 3;
const UNDECIDED: u8 = 4;

/// What runs of one machine differ by is not worse.
const USUAL_LOSS: f64 = 0.05;

/// What `--require` takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Required {
    Of(Condition),
    /// `no worse than FILE`, or `no worse than FILE by 5%`.
    NoWorse {
        than: PathBuf,
        by: Share,
    },
}

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Required::Of(condition) => condition.fmt(f),
            Required::NoWorse { than, by } => {
                write!(f, "no worse than {} by {by}", than.display())
            }
        }
    }
}

impl FromStr for Required {
    type Err = String;

    fn from_str(text: &str) -> Result<Required, String> {
        let Some(rest) = text.trim().strip_prefix("no worse than ") else {
            let condition = text.parse().map(Required::Of);
            return condition.map_err(|error| format!("{error}, or 'no worse than FILE by 5%'"));
        };
        // The name of a file may have " by " in it.
        let by = rest.rsplit_once(" by ").and_then(|(than, by)| {
            let pct: f64 = by.trim().strip_suffix('%')?.parse().ok()?;
            Some((than, Share::new(pct / 100.0)?))
        });
        let (than, by) = by.unwrap_or((rest, Share::new(USUAL_LOSS).unwrap_or(Share::ZERO)));
        Ok(Required::NoWorse {
            than: than.trim().into(),
            by,
        })
    }
}

/// What is required, and what the findings say about it.
pub(crate) type Verdict = (Required, Judgement);

/// Refuses what no trials of this plan could answer.
///
/// # Errors
/// The first such condition, or a record to compare with that cannot be read.
pub(super) fn check<E: Experiment>(plan: &E::Plan, all: &[Required]) -> Result<(), Failure> {
    for required in all {
        match required {
            Required::Of(condition) => drop(judged::<E>(plan, &[], *condition)?),
            Required::NoWorse { than, .. } => {
                let any = Condition::Capacity { above: Rate::ZERO };
                if E::judge(plan, &[], any).is_none() {
                    return Err(not_answered::<E>(required));
                }
                LoadRecord::open(than, &[], &mut record_file::memory_budget())?;
            }
        }
    }
    Ok(())
}

fn not_answered<E: Experiment>(required: &dyn fmt::Display) -> Failure {
    let forms = match E::CONDITIONS {
        "" => "leave it out".to_owned(),
        forms => format!("it answers {forms}"),
    };
    Failure::Mistake(format!(
        "plimsoll {} does not answer --require '{required}'; {forms}",
        E::NAME
    ))
}

fn judged<E: Experiment>(
    plan: &E::Plan,
    trials: &[TrialOf<E>],
    condition: Condition,
) -> Result<Verdict, Failure> {
    let judged = E::judge(plan, trials, condition);
    let judged = judged.ok_or_else(|| not_answered::<E>(&condition))?;
    Ok((Required::Of(condition), judged))
}

/// What a record says about what is required.
pub(crate) fn of_record<E: Experiment>(
    record: &Record,
    all: &[Required],
) -> Result<Vec<Verdict>, Failure> {
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let plan = plan::<E>(record, &[])?;
    check::<E>(&plan, all)?;
    let trials = trials::<E>(record)?;
    let each = all.iter().map(|required| match required {
        Required::Of(condition) => judged::<E>(&plan, &trials, *condition),
        Required::NoWorse { than, by } => no_worse(record.path(), than, *by),
    });
    each.collect()
}

/// Whether the capacity of a record under each of its goals is that of another, less a share.
fn no_worse(record: &Path, than: &Path, by: Share) -> Result<Verdict, Failure> {
    let (differences, doubts) = compare::of_two(than, record)?;
    let required = Required::NoWorse {
        than: than.to_owned(),
        by,
    };
    Ok((required, judge::no_worse(&differences, by, &doubts)))
}

/// Says of each whether it is kept.
///
/// # Errors
/// [`Failure::Command`] with the exit code if one of them is broken or undecided.
pub(crate) fn conclude(all: &[Verdict]) -> Result<(), Failure> {
    for (required, Judgement { holds, why }) in all {
        let word = match holds {
            Holds::Yes => "kept",
            Holds::Undecided => "undecided",
            Holds::No => "broken",
        };
        note(&format!("require {required}: {word}; {why}"));
    }
    match all.iter().map(|(_, judged)| judged.holds).max() {
        Some(Holds::No) => Err(Failure::Command(BROKEN)),
        Some(Holds::Undecided) => Err(Failure::Command(UNDECIDED)),
        Some(Holds::Yes) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_read_with_what_may_be_lost() {
        let of = |text: &str| match text.parse() {
            Ok(Required::NoWorse { than, by }) => (than.display().to_string(), by.get()),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            of("no worse than a.plimsoll"),
            ("a.plimsoll".to_owned(), 0.05)
        );
        assert_eq!(
            of("no worse than a by b by 10%"),
            ("a by b".to_owned(), 0.1)
        );
        assert_eq!(of("no worse than a by b"), ("a by b".to_owned(), 0.05));
        let why = "no worse".parse::<Required>().unwrap_err();
        assert!(why.contains("no worse than FILE"), "{why}");
    }
}
