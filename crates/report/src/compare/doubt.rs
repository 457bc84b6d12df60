//! What a reader of a comparison should know, in sentences.

use crate::{doubts, number};
use plimsoll_model::{ComparisonCaution, Goal, LimitOf, MachineCpus, human_duration};
use std::time::Duration;

/// A caution in words.
pub fn sentence(caution: &ComparisonCaution) -> String {
    match caution {
        ComparisonCaution::SingleRuns {
            deviation_pct,
            stated,
        } => single_runs(*deviation_pct, *stated),
        ComparisonCaution::FewRuns { deviation_pct } => few_runs(*deviation_pct),
        ComparisonCaution::NotAlternated { first, then } => format!(
            "All runs of {first} were made before those of {then}: a slow change of the machine \
             would look like a difference. Make them in turn."
        ),
        ComparisonCaution::Connections => "The machines were asked over different numbers of \
             connections, which changes what a server carries."
            .to_owned(),
        ComparisonCaution::Arrivals => "Arrivals were random at one machine and even at another. \
             Random arrivals queue more, so the goals were harder to meet there."
            .to_owned(),
        ComparisonCaution::OnTrust => "Imported tables do not say what they were measured with; \
             the comparison assumes the same for all."
            .to_owned(),
        ComparisonCaution::ExactPower => "Power is that of the CPU packages alone and taken as \
             exact: the interval of work per watt is that of the capacity."
            .to_owned(),
        ComparisonCaution::Cpus { cpus } => different_cpus(cpus),
        ComparisonCaution::WideCapacity {
            name,
            goal,
            half_width_pct,
        } => format!(
            "The capacity of {name} within {goal} is known to ±{half_width_pct:.0} %; smaller \
             differences do not show. Sweep it longer, without --quick or with --precision, or more \
             often."
        ),
        ComparisonCaution::RelativeGoal { goal, limits } => relative(goal, limits),
        ComparisonCaution::Surroundings {
            name,
            first,
            differs,
        } => format!(
            "{first} and {name} were not measured on the same {}: {} against {}.",
            differs.respect.name(),
            differs.one,
            differs.other
        ),
        ComparisonCaution::Version {
            name,
            first,
            versions: [one, two],
        } => format!(
            "{first} and {name} were not measured with the same Plimsoll: {one} against {two}."
        ),
        ComparisonCaution::Doubted { name, doubt } => {
            format!("In doubt at {name}: {}", doubts::sentence(doubt))
        }
        ComparisonCaution::NotConfirmed { name, goal } => format!(
            "The capacity of {name} within {goal} is in doubt: a longer trial at its lower end \
             missed the goal."
        ),
    }
}

fn few_runs(deviation_pct: f64) -> String {
    let pct = number::trimmed_pct(deviation_pct);
    format!(
        "There are too few runs to measure by how much runs of one machine differ: the intervals \
         assume a standard deviation of {pct} % from run to run. Three runs of each machine \
         measure it."
    )
}

fn relative(goal: &Goal, limits: &[LimitOf]) -> String {
    let each = by_name(limits.iter().map(|of| (&of.name, time(of.limit_us))));
    format!(
        "The goal {goal} is relative to each machine's own latency at light load, so it is another \
         limit on each: {each}."
    )
}

fn different_cpus(cpus: &[MachineCpus]) -> String {
    let each = by_name(cpus.iter().map(|of| (&of.name, of.cpus.to_string())));
    format!(
        "The services had different numbers of CPUs ({each}). A service usually carries less per \
         CPU on more CPUs, so capacity per CPU does not compare the CPUs alone."
    )
}

fn single_runs(deviation_pct: f64, stated: bool) -> String {
    let pct = number::trimmed_pct(deviation_pct);
    match (stated, deviation_pct > 0.0) {
        (true, false) => "Each machine was measured in one run, and what changes between runs is \
             left out: the verdicts hold for these runs only."
            .to_owned(),
        (true, true) => format!(
            "Each machine was measured in one run: the intervals allow for the stated standard \
             deviation of {pct} % from run to run."
        ),
        (false, _) => format!(
            "Each machine was measured in one run, which does not show by how much runs of one \
             machine differ: the intervals assume a standard deviation of {pct} % from run to run. \
             Measure each several times, in turn (--against), or state the deviation (--run-to-run)."
        ),
    }
}

fn time(us: f64) -> String {
    human_duration(Duration::try_from_secs_f64(us / 1e6).unwrap_or(Duration::MAX))
}

/// `8 for a, 4 for b`
fn by_name<'a>(each: impl Iterator<Item = (&'a String, String)>) -> String {
    let each: Vec<String> = each
        .map(|(name, value)| format!("{value} for {name}"))
        .collect();
    each.join(", ")
}
