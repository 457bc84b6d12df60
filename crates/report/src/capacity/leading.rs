//! Which of several goals a report leads with: the same one wherever it is
//! shown.

use plimsoll_model::{CapacityFinding, CapacityNote, CapacityStatus};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Leading<'a> {
    pub(crate) finding: &'a CapacityFinding,
    pub(crate) rank: Rank,
}

impl Leading<'_> {
    pub(crate) fn is(&self, finding: &CapacityFinding) -> bool {
        std::ptr::eq(self.finding, finding)
    }
}

/// What is known of the goal that leads beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    Only,
    /// At its rate all others are still kept.
    MissedFirst,
    /// No goal was seen broken; this was seen kept the least far.
    NoneMissed,
    /// Of others it is not known whether they are kept up to there.
    OthersOpen,
}

/// The goal that binds: one that was missed at all rates; of those that were seen broken the one that breaks at
/// the lowest rate; where none was, the one that was seen kept the least far;
/// where all are undecided, the first that was asked for. `None`
/// without a goal.
pub(crate) fn leading(capacity: &[CapacityFinding]) -> Option<Leading<'_>> {
    if let Some(finding) = capacity.iter().find(|c| missed_from(c).is_some()) {
        return Some(Leading {
            finding,
            rank: Rank::Only,
        });
    }
    let told = capacity.iter().filter(|c| is_decided(c));
    let ranked = told.filter_map(|c| Some((!seen_missed(c), c.rate_rps?.value, c)));
    let least = ranked.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let finding = least.map(|(_, _, c)| c).or(capacity.first())?;
    let is_open = |other: &CapacityFinding| {
        let end = other.rate_rps.map(|r| r.value);
        let seen_so_far = end.zip(finding.rate_rps).is_some_and(|(a, b)| a >= b.value);
        !is_decided(other) || !seen_so_far
    };
    let rank = match capacity.len() {
        1 => Rank::Only,
        _ if !is_decided(finding) || capacity.iter().any(is_open) => Rank::OthersOpen,
        _ if seen_missed(finding) => Rank::MissedFirst,
        _ => Rank::NoneMissed,
    };
    Some(Leading { finding, rank })
}

pub(crate) fn is_decided(finding: &CapacityFinding) -> bool {
    finding.status != CapacityStatus::Undecided
}

/// The lowest rate, in requests per second, of a goal that was missed at all.
pub(crate) fn missed_from(finding: &CapacityFinding) -> Option<f64> {
    match finding.note {
        Some(CapacityNote::MissedAtLowest { lowest_rps }) => Some(lowest_rps),
        _ => None,
    }
}

pub(crate) fn seen_missed(finding: &CapacityFinding) -> bool {
    matches!(
        finding.status,
        CapacityStatus::Found | CapacityStatus::Cliff
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample::found;

    fn goal(goal: &str, status: CapacityStatus, rate: f64) -> CapacityFinding {
        let finding = found(goal, rate, None);
        let is_known = status != CapacityStatus::Undecided;
        CapacityFinding {
            status,
            rate_rps: finding.rate_rps.filter(|_| is_known),
            ..finding
        }
    }

    fn led(goals: &[CapacityFinding]) -> (String, Rank) {
        let first = leading(goals).unwrap();
        (first.finding.goal.to_string(), first.rank)
    }

    #[test]
    fn the_goal_that_breaks_at_the_lowest_rate_leads_wherever_it_stands() {
        use CapacityStatus::{Cliff, Found};
        let early = || goal("p50<1ms", Found, 500.0);
        let late = || goal("p99<10ms", Cliff, 900.0);
        let expected = ("p50<1ms".to_owned(), Rank::MissedFirst);
        assert_eq!(led(&[early(), late()]), expected);
        assert_eq!(led(&[late(), early()]), expected);
        assert_eq!(led(&[late()]), ("p99<10ms".to_owned(), Rank::Only));
        assert!(leading(&[]).is_none());
    }

    #[test]
    fn nothing_is_said_of_all_goals_while_one_is_open() {
        use CapacityStatus::{Found, NotReached, Undecided};
        let found = || goal("p99<10ms", Found, 500.0);
        let kept = |rate| goal("errors<1%", NotReached, rate);
        let p99 = |rank| ("p99<10ms".to_owned(), rank);
        assert_eq!(led(&[kept(900.0), found()]), p99(Rank::MissedFirst));
        // Kept as far as it was tried, and that was not so far.
        assert_eq!(led(&[kept(400.0), found()]), p99(Rank::OthersOpen));
        let unknown = || goal("p50<1ms", Undecided, 0.0);
        assert_eq!(led(&[unknown(), found()]), p99(Rank::OthersOpen));
        let none = [kept(900.0), goal("p50<1ms", NotReached, 950.0)];
        assert_eq!(led(&none), ("errors<1%".to_owned(), Rank::NoneMissed));
        assert_eq!(led(&[unknown(), unknown()]).1, Rank::OthersOpen);
    }
}
