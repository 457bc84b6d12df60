//! From the latency that a user names to a limit and to what keeps CPUs within it.

use crate::failure::Failure;
use clap::ValueEnum;
use plimsoll_control::idle::{IdleMeans, MeansHere, choose_means};
use plimsoll_host::Root;
use plimsoll_host::idle::{ResumeLatency, idle_states};
use plimsoll_law::{IdleLimit, StateLatency, snap};
use plimsoll_model::{CpuSet, human_duration, parse_duration};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The longest time that a CPU may take to wake up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Latency {
    /// None: the CPU only polls.
    Poll,
    AtMost(Duration),
}

impl FromStr for Latency {
    type Err = String;

    fn from_str(text: &str) -> Result<Latency, String> {
        const WANTED: &str = "give a time with its unit, such as 5us, or poll";
        if text.trim() == "poll" {
            return Ok(Latency::Poll);
        }
        if text.trim() == "0" {
            return Err("0 is no limit at all in the kernel's own file; write poll for CPUs that only poll, or a time such as 5us".into());
        }
        match parse_duration(text) {
            Some(time) if time.is_zero() => {
                Err("write poll for CPUs that only poll, or a time above 0 such as 5us".into())
            }
            Some(time) => Ok(Latency::AtMost(time)),
            None => Err(WANTED.into()),
        }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Latency::Poll => f.write_str("poll"),
            Latency::AtMost(time) => f.write_str(&human_duration(*time)),
        }
    }
}

/// What keeps CPUs awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MeansChoice {
    Auto,
    Limit,
    Disable,
    Spinner,
    Haltpoll,
    Global,
}

impl MeansChoice {
    /// As `--means` has it.
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn named(self) -> Option<IdleMeans> {
        match self {
            MeansChoice::Auto => None,
            MeansChoice::Limit => Some(IdleMeans::ResumeLatency),
            MeansChoice::Disable => Some(IdleMeans::DisableStates),
            MeansChoice::Spinner => Some(IdleMeans::Spinner),
            MeansChoice::Haltpoll => Some(IdleMeans::HaltPoll),
            MeansChoice::Global => Some(IdleMeans::DmaLatency),
        }
    }
}

/// What is done to held CPUs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Resolved {
    pub(super) limit: ResumeLatency,
    pub(super) means: IdleMeans,
    /// What the limit means here, and why these means.
    pub(super) explained: String,
}

pub(super) fn resolve(
    root: &Root,
    cpus: &CpuSet,
    latency: Latency,
    choice: MeansChoice,
) -> Result<Resolved, Failure> {
    let fail = |error: &dyn fmt::Display| Failure::Run(error.to_string());
    let first = cpus.iter().next().unwrap_or_default();
    let states = idle_states(root, first).map_err(|e| fail(&e))?;
    let states: Vec<StateLatency> = states
        .into_iter()
        .map(|state| StateLatency {
            name: state.name,
            latency: state.latency,
        })
        .collect();
    let asked = match latency {
        Latency::Poll => Duration::ZERO,
        Latency::AtMost(time) => time,
    };
    let snapped = snap(asked, &states);
    let limit = limit_of(&snapped, asked);
    let all = choose_means(root, cpus, limit).map_err(|e| fail(&e))?;
    decide(latency, &snapped, limit, &all, choice).map_err(Failure::Mistake)
}

/// The limit at the boundary that was found.
fn limit_of(snapped: &IdleLimit, asked: Duration) -> ResumeLatency {
    match snapped {
        IdleLimit::UpTo { state, .. } => ResumeLatency::at_most(state.latency),
        IdleLimit::PollOnly { .. } => ResumeLatency::PollOnly,
        IdleLimit::NoEffect { .. } | IdleLimit::NoStates => ResumeLatency::at_most(asked),
    }
}

