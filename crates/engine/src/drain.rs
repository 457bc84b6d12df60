//! How long the last answers of a window are waited for.

use plimsoll_model::{Goal, LatencyLimit, Plan, TrialSpec, Workload, human_duration};
use std::time::Duration;

/// At least: short against a trial.
const LEAST: Duration = Duration::from_secs(1);
/// At most: a service that hangs would hold up each trial.
const MOST: Duration = Duration::from_secs(60);

/// The longest limit of a goal, or the time-out of requests where a goal is about
/// errors: what is still unanswered then has exceeded it, and what is answered before is
/// measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drain {
    fixed: Duration,
    /// The largest multiple of the latency at light load, over the shortest warm-up in such
    /// latencies: so many warm-ups.
    warm_ups: f64,
}

impl Drain {
    pub(crate) fn of(plan: &Plan) -> Drain {
        let timeout = timeout(&plan.workload);
        let fixed = plan.goals.iter().filter_map(|goal| needed(goal, timeout));
        let times = plan.goals.iter().map(|goal| match goal {
            Goal::Latency {
                limit: LatencyLimit::TimesLight(times),
                ..
            } => *times,
            _ => 0.0,
        });
        let times = times.fold(0.0, f64::max);
        Drain {
            fixed: fixed.fold(LEAST, Duration::max),
            warm_ups: plan.pace.map_or(0.0, |pace| times / pace.warm_up_latencies),
        }
    }

    pub(crate) fn after<S>(self, spec: &TrialSpec<S>) -> Duration {
        let relative = spec.warm_up.min.as_secs_f64() * self.warm_ups;
        self.fixed
            .max(MOST.mul_f64((relative / MOST.as_secs_f64()).min(1.0)))
            .min(MOST)
    }
}

/// What a goal needs, whatever the service does.
fn needed(goal: &Goal, timeout: Duration) -> Option<Duration> {
    match goal {
        Goal::Latency {
            limit: LatencyLimit::Absolute(limit),
            ..
        } => Some(*limit),
        Goal::Errors { .. } => Some(timeout),
        Goal::Latency { .. } | Goal::Cpu { .. } => None,
    }
}

/// Only requests to a server time out.
fn timeout(workload: &Workload) -> Duration {
    match workload {
        Workload::Http(http) => http.timeout,
        Workload::Hash(_) | Workload::Command(_) | Workload::Imported(_) => LEAST,
    }
}

/// Why a goal of the plan cannot be decided, in a sentence with the way out.
pub fn undecidable(plan: &Plan) -> Option<String> {
    let why = |goal: &Goal| {
        let timeout = timeout(&plan.workload);
        let needed = needed(goal, timeout)?;
        let is_http = matches!(plan.workload, Workload::Http(_));
        let (limit, most) = (human_duration(needed), human_duration(MOST));
        if needed > MOST {
            let way_out = match goal {
                Goal::Errors { .. } => "give a --timeout",
                _ => "set a limit",
            };
            return Some(format!(
                "the goal {goal} cannot be decided: a trial waits for answers for at most {most}; {way_out} of at most {most}"
            ));
        }
        (is_http && needed > timeout).then(|| {
            format!(
                "the goal {goal} cannot be decided: requests fail after {} (--timeout); give a --timeout of at least {limit}",
                human_duration(timeout)
            )
        })
    };
    plan.goals.iter().find_map(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{HttpService, Pace, Phase, WarmUp};

    fn plan(goals: &[&str], timeout_s: u64) -> Plan {
        let timeout = Duration::from_secs(timeout_s);
        Plan {
            goals: goals.iter().map(|goal| goal.parse().unwrap()).collect(),
            pace: Some(Pace {
                first_answer: Duration::ZERO,
                warm_up_latencies: 2.0,
                window_latencies: 4.0,
            }),
            ..Plan::blank(Workload::Http(HttpService::get("http://a/", 1, timeout)))
        }
    }

    #[test]
    fn answers_are_waited_for_as_long_as_a_goal_allows() {
        for (goals, warm_up_s, seconds) in [
            (&["p99<10ms", "cpu<80%"][..], 1, 1),
            (&["p99<10ms", "errors<1%"], 1, 10),
            (&["p50<2s", "p99<3s", "p99<2x"], 1, 3),
            // Twice or ten times a latency of 3 s.
            (&["p99<2x"], 6, 6),
            (&["p99<10x"], 6, 30),
            (&["p99<100x"], 6, 60),
        ] {
            let spec = TrialSpec {
                warm_up: WarmUp::fixed(Duration::from_secs(warm_up_s)),
                ..TrialSpec::blank(Phase::Search, (), Duration::ZERO)
            };
            let waited = Drain::of(&plan(goals, 10)).after(&spec);
            assert_eq!(waited, Duration::from_secs(seconds), "{goals:?}");
        }
    }

    #[test]
    fn a_goal_beyond_the_wait_for_answers_is_refused_with_a_way_out() {
        for (goal, timeout_s, says) in [
            ("p99<90s", 100, Some("a limit of at most 60s")),
            ("errors<1%", 100, Some("a --timeout of at most 60s")),
            ("p99<30s", 10, Some("a --timeout of at least 30s")),
            ("p99<10s", 10, None),
            ("errors<1%", 60, None),
            ("p99<2x", 100, None),
        ] {
            let found = undecidable(&plan(&[goal], timeout_s));
            let is_right = match (&found, says) {
                (Some(found), Some(says)) => found.contains(says) && found.contains(goal),
                (found, says) => found.is_none() && says.is_none(),
            };
            assert!(is_right, "{goal}: {found:?}");
        }
    }
}
