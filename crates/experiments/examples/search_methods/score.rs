//! How good the answers of a method were, and tables of it.

use crate::testbed::Answer;
use plimsoll_study::bootstrap;
use std::time::Duration;

/// What rows of Plimsoll begin with.
pub(crate) const OURS: &str = "Plimsoll";
/// Rows of the other methods given twice the time of Plimsoll's.
pub(crate) const TWICE: &str = "twice as long";

#[derive(Debug, Clone)]
pub(crate) struct Score {
    /// The error's size by seed; infinite where no capacity was found.
    sizes: Vec<f64>,
    /// Runs that found none.
    without: usize,
    /// Of the error's size.
    median: f64,
    /// The same, 90 %.
    most: f64,
    /// The mean error with its sign, over runs with an answer.
    bias: f64,
    pub(crate) time: Duration,
    intervals: usize,
    covered: usize,
    /// The median half width of intervals, as a part of the truth.
    half_width: f64,
}

impl Score {
    /// Of answers and the true capacity of each.
    pub(crate) fn of(answers: &[Answer], truths: &[f64]) -> Score {
        let pairs = || answers.iter().zip(truths);
        let signed: Vec<f64> = pairs()
            .filter_map(|(a, truth)| Some(a.rate? / truth - 1.0))
            .collect();
        let sizes: Vec<f64> = pairs()
            .map(|(a, truth)| a.rate.map_or(f64::INFINITY, |r| (r / truth - 1.0).abs()))
            .collect();
        let by_size = sorted(sizes.clone());
        // As parts of the truth.
        let intervals: Vec<(f64, f64)> = pairs()
            .filter_map(|(a, truth)| a.interval.map(|(l, h)| (l / truth, h / truth)))
            .collect();
        let holds = |&&(low, high): &&(f64, f64)| (low..=high).contains(&1.0);
        let halves = intervals.iter().map(|(low, high)| (high - low) / 2.0);
        Score {
            without: answers.len() - signed.len(),
            median: quantile(&by_size, 0.5),
            most: quantile(&by_size, 0.9),
            sizes,
            bias: signed.iter().sum::<f64>() / signed.len() as f64,
            time: answers.iter().map(|a| a.took).sum::<Duration>() / answers.len().max(1) as u32,
            intervals: intervals.len(),
            covered: intervals.iter().filter(holds).count(),
            half_width: quantile(&sorted(halves.collect()), 0.5),
        }
    }

    fn row(&self) -> String {
        let interval = match self.intervals {
            0 => "none | ".to_owned(),
            n => format!("{} of {n} | {:.2} %", self.covered, 100.0 * self.half_width),
        };
        let without = match self.without {
            0 => String::new(),
            n => format!(" ({n} of {} without an answer)", self.sizes.len()),
        };
        format!(
            "{:.2} %{without} | {:.2} % | {:+.2} % | {:.0} s | {interval}",
            100.0 * self.median,
            100.0 * self.most,
            100.0 * self.bias,
            self.time.as_secs_f64(),
        )
    }
}

/// The least and the most.
pub(crate) fn range(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, most)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The lowest value that a share of at least `q` do not exceed.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN)
}

pub(crate) fn print(rows: &[(String, Score)]) {
    println!(
        "| method | median error | 90th percentile | bias | time | interval holds the truth | half width |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, score) in rows {
        println!("| {name} | {} |", score.row());
    }
}

/// Each row of Plimsoll against each other method at its own settings or with
/// twice the time: is the median error better, worse, or inconclusive over so few
/// seeds?
pub(crate) fn print_claims(compared: &[(&str, Vec<(String, Score)>)]) {
    let Some((_, first)) = compared.first() else {
        return;
    };
    let is_ours = |name: &&str| name.starts_with(OURS);
    let is_judged = |name: &&str| {
        (name.contains(TWICE) || name.contains("its ")) && !name.starts_with("the same")
    };
    let names = || first.iter().map(|(name, _)| name.as_str());
    let services: Vec<&str> = compared.iter().map(|(name, _)| *name).collect();
    println!(
        "The median error as a part of the other's with its 95 % interval over seeds, and the"
    );
    println!("time as a part of the other's; **bold** where both are as promised.");
    for ours in names().filter(is_ours) {
        println!("\n### {ours}\n");
        println!("| against | {} |", services.join(" | "));
        println!("|---{}|", "|---".repeat(services.len()));
        for theirs in names().filter(is_judged) {
            let cells: Vec<String> = compared
                .iter()
                .filter_map(|(_, rows)| Some(claim(find(rows, ours)?, find(rows, theirs)?)))
                .collect();
            println!("| {theirs} | {} |", cells.join(" | "));
        }
    }
}

fn find<'a>(rows: &'a [(String, Score)], name: &str) -> Option<&'a Score> {
    rows.iter().find(|row| row.0 == name).map(|row| &row.1)
}

/// How near a fit of the time to twice has to come.
const FIT: f64 = 0.05;

fn claim(ours: &Score, theirs: &Score) -> String {
    let (low, high) = ratio_interval(ours, theirs);
    let verdict = match (low, high) {
        (_, high) if high <= 1.0 => "better",
        (low, _) if low >= 1.0 => "worse",
        _ => "inconclusive",
    };
    let error = ours.median / theirs.median;
    let time = ours.time.as_secs_f64() / theirs.time.as_secs_f64();
    let text = format!("{verdict}: {error:.2} ({low:.2} to {high:.2}), time {time:.2}");
    if error <= 1.0 && time <= 0.5 * (1.0 + FIT) {
        format!("**{text}**")
    } else {
        text
    }
}

/// Of the ratio of median errors, by resampling seeds, which both share.
fn ratio_interval(ours: &Score, theirs: &Score) -> (f64, f64) {
    let median = |sizes: &[f64], draw: &[usize]| {
        quantile(&sorted(draw.iter().map(|i| sizes[*i]).collect()), 0.5)
    };
    let ratios = bootstrap::resample(ours.sizes.len(), 1, |draw| {
        Some(median(&ours.sizes, draw) / median(&theirs.sizes, draw))
    });
    let ratios = sorted(ratios);
    (quantile(&ratios, 0.025), quantile(&ratios, 0.975))
}
