//! `plimsoll selftest`: services of known capacity, measured.

use crate::failure::Failure;
use crate::format::SelftestFormat;
use crate::note::note;
use crate::output::Output;
use crate::session::rendered;
use crate::stop::Stop;
use crate::{leftovers, progress};
use clap::Args;
use plimsoll_control::Journals;
use plimsoll_experiments::args::any_seed;
use plimsoll_experiments::selftest::{Selftest as Known, repeat};
use plimsoll_experiments::sweep::Effort;
use plimsoll_host::Root;
use plimsoll_model::{Selftest, SelftestVerdict};
use std::io::IsTerminal;
use std::time::Instant;

const SELFTEST_HELP: &str = "\
Servers on this machine answer by rules whose capacity is known (service times are waited for, \
not worked off), and Plimsoll measures them as it measures any server. The table tells what is \
known, what was found, and how far the two are apart. Nothing else should run meanwhile.

Tested: the load generator, how the rate at saturation is calibrated, how levels and search find a \
capacity, its interval, the knee (the load at which latency has tripled), and without --quick the \
trial that confirms a capacity. Not tested: how CPU use is measured and what is concluded from it.

An answer is recovered when it is within 5 % of the truth and its interval reaches no further from \
it than 5 % (with --quick 50 %, as its few trials allow no less); beyond that it could be luck, and \
the verdict is inconclusive.

The first service is measured again at the end (A/A), and the two are compared as plimsoll compare \
does with a run of each: 3 % from run to run assumed. A verdict of better or worse fails the test. \
With --quick the interval is wide, and only a gross change between the two shows.

Exit status: 0 all answers were recovered and the A/A shows no difference, 1 one of them failed, 2 \
a mistake in what was asked, 130 stopped by Ctrl-C.

Example:
  plimsoll selftest --quick     how wrong is Plimsoll here? (under 90 s)";

#[derive(Debug, Args)]
#[command(after_help = SELFTEST_HELP)]
pub(crate) struct SelftestArgs {
    /// In under 90 s, for gross errors. Without: about 6 minutes, or up to 12 where trials are
    /// disturbed and have to be made again.
    #[arg(long)]
    quick: bool,

    /// How to print the answers.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: SelftestFormat,

    /// Seed of the arrivals and of the service times (default: any; the JSON output has it).
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Progress as plain lines, also on a terminal.
    #[arg(long)]
    plain: bool,
}

pub(crate) fn run(args: &SelftestArgs, output: &Output) -> Result<(), Failure> {
    let began = Instant::now();
    let stop = Stop::on_signals()?;
    leftovers::restore_if_possible(&Journals::usual(), &Root::machine());
    let effort = if args.quick {
        Effort::Quick
    } else {
        Effort::Full
    };
    let seed = args.seed.unwrap_or_else(any_seed);
    let known = Known::new(effort, seed, Root::machine())?;
    let on_terminal = std::io::stderr().is_terminal() && !args.plain;
    let mut measured = Vec::new();
    for service in known.services() {
        note(service.name);
        let mut observer = progress::bar(on_terminal);
        match known.run(service, observer.as_mut(), stop.flag())? {
            Some(service) => measured.push(service),
            None => return Err(Failure::Interrupted("the self-test was stopped".to_owned())),
        }
    }
    let selftest = Selftest {
        seed,
        took_s: began.elapsed().as_secs_f64(),
        repeat: repeat(&measured)?,
        answers: measured.into_iter().map(|m| m.answer).collect(),
    };
    show(&selftest, args.format, output)?;
    if selftest.is_passed() {
        return Ok(());
    }
    Err(Failure::Run(not_recovered(&selftest)))
}

fn show(selftest: &Selftest, format: SelftestFormat, output: &Output) -> Result<(), Failure> {
    let document = plimsoll_report::selftest::document(selftest);
    output.print(&rendered(&document, format.into(), output.look(None))?)
}

/// The answers that were not recovered, and how to repeat the test.
fn not_recovered(selftest: &Selftest) -> String {
    let repeat = (selftest.repeat.verdict, "A/A");
    let answers = selftest.answers.iter();
    let all = answers.map(|a| (a.verdict, a.service.as_str()));
    let all: Vec<_> = all.chain([repeat]).collect();
    let with = |is: fn(SelftestVerdict) -> bool| -> Vec<&str> {
        let those = all.iter().filter(|(verdict, _)| is(*verdict));
        those.map(|(_, name)| *name).collect()
    };
    let wrong = with(|verdict| verdict == SelftestVerdict::Missed);
    let (what, names) = match wrong.is_empty() {
        false => ("answered wrongly", wrong),
        true => (
            "inconclusive, and none is wrong",
            with(|verdict| verdict != SelftestVerdict::Recovered),
        ),
    };
    format!(
        "{} of {} known answers (with the A/A) {what}: {} (again with --seed {})",
        names.len(),
        all.len(),
        names.join("; "),
        selftest.seed
    )
}
