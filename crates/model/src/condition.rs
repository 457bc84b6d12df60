//! What has to hold for a run to pass: `capacity>5000`, `p99<10ms at 2000`, `errors<1%`,
//! `gain of plimsoll>30%`.

use crate::units::parse_duration;
use crate::{Estimate, Goal, Rate};
use std::fmt;
use std::str::FromStr;

/// A condition on the findings of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// The rate that keeps all goals of the run is above this one.
    Capacity { above: Rate },
    /// A goal is kept at a rate; `None` for the only one of a run.
    Kept { goal: Goal, at: Option<Rate> },
    /// A figure lies on one side of a limit.
    Figure(FigureLimit),
}

/// What a figure of an experiment measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureName {
    /// Work of a job beside a service, of what it does alone.
    Gain,
    /// How much longer a quantile of the service's latency gets.
    Cost,
    /// The 99th percentile of a latency.
    P99,
    /// CPU time that is used, of all CPUs.
    Burn,
    /// The shortest jobs of which half of the workers' time is work.
    Metg50,
    /// The same for 95 %.
    Metg95,
    /// Work in large peaks, of the workers' time.
    Efficiency,
    /// Workers that are busy on average.
    Concurrency,
    /// The breaking point, of the load that no scheduler could carry.
    Break,
    /// CPU time of a scheduler with nothing to do, of one CPU.
    Idle,
    /// By how much a figure of one service lies above that of another, in percent of the other's.
    Change,
}

/// The unit of a figure, in which its values and limits are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitUnit {
    Percent,
    Microseconds,
    Number,
}

impl FigureName {
    /// All of them.
    pub const ALL: [FigureName; 11] = [
        FigureName::Gain,
        FigureName::Cost,
        FigureName::P99,
        FigureName::Burn,
        FigureName::Metg50,
        FigureName::Metg95,
        FigureName::Efficiency,
        FigureName::Concurrency,
        FigureName::Break,
        FigureName::Idle,
        FigureName::Change,
    ];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            FigureName::Gain => "gain",
            FigureName::Cost => "cost",
            FigureName::P99 => "p99",
            FigureName::Burn => "burn",
            FigureName::Metg50 => "metg50",
            FigureName::Metg95 => "metg95",
            FigureName::Efficiency => "efficiency",
            FigureName::Concurrency => "concurrency",
            FigureName::Break => "break",
            FigureName::Idle => "idle",
            FigureName::Change => "change",
        }
    }

    /// Its unit.
    pub const fn unit(self) -> LimitUnit {
        match self {
            FigureName::P99 | FigureName::Metg50 | FigureName::Metg95 => LimitUnit::Microseconds,
            FigureName::Concurrency => LimitUnit::Number,
            _ => LimitUnit::Percent,
        }
    }
}

impl LimitUnit {
    /// A value with the unit.
    pub fn written(self, value: f64) -> String {
        match self {
            LimitUnit::Percent => format!("{value}%"),
            LimitUnit::Microseconds => format!("{value}us"),
            LimitUnit::Number => value.to_string(),
        }
    }

    fn read(self, text: &str) -> Option<f64> {
        let text = text.trim();
        let value = match self {
            LimitUnit::Percent => text.strip_suffix('%')?.trim().parse().ok()?,
            LimitUnit::Microseconds => parse_duration(text)?.as_secs_f64() * 1e6,
            LimitUnit::Number => text.parse().ok()?,
        };
        Some(value).filter(|value: &f64| value.is_finite())
    }
}

/// The side of a limit on which a figure has to lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitSide {
    Above,
    Below,
}

/// A limit of a figure: `gain of plimsoll>30%`.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureLimit {
    pub name: FigureName,
    /// What it is a figure of, such as an arm or a scheduler; `None` for each of them.
    pub of: Option<String>,
    pub side: LimitSide,
    /// In the unit of the figure.
    pub limit: f64,
}

impl fmt::Display for FigureLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.name())?;
        if let Some(of) = &self.of {
            write!(f, " of {of}")?;
        }
        f.write_str(match self.side {
            LimitSide::Above => ">",
            LimitSide::Below => "<",
        })?;
        f.write_str(&self.name.unit().written(self.limit))
    }
}

