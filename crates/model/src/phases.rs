//! A load in phases of rates of their own, such as bursts and breaks, and what
//! became of the requests of each.

use crate::{Answers, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A time at one rate; at rate zero a break.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatePhase {
    /// How long it lasts.
    #[serde(rename = "length_ns", with = "crate::Ns")]
    pub length: Duration,
    /// Requests per second; 0 in a break.
    #[serde(rename = "rate_rps")]
    pub rate: Rate,
}

impl RatePhase {
    pub fn is_break(&self) -> bool {
        self.rate == Rate::ZERO
    }
}

/// Phases from the beginning of a load. After the last, nothing is offered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PhasedRate(pub Vec<RatePhase>);

impl PhasedRate {
    /// The phase that `at` lies in, and how long after its start.
    pub fn phase_at(&self, at: Duration) -> Option<(usize, Duration)> {
        let mut since = at;
        for (index, phase) in self.0.iter().enumerate() {
            match since.checked_sub(phase.length) {
                Some(rest) => since = rest,
                None => return Some((index, since)),
            }
        }
        None
    }

    /// The time by which `count` requests are expected, if a `share` of them is
    /// offered; `None` if the phases have fewer.
    pub fn when_expected(&self, count: f64, share: f64) -> Option<Duration> {
        let (mut began, mut left) = (Duration::ZERO, count);
        for phase in &self.0 {
            let rate = phase.rate.get() * share;
            let expected = rate * phase.length.as_secs_f64();
            if left < expected {
                return Some(began + Duration::from_secs_f64(left / rate));
            }
            left -= expected;
            began += phase.length;
        }
        None
    }

    /// The requests that are expected before `at`.
    pub fn expected_until(&self, at: Duration) -> f64 {
        let mut left = at;
        let before = |phase: &RatePhase| {
            let of = phase.length.min(left);
            left -= of;
            phase.rate.get() * of.as_secs_f64()
        };
        self.0.iter().map(before).sum()
    }

    /// The requests of all phases over their length.
    pub fn mean(&self) -> Rate {
        let length = self.length();
        Rate::per_second(self.expected_until(length) / length.as_secs_f64()).unwrap_or(Rate::ZERO)
    }

    /// From the beginning to the end of the last phase.
    pub fn length(&self) -> Duration {
        let lengths = self.0.iter().map(|phase| phase.length);
        lengths.fold(Duration::ZERO, Duration::saturating_add)
    }
}

/// The first requests of a phase; further ones are in its latencies only.
pub const FIRST_REQUESTS: usize = 256;

/// What became of the requests that were intended within one phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PhaseWork {
    /// How they ended.
    #[serde(flatten)]
    pub answers: Answers,
    /// The first [`FIRST_REQUESTS`], by intended start.
    pub first: Vec<FirstRequest>,
    /// When the last good answer came, from the beginning of the load.
    #[serde(rename = "last_answer_ns", with = "crate::OptionNs")]
    pub last_answer: Option<Duration>,
}

/// One of the first requests of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FirstRequest {
    /// Its intended start, from that of the phase.
    #[serde(rename = "at_ns", with = "crate::Ns")]
    pub at: Duration,
    /// `None` if it failed.
    #[serde(rename = "latency_ns", with = "crate::OptionNs")]
    pub latency: Option<Duration>,
}

impl PhaseWork {
    /// Keeps a request if it is one of the first.
    pub fn keep_first(&mut self, request: FirstRequest) {
        let place = self.first.partition_point(|other| *other <= request);
        if place < FIRST_REQUESTS {
            self.first.insert(place, request);
            self.first.truncate(FIRST_REQUESTS);
        }
    }

    /// Adds the requests of another thread.
    pub fn merge(&mut self, other: &PhaseWork) {
        self.answers.merge(&other.answers);
        other.first.iter().for_each(|first| self.keep_first(*first));
        self.last_answer = self.last_answer.max(other.last_answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn phases(phases: &[(u32, f64)]) -> PhasedRate {
        let phase = |(ms, rps): &(u32, f64)| RatePhase {
            length: *ms * MS,
            rate: Rate::per_second(*rps).unwrap(),
        };
        PhasedRate(phases.iter().map(phase).collect())
    }

    #[test]
    fn breaks_have_no_requests_and_lose_none() {
        let load = phases(&[(500, 100.0), (1000, 0.0), (100, 50.0)]);
        assert_eq!(load.length(), 1600 * MS);
        assert_eq!(load.mean().get(), 55.0 / 1.6);
        for (ms, due) in [
            (0, 0.0),
            (250, 25.0),
            (900, 50.0),
            (1520, 51.0),
            (9000, 55.0),
        ] {
            assert!((load.expected_until(ms * MS) - due).abs() < 1e-9, "{ms}");
        }
        assert_eq!(phases(&[]).mean(), Rate::ZERO);
        for (count, ms) in [
            (1.0, Some(10)),
            (49.0, Some(490)),
            (50.0, Some(1500)),
            (52.5, Some(1550)),
            (55.0, None),
        ] {
            let when = load.when_expected(count, 1.0);
            let near = |ms: u32| when.is_some_and(|at| at.abs_diff(ms * MS) < MS / 1000);
            assert!(ms.map_or(when.is_none(), near), "{count}: {when:?}");
        }
        let half = load.when_expected(25.0, 0.5).unwrap();
        assert!(half.abs_diff(1500 * MS) < MS / 1000, "{half:?}");
    }

    #[test]
    fn a_time_lies_in_one_phase() {
        let load = phases(&[(500, 100.0), (1000, 0.0), (100, 50.0)]);
        for (ms, phase) in [
            (0, Some((0, 0))),
            (499, Some((0, 499))),
            (500, Some((1, 0))),
            (1599, Some((2, 99))),
            (1600, None),
        ] {
            let found = load.phase_at(ms * MS);
            assert_eq!(found, phase.map(|(at, since)| (at, since * MS)), "{ms}");
        }
    }

    #[test]
    fn the_first_requests_are_kept_in_order_whatever_thread_had_them() {
        let (mut one, mut two) = (PhaseWork::default(), PhaseWork::default());
        let request = |ms: u32| FirstRequest {
            at: ms * MS,
            latency: Some(MS),
        };
        (0..400)
            .rev()
            .step_by(2)
            .for_each(|ms| one.keep_first(request(ms)));
        (0..400)
            .step_by(2)
            .for_each(|ms| two.keep_first(request(ms)));
        one.merge(&two);
        let kept: Vec<Duration> = one.first.iter().map(|first| first.at).collect();
        let wanted: Vec<Duration> = (0..256).map(|ms| ms * MS).collect();
        assert_eq!(kept, wanted);
    }
}
