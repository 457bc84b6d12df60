//! A/A: what `compare` says of one service that was measured twice. Pure.

use plimsoll_engine::RunError;
use plimsoll_model::{
    Difference, DifferenceVerdict, SelftestAnswer, SelftestRepeat, SelftestVerdict,
};
use plimsoll_study::compare::{Run, Side, compare};

/// What was measured of a service.
#[derive(Debug)]
pub struct Measured {
    pub answer: SelftestAnswer,
    /// The same, as `compare` takes it.
    pub run: Run,
}

/// Compares the last service with the first, which it is again, as `plimsoll compare
/// LAST --against FIRST` does.
///
/// # Errors
/// The two cannot be compared, which is a defect.
pub fn repeat(measured: &[Measured]) -> Result<SelftestRepeat, RunError> {
    let defect = |why: &str| {
        RunError::Stuck(format!(
            "the self-test has no A/A: {why}; this is a defect of Plimsoll"
        ))
    };
    let [first, .., last] = measured else {
        return Err(defect("no service was measured twice"));
    };
    let side = |measured: &Measured| Side {
        name: measured.run.name.clone(),
        runs: vec![measured.run.clone()],
        price_per_hour: None,
    };
    let compared = compare(&[side(first), side(last)], None).map_err(|e| defect(&e.to_string()))?;
    // Of measures, capacity comes first.
    let difference = compared.differences.into_iter().next();
    let difference = difference.ok_or_else(|| defect("neither has a goal"))?;
    Ok(SelftestRepeat {
        verdict: verdict(&difference, [&first.answer, &last.answer]),
        difference,
    })
}

fn verdict(difference: &Difference, answers: [&SelftestAnswer; 2]) -> SelftestVerdict {
    let has_interval = difference.ratio.is_some_and(|r| r.interval().is_some());
    let too_wide = |answer: &&SelftestAnswer| answer.verdict == SelftestVerdict::TooWide;
    match difference.verdict {
        DifferenceVerdict::Better | DifferenceVerdict::Worse => SelftestVerdict::Missed,
        DifferenceVerdict::Inconclusive if !has_interval => SelftestVerdict::NotMeasured,
        DifferenceVerdict::Inconclusive if answers.iter().any(too_wide) => SelftestVerdict::TooWide,
        DifferenceVerdict::Inconclusive => SelftestVerdict::Recovered,
    }
}
