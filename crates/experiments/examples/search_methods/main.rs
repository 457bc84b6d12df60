//! Three ways to find a capacity, on the same simulated services with the same
//! noise: Plimsoll's sweep, bisection as FeedSim's script does it, and the
//! smooth isotonic search of AIPerf.
//!
//! `search_methods [SEEDS]` prints a table per service and one of the
//! comparison, as markdown. Time is virtual: the same seeds give the same
//! figures on every machine. docs/accuracy.md says what they mean.
#![allow(clippy::print_stdout, reason = "an example for people at a terminal")]

mod aiperf;
mod feedsim;
mod ours;
mod pchip;
mod score;
#[path = "../../tests/simulated/mod.rs"]
mod simulated;
mod testbed;

use score::Score;
use std::time::Duration;
use testbed::{Answer, Case, Testbed};

/// Runs that a time is fitted on.
const PILOTS: u64 = 10;
/// Rounds of that fit.
const ROUNDS: usize = 4;

type Rows = Vec<(String, Score)>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seeds: u64 = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 40,
    };
    let mut compared = Vec::new();
    for case in testbed::cases() {
        let truths: Vec<f64> = (0..seeds).map(|seed| case.of(seed).truth()).collect();
        let (least, most) = score::range(&truths);
        println!("## {}\n", case.name);
        println!("{seeds} seeds, true capacities {least:.1} to {most:.1}/s.\n");
        let case = &case;
        let rows = Contest {
            case,
            seeds,
            truths,
        }
        .rows();
        score::print(&rows);
        println!();
        compared.push((case.name, rows));
    }
    println!("## At most the same error in at most half of the time?\n");
    score::print_claims(&compared);
    Ok(())
}

/// All methods on one service.
struct Contest<'a> {
    case: &'a Case,
    seeds: u64,
    /// The true capacity by seed.
    truths: Vec<f64>,
}

impl Contest<'_> {
    fn rows(&self) -> Rows {
        let published = feedsim::Settings::published();
        let bisection = published.bisection_only();
        let defaults = aiperf::Settings::defaults;
        let (mut rows, time) = self.ours();
        for (name, times) in [("as long as Plimsoll", 1.0), (score::TWICE, 2.0)] {
            let target = time.mul_f64(times);
            for (only, settings) in [("", published), (", bisection only", bisection)] {
                let run = |part, seed| self.feedsim(settings.scaled(part), seed);
                let part = self.fitted(target, 0.5, run);
                rows.push(self.row(format!("FeedSim, {name}{only}"), |seed| run(part, seed)));
            }
            let run = |window, seed| self.aiperf(|range| defaults(range).windows(window), seed);
            let window = self.fitted(target, target.as_secs_f64() / 15.0, run);
            rows.push(self.row(format!("AIPerf, {name}"), |seed| run(window, seed)));
        }
        for (only, settings) in [("", published), (", bisection only", bisection)] {
            let name = format!("FeedSim, its own settings{only}");
            rows.push(self.row(name, |seed| self.feedsim(settings, seed)));
        }
        let name = "AIPerf, its defaults".to_owned();
        rows.push(self.row(name, |seed| self.aiperf(defaults, seed)));
        let name = "AIPerf, its careful example (10,000 requests, 5 replicates)".to_owned();
        rows.push(self.row(name, |seed| {
            self.aiperf(|range| defaults(range).careful(), seed)
        }));
        rows
    }

    /// Plimsoll's rows, and how long its sweep to 2 % takes.
    fn ours(&self) -> (Rows, Duration) {
        let sweeps = |flags: &str| {
            let run = |seed| ours::sweep(&self.case.of(seed), flags, seed);
            let (whole, search): (Vec<_>, Vec<_>) = parallel(self.seeds, run).into_iter().unzip();
            [whole, search].map(|answers| Score::of(&answers, &self.truths))
        };
        let [fine, part] = sweeps("--precision 2%");
        let [coarse, _] = sweeps("--precision 5%");
        // Only the capacity is wanted, and not the curves.
        let [brief, _] = sweeps("--precision 2% --levels 50,75,100 --trials 1");
        let time = fine.time;
        let name = |flags: &str| format!("{} {flags}", score::OURS);
        let rows = vec![
            (name("--precision 2%"), fine),
            ("the same, only its search counted".to_owned(), part),
            (name("--precision 5%"), coarse),
            (name("--precision 2%, 3 levels once"), brief),
        ];
        (rows, time)
    }

    fn feedsim(&self, settings: feedsim::Settings, seed: u64) -> Answer {
        let case = self.case.of(seed);
        feedsim::search(&mut Testbed::new(&case, seed), &settings)
    }

    fn aiperf(&self, settings: impl Fn(aiperf::Range) -> aiperf::Settings, seed: u64) -> Answer {
        let case = self.case.of(seed);
        let range = aiperf::Range::around(case.saturation(), seed);
        aiperf::search(&mut Testbed::new(&case, seed), &settings(range), seed)
    }

    fn row(&self, name: String, run: impl Fn(u64) -> Answer + Sync) -> (String, Score) {
        (name, Score::of(&parallel(self.seeds, run), &self.truths))
    }

    /// The size at which runs take `target` on average, from a first guess.
    fn fitted(&self, target: Duration, guess: f64, run: impl Fn(f64, u64) -> Answer + Sync) -> f64 {
        (0..ROUNDS).fold(guess, |size, _| {
            let times = parallel(PILOTS, |pilot| run(size, 100_000 + pilot).took);
            let mean = times.iter().sum::<Duration>().as_secs_f64() / PILOTS as f64;
            size * target.as_secs_f64() / mean
        })
    }
}

/// `run` for each seed, on all CPUs, in the order of the seeds.
fn parallel<T: Send>(seeds: u64, run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let mut done: Vec<(u64, T)> = std::thread::scope(|scope| {
        let (run, mine) = (&run, |thread| (thread..seeds).step_by(threads as usize));
        let workers: Vec<_> = (0..threads)
            .map(|t| scope.spawn(move || mine(t).map(|s| (s, run(s))).collect::<Vec<_>>()))
            .collect();
        let joined = workers.into_iter().map(|worker| match worker.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.flatten().collect()
    });
    done.sort_by_key(|(seed, _)| *seed);
    done.into_iter().map(|(_, found)| found).collect()
}
