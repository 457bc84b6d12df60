//! `plimsoll demo`: the lab, a guided tour of what this machine carries.

mod charts;
mod draw;
mod effects;
mod front;
mod job;
mod keys;
mod pages;
mod run;
mod scenario;
mod sensors;
mod state;
mod task;
mod web;
mod words;

use crate::failure::Failure;
use crate::help;
use crate::output::Output;
use crate::service;
use crate::stop::Stop;
use clap::Args;
use draw::Look;
use effects::Children;
use front::{FrontEnd, Terminal};
use pages::{PAGES, Page};
use plimsoll_experiments::args::value::{cpus, rate};
use plimsoll_experiments::args::{HashArgs, allowed_cpus, any_seed, hash_service};
use plimsoll_host::Root;
use plimsoll_lab::Service;
use plimsoll_law::LatencyGoal;
use plimsoll_model::{Arrivals, CpuSet, Rate, safe, shell_word};
use plimsoll_record::state_file;
use plimsoll_report::wrap;
use run::{Clock, Lab};
use scenario::Scenario;
use sensors::WaitSensors;
use state::{About, State};
use std::ffi::OsString;
use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;
use web::Web;

const DEMO_HELP: &str = "\
Pages:
  a  Is CPU use work?
  b  What does a batch job beside the service cost?
  c  What does the same job cost within a headroom?
  d  How much headroom is enough?
  e  How much work does a job get done in what is left?
  f  Who pays when memory runs short?
  g  What does your own scenario cost and gain?

A scenario is a file of JSON; what it leaves out is as usual:
  {\"load_pct\": 60, \"headroom_pct\": 20, \"budget\": \"p99+5%\", \"job\": \"make -j2\"}

On a terminal, or with --web in a browser, the lab is live: sliders set the load
of the hash service and the headroom of the job, and charts show what that does.
The job runs under `plimsoll side` and ends with the lab. The rating of the
service is measured once per machine, in 12 s, and kept. --goal, --rated,
--recalibrate, --cpus and the flags of the hash service are for the live lab.
Pages are measured with a service of their own. The address of --web has a
random part, and answers on this machine alone.

Examples:
  plimsoll demo
        the live lab at page a
  plimsoll demo --web
        the same in a browser of this machine
  plimsoll demo --page f --memory 1GiB
        with a service that has memory, for page f
  plimsoll demo --page b --batch
        page b without a screen: measure, print the findings, keep a record
  plimsoll demo --page e --batch --job 'make -C /src -j2'
        a build alone, then beside the service, both timed
  plimsoll demo --page mine.json --batch -- --passes 8
        your own scenario, with flags of `plimsoll yield` after --

Exit status: that of the measurement with --batch; else 0, also at Ctrl-C, 1 if
the lab fails, 2 for a mistake in what was asked, 130 at Ctrl-C during the
calibration.";

/// Columns of a page's text.
const WIDTH: usize = 80;

#[derive(Debug, Args)]
#[command(after_help = DEMO_HELP)]
pub(crate) struct DemoArgs {
    /// A page (a to g), or a file with a scenario.
    #[arg(long, value_name = "PAGE", default_value = "a")]
    page: String,

    /// Without a screen: measure the page's answer, print it, and keep a record.
    #[arg(long)]
    batch: bool,

    /// The job of the page: 'burn' (hashing), 'memory', 'disk', or a command.
    #[arg(long, value_name = "JOB")]
    job: Option<String>,

    /// The live lab in a browser of this machine: prints the address.
    #[arg(long, conflicts_with = "batch")]
    web: bool,

    /// The port of --web (default: a free one).
    #[arg(
        long,
        value_name = "PORT",
        requires = "web",
        default_value_t = 0,
        hide_default_value = true
    )]
    port: u16,

    /// The latency goal of the live lab, a percentile and a time.
    #[arg(long, value_name = "GOAL", default_value = "p95<75ms", value_parser = service::goal)]
    goal: LatencyGoal,

    /// The rating in requests per second, if it is known; else it is measured once and kept.
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with = "recalibrate")]
    rated: Option<Rate>,

    /// Measure the rating again.
    #[arg(long)]
    recalibrate: bool,

    /// CPUs of the service, such as 0-3,8 (default: all that this process may use).
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    cpus: Option<CpuSet>,

    #[command(flatten)]
    hash: HashArgs,

    /// Flags of the experiment behind the page, after `--`.
    #[arg(last = true, value_name = "FLAGS")]
    more: Vec<OsString>,
}