fn decide(
    latency: Latency,
    snapped: &IdleLimit,
    limit: ResumeLatency,
    all: &[MeansHere],
    choice: MeansChoice,
) -> Result<Resolved, String> {
    let why = |one: &MeansHere| {
        let why = one.why_not.as_deref().unwrap_or("it works");
        format!("{}: {why}", one.means)
    };
    let chosen = match choice.named() {
        Some(means) => {
            let one = all.iter().find(|one| one.means == means);
            match one {
                Some(one) if one.works() => one,
                Some(one) => {
                    return Err(format!(
                        "--means {} does not work here with --latency {latency} ({}); leave --means out",
                        choice.name(),
                        why(one)
                    ));
                }
                None => return Err(format!("{means} is unknown here; leave --means out")),
            }
        }
        None => {
            let works = |one: &&MeansHere| one.works() && !one.means.is_global();
            all.iter().find(works).ok_or_else(|| {
                let each = all.iter().filter(|one| !one.means.is_global());
                let each: Vec<String> = each.map(why).collect();
                format!(
                    "--latency {latency} has no effect here ({}); choose less, or poll",
                    each.join("; ")
                )
            })?
        }
    };
    let by_spinner = chosen.means == IdleMeans::Spinner;
    let mut explained = match by_spinner {
        true => format!(
            "--latency {latency}: held CPUs do not sleep, by {}",
            chosen.means
        ),
        false => format!("--latency {latency}: {snapped}, by {}", chosen.means),
    };
    if choice == MeansChoice::Auto
        && let Some(better) = all
            .iter()
            .take_while(|one| one.means != chosen.means)
            .next()
    {
        explained += &format!(" ({})", why(better));
    }
    Ok(Resolved {
        limit,
        means: chosen.means,
        explained,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(means: IdleMeans, why_not: Option<&str>) -> MeansHere {
        MeansHere {
            means,
            why_not: why_not.map(str::to_owned),
        }
    }

    #[test]
    fn latencies_have_a_unit_and_are_above_zero() {
        let of = str::parse::<Latency>;
        assert_eq!(of("5us"), Ok(Latency::AtMost(Duration::from_micros(5))));
        assert_eq!(of("poll"), Ok(Latency::Poll));
        for (bad, words) in [
            ("0", "no limit at all"),
            ("0us", "write poll"),
            ("-1", "with its unit"),
            ("-1us", "with its unit"),
            ("5", "with its unit"),
            ("abc", "with its unit"),
            ("n/a", "with its unit"),
            ("", "with its unit"),
        ] {
            assert!(of(bad).unwrap_err().contains(words), "{bad}");
        }
    }

    #[test]
    fn first_means_that_works_on_one_cpu_is_chosen_and_the_better_one_explained() {
        let none = "there is no idle driver (cpuidle/current_driver)";
        let all = [
            here(IdleMeans::ResumeLatency, Some(none)),
            here(IdleMeans::DisableStates, Some(none)),
            here(IdleMeans::Spinner, None),
            here(IdleMeans::DmaLatency, None),
        ];
        let latency = Latency::AtMost(Duration::from_micros(5));
        let limit = ResumeLatency::at_most(Duration::from_micros(5));
        let of =
            |all: &[MeansHere], choice| decide(latency, &IdleLimit::NoStates, limit, all, choice);
        let found = of(&all, MeansChoice::Auto).unwrap();
        assert_eq!(found.means, IdleMeans::Spinner);
        assert!(found.explained.contains(none), "{}", found.explained);
        assert_eq!(
            of(&all, MeansChoice::Global).unwrap().means,
            IdleMeans::DmaLatency
        );
        let refused = of(&all, MeansChoice::Limit).unwrap_err();
        assert!(refused.contains(none), "{refused}");
        let mut nothing = all.clone();
        nothing[2].why_not = Some("not permitted".into());
        let refused = of(&nothing, MeansChoice::Auto).unwrap_err();
        assert!(refused.contains("has no effect here"), "{refused}");
    }

    #[test]
    fn limit_is_that_of_the_deepest_permitted_state() {
        let state = |us| StateLatency {
            name: "C".into(),
            latency: Duration::from_micros(us),
        };
        let states = [state(0), state(4), state(170)];
        let of = |us| {
            let asked = Duration::from_micros(us);
            limit_of(&snap(asked, &states), asked).to_string()
        };
        assert_eq!([of(5), of(3), of(0)], ["4", "n/a", "n/a"]);
    }
}
