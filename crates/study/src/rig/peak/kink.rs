//! Whether the gradient changes at some number of jobs.
//!
//! At each number of jobs with two others on either side the gradients of both sides are
//! compared within each trial; the means of their differences over trials are tested with
//! Student's t, each number at its part of 1 % of false alarms (Bonferroni). So 3 trials
//! show only kinks that are large for their scatter.

use crate::student;
use crate::theil_sen;

/// A change of the gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kink {
    pub at_jobs: u32,
    /// The gradient above relative to that below, by the means over trials.
    pub ratio: f64,
}

const FALSE_ALARMS: f64 = 0.01;
/// How many numbers of jobs make the gradient of a side, with the one at the kink.
const OF_A_SIDE: usize = 3;
/// A change by less than this part of the gradient is of no matter.
const MATTERS: f64 = 0.1;

/// By the points of each trial: jobs and run time.
pub(super) fn kink(trials: &[Vec<(f64, f64)>]) -> Option<Kink> {
    let mut sizes: Vec<f64> = trials.iter().flatten().map(|(jobs, _)| *jobs).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let last = sizes.len().checked_sub(OF_A_SIDE)?;
    let knots = sizes.get(OF_A_SIDE - 1..=last)?;
    let tail = FALSE_ALARMS / 2.0 / knots.len() as f64;
    let reach = student::quantile(tail, trials.len() as f64 - 1.0)?;
    let found = knots.iter().filter_map(|knot| at(*knot, trials, reach));
    found
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, kink)| kink)
}

/// The kink at a number of jobs, if it is one, and by how much the gradient changes there: it is
/// where that is most, because near it the change shows, too.
fn at(knot: f64, trials: &[Vec<(f64, f64)>], reach: f64) -> Option<(f64, Kink)> {
    if trials.len() < student::FEWEST {
        return None;
    }
    let mut sides = Vec::new();
    for points in trials {
        let side = |of: &dyn Fn(f64) -> bool| {
            let points: Vec<(f64, f64)> = points.iter().copied().filter(|(x, _)| of(*x)).collect();
            theil_sen::slope(&points)
        };
        sides.push((side(&|x| x <= knot)?, side(&|x| x >= knot)?));
    }
    let mean =
        |of: &dyn Fn(&(f64, f64)) -> f64| sides.iter().map(of).sum::<f64>() / sides.len() as f64;
    let (below, above) = (mean(&|s| s.0), mean(&|s| s.1));
    let change = above - below;
    let squares = mean(&|s| (s.1 - s.0 - change).powi(2));
    let error = (squares / (sides.len() as f64 - 1.0)).sqrt();
    let matters = change.abs() > MATTERS * below.abs().min(above.abs());
    (matters && change.abs() > reach * error).then_some((
        change.abs(),
        Kink {
            at_jobs: knot as u32,
            ratio: above / below,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::Rng;
    use crate::testing::normal;

    const SIZES: [f64; 11] = [
        10.0, 20.0, 40.0, 70.0, 100.0, 150.0, 200.0, 300.0, 500.0, 700.0, 1000.0,
    ];

    /// 100 us a job up to 150 jobs, `above` from there on, on 200 us of start-up; each trial
    /// is faster or slower by 1 %, each run by 1 % and 20 us.
    fn trials(above: f64, count: usize, seed: u64) -> Vec<Vec<(f64, f64)>> {
        let mut rng = Rng::seeded(seed);
        let mut trial = || {
            let speed = 1.0 + 0.01 * normal(&mut rng);
            let of_size = |x: f64| 100.0 * x.min(150.0) + above * (x - 150.0).max(0.0);
            let run = |x: &f64| {
                let noise = 1.0 + 0.01 * normal(&mut rng);
                (
                    *x,
                    200.0 + speed * noise * of_size(*x) + 20.0 * normal(&mut rng),
                )
            };
            SIZES.iter().chain(&SIZES).map(run).collect()
        };
        (0..count).map(|_| trial()).collect()
    }

    #[test]
    fn a_gradient_that_doubles_is_seen_where_it_does() {
        // 3 trials show it less often.
        for count in [4, 8] {
            let found = (0..50).filter_map(|seed| kink(&trials(200.0, count, seed)));
            let near = found.filter(|k| (100..=300).contains(&k.at_jobs) && k.ratio > 1.5);
            let near = near.count();
            assert!(near >= 47, "{near} of 50 with {count} trials");
        }
    }

    #[test]
    fn a_line_has_hardly_ever_a_kink() {
        for count in [3, 4, 8] {
            let flagged = (0..200).filter(|seed| kink(&trials(100.0, count, *seed)).is_some());
            let flagged = flagged.count();
            // 2 are stated at most.
            assert!(flagged <= 6, "{flagged} of 200 with {count} trials");
        }
    }

    #[test]
    fn two_trials_show_none() {
        assert_eq!(kink(&trials(500.0, 2, 1)), None);
        assert_eq!(kink(&[]), None);
    }
}
