//! How the share of broken requests grows with load, near the boundary.
//!
//! The logarithm of the odds of a request to exceed a latency limit is close
//! to linear in the load: in a queue the tail of the sojourn time falls like
//! `exp(-(mu - lambda) t)`, so at a fixed limit its logarithm rises in
//! proportion to the rate (M/M/1 exactly; in general by the decay rate of the
//! tail, which is nearly linear near saturation). So a straight line through
//! trials on both sides of the boundary uses all of them, where a root between
//! two neighbours would use two.
//!
//! Counts of requests behind the same queue vary more than binomial ones. That
//! does not move the line (quasi-likelihood: Wedderburn, Biometrika 61, 1974),
//! and its spread is left to the bootstrap.

use crate::theil_sen;

/// One trial: where it is on the load axis, and how many of how many.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count {
    /// The load, as `ln(rate / reference)`.
    pub(crate) x: f64,
    /// Requests that exceed the limit.
    pub(crate) over: f64,
    pub(crate) of: f64,
    /// How many successive requests say no more than one.
    pub(crate) thinning: f64,
}

/// `ln(odds) = a + b x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    /// At `x = 0`.
    pub(crate) a: f64,
    /// Per unit of `x`, that is per e-fold of rate. Positive.
    pub(crate) b: f64,
}

/// Added to both counts of each trial, in independent requests: keeps the line
/// finite when no trial has any, and weighs nothing against trials that have
/// (Haldane, Annals of Human Genetics 20, 1956, divides it likewise).
const PRIOR: f64 = 0.05;
/// Newton's steps: it converges in three to ten.
const STEPS: usize = 40;
/// The slope of a cliff: odds grow by e within 0.1 % of load. Steeper cannot
/// be seen in shorter trials.
const STEEPEST: f64 = 1000.0;

impl Line {
    /// The line of this slope whose share is `share` at `root`.
    pub(crate) fn crossing(share: f64, root: f64, slope: f64) -> Line {
        Line {
            a: logit(share) - slope * root,
            b: slope,
        }
    }

    /// Where the share is `share`.
    pub(crate) fn root(&self, share: f64) -> f64 {
        (logit(share) - self.a) / self.b
    }

    /// The standard error of the root, which is at `root`, and its degrees of
    /// freedom, from those counts that were not disturbed; `None` where they
    /// allow none.
    ///
    /// Fisher's information, times the counts' dispersion by Pearson's statistic
    /// and at least that of independent requests (McCullagh and Nelder,
    /// *Generalized Linear Models*, 1989, section 4.5).
    pub(crate) fn root_error(&self, root: f64, counts: &[Count]) -> Option<(f64, f64)> {
        let (mut aa, mut ab, mut bb, mut pearson) = (0.0, 0.0, 0.0, 0.0);
        for count in counts {
            let (over, of) = padded(count);
            let share = self.share(count.x);
            let (weight, x) = (of * share * (1.0 - share), count.x - root);
            aa += weight;
            ab += weight * x;
            bb += weight * x * x;
            pearson += (over - of * share).powi(2) / weight;
        }
        let (determinant, free) = (aa * bb - ab * ab, counts.len() as f64 - 2.0);
        (determinant > 1e-12 * aa * bb && free >= 1.0).then(|| {
            let dispersion = (pearson / free).max(1.0);
            ((bb / determinant * dispersion).sqrt() / self.b, free)
        })
    }

    /// Pearson's residual of a count: of variance 1 for independent requests.
    pub(crate) fn residual(&self, count: &Count) -> f64 {
        let (over, of) = padded(count);
        let share = self.share(count.x);
        (over - of * share) / (of * share * (1.0 - share)).sqrt()
    }

