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

use ours::Scope;
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
        let (mut rows, time) = self.ours();
        for (name, times) in [("as long as Plimsoll", 1.0), (score::TWICE, 2.0)] {
            let target = time.mul_f64(times);
            let settings = feedsim::Settings::published();
            rows.push(self.feedsim_within(name, settings, target));
            let name_only = format!("{name}, bisection only");
            rows.push(self.feedsim_within(&name_only, settings.bisection_only(), target));
            rows.push(self.aiperf_within(name, target));
        }
        let settings = feedsim::Settings::published();
        rows.push(self.feedsim("its own settings", settings));
        let bisection = settings.bisection_only();
        rows.push(self.feedsim("its own settings, bisection only", bisection));
        rows.push(self.aiperf("its defaults", &aiperf::Settings::defaults));
        let careful = "its careful example (10,000 requests, 5 replicates)";
        rows.push(self.aiperf(careful, &aiperf::Settings::careful));
        rows
    }

    /// Plimsoll's rows, and how long its sweep to 2 % takes.
    fn ours(&self) -> (Rows, Duration) {
        let run = |scope: Scope, precision: f64| {
            self.each(|seed| {
                let found = ours::sweep(&self.case.of(seed), scope, precision, seed);
                [found.whole, found.search]
            })
        };
        let [fine, part] = self.scores(run(Scope::Whole, 0.02));
        let [coarse, _] = self.scores(run(Scope::Whole, 0.05));
        let [brief, _] = self.scores(run(Scope::FewLevels, 0.02));
        let time = fine.time;
        let rows = vec![
            (format!("{} --precision 2%", score::OURS), fine),
            ("the same, only its search counted".to_owned(), part),
            (format!("{} --precision 5%", score::OURS), coarse),
            (
                format!("{} --precision 2%, 3 levels once", score::OURS),
                brief,
            ),
        ];
        (rows, time)
    }

    fn feedsim(&self, name: &str, settings: feedsim::Settings) -> (String, Score) {
        let runs = self.each(|seed| [self.run_feedsim(settings, seed)]);
        let [score] = self.scores(runs);
        (format!("FeedSim, {name}"), score)
    }

    fn feedsim_within(
        &self,
        name: &str,
        settings: feedsim::Settings,
        target: Duration,
    ) -> (String, Score) {
        let part = fitted(target, 0.5, |part| {
            self.pilot(|seed| self.run_feedsim(settings.scaled(part), seed).took)
        });
        self.feedsim(name, settings.scaled(part))
    }

    fn run_feedsim(&self, settings: feedsim::Settings, seed: u64) -> Answer {
        let case = self.case.of(seed);
        feedsim::search(&mut Testbed::new(&case, seed), &settings)
    }

    fn aiperf(
        &self,
        name: &str,
        settings: &(dyn Fn(aiperf::Range) -> aiperf::Settings + Sync),
    ) -> (String, Score) {
        let runs = self.each(|seed| [self.run_aiperf(settings, seed)]);
        let [score] = self.scores(runs);
        (format!("AIPerf, {name}"), score)
    }

    fn aiperf_within(&self, name: &str, target: Duration) -> (String, Score) {
        let window = fitted(target, target.as_secs_f64() / 15.0, |window| {
            let settings = |range| aiperf::Settings::windows(range, window);
            self.pilot(|seed| self.run_aiperf(&settings, seed).took)
        });
        self.aiperf(name, &|range| aiperf::Settings::windows(range, window))
    }

    fn run_aiperf(
        &self,
        settings: &dyn Fn(aiperf::Range) -> aiperf::Settings,
        seed: u64,
    ) -> Answer {
        let case = self.case.of(seed);
        let range = aiperf::Range::around(case.saturation(), seed);
        aiperf::search(&mut Testbed::new(&case, seed), &settings(range), seed)
    }

    /// The mean time of a few runs, in seconds.
    fn pilot(&self, took: impl Fn(u64) -> Duration + Sync) -> f64 {
        let times = parallel(PILOTS, |pilot| took(100_000 + pilot));
        times.iter().sum::<Duration>().as_secs_f64() / PILOTS as f64
    }

    fn each<const N: usize>(&self, run: impl Fn(u64) -> [Answer; N] + Sync) -> Vec<[Answer; N]> {
        parallel(self.seeds, run)
    }

    fn scores<const N: usize>(&self, runs: Vec<[Answer; N]>) -> [Score; N] {
        std::array::from_fn(|method| {
            let answers: Vec<Answer> = runs.iter().map(|run| run[method]).collect();
            Score::of(&answers, &self.truths)
        })
    }
}

/// The size at which runs take `target` on average, from a first guess.
fn fitted(target: Duration, guess: f64, mean_s: impl Fn(f64) -> f64) -> f64 {
    (0..ROUNDS).fold(guess, |size, _| size * target.as_secs_f64() / mean_s(size))
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