impl FigureLimit {
    fn read(text: &str) -> Option<FigureLimit> {
        // The name of a subject may be a path, with any characters.
        let at = text.rfind(['<', '>'])?;
        let (figure, limit) = text.split_at(at);
        let side = match limit.starts_with('>') {
            true => LimitSide::Above,
            false => LimitSide::Below,
        };
        let limit = limit[1..].strip_prefix('=').unwrap_or(&limit[1..]);
        let (name, of) = match figure.split_once(" of ") {
            Some((name, of)) => (name, Some(of.trim().to_owned())),
            None => (figure, None),
        };
        let mut all = FigureName::ALL.into_iter();
        let name = all.find(|figure| figure.name() == name.trim())?;
        Some(FigureLimit {
            name,
            of,
            side,
            limit: name.unit().read(limit)?,
        })
    }
}

/// A figure that a run has found.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedFigure {
    pub name: FigureName,
    /// What it is a figure of.
    pub of: String,
    /// `None` where too few trials show it.
    pub value: Option<Estimate>,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Capacity { above } => write!(f, "capacity>{}", above.get()),
            Condition::Kept { goal, at: None } => goal.fmt(f),
            Condition::Kept { goal, at: Some(at) } => write!(f, "{goal} at {}", at.get()),
            Condition::Figure(limit) => limit.fmt(f),
        }
    }
}

/// Why a condition could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a condition; write it like 'capacity>5000', 'p99<10ms at 2000', 'p99<10ms', 'errors<1%', 'change of cpu<3%' or 'gain of plimsoll>30%'"
)]
pub struct ConditionError(String);

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        let fail = || ConditionError(text.to_owned());
        let rate = |text: &str| {
            let number: f64 = text.trim().trim_end_matches("/s").parse().ok()?;
            Rate::per_second(number).filter(|rate| rate.get() > 0.0)
        };
        if let Some(rest) = text.trim().strip_prefix("capacity") {
            let limit = rest
                .trim()
                .strip_prefix(">=")
                .or(rest.trim().strip_prefix('>'));
            let above = limit.and_then(rate).ok_or_else(fail)?;
            return Ok(Condition::Capacity { above });
        }
        let (goal, at) = match text.split_once(" at ") {
            Some((goal, at)) => (goal, Some(rate(at).ok_or_else(fail)?)),
            None => (text, None),
        };
        match goal.parse() {
            Ok(goal) => Ok(Condition::Kept { goal, at }),
            Err(_) => FigureLimit::read(text)
                .map(Condition::Figure)
                .ok_or_else(fail),
        }
    }
}

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// Its opposite is excluded, at 95 %.
    Yes,
    /// The figures allow both.
    Undecided,
    /// It is excluded, at 95 %.
    No,
}

/// What the findings say about a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub holds: Holds,
    /// The figures that decide it, or why nothing does.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_written() {
        for (text, written) in [
            ("capacity>5000", "capacity>5000"),
            ("capacity >= 5000/s", "capacity>5000"),
            ("p99<10ms at 2000", "p99<10ms at 2000"),
            ("errors<1%", "errors<1%"),
            ("p99.9 < 20ms at 12.5", "p99.9<20ms at 12.5"),
            ("gain of plimsoll > 30%", "gain of plimsoll>30%"),
            ("cost<=-2.5%", "cost<-2.5%"),
            ("p99 of gate<0.02ms", "p99 of gate<20us"),
            ("metg50 of ./a>b.so<2us", "metg50 of ./a>b.so<2us"),
            ("concurrency>1.9", "concurrency>1.9"),
        ] {
            let read: Condition = text.parse().unwrap();
            assert_eq!(read.to_string(), written);
            assert_eq!(written.parse(), Ok(read));
        }
        for bad in [
            "",
            "capacity",
            "capacity<5",
            "capacity>-1",
            "capacity>NaN",
            "p99",
            "p99<1ms at x",
            "no worse",
            "gain>30",
            "gain>NaN%",
            "metg50 of x<2%",
            "concurrency>2us",
            "gain of x",
        ] {
            let why = bad.parse::<Condition>().unwrap_err().to_string();
            assert!(why.contains("capacity>5000"), "{why}");
        }
    }
}
