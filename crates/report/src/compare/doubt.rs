//! What a reader of a comparison should know, in sentences.

use plimsoll_model::{ComparisonCaution, human_duration};

pub(crate) fn sentence(caution: &ComparisonCaution) -> String {
    match caution {
        ComparisonCaution::Connections => "The machines were asked over different numbers of \
             connections, which changes what a server carries."
            .to_owned(),
        ComparisonCaution::Arrivals => "Requests arrived at random at one machine and evenly at \
             another; where they arrive at random more of them wait, so the goals were harder to \
             keep there."
            .to_owned(),
        ComparisonCaution::OnTrust => "Imported tables do not say what they were measured with; \
             that it was the same for all is taken on trust."
            .to_owned(),
        ComparisonCaution::ExactPower => "Power is taken as exact, and it is that of the CPU \
             packages alone: what work per watt has of an interval comes from the capacity."
            .to_owned(),
        ComparisonCaution::Cpus(each) => format!(
            "The services had different numbers of CPUs ({}). As a rule a service carries less \
             per CPU on more of them, so what is carried per CPU does not compare the CPUs alone.",
            by_name(each, u32::to_string)
        ),
        ComparisonCaution::WideCapacity {
            name,
            goal,
            half_width,
        } => format!(
            "What {name} carries within {goal} is known to {:.0} % only (half the width of its \
             interval); smaller differences will not be seen. Sweep it longer, without --quick or \
             with --precision.",
            100.0 * half_width
        ),
        ComparisonCaution::RelativeGoal { goal, limits } => format!(
            "The goal {goal} is held against each machine's own latency at light load, so it is \
             not the same promise for all: {}.",
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
            "What {name} carries within {goal} is in doubt: a longer trial at its lower end did \
             not keep the goal."
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
