//! Bisection as `search_qps.sh` of DCPerf's FeedSim does it, which has it from
//! mutilate (Leverich and Kozyrakis, EuroSys 2014). Written from what the
//! script does.
//!
//! A warm-up and a run flat out; bisection between 1/s and 1.8 times that
//! peak, by one run per rate, until the ends are within 2 %; then the rate of
//! the last run is lowered until its latency is within the target, and until
//! what was asked for is served; then a longer run, whose throughput is the
//! result. It gives no interval.

use crate::testbed::{Answer, Probe, Testbed};
use std::time::Duration;

const PADDING: f64 = 1.8;
const LOWEST: f64 = 1.0;
/// Ends of the bisection this near are near enough; and less than this part
/// more asked than served is served.
const NEAR: f64 = 1.02;
/// Below this part of the padded peak it gives up.
const LEAST: f64 = 0.1;
/// Runs of bisection and tuning in sum.
const MOST_RUNS: usize = 25;
/// Tuning ends at this part of the target.
const WITHIN: f64 = 0.995;

/// How long its runs are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// From the start of each run until it is measured.
    start: Duration,
    /// The run flat out that warms the service up.
    warm_up: Duration,
    /// Each run of the search.
    run: Duration,
    /// The last one.
    last: Duration,
    /// Whether it tunes the rate after the bisection.
    tunes: bool,
}

impl Settings {
    /// 120 s for each, 300 s for the last, and the 7 s that the script gives
    /// the load generator to start.
    pub(crate) fn published() -> Settings {
        Settings {
            start: Duration::from_secs(7),
            warm_up: Duration::from_secs(120),
            run: Duration::from_secs(120),
            last: Duration::from_secs(300),
            tunes: true,
        }
    }

    /// The same in `part` of the time.
    pub(crate) fn scaled(self, part: f64) -> Settings {
        Settings {
            start: self.start.mul_f64(part),
            warm_up: self.warm_up.mul_f64(part),
            run: self.run.mul_f64(part),
            last: self.last.mul_f64(part),
            ..self
        }
    }

    /// Without tuning and the last run.
    pub(crate) fn bisection_only(self) -> Settings {
        Settings {
            tunes: false,
            ..self
        }
    }
}

/// What it reports; after the bisection alone the highest rate that was good.
pub(crate) fn search(bed: &mut Testbed, settings: &Settings) -> Answer {
    bed.flat_out(settings.start, settings.warm_up);
    let peak = PADDING * bed.flat_out(settings.start, settings.run).throughput;
    let mut search = Search {
        bed,
        settings,
        rate: peak,
        measured: Probe {
            p99: f64::INFINITY,
            throughput: 0.0,
        },
        runs: 0,
    };
    let good = search.bisect(peak);
    let found = if settings.tunes {
        search.lower_to_target();
        search.close_gap();
        let rate = search.rate;
        bed.offer(rate, settings.start, settings.last).throughput
    } else {
        good
    };
    Answer {
        rate: Some(found),
        interval: None,
        took: bed.took,
    }
}

struct Search<'a> {
    bed: &'a mut Testbed,
    settings: &'a Settings,
    /// The rate of the last run.
    rate: f64,
    /// What it gave.
    measured: Probe,
    runs: usize,
}

impl Search<'_> {
    fn run(&mut self, rate: f64) {
        self.rate = rate;
        self.measured = self.bed.offer(rate, self.settings.start, self.settings.run);
        self.runs += 1;
    }

    fn bisect(&mut self, peak: f64) -> f64 {
        let (mut low, mut high) = (LOWEST, peak);
        while high > low * NEAR && self.rate > peak * LEAST && self.runs < MOST_RUNS {
            self.run((high + low) / 2.0);
            if self.measured.p99 <= self.bed.limit {
                low = self.rate.max(self.measured.throughput);
                if self.rate > self.measured.throughput * NEAR {
                    high *= 0.96;
                }
            } else {
                high = self.rate;
            }
        }
        low
    }

    fn lower_to_target(&mut self) {
        while self.measured.p99 > WITHIN * self.bed.limit && self.runs < MOST_RUNS {
            let over = self.measured.p99 / self.bed.limit - 1.0;
            let part = match over {
                _ if over > 0.5 => 0.5,
                _ if over >= 0.05 => 1.0 - over / 5.0,
                _ => 0.99,
            };
            self.run(self.rate * part);
        }
    }

    fn close_gap(&mut self) {
        let least = self.runs + MOST_RUNS;
        // The script has no bound here: a rate that is never served would never
        // end it.
        while self.rate > NEAR * self.measured.throughput && self.runs < least {
            self.run((self.rate + self.measured.throughput) / 2.0);
        }
    }
}