pub(crate) fn run(args: &DemoArgs, output: &Output) -> Result<(), Failure> {
    let (page, scenario) = args.chosen()?;
    if !args.batch {
        return live(args, page, &scenario, output);
    }
    if args.hash.memory.is_some() || args.hash.files.is_some() {
        let why = "--memory and --files are for the service of the live lab; with --batch give them after --, where the page's command takes them";
        return Err(Failure::Mistake(why.to_owned()));
    }
    let mut words: Vec<OsString> = vec!["plimsoll".into()];
    words.extend(page.words(&scenario).into_iter().map(OsString::from));
    words.extend(args.more.iter().cloned());
    let shown = output.shown_words(words.iter().cloned());
    let text: Vec<String> = page
        .text
        .iter()
        .flat_map(|text| wrap(text, WIDTH))
        .collect();
    // A scenario may be a stranger's: the line is the command that runs, with nothing hidden in it.
    let words_shown: Vec<String> = shown.iter().map(|word| shell_word(&safe(word))).collect();
    let (question, text, command) = (page.question, text.join("\n"), words_shown.join(" "));
    output.print(&format!("{question}\n\n{text}\n\n$ {command}\n\n"))?;
    crate::run(&help::parsed(&words)?)
}

/// Locked while a live lab runs.
const LOCK: &str = "lab.lock";

fn live(args: &DemoArgs, page: Page, scenario: &Scenario, output: &Output) -> Result<(), Failure> {
    if !args.web && (!std::io::stdin().is_terminal() || !std::io::stderr().is_terminal()) {
        return Err(no_terminal());
    }
    if !args.more.is_empty() {
        let why = "flags after -- are for the experiment behind a page; add --batch to run it";
        return Err(Failure::Mistake(why.to_owned()));
    }
    let _alone = alone()?;
    let (root, stop) = (Root::machine(), Stop::on_signals()?);
    let cpus = allowed_cpus(args.cpus.as_ref(), &root)?;
    let asked = args.hash.of(hash_service());
    let rating = service::rating(asked, (args.rated, args.recalibrate), &cpus, &stop)?;
    let about = About {
        rating: service::rating_line(&rating),
        goal: args.goal,
        job: scenario.job.clone(),
        budget: scenario.budget.clone(),
    };
    let state = State::new(about, page.letter, scenario);
    let service = Service::start(&root, rating, state.target(), Arrivals::Poisson, any_seed())?;
    let front: Box<dyn FrontEnd> = match args.web {
        true => {
            let web = Web::start(args.port, &cpus).map_err(|e| cannot_listen(args.port, &e))?;
            output.print(&format!("The lab is at {}\nCtrl-C ends it.\n", web.url()))?;
            Box::new(web)
        }
        false => {
            let look = Look {
                colour: output.stderr_colour,
                charset: output.charset,
            };
            Box::new(Terminal::open(look).map_err(|_| no_terminal())?)
        }
    };
    let lab = Lab {
        front,
        children: Children::new(&root, cpus.len()),
        sensors: WaitSensors::new(&root),
        state,
        service,
        stop,
        clock: Clock::start(),
    };
    lab.run()
}

fn cannot_listen(port: u16, error: &std::io::Error) -> Failure {
    Failure::Mistake(format!(
        "the lab cannot listen on port {port} of 127.0.0.1: {error}; give another --port"
    ))
}

fn no_terminal() -> Failure {
    Failure::Mistake(
        "the live lab needs a terminal; add --web for a browser, or --batch to measure a page without a screen".to_owned(),
    )
}

/// A lock that no other lab has. Where there can be none, the lab runs all the same.
fn alone() -> Result<Option<File>, Failure> {
    let Some(file) = state_file::usual(LOCK) else {
        return Ok(None);
    };
    let lock = state_file::lock(&file);
    match lock.is_none() && file.exists() {
        true => Err(Failure::Mistake(
            "another lab runs here, and each would disturb the other; end it with q first"
                .to_owned(),
        )),
        false => Ok(lock),
    }
}

impl DemoArgs {
    fn chosen(&self) -> Result<(Page, Scenario), Failure> {
        let mut letters = self.page.chars();
        let only = letters.next().filter(|_| letters.next().is_none());
        let (page, mut scenario) = match only.and_then(Page::of) {
            Some(page) => (Some(page), Scenario::default()),
            None if only.is_some() => (None, Scenario::default()),
            None => (Page::of('g'), Scenario::read(Path::new(&self.page))?),
        };
        if let Some(job) = &self.job {
            scenario.job.clone_from(job);
        }
        let letters = || PAGES.map(|page| page.letter.to_string()).join(", ");
        let page = page.ok_or_else(|| {
            Failure::Mistake(format!(
                "there is no page '{}'; choose one of {}, or give a file",
                self.page,
                letters()
            ))
        })?;
        match page.job.filter(|_| self.job.is_some()) {
            Some(job) => Err(Failure::Mistake(format!(
                "page {} has the job '{job}'; leave --job out, or choose page g",
                page.letter
            ))),
            None => Ok((page, scenario)),
        }
    }
}
