//! How far CPU use tells the truth, in a sentence.

use crate::number::per_second;
use plimsoll_model::Findings;

/// An index this near to 1 is called the truth: trials differ by as much.
const NEAR: f64 = 0.05;

/// The sentence about the headroom index.
pub(crate) fn sentence(findings: &Findings) -> String {
    let Some(index) = findings
        .headroom_index
        .filter(|h| h.is_finite() && *h > 0.0)
    else {
        return format!(
            "How far CPU use tells the truth here is not known: {}.",
            why_not(findings)
        );
    };
    let advice = if index < 1.0 - NEAR {
        "so plan with less than the idle time suggests"
    } else if index > 1.0 + NEAR {
        "so there is more room than the idle time suggests"
    } else {
        "so here CPU use tells the truth"
    };
    let Some(most) = most(findings) else {
        return format!("The headroom index is {index:.2}, {advice}.");
    };
    // By its definition the index is what was carried over what was promised.
    let promised = most / index;
    format!(
        "At 50 % CPU use it does about {}; if CPU use told the truth, it would carry {} at \
         100 %. The most it carried at any level is {} (headroom index {index:.2}), {advice}.",
        per_second(promised / 2.0),
        per_second(promised),
        per_second(most),
    )
}

/// The highest rate in the table with a CPU use beside it.
fn most(findings: &Findings) -> Option<f64> {
    let rates = findings
        .levels
        .iter()
        .filter_map(|l| l.cpu_pct.and(l.achieved_rps));
    rates.fold(None, |most: Option<f64>, rate| {
        Some(most.map_or(rate, |most| most.max(rate)))
    })
}

fn measured_cpu(findings: &Findings) -> impl Iterator<Item = f64> + '_ {
    findings.levels.iter().filter_map(|l| l.cpu_pct)
}

fn why_not(findings: &Findings) -> &'static str {
    let mut measured = findings.levels.iter().filter(|l| l.trials > 0).peekable();
    if measured.peek().is_none() {
        "no level has a trial that counts"
    } else if measured.all(|l| l.cpu_pct.is_none()) {
        "CPU use could not be read"
    } else if measured_cpu(findings).all(|cpu| cpu <= 50.0) {
        "CPU use never got beyond 50 %: something else is at its end first, such as the number of the service's threads"
    } else if findings
        .rated
        .as_ref()
        .is_some_and(|r| !r.limited_by_service)
    {
        "the service was not driven to its end"
    } else {
        "that takes a level near 50 % CPU use and one at saturation"
    }
}
