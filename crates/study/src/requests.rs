//! Each of several requests by itself.

use crate::bootstrap::shows_quantile;
use plimsoll_model::{
    Answers, Plan, Rate, RequestFile, RequestFinding, RequestOfFile, RequestsFinding, Trial,
    TrialSetting, Workload, sort_by_number,
};

/// How the requests of a file ended, by kind over some trials.
pub fn each<'a>(
    file: &RequestFile,
    trials: impl Iterator<Item = &'a [Answers]>,
) -> Vec<RequestFinding> {
    let mut sums = vec![Answers::default(); file.requests.len()];
    for kinds in trials {
        sums.iter_mut()
            .zip(kinds)
            .for_each(|(sum, own)| sum.merge(own));
    }
    let found = |(request, answers): (&RequestOfFile, &Answers)| {
        let latency = &answers.latency;
        let us = |q| {
            let time = latency
                .quantile(q)
                .filter(|_| shows_quantile(latency.requests(), q));
            time.map(|time| time.as_secs_f64() * 1e6)
        };
        RequestFinding {
            name: request.name.clone(),
            share_pct: 100.0 * file.share(request),
            sent: answers.requests(),
            answered: answers.answered(),
            failed: answers.all_failed(),
            unfinished: answers.unfinished,
            p50_us: us(0.5),
            p99_us: us(0.99),
        }
    };
    file.requests.iter().zip(&sums).map(found).collect()
}

/// How far below the capacity trials count as near it: so few levels are there that a rare request
/// has no quantile of one.
const NEAR: f64 = 0.8;

/// Over all valid trials near the least capacity, `carried`, and not above it; without any, over
/// those of the highest load below it, or without a capacity of the lowest load.
pub(crate) fn of_sweep(
    plan: &Plan,
    trials: &[Trial],
    carried: Option<f64>,
) -> Option<RequestsFinding> {
    let Workload::Http(http) = &plan.workload else {
        return None;
    };
    let several = |file: &&RequestFile| file.requests.len() > 1;
    let file = http.requests.as_deref().filter(several)?;
    let rate = |t: &Trial| t.spec.setting.rate().map_or(0.0, Rate::get);
    let measured = |t: &&Trial| t.spec.phase.shows_load() && t.verdict.is_valid();
    let mut there: Vec<&Trial> = trials.iter().filter(measured).collect();
    sort_by_number(&mut there, |one| rate(one));
    let within = there.partition_point(|t| carried.is_some_and(|most| rate(t) <= most));
    there.truncate(within.max(1));
    let highest = rate(there.last()?);
    let least = carried.map_or(highest, |carried| highest.min(NEAR * carried));
    there.retain(|t| rate(t) >= least);
    Some(RequestsFinding {
        from_rps: rate(there.first()?),
        to_rps: highest,
        requests: each(file, there.iter().map(|t| t.work.kinds.as_slice())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{HttpService, Phase, Setting, Slot, TrialSpec, Verdict};
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    fn plan() -> Plan {
        let request = |name: &str, weight: f64| RequestOfFile {
            name: name.to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            weight,
        };
        let file = RequestFile {
            file: "r.http".to_owned(),
            sha1: String::new(),
            requests: vec![request("a", 3.0), request("b", 1.0)],
            logins: 0,
            left_out: 0,
        };
        Plan::blank(Workload::Http(HttpService {
            requests: Some(Box::new(file)),
            ..HttpService::get("http://h/", 1, SECOND)
        }))
    }

    /// A trial in which three requests of each kind were answered.
    fn trial(phase: Phase, rps: f64) -> Trial {
        let rate = Rate::per_second(rps).unwrap();
        let mut trial: Trial =
            Trial::begun(TrialSpec::blank(phase, Setting::offer(rate), SECOND), 0);
        let mut latency = Slot::default();
        (0..3).for_each(|_| latency.record_ns(1_000_000));
        let answers = Answers {
            latency,
            ..Answers::default()
        };
        trial.work.kinds = vec![answers.clone(), answers];
        trial.verdict = Verdict::Valid;
        trial
    }

    fn seen(rates: &[f64], capacity: Option<f64>) -> (f64, f64, u64) {
        let phases = [
            Phase::Level { level: None },
            Phase::Search,
            Phase::Confirmation,
        ];
        let phases = phases.iter().cycle();
        let mut trials: Vec<Trial> = rates
            .iter()
            .zip(phases)
            .map(|(rps, phase)| trial(*phase, *rps))
            .collect();
        trials.push(trial(Phase::Calibration, 90.0));
        let found = of_sweep(&plan(), &trials, capacity).unwrap();
        assert_eq!(found.requests[0].share_pct, 75.0);
        (found.from_rps, found.to_rps, found.requests[1].answered)
    }

    #[test]
    fn requests_are_those_of_all_trials_near_the_capacity_and_not_above() {
        let rates = [20.0, 79.0, 80.0, 100.0, 90.0, 101.0, 200.0];
        assert_eq!(seen(&rates, Some(100.0)), (80.0, 100.0, 9));
        assert_eq!(seen(&[20.0, 20.0, 40.0], Some(100.0)), (40.0, 40.0, 3));
        assert_eq!(
            seen(&[20.0, 40.0], Some(10.0)),
            (20.0, 20.0, 3),
            "missed at the lowest"
        );
        assert_eq!(seen(&[40.0, 20.0], None), (20.0, 20.0, 3));
    }
}
