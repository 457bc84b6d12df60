//! The flags of `plimsoll run`.

use crate::args::value::{rate, window};
use crate::args::{FIXED_OF_SERVER, LoadArgs, url_or_record};
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
  plimsoll run --rate 500
        the hash service in this process

`plimsoll sweep` finds the rate that a service carries. `plimsoll export` writes the
histogram of a record for HdrHistogram's tools.";

const FLAGS: &[&str] = &["rate", "duration", "requests", "arrivals", "seed", "cpus"];

pub(super) const HELP: HelpPage = HelpPage {
    headings: &[("Load", FLAGS)],
    short: &[
        (
            "url",
            "http:// or https://; without, a hash service in this process",
        ),
        ("rate", "Requests per second"),
        ("duration", "How long it measures"),
        ("requests", "About so many requests, in place of a time"),
        ("method", "The method"),
        ("headers", "A header, such as 'Accept: text/html', or @FILE"),
        ("data", "The body, or @FILE"),
        ("connections", "Connections kept open"),
        ("insecure", "Accept any TLS certificate"),
    ],
    fixed: &[FLAGS, FIXED_OF_SERVER],
};

/// `plimsoll run`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = url_or_record())]
pub struct FixedArgs {
    /// The server to load, http:// or https://. Without: the hash service, in this process.
    #[arg(conflicts_with_all = ["memory", "files"])]
    pub(super) url: Option<String>,

    /// Requests per second (default: 1000).
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    pub(super) rate: Option<Rate>,

    /// How long it measures, after a warm-up of a second (default: 10s).
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
}
