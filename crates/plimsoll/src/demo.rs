//! `plimsoll demo`: the lab, a guided tour of what this machine carries.

mod pages;
mod scenario;

use crate::failure::Failure;
use crate::help;
use crate::output::Output;
use clap::Args;
use pages::{PAGES, Page};
use plimsoll_report::wrap;
use scenario::Scenario;
use std::ffi::OsString;
use std::path::Path;

const DEMO_HELP: &str = "\
Pages:
  a  Is CPU use work?
  b  What does a batch job beside the service cost?
  c  What does the same job cost within a headroom?
  d  How much headroom is enough?
  e  How much work does a job get done in what is left?
  g  What does your own scenario cost and gain?

A scenario is a file of JSON; what it leaves out is as usual:
  {\"load_pct\": 60, \"headroom_pct\": 20, \"budget\": \"p99+5%\", \"job\": \"make -j2\"}

Examples:
  plimsoll demo --page b --batch
        page b without a screen: measure, print the findings, keep a record
  plimsoll demo --page e --batch --job 'make -C /src -j2'
        a build alone, then beside the service, both timed
  plimsoll demo --page mine.json --batch -- --passes 8
        your own scenario, with flags of `plimsoll yield` after --

Exit status: that of the experiment behind the page.";

/// Columns of a page's text.
const WIDTH: usize = 80;

#[derive(Debug, Args)]
#[command(after_help = DEMO_HELP)]
pub(crate) struct DemoArgs {
    /// A page (a to e, g), or a file with a scenario.
    #[arg(long, value_name = "PAGE", default_value = "a")]
    page: String,

    /// Without a screen: measure the page's answer, print it, and keep a record.
    #[arg(long)]
    batch: bool,

    /// The job of the page: 'burn' (hashing), or a command.
    #[arg(long, value_name = "JOB")]
    job: Option<String>,

    /// Flags of the experiment behind the page, after `--`.
    #[arg(last = true, value_name = "FLAGS")]
    more: Vec<OsString>,
}

pub(crate) fn run(args: &DemoArgs, output: &Output) -> Result<(), Failure> {
    let (page, scenario) = args.chosen()?;
    if !args.batch {
        return Err(Failure::Mistake(
            "the lab has no screen in this version; add --batch to measure a page".to_owned(),
        ));
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
    let (question, text, command) = (page.question, text.join("\n"), shown.join(" "));
    output.print(&format!("{question}\n\n{text}\n\n$ {command}\n\n"))?;
    crate::run(&help::parsed(&words)?)
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
        Ok((page, scenario))
    }
}