    /// By how much `x` at any share fell from the first of `counts` to the last, and how
    /// many standard errors that is: the score test for a term linear in the order of the
    /// counts (McCullagh and Nelder, section 12.3). `None` where the order of the
    /// counts is that of their loads.
    pub(crate) fn shift(&self, counts: &[Count]) -> Option<(f64, f64)> {
        let n = counts.len() as f64;
        let weighted: Vec<(f64, f64, f64)> = counts
            .iter()
            .zip(0u32..)
            .map(|(count, order)| {
                let share = self.share(count.x);
                let weight = padded(count).1 * share * (1.0 - share);
                (weight, count.x, f64::from(order) / (n - 1.0))
            })
            .collect();
        let mean = |of: fn(&(f64, f64, f64)) -> f64| {
            let weights: f64 = weighted.iter().map(|w| w.0).sum();
            weighted.iter().map(|w| w.0 * of(w)).sum::<f64>() / weights
        };
        let (x, order) = (mean(|w| w.1), mean(|w| w.2));
        let (mut xx, mut xo) = (0.0, 0.0);
        for (weight, at, o) in &weighted {
            xx += weight * (at - x).powi(2);
            xo += weight * (at - x) * (o - order);
        }
        let (mut score, mut information, mut pearson) = (0.0, 0.0, 0.0);
        for ((weight, at, o), count) in weighted.iter().zip(counts) {
            let rest = o - order - xo / xx * (at - x);
            let residual = self.residual(count);
            score += residual * weight.sqrt() * rest;
            information += weight * rest * rest;
            pearson += residual * residual;
        }
        let dispersion = (pearson / (n - 3.0)).max(1.0);
        let errors = score / (information * dispersion).sqrt();
        let by = -score / information / self.b;
        (n > 3.0 && errors.is_finite()).then_some((by, errors))
    }

    /// The share at `x`.
    pub(crate) fn share(&self, x: f64) -> f64 {
        1.0 / (1.0 + (-(self.a + self.b * x)).exp())
    }
}

fn logit(share: f64) -> f64 {
    (share / (1.0 - share)).ln()
}

/// The line through `counts`, after those that were disturbed beyond chance
/// are set aside; `None` when no rising line fits. `near` is a line to start
/// from, where one is known.
pub(crate) fn fit(counts: &[Count], near: Option<Line>) -> Option<Line> {
    fit_all(counts, near).or_else(|| by_medians(counts))
}

/// A line that half of the trials may be far off: the median of pairwise slopes
/// of the logarithms of odds (Theil 1950; Sen, JASA 63, 1968). It flattens
/// where most trials have no broken request, so it only serves when one
/// disturbed trial turns the other line downwards.
fn by_medians(counts: &[Count]) -> Option<Line> {
    let points: Vec<(f64, f64)> = counts
        .iter()
        .map(|count| {
            let (over, of) = padded(count);
            (count.x, logit(over / of))
        })
        .collect();
    let b = theil_sen::slope(&points).filter(|b| *b > 0.0)?;
    let mut rests: Vec<f64> = points.iter().map(|(x, y)| y - b * x).collect();
    Some(Line {
        a: theil_sen::median(&mut rests)?,
        b,
    })
}

/// Maximum quasi-likelihood by Newton's method, from `near` or else a flat
/// line; from there again, with halved steps, should it run away.
fn fit_all(counts: &[Count], near: Option<Line>) -> Option<Line> {
    let flat = flat(counts)?;
    let line = newton(near.unwrap_or(flat), counts, false).or_else(|| newton(flat, counts, true));
    line.filter(|line| line.b > 0.0)
}

fn newton(mut line: Line, counts: &[Count], careful: bool) -> Option<Line> {
    for _ in 0..STEPS {
        let (da, db) = step(&line, counts)?;
        let mut scale = 1.0;
        let moved = |scale: f64| Line {
            a: line.a + scale * da,
            b: (line.b + scale * db).min(STEEPEST),
        };
        if careful {
            let least = likelihood(&line, counts);
            while likelihood(&moved(scale), counts) < least && scale > 1e-4 {
                scale /= 2.0;
            }
        }
        line = moved(scale);
        if !(line.a.abs() < 1e4 && line.b.abs() <= STEEPEST) {
            return None;
        }
        // The root moves by less than a part in 10^6 of the load.
        if da.abs() < 1e-5 * (1.0 + line.b.abs()) && db.abs() < 1e-4 * (1.0 + line.b.abs()) {
            return Some(line);
        }
    }
    careful.then_some(line)
}

