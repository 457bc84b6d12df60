//! The flags of `plimsoll rig`.

use super::outcome::Part;
use super::waiting::args::WaitArgs;
use crate::args::RunArgs;
use crate::args::value::window;
use crate::experiment::HelpPage;
use clap::Args;
use plimsoll_model::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  plimsoll rig --quick
        peaks, grain and breaking point of Plimsoll's own scheduler (90 s)
  plimsoll rig --scheduler all
        the same of all schedulers, side by side in one run
  plimsoll rig grain --scheduler ./libmine.so,rayon
        a scheduler of your own against rayon
  plimsoll rig break --graph stencil:width=4,steps=20 --grain 200us
        the breaking point on another graph
  plimsoll rig wait --budget 'p99<20us'
        the waiting policy that burns least and wakes in time

Only wait has a slip; its --max-slip is half of the gap where that is longer.";

const PLAN: &[&str] = &[
    "parts",
    "scheduler",
    "graph",
    "kernel",
    "grain",
    "quick",
    "passes",
    "duration",
    "seed",
    "cpus",
    "policies",
    "patterns",
    "gaps",
    "idle",
    "budget",
    "burn",
];

pub(super) const HELP: HelpPage = HelpPage {
    headings: &[
        ("Question", &["scheduler", "graph", "kernel", "grain"]),
        (
            "Measurement",
            &["quick", "passes", "duration", "seed", "cpus"],
        ),
        (
            "Waiting",
            &["policies", "patterns", "gaps", "idle", "budget", "burn"],
        ),
        ("Files", &["save_graph", "trace"]),
    ],
    short: &[
        ("parts", "What to measure (default: peak grain break)"),
        (
            "scheduler",
            "Schedulers under test: names, paths of plug-ins, or all",
        ),
        ("graph", "Graph of break and steady"),
        ("grain", "Lengths of the jobs"),
        ("quick", "Shorter and fewer trials (90 s)"),
        ("policies", "How idle workers wait (wait)"),
        ("budget", "The latency that the recommended policy keeps"),
        ("burn", "What the recommended policy burns at most"),
        ("max_slip", "How late a call may be at p99 (wait)"),
    ],
    fixed: &[PLAN],
};

/// `plimsoll rig`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RigArgs {
    /// What to measure: run time by the size of a load peak, efficiency by the length of the jobs (grain), the breaking point of a schedule, a steady load, wake-up latency against CPU burn of waiting workers (default: peak grain break).
    #[arg(value_name = "PART", value_enum)]
    pub(super) parts: Vec<Part>,

    /// Schedulers under test, in one run: plimsoll, rayon, tokio, threads, central-queue, the path of a plug-in, or all (of these names) (default: plimsoll).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) scheduler: Option<Vec<String>>,

    /// The graph of break and steady: a shape by name, rules, or a file in DOT (default: load-bursts; for steady tries).
    #[arg(long, value_name = "NAME|RULES|FILE.dot")]
    pub(super) graph: Option<String>,

    /// What a job does (default: compute).
    #[arg(long, value_name = "KERNEL")]
    pub(super) kernel: Option<String>,

    /// Lengths of the jobs; break and steady take the longest (default: peak 20us to 8ms, grain 0 to 100us, break 500us).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = grain, allow_hyphen_values = true)]
    pub(super) grain: Option<Vec<Duration>>,

    /// Shorter and fewer trials.
    #[arg(long)]
    pub(super) quick: bool,

    /// How often each setting is visited, every second time in the reverse order (default: 4; with --quick 3).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub(super) passes: Option<u32>,

    /// How long each trial measures; one of steady ten times as long (default: 1s; with --quick 500ms).
    #[arg(short = 'z', long, value_name = "TIME", value_parser = window, allow_hyphen_values = true)]
    pub(super) duration: Option<Duration>,

    /// Write the graph to a new file before the run, as DOT or SVG by its ending.
    #[arg(long, value_name = "FILE")]
    pub(super) save_graph: Option<PathBuf>,

    /// Write one run of the graph on each scheduler to a new file, for Perfetto or Chrome.
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,

    #[command(flatten)]
    pub(super) wait: WaitArgs,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

/// A flag that changes nothing of these parts: it was meant for another run.
pub(super) fn without_effect(args: &RigArgs, parts: &[Part]) -> Option<String> {
    if !parts.contains(&Part::Wait) {
        let flag = args.wait.first()?;
        return Some(format!(
            "{flag} is for wait; add wait to the parts, or leave it out"
        ));
    }
    if parts != [Part::Wait] {
        return None;
    }
    let traces = args.trace.is_some();
    let given = [
        ("--scheduler", args.scheduler.is_some() && !traces),
        ("--kernel", args.kernel.is_some() && !traces),
        ("--grain", args.grain.is_some() && !traces),
        (
            "--graph",
            args.graph.is_some() && !traces && args.save_graph.is_none(),
        ),
    ];
    let (flag, _) = given.into_iter().find(|(_, is_idle)| *is_idle)?;
    let instead = match flag {
        "--scheduler" => {
            "name what waits with --policies, such as plimsoll's spin, or rayon and tokio"
        }
        _ => "its jobs are empty; leave it out, or add another part",
    };
    Some(format!("{flag} changes nothing of wait: {instead}"))
}

/// For tests: flags as they are written.
#[cfg(test)]
pub(super) fn of(flags: &[&str]) -> Result<RigArgs, clap::Error> {
    use clap::{Command, FromArgMatches};
    let command = RigArgs::augment_args(Command::new("rig").no_binary_name(true));
    RigArgs::from_arg_matches(&command.try_get_matches_from(flags)?)
}

/// The length of a job; 0 for an empty one.
fn grain(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    parse_duration(text)
        .filter(|d| *d <= Duration::from_secs(1))
        .ok_or_else(|| {
            "give times up to 1s with their unit, such as 20us,1ms, or 0 for empty jobs".into()
        })
}
