//! Each of several requests by itself.

use crate::bootstrap::shows_quantile;
use crate::levels::Level;
use plimsoll_model::{
    Answers, Plan, RequestFile, RequestFinding, RequestOfFile, RequestsFinding, Workload,
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

/// At the highest level within the least capacity that was found, or else the lowest.
pub(crate) fn of_sweep(
    plan: &Plan,
    levels: &[Level<'_>],
    carried_rps: Option<f64>,
) -> Option<RequestsFinding> {
    let Workload::Http(http) = &plan.workload else {
        return None;
    };
    let file = http
        .requests
        .as_ref()
        .filter(|file| file.requests.len() > 1)?;
    let measured = || levels.iter().filter(|level| !level.valid.is_empty());
    let is_within =
        |level: &&Level<'_>| carried_rps.is_some_and(|most| level.row.offered_rps <= most);
    // Levels ascend.
    let highest = measured().rfind(is_within);
    let level = highest.or_else(|| measured().next())?;
    Some(RequestsFinding {
        rate_rps: level.row.offered_rps,
        requests: each(file, level.valid.iter().map(|t| t.work.kinds.as_slice())),
    })
}
