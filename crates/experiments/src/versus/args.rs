//! The flags of `plimsoll versus`.

use crate::args::offered_rate::{OfferedRate, offered_rate};
use crate::args::value::window;
use crate::args::{
    AgainstArgs, FIXED_OF_AGAINST, FIXED_OF_SERVER, FOR_THE_HASH_SERVICE, LoadArgs, WarmUpArgs,
    url_or_record,
};
use crate::experiment::HelpPage;
use clap::{Arg, Args};
use std::time::Duration;

const EXAMPLES: &str = "\
How to read it, from a run on two shared virtual CPUs, where the new version does
11 % more work:
  figure                  base     new            change  verdict  passes
                                                       %
  CPU time per request  2.88ms  3.17ms  9.9 (5.3 to 14.6)     more      40
The interval is of the ratios of 40 passes. In each, both are loaded for half a
second, so that what makes the machine faster and slower for longer cancels out.

Examples:
  plimsoll versus http://localhost:81/ --against http://localhost:80/ --rate 500
        the new version on port 81 and the old one on port 80
  plimsoll versus http://localhost:81/ --against http://localhost:80/ \\
      --rate 500 --require 'change of cpu<3%'
        a gate: exit status 3 if a request takes 3 % more CPU time
  plimsoll versus http://localhost/v2 --against http://localhost/v1 --rate 500
        two paths of one server
  plimsoll versus http://localhost/ --against http://localhost/ --rate 500
        a service and itself: the noise of this machine

It compares what requests cost at one rate, and no capacities: for these, plimsoll sweep.";

const FLAGS: &[&str] = &["rate", "passes", "duration", "arrivals", "seed", "cpus"];

pub(super) const HELP: HelpPage = HelpPage {
    headings: &[
        ("Comparison", &["against", "against_pid", "against_cgroup"]),
        ("Measurement", FLAGS),
    ],
    short: &[
        ("url", "The new service, http:// or https://"),
        ("against", "The service that it is compared with"),
        ("rate", "Requests per second to either (default: 1000)"),
        ("passes", "How often both are visited"),
        ("duration", "How long each trial measures"),
        ("method", "The method"),
        ("headers", "A header, such as 'Accept: text/html', or @FILE"),
        ("data", "The body, or @FILE"),
        ("connections", "Connections kept open"),
        ("insecure", "Accept any TLS certificate"),
    ],
    fixed: &[FLAGS, FIXED_OF_AGAINST, FIXED_OF_SERVER, &["warm_up"]],
};

/// Both services are servers, and connections are new in each short trial.
fn of_two_servers(arg: Arg) -> Arg {
    match (arg.get_id().as_str(), arg.get_help_heading()) {
        (_, Some(FOR_THE_HASH_SERVICE)) => arg.hide(true),
        ("connections", _) => arg
            .help("Connections kept open (default: a tenth of the requests in a window, more for slow answers, 4 to 128)"),
        _ => arg,
    }
}

/// `plimsoll versus`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = url_or_record(), mut_args(of_two_servers))]
pub struct VersusArgs {
    /// The new service, http:// or https://.
    #[arg(required_unless_present = "resume", conflicts_with_all = ["memory", "files"])]
    pub(super) url: Option<String>,

    #[command(flatten)]
    pub(super) other: AgainstArgs,

    /// Requests per second to either, while it is measured (default: 1000), or as one word a multiple of the capacity in a record of `plimsoll sweep`, such as '0.5x FILE'. Both have to carry it.
    #[arg(long, value_name = "RATE", value_parser = offered_rate, allow_hyphen_values = true)]
    pub(super) rate: Option<OfferedRate>,

    /// How often both are visited, every second time in the reverse order; below 3 there are no intervals.
    #[arg(long, value_name = "N", default_value = "40", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) passes: u32,

    /// How long each trial measures, after its connections are open; p99 takes 299 requests. Many short trials show more than few long ones: what makes the machine faster or slower for seconds cancels out.
    #[arg(short = 'z', long, value_name = "TIME", default_value = "500ms", value_parser = window, allow_hyphen_values = true)]
    pub(super) duration: Duration,

    #[command(flatten)]
    pub(super) load: LoadArgs,

    #[command(flatten)]
    pub(super) warm_up: WarmUpArgs,
}
