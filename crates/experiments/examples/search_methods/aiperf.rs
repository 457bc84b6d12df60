//! AIPerf's search for the highest load that meets an SLO, `smooth_isotonic`.
//! Written from its documentation (docs/sweeping/bayesian-optimization.md) and,
//! where that leaves it open, from what its planner does.
//!
//! 1. *Bracket*: a probe at the lowest rate, then at twice that and so on,
//!    until one breaks the SLO.
//! 2. *Fit*: three probes between the last good and the first bad; isotonic
//!    regression (PAVA) of the margins, means over the probes at each rate; a
//!    monotone cubic spline (PCHIP) through the result; its root.
//! 3. *Replicates*, if any are asked for: so many probes at the root with the
//!    same arrivals, and a bootstrap interval of their mean margin. Zero
//!    within: two more probes and another fit. Zero without: done. If none
//!    are asked for, one probe at the root and another fit.
//! 4. *Cliff guard*: a fit that misses the latest probe by more than three
//!    local standard deviations, in a wide bracket, is none; then the bracket
//!    is halved.
//! 5. Done when the bracket is within the precision, or after 30 probes.
//!
//! Margins are divided by their sigmas only to find the SLO that binds;
//! here there is but one, and its root is the same.

use crate::pchip::Pchip;
use crate::testbed::{Answer, Testbed};
use plimsoll_study::{bootstrap, isotonic, seeded::Rng};
use std::collections::BTreeMap;
use std::time::Duration;

/// Probes inside of the bracket at first.
const INNER: usize = 3;
/// Where more probes are made when a fit is too flat, in parts of the bracket.
const MORE: [f64; 2] = [0.125, 0.625];
/// Fewer fitted values than this are too flat,
const FEWEST_VALUES: usize = 3;
/// from fewer rates than this,
const FEWEST_RATES: usize = 4;
/// in the first so many fits but one.
const MOST_REFITS: usize = 3;
/// A residual of so many standard deviations
const CLIFF_SIGMAS: f64 = 3.0;
/// of the last so many margins is a cliff.
const CLIFF_PROBES: usize = 3;
const MOST_PROBES: usize = 30;

/// The rates that the user says the answer lies between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    low: f64,
    high: f64,
}

