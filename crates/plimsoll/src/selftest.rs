//! `plimsoll selftest`: known services, measured, and how far off that was.

use crate::args::{SelftestArgs, SelftestFormat};
use crate::failure::Failure;
use crate::output::{Output, note};
use crate::session::rendered;
use crate::stop::Stop;
use crate::{leftovers, progress};
use plimsoll_control::Journals;
use plimsoll_experiments::args::any_seed;
use plimsoll_experiments::selftest::Selftest as Known;
use plimsoll_experiments::sweep::Effort;
use plimsoll_host::Root;
use plimsoll_model::{Selftest, SelftestAnswer, SelftestVerdict};
use std::io::IsTerminal;
use std::time::Instant;

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
    let mut answers = Vec::new();
    for service in known.services() {
        note(service.name);
        let mut observer = progress::bar(on_terminal);
        match known.run(service, observer.as_mut(), stop.flag())? {
            Some(answer) => answers.push(answer),
            None => return Err(Failure::Interrupted("the self-test was stopped".to_owned())),
        }
    }
    let selftest = Selftest {
        seed,
        took_s: began.elapsed().as_secs_f64(),
        answers,
    };
    show(&selftest, args.format, output)?;
    if selftest.is_passed() {
        return Ok(());
    }
    Err(Failure::Run(not_recovered(&selftest)))
}

fn show(selftest: &Selftest, format: SelftestFormat, output: &Output) -> Result<(), Failure> {
    let format = match format {
        SelftestFormat::Text => plimsoll_report::Format::Text,
        SelftestFormat::Json => plimsoll_report::Format::Json,
    };
    let document = plimsoll_report::selftest::document(selftest);
    output.print(&rendered(&document, format, output.look(None))?)
}

/// Which answers are missing, whether any was wrong, and how to see them again.
fn not_recovered(selftest: &Selftest) -> String {
    let is = |verdict| move |a: &&SelftestAnswer| a.verdict == verdict;
    let answers = || selftest.answers.iter();
    let (what, missing): (_, Vec<&SelftestAnswer>) =
        if answers().any(|a| a.verdict == SelftestVerdict::Missed) {
            (
                "were answered wrongly",
                answers().filter(is(SelftestVerdict::Missed)).collect(),
            )
        } else {
            let told = is(SelftestVerdict::Recovered);
            let untold = answers().filter(|a| !told(a)).collect();
            ("are inconclusive, and none was wrong", untold)
        };
    let names: Vec<&str> = missing.iter().map(|a| a.service.as_str()).collect();
    format!(
        "{} of {} known answers {what}: {} (again with --seed {})",
        names.len(),
        selftest.answers.len(),
        names.join("; "),
        selftest.seed
    )
}
