//! Whether a run passes: the conditions of `--require`.

use super::conclusion::{plan, trials};
use crate::compare;
use crate::failure::Failure;
use crate::format::Format;
use crate::load_record::LoadRecord;
use crate::note::note;
use crate::record_file;
use plimsoll_experiments::{Experiment, TrialOf};
use plimsoll_model::{Condition, FigureLimit, Goal, Holds, Judgement, Rate, RunEnd, Share};
use plimsoll_record::Record;
use plimsoll_report::verdicts::{Verdicts, word};
use plimsoll_study::judge;
use std::fmt;
use std::path::PathBuf;
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
        let (than, by) = match rest.rsplit_once(" by ") {
            Some((than, by)) if is_number_like(by) => {
                let by = loss(by).ok_or("give the share below 100% and with %, such as 5%")?;
                (than, by)
            }
            _ => (rest, usual_loss()),
        };
        Ok(Required::NoWorse {
            than: than.trim().into(),
            by,
        })
    }
}

fn loss(text: &str) -> Option<Share> {
    let pct: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    Share::new(pct / 100.0).filter(|share| *share < Share::ONE)
}

fn is_number_like(text: &str) -> bool {
    let of_number = |c: char| c.is_ascii_digit() || "+-.,% ".contains(c);
    text.chars().all(of_number) && text.contains(|c: char| c.is_ascii_digit())
}

fn usual_loss() -> Share {
    Share::new(USUAL_LOSS).unwrap_or(Share::ZERO)
}

/// What `--require` of a comparison takes: `no worse`, or `no worse by 5%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NoWorseBy(pub(crate) Share);

impl fmt::Display for NoWorseBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no worse by {}", self.0)
    }
}

impl FromStr for NoWorseBy {
    type Err = String;

    fn from_str(text: &str) -> Result<NoWorseBy, String> {
        let read = || match text.trim().strip_prefix("no worse")?.trim() {
            "" => Some(usual_loss()),
            by => loss(by.strip_prefix("by ")?),
        };
        read().map(NoWorseBy).ok_or_else(|| {
            "a comparison answers 'no worse' or 'no worse by 5%' than the first, or than --against"
                .to_owned()
        })
    }
}

/// Refuses a format that shows conditions where none is given.
pub(crate) fn check_format<R>(format: Format, required: &[R]) -> Result<(), Failure> {
    match format.of_findings() {
        None if required.is_empty() => Err(Failure::Mistake(format!(
            "--format {} has what --require found; give a --require, too",
            format.name()
        ))),
        _ => Ok(()),
    }
}

/// Refuses what no trials of this plan could answer.
///
/// # Errors
/// The first such condition, or a record to compare with that cannot be read.
pub(super) fn check<E: Experiment>(plan: &E::Plan, all: &[Required]) -> Result<(), Failure> {
    for required in all {
        match required {
            Required::Of(condition) => {
                judged::<E>(plan, &[], condition)?;
                refuse_unknown::<E>(plan, condition)?;
            }
            Required::NoWorse { than, .. } => {
                let any = Condition::Capacity { above: Rate::ZERO };
                if E::judge(plan, &[], &any).is_none() {
                    return Err(not_answered::<E>(required));
                }
                LoadRecord::open(than, &[], &mut record_file::memory_budget())?;
            }
        }
    }
    Ok(())
}

/// Refuses a figure of what the plan does not have: after the run it would be undecided.
fn refuse_unknown<E: Experiment>(plan: &E::Plan, condition: &Condition) -> Result<(), Failure> {
    let Condition::Figure(FigureLimit {
        name, of: Some(of), ..
    }) = condition
    else {
        return Ok(());
    };
    let figures = E::figures(&E::findings(plan, &[]));
    let mut known: Vec<&str> = figures
        .iter()
        .filter(|figure| figure.name == *name)
        .map(|figure| figure.of.as_str())
        .collect();
    known.dedup();
    match known.is_empty() || known.contains(&of.as_str()) {
        true => Ok(()),
        false => Err(Failure::Mistake(format!(
            "--require '{condition}': there is no '{of}' here; choose from {}",
            known.join(", ")
        ))),
    }
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
    condition: &Condition,
) -> Result<Judgement, Failure> {
    let judged = E::judge(plan, trials, condition);
    judged.ok_or_else(|| not_answered::<E>(condition))
}

/// What a record says about what is required. Goals, if any, replace its own.
pub(crate) fn of_record<E: Experiment>(
    record: &Record,
    goals: &[Goal],
    all: &[Required],
) -> Result<Verdicts, Failure> {
    if all.is_empty() {
        return Ok(Verdicts::default());
    }
    let plan = plan::<E>(record, goals)?;
    check::<E>(&plan, all)?;
    let trials = trials::<E>(record)?;
    let each = all.iter().map(|required| {
        let judged = match required {
            Required::Of(condition) => judged::<E>(&plan, &trials, condition),
            Required::NoWorse { than, by } => compare::of_two(than, record.path(), goals, *by),
        };
        let judged = match record.end() == Some(&RunEnd::Complete) {
            true => judged?,
            false => judge::doubted(judged?, "the run did not end"),
        };
        Ok((required.to_string(), judged))
    });
    Ok(Verdicts {
        subject: format!("plimsoll {} of {}", E::NAME, E::workload(&E::shown(&plan))),
        all: each.collect::<Result<_, Failure>>()?,
    })
}

/// What a format prints of them: all of it, or what comes before the findings.
/// Nothing where a run did not come to them: no report of no failures.
pub(crate) fn written(format: Format, verdicts: &Verdicts) -> String {
    match format {
        _ if verdicts.all.is_empty() => String::new(),
        Format::Junit => verdicts.junit(),
        Format::Github => verdicts.github(),
        Format::Markdown => verdicts.markdown(),
        Format::Text | Format::Json | Format::Csv | Format::Html => String::new(),
    }
}

/// Says of each whether it is kept.
///
/// # Errors
/// [`Failure::Command`] with the exit code if one of them is broken or undecided.
pub(crate) fn conclude(verdicts: &Verdicts) -> Result<(), Failure> {
    let all = &verdicts.all;
    for (required, Judgement { holds, why }) in all {
        note(&format!("require {required}: {}; {why}", word(*holds)));
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
        let by = |text: &str| text.parse().map(|NoWorseBy(by)| by.get());
        assert_eq!(by("no worse"), Ok(0.05));
        assert_eq!(by("no worse by 10%"), Ok(0.1));
        for bad in [
            "no worse by 10",
            "no worse than a",
            "no worse by -1%",
            "worse",
        ] {
            assert!(by(bad).is_err(), "{bad}");
        }
        assert_eq!(of("no worse than a by 60 %"), ("a".to_owned(), 0.6));
        for bad in ["by 0.6", "by 101%", "by 100%", "by 60%%", "by -5%"] {
            let why = format!("no worse than a {bad}").parse::<Required>();
            assert!(why.unwrap_err().contains("such as 5%"), "{bad}");
        }
        assert_eq!(written(Format::Junit, &Verdicts::default()), "");
        let why = "no worse".parse::<Required>().unwrap_err();
        assert!(why.contains("no worse than FILE"), "{why}");
    }
}
