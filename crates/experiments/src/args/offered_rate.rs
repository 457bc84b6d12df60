//! A rate as a multiple of a known capacity: `--rate '0.8x FILE'`.

use crate::args::value;
use crate::experiment::{LoadLine, Machine};
use plimsoll_engine::RunError;
use plimsoll_model::{CapacityFinding, Carried, Estimate, Findings, Rate};
use plimsoll_study::sizing::least;
use std::path::PathBuf;

/// What `--rate` takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OfferedRate {
    Fixed(Rate),
    /// So many times the capacity in a record.
    Times {
        factor: f64,
        record: PathBuf,
    },
}

pub(crate) fn offered_rate(text: &str) -> Result<OfferedRate, String> {
    let (number, record) = match text.split_once(char::is_whitespace) {
        Some((number, record)) => (number, record.trim()),
        None => (text, ""),
    };
    let Some(factor) = number.strip_suffix('x') else {
        let wanted = |why| format!("{why}, or a share of a known capacity, such as '0.8x FILE'");
        return value::rate(text).map(OfferedRate::Fixed).map_err(wanted);
    };
    let factor = factor.parse().ok();
    let factor = factor.filter(|factor: &f64| (0.001..=1000.0).contains(factor));
    match factor {
        Some(factor) if !record.is_empty() => Ok(OfferedRate::Times {
            factor,
            record: record.into(),
        }),
        _ => Err(
            "give a factor between 0.001 and 1000 and a record of plimsoll sweep as one word, \
             such as '0.8x FILE'"
                .to_owned(),
        ),
    }
}

/// The rate, and for a share of a capacity what it is a share of.
///
/// # Errors
/// The record cannot be read, or has no capacity.
pub(crate) fn resolved(
    asked: Option<&OfferedRate>,
    machine: &Machine,
) -> Result<(Option<Rate>, Option<String>), RunError> {
    let (factor, record) = match asked {
        None => return Ok((None, None)),
        Some(OfferedRate::Fixed(rate)) => return Ok((Some(*rate), None)),
        Some(OfferedRate::Times { factor, record }) => (*factor, record),
    };
    let shown = record.display();
    let LoadLine { findings, .. } = machine.load_line(record)?;
    let (least, found) = least_capacity(&findings).ok_or_else(|| {
        RunError::Usage(format!(
            "{shown} has no capacity that --rate could be a multiple of, see plimsoll report {shown}; give requests per second"
        ))
    })?;
    let rate = value::rate(&(factor * least).to_string());
    let rate = rate.map_err(|why| RunError::Usage(format!("--rate '{factor}x {shown}': {why}")))?;
    let doubted = match findings.doubts.is_empty() {
        true => "",
        false => "; its figures are in doubt, see its report",
    };
    let note = format!(
        "the rate is {rate}: {factor} times {}, the capacity under {} in {shown}{doubted}",
        words(found),
        found.goal
    );
    Ok((Some(rate), Some(note)))
}

/// The capacity that keeps all goals; `None` if one is unknown.
fn least_capacity(findings: &Findings) -> Option<(f64, &CapacityFinding)> {
    let is_unknown = |found: &CapacityFinding| Carried::from(found) == Carried::Unknown;
    let found = least(&findings.capacity).filter(|_| !findings.capacity.iter().any(is_unknown))?;
    Some((Carried::from(found).estimate()?.value, found))
}

fn words(found: &CapacityFinding) -> String {
    let rate = |rps: f64| Rate::per_second(rps).unwrap_or(Rate::ZERO);
    match Carried::from(found) {
        Carried::Found(Estimate {
            value,
            low: Some(low),
            high: Some(high),
        }) => format!(
            "{} (95 % interval {} to {})",
            rate(value),
            rate(low),
            rate(high)
        ),
        Carried::Found(Estimate { value, .. }) => format!("{} (no interval)", rate(value)),
        Carried::AtLeast(least) => format!("at least {}", rate(least)),
        Carried::Unknown => "an unknown rate".to_owned(),
    }
}