impl Range {
    /// From somewhere between 1/16 and 1/8 of saturation, so that the doubling
    /// hits nothing by luck, to twice of it.
    pub(crate) fn around(saturation: f64, seed: u64) -> Range {
        let octave = Rng::seeded(seed ^ 0xA1).unit();
        Range {
            low: saturation / 16.0 * octave.exp2(),
            high: 2.0 * saturation,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Length {
    Requests(f64),
    Window(Duration),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    range: Range,
    /// The width of the bracket at which it is done, as a part of its end.
    precision: f64,
    length: Length,
    /// Before the first probe at a rate, and before others.
    warm_ups: [Duration; 2],
    /// Probes at a root; 0 for its own choice, which is none until some rate
    /// was probed twice.
    replicates: usize,
}

impl Settings {
    /// 5 %, 1,000 requests a probe, 60 s of warm-up, 30 s for replicates.
    pub(crate) fn defaults(range: Range) -> Settings {
        Settings {
            range,
            precision: 0.05,
            length: Length::Requests(1000.0),
            warm_ups: [Duration::from_secs(60), Duration::from_secs(30)],
            replicates: 0,
        }
    }

    /// The example of its documentation for careful users.
    pub(crate) fn careful(self) -> Settings {
        Settings {
            length: Length::Requests(10_000.0),
            warm_ups: [Duration::from_secs(60); 2],
            replicates: 5,
            ..self
        }
    }

    /// The precision and the warm-up of Plimsoll's sweep, and probes of so
    /// many seconds: the result of its method in a given time.
    pub(crate) fn windows(self, seconds: f64) -> Settings {
        Settings {
            precision: 0.02,
            length: Length::Window(Duration::from_secs_f64(seconds)),
            warm_ups: [Duration::from_secs(1); 2],
            ..self
        }
    }
}

/// The root of the last fit, with the bracket for an interval.
pub(crate) fn search(bed: &mut Testbed, settings: &Settings, seed: u64) -> Answer {
    let mut search = Search {
        bed,
        settings,
        seed,
        margins: BTreeMap::new(),
        recent: Vec::new(),
        good: None,
        bad: None,
    };
    // Nothing is left to do when it ran out of probes.
    let _ = search.bracket().and_then(|()| search.narrow());
    let bracket = search.good.zip(search.bad);
    Answer {
        rate: bracket.map(|bracket| search.candidate(bracket)),
        interval: bracket,
        took: bed.took,
    }
}

struct Search<'a> {
    bed: &'a mut Testbed,
    settings: &'a Settings,
    seed: u64,
    /// Seconds above the limit, negative when it was met, of all probes at a
    /// rate. Rates are positive, so their bits sort as they do.
    margins: BTreeMap<u64, Vec<f64>>,
    /// Rate and margin in the order of the probes.
    recent: Vec<(f64, f64)>,
    good: Option<f64>,
    bad: Option<f64>,
}

impl Search<'_> {
    /// Whether the SLO was met; `None` when all probes are used.
    fn probe(&mut self, rate: f64) -> Option<bool> {
        if self.recent.len() >= MOST_PROBES {
            return None;
        }
        let window = match self.settings.length {
            Length::Requests(n) => Duration::from_secs_f64(n / rate),
            Length::Window(window) => window,
        };
        let margins = self.margins.entry(rate.to_bits()).or_default();
        let warm_up = self.settings.warm_ups[usize::from(!margins.is_empty())];
        let p99 = self.bed.offer_seeded(rate, warm_up, window, self.seed).p99;
        let margin = p99 - self.bed.limit;
        self.recent.push((rate, margin));
        margins.push(margin);
        let kept = margin < 0.0;
        // Probes that contradict the bracket leave it as it is.
        if kept && self.bad.is_none_or(|bad| rate < bad) {
            self.good = Some(self.good.map_or(rate, |good| good.max(rate)));
        }
        if !kept && self.good.is_none_or(|good| rate > good) {
            self.bad = Some(self.bad.map_or(rate, |bad| bad.min(rate)));
        }
        Some(kept)
    }

    fn bracket(&mut self) -> Option<()> {
        let Range { low, high } = self.settings.range;
        let mut rate = low;
        while self.probe(rate)? {
            if rate >= high {
                return None;
            }
            rate = (2.0 * rate).min(high);
        }
        self.good.map(|_| ())
    }

    fn narrow(&mut self) -> Option<()> {
        let parts = (1..=INNER).map(|k| k as f64 / (INNER + 1) as f64);
        self.probe_within(&parts.collect::<Vec<_>>())?;
        for fits in 1.. {
            let bracket = self.good.zip(self.bad)?;
            let candidate = self.candidate(bracket);
            if fits < MOST_REFITS && self.is_flat() {
                self.probe_within(&MORE)?;
            } else if self.is_cliff(bracket) {
                return self.halve();
            } else if self.is_precise(bracket) {
                return Some(());
            } else if self.settings.replicates == 0 {
                if self.margins.contains_key(&candidate.to_bits()) {
                    return Some(());
                }
                self.probe(candidate)?;
            } else {
                for _ in 0..self.settings.replicates {
                    self.probe(candidate)?;
                }
                if self.is_decided(candidate) {
                    return Some(());
                }
                self.probe_within(&MORE)?;
            }
        }
        None
    }

    /// Probes at these parts of the bracket as it is now.
    fn probe_within(&mut self, parts: &[f64]) -> Option<()> {
        let (good, bad) = self.good.zip(self.bad)?;
        for part in parts {
            let rate = good + (bad - good) * part;
            if !self.margins.contains_key(&rate.to_bits()) {
                self.probe(rate)?;
            }
        }
        Some(())
    }

    fn halve(&mut self) -> Option<()> {
        loop {
            let (good, bad) = self.good.zip(self.bad)?;
            if self.is_precise((good, bad)) {
                return Some(());
            }
            self.probe((good + bad) / 2.0)?;
        }
    }

    /// The isotonic fit of the mean margins.
    fn fit(&self) -> Vec<(f64, f64)> {
        let means: Vec<(f64, f64)> = self.margins.values().map(|m| (mean(m), 1.0)).collect();
        let rates = self.margins.keys().map(|rate| f64::from_bits(*rate));
        rates.zip(isotonic::fit(&means)).collect()
    }

    /// The root within the bracket, else its middle.
    fn candidate(&self, (good, bad): (f64, f64)) -> f64 {
        let root = Pchip::through(self.fit()).and_then(|curve| curve.root(good, bad));
        root.filter(|root| (good < *root) && (*root < bad))
            .unwrap_or((good + bad) / 2.0)
    }

    fn is_flat(&self) -> bool {
        let mut values: Vec<f64> = self.fit().iter().map(|p| p.1).collect();
        values.dedup();
        self.margins.len() < FEWEST_RATES || values.len() < FEWEST_VALUES
    }

    fn is_cliff(&self, (good, bad): (f64, f64)) -> bool {
        let Some(&(rate, margin)) = self.recent.last() else {
            return false;
        };
        let margins: Vec<f64> = self.recent.iter().map(|p| p.1).collect();
        let Some(local) = margins.last_chunk::<CLIFF_PROBES>() else {
            return false;
        };
        let middle = mean(local);
        let squares: Vec<f64> = local.iter().map(|m| (m - middle).powi(2)).collect();
        let sigma = mean(&squares).sqrt();
        // The spline runs through the fitted points.
        let fitted = self.fit().into_iter().find(|p| p.0 == rate);
        let residual = fitted.map_or(0.0, |p| (margin - p.1).abs());
        let is_wide = bad - good > self.settings.precision * self.settings.range.high;
        sigma > 0.0 && residual > CLIFF_SIGMAS * sigma && is_wide
    }

    fn is_precise(&self, (good, bad): (f64, f64)) -> bool {
        (bad - good) / bad < self.settings.precision
    }

    /// Whether the bootstrap interval of the mean margin leaves zero out.
    fn is_decided(&self, rate: f64) -> bool {
        let Some(margins) = self.margins.get(&rate.to_bits()) else {
            return true;
        };
        let of = |draw: &[usize]| mean(&draw.iter().map(|i| margins[*i]).collect::<Vec<_>>());
        let means = bootstrap::resample(margins.len(), self.seed, |draw| Some(of(draw)));
        let interval = bootstrap::estimate(mean(margins), means, margins.len()).interval();
        interval.is_none_or(|(low, high)| low > 0.0 || high < 0.0)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
