//! The flags of `plimsoll plan`.

use crate::format::PlanFormat;
use clap::{ArgGroup, Args};
use plimsoll_model::{Goal, Rate, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

const PLAN_HELP: &str = "\
The lower end of what one instance carries is planned with, and the CPU target
is the lower end of its CPU use: what is said holds also if the measurement was
lucky. Without --goal the record's own goals are all to be kept. A capacity that is
only a lower bound is planned with if --lower-bound is given.

Worked example: an instance carries 1,100/s (1,000 to 1,200), so 1,000/s are
planned with.
  --peak 5000 --failures 1 --growth 10%/min --ready-in 3min
        grown for 3 minutes the peak is 6,500/s: 7 instances, and 1 that may be
        lost, are 8. With 7 of 8 left and room for growth each may be asked for
        1000 * 7/8 / 1.3 = 673/s; the CPU use measured at 673/s is the target.

With --peak the smallest fleet is that of the peak, because nothing is known of
quieter times. With --traffic it is the one that makes the whole cheapest: a
smaller one would take a lower CPU target, for a lost instance is a larger part
of it.

A traffic file is CSV with the columns time_s,rate_rps: seconds, ascending, and
requests per second. Between two rows the rate goes straight from one to the
next.

Examples:
  plimsoll plan web.plimsoll --peak 5000
  plimsoll plan web.plimsoll --traffic week.csv --price 0.34 --failures 2
  plimsoll plan web.plimsoll --peak 5000 --growth 5%/min -o hpa.yaml";

#[derive(Debug, Args)]
#[command(after_help = PLAN_HELP)]
#[command(group(ArgGroup::new("demand").required(true).args(["peak", "traffic"])))]
pub(crate) struct PlanArgs {
    /// The record of a sweep of one instance.
    pub(crate) file: PathBuf,

    /// The highest rate that all instances together have to carry, in requests per second.
    #[arg(long, value_name = "RATE", value_parser = peak, allow_negative_numbers = true)]
    pub(crate) peak: Option<Rate>,

    /// What they have to carry by time, in CSV: time_s,rate_rps.
    #[arg(long, value_name = "FILE")]
    pub(crate) traffic: Option<PathBuf>,

    /// How many instances may be lost at once.
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        value_parser = clap::value_parser!(u32).range(0..=1000),
        allow_negative_numbers = true
    )]
    pub(crate) failures: u32,

    /// By how much traffic may grow beyond the peak, as a part of it (10%/min: 1.3 times it after 3 min).
    #[arg(long, value_name = "PCT/min", default_value = "10%/min", value_parser = growth, allow_hyphen_values = true)]
    pub(crate) growth: Growth,

    /// How long a new instance takes until it carries load, with the autoscaler's own delay.
    #[arg(long, value_name = "TIME", default_value = "3min", value_parser = ready_in, allow_hyphen_values = true)]
    pub(crate) ready_in: Duration,

    /// What an instance costs per hour, in any currency.
    #[arg(long, value_name = "PRICE", value_parser = price, allow_negative_numbers = true)]
    pub(crate) price: Option<f64>,

    /// The smallest fleet that the autoscaler may keep (default: the fleet for the peak; with --traffic the cheapest).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), allow_negative_numbers = true)]
    pub(crate) floor: Option<u32>,

    /// The goal to keep: one of the record's, or another to judge its trials by. Repeatable.
    #[arg(long = "goal", value_name = "GOAL")]
    pub(crate) goals: Vec<Goal>,

    /// Plan with a lower bound where the limit of an instance was not found; fewer instances may do.
    #[arg(long)]
    pub(crate) lower_bound: bool,

    /// How to print the plan (default: as the name after -o ends, else text).
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<PlanFormat>,

    /// Write it to this file, such as plan.json or hpa.yaml, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Growth per minute, as a share; any number that can be written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Growth(pub(crate) f64);

/// More than this is a mistake in a unit.
const MOST_PEAK: f64 = 1e12;

fn peak(text: &str) -> Result<Rate, String> {
    let number: Option<f64> = text.parse().ok();
    if number.is_some_and(|n| n > MOST_PEAK && n.is_finite()) {
        return Err(format!(
            "that is more than all computers carry; give requests per second, up to {MOST_PEAK:e}, such as 5000"
        ));
    }
    let rate = number.and_then(Rate::per_second);
    rate.ok_or_else(|| "give requests per second, above 0, such as 5000".into())
}

/// Any number: which of them is a price is the plan's to say.
fn price(text: &str) -> Result<f64, String> {
    text.parse()
        .map_err(|_| "give what an instance costs per hour as a number, such as 0.34".into())
}

fn growth(text: &str) -> Result<Growth, String> {
    let parts = text.split_once('%');
    let number = parts
        .filter(|(_, per)| matches!(per.trim(), "/min" | "/m"))
        .and_then(|(number, _)| number.trim().parse::<f64>().ok());
    number
        .map(|pct| Growth(pct / 100.0))
        .ok_or_else(|| "give percent per minute, such as 10%/min".into())
}

fn ready_in(text: &str) -> Result<Duration, String> {
    parse_duration(text)
        .ok_or_else(|| "give a time with its unit, such as 3min, 90s, 0s for at once".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_percent_per_minute_and_nothing_else() {
        assert_eq!(growth("10%/min"), Ok(Growth(0.1)));
        assert_eq!(growth("2.5 %/min"), Ok(Growth(0.025)));
        for bad in ["10%", "10", "0.1/min", "10%/h", "%/min", "fast", ""] {
            assert!(growth(bad).unwrap_err().contains("10%/min"), "{bad}");
        }
    }

    #[test]
    fn a_price_is_a_number() {
        assert_eq!(price("0.34"), Ok(0.34));
        for bad in ["abc", "", "0,34", "$1"] {
            assert!(price(bad).unwrap_err().contains("0.34"), "{bad}");
        }
    }

    #[test]
    fn a_peak_is_a_rate() {
        for bad in ["-1", "NaN", "inf", "1e300", "many", ""] {
            assert!(peak(bad).unwrap_err().contains("5000"), "{bad}");
        }
        assert!(peak("1e30").unwrap_err().contains("up to 1e12"));
    }
}