/// At the pooled share.
fn flat(counts: &[Count]) -> Option<Line> {
    let (over, of) = counts
        .iter()
        .map(padded)
        .fold((0.0, 0.0), |sum, (y, n)| (sum.0 + y, sum.1 + n));
    (of > 0.0).then(|| Line {
        a: logit(over / of),
        b: 0.0,
    })
}

/// A count in independent requests, with the prior.
fn padded(count: &Count) -> (f64, f64) {
    let over = count.over / count.thinning + PRIOR;
    (over, count.of / count.thinning + 2.0 * PRIOR)
}

fn likelihood(line: &Line, counts: &[Count]) -> f64 {
    let one = |count: &Count| {
        let (over, of) = padded(count);
        let odds = line.a + line.b * count.x;
        // ln(1 + e^odds) without overflow.
        over * odds - of * (odds.max(0.0) + (-odds.abs()).exp().ln_1p())
    };
    counts.iter().map(one).sum()
}

/// Newton's step; `None` where all counts are at one load.
fn step(line: &Line, counts: &[Count]) -> Option<(f64, f64)> {
    let (mut ga, mut gb, mut aa, mut ab, mut bb) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for count in counts {
        let (over, of) = padded(count);
        let share = line.share(count.x);
        let (rest, weight) = (over - of * share, of * share * (1.0 - share));
        ga += rest;
        gb += rest * count.x;
        aa += weight;
        ab += weight * count.x;
        bb += weight * count.x * count.x;
    }
    let determinant = aa * bb - ab * ab;
    (determinant > 1e-12 * aa * bb).then(|| {
        (
            (bb * ga - ab * gb) / determinant,
            (aa * gb - ab * ga) / determinant,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rate: f64, over: f64) -> Count {
        Count {
            x: rate.ln(),
            over,
            of: 10_000.0,
            thinning: 1.0,
        }
    }

    #[test]
    fn a_line_through_exact_shares_is_found() {
        let truth = Line { a: -4.0, b: 20.0 };
        let counts: Vec<Count> = [0.9f64, 0.95, 1.0, 1.05]
            .iter()
            .map(|rate| count(*rate, 10_000.0 * truth.share(rate.ln())))
            .collect();
        let found = fit(&counts, None).unwrap();
        assert!((found.b - 20.0).abs() < 0.05, "{found:?}");
        assert!((found.root(0.01) - truth.root(0.01)).abs() < 1e-3);
    }

    #[test]
    fn a_line_that_moves_down_in_the_course_of_the_trials_is_seen() {
        let truth = Line { a: 0.0, b: 20.0 };
        let shift = |fall: f64| {
            // Loads go round and round; the line falls by `fall` from first to last.
            let counts: Vec<Count> = (0..30)
                .map(|i| {
                    let rate = 0.77 + 0.01 * f64::from(i % 5);
                    let fallen = fall * f64::from(i) / 29.0;
                    count(rate, 10_000.0 * truth.share(rate.ln() + fallen))
                })
                .collect();
            fit(&counts, None).unwrap().shift(&counts).unwrap()
        };
        let (by, errors) = shift(0.05);
        assert!((by + 0.05).abs() < 0.01 && errors > 5.0, "{by} {errors}");
        let (by, errors) = shift(-0.05);
        assert!((by - 0.05).abs() < 0.01 && errors < -5.0, "{by} {errors}");
        let (by, errors) = shift(0.0);
        assert!(by.abs() < 0.002 && errors.abs() < 1.0, "{by} {errors}");
    }

    #[test]
    fn falling_counts_have_no_line() {
        assert_eq!(fit(&[count(0.9, 500.0), count(1.1, 50.0)], None), None);
        assert_eq!(fit(&[count(1.0, 5.0), count(1.0, 6.0)], None), None);
        assert_eq!(fit(&[], None), None);
    }

    #[test]
    fn a_cliff_is_a_steep_line_of_bounded_slope() {
        let found = fit(
            &[count(0.9, 0.0), count(0.95, 0.0), count(1.0, 9990.0)],
            None,
        )
        .unwrap();
        assert!(found.b > 50.0 && found.b <= STEEPEST, "{found:?}");
    }
}
