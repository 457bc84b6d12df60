//! What a reader of a comparison should know, in sentences.

use plimsoll_model::{ComparisonCaution, human_duration};

pub(super) fn sentence(caution: &ComparisonCaution) -> String {
    match caution {
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
        ComparisonCaution::Cpus(each) => format!(
            "The services had different numbers of CPUs ({}). A service usually carries less per \
             CPU on more CPUs, so capacity per CPU does not compare the CPUs alone.",
            by_name(each, u32::to_string)
        ),
        ComparisonCaution::WideCapacity {
            name,
            goal,
            half_width,
        } => format!(
            "The capacity of {name} within {goal} is known to ±{:.0} %; smaller differences do not \
             show. Sweep it longer, without --quick or with --precision.",
            100.0 * half_width
        ),
        ComparisonCaution::RelativeGoal { goal, limits } => format!(
            "The goal {goal} is relative to each machine's own latency at light load, so it is \
             another limit on each: {}.",
            by_name(limits, |limit| human_duration(*limit))
        ),
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
        ComparisonCaution::NotConfirmed { name, goal } => format!(
            "The capacity of {name} within {goal} is in doubt: a longer trial at its lower end \
             missed the goal."
        ),
    }
}

fn by_name<T>(each: &[(String, T)], shown: impl Fn(&T) -> String) -> String {
    let each: Vec<String> = each
        .iter()
        .map(|(name, value)| format!("{} for {name}", shown(value)))
        .collect();
    each.join(", ")
}
