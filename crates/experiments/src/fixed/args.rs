//! The flags of `plimsoll run`.

use crate::args::offered_rate::{OfferedRate, offered_rate};
use crate::args::phases::{Phases, phases, ramp};
use crate::args::value::{rate, window};
use crate::args::{FIXED_OF_SERVER, LoadArgs, WarmUpArgs, url_or_record};
use crate::experiment::HelpPage;
use clap::Args;
use plimsoll_model::Rate;
use std::num::NonZeroU64;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  plimsoll run http://localhost:8080/ --rate 2000
        2,000 requests a second for 10 s, each at its own time
  plimsoll run http://localhost:8080/ --rate 2000 -z 30s --arrivals constant
        with equal gaps, for 30 s
  plimsoll run http://localhost:8080/ --rate 50 --requests 1000
        about 1,000 requests
  plimsoll run http://localhost:8080/ --ramp 100..5000 -z 60s
        from 100 to 5,000 requests a second
  plimsoll run http://localhost:8080/ --step 1000,2000,4000 -z 30s
        three rates, 10 s each
  plimsoll run http://localhost:8080/ --pattern 60s@500,10s@5000,60s@500
        a peak; --pattern @FILE reads a line for each phase
  plimsoll run http://localhost:8080/ --rate '0.8x today.plimsoll'
        0.8 times the capacity that a sweep has found
  plimsoll run --rate 500
        the hash service in this process

`plimsoll sweep` finds the rate that a service carries. `plimsoll export` writes the
histogram of a record for HdrHistogram's tools.";

const FLAGS: &[&str] = &[
    "rate", "ramp", "step", "pattern", "duration", "requests", "arrivals", "seed", "cpus",
];

pub(super) const HELP: HelpPage = HelpPage {
    headings: &[("Load", FLAGS)],
    short: &[
        (
            "url",
            "http:// or https://; without, a hash service in this process",
        ),
        ("rate", "Requests per second"),
        ("ramp", "From one rate to another, such as 100..5000"),
        ("step", "Rates one after another, such as 500,1000"),
        ("pattern", "Phases of TIME@RATE, or @FILE"),
        ("duration", "How long it measures"),
        ("requests", "About so many requests, in place of a time"),
        ("method", "The method"),
        ("headers", "A header, such as 'Accept: text/html', or @FILE"),
        ("data", "The body, or @FILE"),
        ("connections", "Connections kept open"),
        ("insecure", "Accept any TLS certificate"),
    ],
    fixed: &[FLAGS, FIXED_OF_SERVER, &["warm_up"]],
};

/// `plimsoll run`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = url_or_record())]
pub struct FixedArgs {
    /// The server to load, http:// or https://. Without: the hash service, in this process.
    #[arg(conflicts_with_all = ["memory", "files"])]
    pub(super) url: Option<String>,

    /// Requests per second (default: 1000), or as one word a multiple of the capacity in a record of `plimsoll sweep`, such as '0.8x FILE'.
    #[arg(long, value_name = "RATE", value_parser = offered_rate, allow_hyphen_values = true)]
    pub(super) rate: Option<OfferedRate>,

    /// From one rate to another over --duration, such as 100..5000, in up to 100 steps.
    #[arg(long, value_name = "FROM..TO", value_parser = ramp, conflicts_with_all = ["rate", "requests"], allow_hyphen_values = true)]
    pub(super) ramp: Option<(Rate, Rate)>,

    /// Rates one after another, each for an equal part of --duration, such as 500,1000,2000.
    #[arg(long, value_name = "RATES", value_delimiter = ',', value_parser = rate, conflicts_with_all = ["rate", "requests", "ramp"], allow_hyphen_values = true)]
    pub(super) step: Option<Vec<Rate>>,

    /// Phases of TIME@RATE one after another, such as 60s@500,10s@5000 (rate 0 is a break), or @FILE with one a line.
    #[arg(long, value_name = "PHASES", value_parser = phases, conflicts_with_all = ["rate", "requests", "ramp", "step", "duration"], allow_hyphen_values = true)]
    pub(super) pattern: Option<Phases>,

    /// How long it measures, after a second of load, and after --warm-up (default: 10s).
    #[arg(short = 'z', long, value_name = "TIME", value_parser = window, allow_hyphen_values = true)]
    pub(super) duration: Option<Duration>,

    /// Measure for as long as so many requests take at this rate.
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "duration",
        allow_hyphen_values = true
    )]
    pub(super) requests: Option<NonZeroU64>,

    #[command(flatten)]
    pub(super) load: LoadArgs,

    #[command(flatten)]
    pub(super) warm_up: WarmUpArgs,
}
