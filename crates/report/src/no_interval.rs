//! Why a comparison has no interval.

use crate::sentence::words_if;
use plimsoll_model::{NoInterval, NoIntervalCode};

/// As a clause, where `both` were compared.
pub(crate) fn clause(why: &NoInterval, both: [&String; 2]) -> String {
    let machines = match why.machines.iter().eq(both) {
        true => "both".to_owned(),
        false => why.machines.join(", "),
    };
    let are_runs = why.machines.iter().any(|name| !both.contains(&name));
    match why.code {
        NoIntervalCode::UnknownCapacity => {
            let others = ", and the other runs alone would be chosen by their results";
            let others = words_if(are_runs, others);
            format!("the capacity of {machines} is not known{others}")
        }
        NoIntervalCode::LowerBound => format!(
            "{machines} still met the goal at the highest load measured, so the boundary lies \
             outside of what was measured"
        ),
        NoIntervalCode::TooFewTrials => {
            format!("too little was measured of {machines} for an interval")
        }
        NoIntervalCode::ReachesZero => "the interval of one reaches down to nothing".to_owned(),
    }
}
